//! Training against transformers and PyTorch (`scripts/task/fine_tune_fixture.py`), and what must hold of every
//! training.

use std::fs;
use std::path::{Path, PathBuf};

use candle_core::Tensor;
use safetensors::SafeTensors;
use serde::Deserialize;
use serde_json::{Value, json};

use super::relative::Distances;
use super::*;
use crate::Checkpoint;
use crate::builtin;

const SHAPES: [&str; 4] = ["bert", "roberta", "deberta-v3", "deberta-v2"];
/// Single precision against single precision.
const TOLERANCE: f32 = 1e-4;
/// Where a gradient is rounding alone, so is the direction of the optimiser's step.
const ROUNDING: f32 = 1e-4;

/// What PyTorch computed.
#[derive(Deserialize)]
struct Batch {
    rate: f64,
    classes: Vec<usize>,
    losses: Vec<f64>,
    rows: Vec<Vec<u32>>,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn batch(shape: &str) -> Batch {
    let text = fs::read(fixtures().join("fine-tune").join(shape).join("batch.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// The checkpoint, with `change` made to its configuration, and with the tokenizer of the other fixtures.
fn open(shape: &str, change: impl FnOnce(&mut Value)) -> Result<Pretrained> {
    let from = fixtures().join("fine-tune").join(shape);
    let folder = tempfile::tempdir().unwrap();
    let to = |name: &str| folder.path().join(name);
    fs::copy(from.join("model.safetensors"), to("model.safetensors")).unwrap();
    fs::copy(fixtures().join("bert/tokenizer.json"), to("tokenizer.json")).unwrap();
    let text = fs::read(from.join("config.json")).unwrap();
    let mut config: Value = serde_json::from_slice(&text).unwrap();
    change(&mut config);
    fs::write(to("config.json"), config.to_string()).unwrap();
    Pretrained::new(Checkpoint::open(shape, folder.path())?)
}

fn values(tensor: &Tensor) -> Vec<f32> {
    tensor.flatten_all().unwrap().to_vec1().unwrap()
}

/// A tensor of the expected ones; of a table of word vectors the rows of `vocabulary`.
fn expected(file: &SafeTensors<'_>, name: &str, table: &str, vocabulary: &Vocabulary) -> Vec<f32> {
    let tensor = file.tensor(name).unwrap();
    let bytes = tensor.data().as_chunks::<4>().0;
    let all: Vec<f32> = bytes.iter().map(|b| f32::from_le_bytes(*b)).collect();
    if !name.ends_with(table) {
        return all;
    }
    let width = tensor.shape()[1];
    let row = |token: &u32| &all[*token as usize * width..][..width];
    let rows: Vec<f32> = vocabulary.tokens.iter().flat_map(row).copied().collect();
    if name.starts_with("gradient.") {
        // What is left out has no gradient.
        let sum = |values: &[f32]| values.iter().map(|x| x.abs()).sum::<f32>();
        assert!((sum(&all) - sum(&rows)).abs() < 1e-5);
    }
    rows
}

#[track_caller]
fn assert_close(what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (place, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= TOLERANCE, "{what} at {place}: {a} for {b}");
    }
}

#[test]
fn loss_gradients_and_steps_are_those_of_transformers() {
    for shape in SHAPES {
        let pretrained = open(shape, |_| ()).unwrap();
        let batch = batch(shape);
        let bytes = fs::read(
            fixtures()
                .join("fine-tune")
                .join(shape)
                .join("expected.safetensors"),
        );
        let bytes = bytes.unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let vocabulary = Vocabulary::of(&batch.rows, pretrained.pad);
        let rows = batch.rows.iter().map(Vec::as_slice);
        let examples: Vec<Example<'_>> = rows.zip(batch.classes.iter().copied()).collect();
        // All texts at once, and in three parts.
        for tokens in [1000, 20] {
            let seed = Seed::root(0);
            let mut session = Session::begin(&pretrained, &vocabulary, 3, seed).unwrap();
            let table = pretrained.table();
            let names: Vec<String> = session.names.clone();
            // Nothing is left untrained, whatever its file calls it.
            let count = file.names().len() / 2;
            assert_eq!(names.len(), count, "{shape}");
            let mut first = Vec::new();
            for (step, known) in batch.losses.iter().enumerate() {
                let made = session.gradients(&examples, &vocabulary, tokens, None);
                let (loss, gradients) = made.unwrap();
                assert!((loss - known).abs() < 1e-4, "{shape}: {loss} for {known}");
                if step == 0 {
                    for (name, gradient) in names.iter().zip(&gradients.0) {
                        let known =
                            expected(&file, &format!("gradient.{name}"), &table, &vocabulary);
                        let gradient = gradient
                            .as_ref()
                            .unwrap_or_else(|| panic!("{shape}: no gradient reaches {name}"));
                        assert_close(&format!("{shape} {name}"), &values(gradient), &known);
                        first.push(known);
                    }
                }
                let rate = batch.rate * (1.0 - step as f64 / batch.losses.len() as f64);
                session.step(&gradients, rate).unwrap();
            }
            let trained = session.end();
            let (mut compared, mut all) = (0, 0);
            for (name, gradient) in names.iter().zip(first) {
                let known = expected(&file, &format!("after.{name}"), &table, &vocabulary);
                let (found, known): (Vec<f32>, Vec<f32>) = values(&trained[name])
                    .into_iter()
                    .zip(known)
                    .zip(gradient)
                    .filter(|(_, gradient)| gradient.abs() > ROUNDING || *gradient == 0.0)
                    .map(|(pair, _)| pair)
                    .unzip();
                assert_close(&format!("{shape} {name} after"), &found, &known);
                compared += found.len();
                all += trained[name].elem_count();
            }
            // Those left out are keys' biases, which attention does not depend on, and few others.
            assert!(compared * 10 > all * 9, "{shape}: {compared} of {all}");
        }
    }
}

#[test]
fn buckets_of_distances_are_those_of_transformers() {
    let text = fs::read(fixtures().join("fine-tune/buckets.json")).unwrap();
    let known: Vec<i64> = serde_json::from_slice(&text).unwrap();
    let distances = Distances {
        buckets: Some(256),
        greatest: 512,
    };
    let found: Vec<i64> = (-511..512).map(|d| distances.number(d)).collect();
    assert_eq!(found, known);
}

/// Texts on two subjects, and what each is on.
fn texts(count: usize) -> (Vec<String>, Vec<usize>) {
    const SUBJECTS: [[&str; 3]; 2] = [["rain", "weather", "garden"], ["house", "kitchen", "hill"]];
    const OTHERS: [&str; 5] = ["the", "was", "in", "there", "and"];
    let mut stream = Seed::root(8).stream();
    let made = (0..count).map(|_| {
        let class = stream.below(2);
        let mut words: Vec<&str> = (0..4 + stream.below(8))
            .map(|_| OTHERS[stream.below(5)])
            .collect();
        let place = stream.below(words.len());
        words[place] = SUBJECTS[class][stream.below(3)];
        (words.join(" "), class)
    });
    made.unzip()
}

fn quiet(stop: &AtomicBool) -> Watch<'_> {
    Watch {
        stop,
        advance: &|_| (),
    }
}

fn learn(
    pretrained: &Arc<Pretrained>,
    texts: &[String],
    classes: &[usize],
    options: &Options,
    seed: u64,
) -> Result<Option<FineTuned>> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let examples = Examples {
        texts: &texts,
        classes,
        k: 2,
    };
    let stop = AtomicBool::new(false);
    FineTuned::train(
        pretrained,
        examples,
        options,
        Seed::root(seed),
        quiet(&stop),
    )
}

fn right(model: &FineTuned, texts: &[String], classes: &[usize]) -> f64 {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let stop = AtomicBool::new(false);
    let found = model.predict(&texts, quiet(&stop)).unwrap().unwrap();
    let right = found.iter().zip(classes).filter(|(a, b)| a == b).count();
    right as f64 / classes.len() as f64
}

const FAST: Options = Options {
    epochs: 3,
    learning_rate: 1e-2,
    batch: 8,
};

fn dropping(config: &mut Value) {
    config["hidden_dropout_prob"] = json!(0.1);
    config["attention_probs_dropout_prob"] = json!(0.1);
}

#[test]
fn every_shape_learns_what_is_there_and_nothing_from_noise() {
    let (texts, classes) = texts(600);
    let mut stream = Seed::root(9).stream();
    let noise: Vec<usize> = (0..600).map(|_| stream.below(2)).collect();
    for shape in SHAPES {
        let pretrained = Arc::new(open(shape, dropping).unwrap());
        let of = |classes: &[usize]| {
            let made = learn(&pretrained, &texts[..400], &classes[..400], &FAST, 1);
            right(&made.unwrap().unwrap(), &texts[400..], &classes[400..])
        };
        let rate = of(&classes);
        assert!(rate > 0.95, "{shape}: {rate}");
        let chance = of(&noise);
        // Three and a half standard errors of a share of 200.
        assert!((chance - 0.5).abs() < 0.124, "{shape}: {chance}");
    }
}

#[test]
fn threads_change_no_bit_and_another_seed_does() {
    let (texts, classes) = texts(60);
    for shape in SHAPES {
        let pretrained = Arc::new(open(shape, dropping).unwrap());
        let on = |threads, seed| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            pool.install(|| {
                let made = learn(&pretrained, &texts, &classes, &FAST, seed)
                    .unwrap()
                    .unwrap();
                let rows = rows(&pretrained, &[&texts[0]]).unwrap();
                (made.words.clone(), made.logits(&[&rows[0]]).unwrap())
            })
        };
        let one = on(1, 1);
        assert_eq!(one, on(2, 1), "{shape}");
        assert_eq!(one, on(3, 1), "{shape}");
        assert_ne!(one, on(1, 2), "{shape}");
    }
}

#[test]
fn a_head_that_a_checkpoint_lacks_is_drawn() {
    let pretrained = open("roberta", |_| ()).unwrap();
    let vocabulary = Vocabulary::of(&[vec![5, 6]], pretrained.pad);
    let weights = |classes, seed| {
        let session = Session::begin(&pretrained, &vocabulary, classes, Seed::root(seed));
        values(&session.unwrap().end()["classifier.out_proj.weight"])
    };
    // Of three classes it has one.
    assert_eq!(weights(3, 0), weights(3, 1));
    assert_ne!(weights(4, 0), weights(4, 1));
    assert_eq!(weights(4, 0), weights(4, 0));
}

#[test]
fn long_and_empty_texts_are_texts() {
    let pretrained = Arc::new(open("bert", dropping).unwrap());
    assert_eq!(pretrained.longest(), 24);
    let (mut texts, mut classes) = texts(40);
    texts.extend(["rain ".repeat(500), String::new(), "\u{200d}".to_owned()]);
    classes.extend([0, 1, 1]);
    let made = learn(&pretrained, &texts, &classes, &FAST, 1)
        .unwrap()
        .unwrap();
    assert!((0.0..=1.0).contains(&right(&made, &texts, &classes)));
    assert!(right(&made, &[], &[]).is_nan());
}

#[test]
fn the_model_in_the_binary_can_be_fine_tuned() {
    let pretrained = Arc::new(builtin::pretrained().unwrap());
    let (texts, classes) = texts(300);
    let options = Options {
        learning_rate: 1e-3,
        epochs: 2,
        ..Options::default()
    };
    let made = learn(&pretrained, &texts[..200], &classes[..200], &options, 1);
    let rate = right(&made.unwrap().unwrap(), &texts[200..], &classes[200..]);
    assert!(rate > 0.95, "{rate}");
}

#[test]
fn a_flag_stops_training_and_predicting() {
    let pretrained = Arc::new(open("bert", dropping).unwrap());
    let (texts, classes) = texts(40);
    let made = learn(&pretrained, &texts, &classes, &FAST, 1)
        .unwrap()
        .unwrap();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let examples = Examples {
        texts: &texts,
        classes: &classes,
        k: 2,
    };
    let stop = AtomicBool::new(false);
    let seen = std::sync::atomic::AtomicU64::new(0);
    let watch = Watch {
        stop: &stop,
        advance: &|more| {
            seen.fetch_add(more, Ordering::Relaxed);
            stop.store(true, Ordering::Relaxed);
        },
    };
    let trained = FineTuned::train(&pretrained, examples, &FAST, Seed::root(1), watch);
    assert!(trained.unwrap().is_none());
    assert_eq!(seen.into_inner(), 8);
    assert!(made.predict(&texts, quiet(&stop)).unwrap().is_none());
}

#[test]
fn what_does_not_fit_is_refused_with_the_reason() {
    type Change = fn(&mut Value);
    let cases: [(&str, Change, &str); 11] = [
        (
            "bert",
            |c| c["model_type"] = json!("t5"),
            "'t5' is not one that can be fine-tuned; known: bert, roberta, deberta-v2",
        ),
        (
            "bert",
            |c| c["hidden_size"] = json!(20),
            "expected [128, 20]",
        ),
        (
            "bert",
            |c| c["num_attention_heads"] = json!(3),
            "a width of 16 is not a multiple of 3 heads",
        ),
        (
            "bert",
            |c| c["num_attention_heads"] = json!(0),
            "not a multiple of 0 heads",
        ),
        (
            "bert",
            |c| c["hidden_dropout_prob"] = json!(1.0),
            "a dropout of 1",
        ),
        (
            "bert",
            |c| c["position_embedding_type"] = json!("relative_key"),
            "'relative_key'",
        ),
        (
            "bert",
            |c| c["intermediate_size"] = json!(0),
            "intermediate_size is 0",
        ),
        ("bert", |c| c["pad_token_id"] = json!(1000), "pad_token_id"),
        (
            "roberta",
            |c| c["max_position_embeddings"] = json!(2),
            "leaves no position after 2",
        ),
        (
            "deberta-v3",
            |c| c["conv_kernel_size"] = json!(3),
            "its own conv_kernel_size",
        ),
        (
            "deberta-v3",
            |c| c["position_buckets"] = json!(3),
            "3 buckets",
        ),
    ];
    for (shape, change, said) in cases {
        let error = open(shape, change)
            .err()
            .unwrap_or_else(|| panic!("{said}"));
        let text = error.to_string();
        assert!(text.contains(said) && text.contains(shape), "{text}");
    }
    // What only a training finds.
    let lacking = Arc::new(open("bert", |c| c["num_hidden_layers"] = json!(3)).unwrap());
    let (texts, classes) = texts(10);
    let error = learn(&lacking, &texts, &classes, &FAST, 1).err().unwrap();
    assert!(error.to_string().contains("encoder.layer.2"), "{error}");
    let sound = Arc::new(open("bert", |_| ()).unwrap());
    let wild = Options {
        learning_rate: 1.0,
        epochs: 200,
        batch: 1,
    };
    let outcome = learn(&sound, &texts, &classes, &wild, 1);
    if let Err(error) = outcome {
        assert!(
            error.to_string().contains("smaller learning rate"),
            "{error}"
        );
    }
    for wrong in [
        Options { epochs: 0, ..FAST },
        Options { batch: 0, ..FAST },
        Options {
            learning_rate: f64::NAN,
            ..FAST
        },
        Options {
            learning_rate: 0.0,
            ..FAST
        },
    ] {
        let error = learn(&sound, &texts, &classes, &wrong, 1).err().unwrap();
        assert!(matches!(error, Error::Usage(_)), "{error}");
    }
    let error = learn(&sound, &[], &[], &FAST, 1).err().unwrap();
    assert!(error.to_string().contains("no text"), "{error}");
}
