//! Models that generate.

use ndarray::Array2;
use teda_core::{
    Followed, LanguageModel, MaxNewTokens, Prompt, Scorer, Seed, Sequence, Stream, ln_softmax_over,
};
use teda_models::LocalModel;
use teda_models::generate::Options;

use crate::fixture::{BACKENDS, Fixture, assert_close, recorded};

const DECODERS: [&str; 5] = ["llama", "llama3", "qwen3", "gemma3", "gpt2"];
const WITH_SOURCE: [&str; 3] = ["t5", "t5-v1", "bart"];
/// The token that ends a text of all of them.
const END: u32 = 2;

fn plain(memory: usize) -> Options {
    Options {
        instructed: true,
        chat: false,
        memory,
        logit_moments: None,
    }
}

fn load(fixture: &Fixture) -> LocalModel {
    LocalModel::load(fixture.open("config.json"), plain(1 << 30)).unwrap()
}

/// The most likely token; the fixtures have no near ties.
fn greedy(logits: &mut [f32], _: &mut Stream) -> u32 {
    let best = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b]));
    best.unwrap() as u32
}

/// (what the encoder reads, what the decoder reads) of every case.
fn rows(fixture: &Fixture) -> Vec<(&[u32], &[u32])> {
    fixture
        .cases
        .iter()
        .map(|case| {
            if case.decoder_ids.is_empty() {
                (&[][..], &case.ids[..])
            } else {
                (&case.ids[..], &case.decoder_ids[..])
            }
        })
        .collect()
}

fn log_probability(logits: &Array2<f32>, ids: &[u32], first: usize) -> f64 {
    (first..ids.len())
        .map(|place| {
            let row = logits.row(place - 1);
            let total: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
            f64::from(row[ids[place] as usize]) - total.ln()
        })
        .sum()
}

#[test]
fn states_logits_and_log_probabilities_agree_with_transformers() {
    for architecture in DECODERS.into_iter().chain(WITH_SOURCE) {
        let fixture = Fixture::read(architecture);
        for config in fixture.configurations() {
            for backend in BACKENDS {
                let options = plain(1 << 30);
                let model = LocalModel::on(fixture.open(config), options, &backend).unwrap();
                for (index, (source, tokens)) in rows(&fixture).into_iter().enumerate() {
                    let case = &fixture.cases[index];
                    let what = format!("{architecture} {config} {backend:?} case {index}");
                    let logits = model.logits(source, tokens).unwrap();
                    let first = if source.is_empty() {
                        (tokens.len() / 2).max(1)
                    } else {
                        1
                    };
                    let sum = log_probability(&logits, tokens, first);
                    assert!(
                        (sum - case.log_prob).abs() < 1e-3,
                        "{what}: {sum} for {}",
                        case.log_prob
                    );
                    if case.text.is_some() {
                        continue;
                    }
                    let expected = fixture.array(&format!("case{index}.logits"));
                    assert_close(&what, &recorded(index, &logits), &expected);
                    if source.is_empty() {
                        let expected = fixture.array(&format!("case{index}.hidden"));
                        let states = model.hidden_states(source, tokens).unwrap();
                        let states = Array2::from_shape_vec(expected.dim(), states).unwrap();
                        assert_close(&what, &states, &expected);
                    }
                }
            }
        }
    }
}

/// What every case's greedy continuation starts from.
fn starts(fixture: &Fixture) -> Vec<(Vec<u32>, Vec<u32>, usize)> {
    rows(fixture)
        .into_iter()
        .zip(&fixture.cases)
        .map(|((source, tokens), case)| {
            let start = if source.is_empty() {
                tokens
            } else {
                &tokens[..1]
            };
            (source.to_vec(), start.to_vec(), case.greedy.len())
        })
        .collect()
}

#[test]
fn greedy_continuations_agree_with_transformers_in_any_batch() {
    for architecture in DECODERS.into_iter().chain(WITH_SOURCE) {
        let fixture = Fixture::read(architecture);
        let rows = starts(&fixture);
        let expected: Vec<&[u32]> = fixture.cases.iter().map(|case| &case.greedy[..]).collect();
        let seeds = vec![Seed::root(0); rows.len()];
        for backend in BACKENDS {
            // Sequences for all, and for one at a time only: ended sequences take the next job.
            for memory in [1 << 30, 1] {
                let checkpoint = fixture.open("config.json");
                let model = LocalModel::on(checkpoint, plain(memory), &backend).unwrap();
                let made = model.continue_tokens(&rows, &seeds, &greedy).unwrap();
                assert_eq!(made, expected, "{architecture} {backend:?} memory {memory}");
                if memory > 1 {
                    let alone = model.continue_tokens(&rows[2..3], &seeds, &greedy).unwrap();
                    assert_eq!(alone[0], expected[2], "{architecture} {backend:?} alone");
                }
            }
        }
    }
}

/// The law of the engine, bit by bit: sampled continuations do not depend on batch, threads, memory or
/// a shared prefix.
#[test]
fn sampled_continuations_are_the_same_bits_in_any_batch() {
    for architecture in ["llama", "t5", "bart"] {
        let fixture = Fixture::read(architecture);
        // Some prompts several times in a row: those sequences take over what the first has read.
        let texts: Vec<String> = (0..40)
            .map(|i| format!("play {} some music{}", i / 3 % 7, " the".repeat(i / 9 % 3)))
            .collect();
        let sequences: Vec<Sequence<'_>> = texts
            .iter()
            .zip(0..)
            .map(|(text, i)| Sequence {
                text,
                seed: Seed::root(3).at(i),
                max_new_tokens: MaxNewTokens::Tokens(3 + i as usize % 9),
                banned: &[],
            })
            .collect();
        let sample =
            |logits: &mut [f32], stream: &mut Stream| stream.softmax_over(logits, f64::from) as u32;
        let prompt = Prompt::new("Say : {}\nNow :");
        let run = |threads: usize, memory: usize, batch: usize| {
            let model = LocalModel::load(fixture.open("config.json"), plain(memory)).unwrap();
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                sequences
                    .chunks(batch)
                    .flat_map(|sequences| model.generate(&prompt, sequences, &sample).unwrap())
                    .map(Result::unwrap)
                    .collect::<Vec<_>>()
            })
        };
        let first = run(1, 1 << 30, 64);
        assert!(first.iter().zip(&sequences).all(|(made, sequence)| {
            sequence.max_new_tokens == MaxNewTokens::Tokens(made.tokens.len())
                || !made.tokens.is_empty()
        }));
        for (threads, memory, batch) in [(2, 1 << 30, 64), (1, 130_000, 7), (2, 260_000, 1)] {
            assert_eq!(
                run(threads, memory, batch),
                first,
                "{architecture} {threads} {memory} {batch}"
            );
        }
        // The filled prompt as a text of its own has no template to share.
        let alone = load(&fixture);
        let filled: Vec<String> = texts.iter().map(|text| prompt.fill(text)).collect();
        let sequences: Vec<Sequence<'_>> = sequences
            .iter()
            .zip(&filled)
            .map(|(sequence, text)| Sequence { text, ..*sequence })
            .collect();
        let unshared = alone
            .generate(&Prompt::new("{}"), &sequences, &sample)
            .unwrap();
        let unshared: Vec<_> = unshared.into_iter().map(Result::unwrap).collect();
        assert_eq!(
            unshared, first,
            "{architecture}: a shared prefix changed bits"
        );
    }
}

#[test]
fn teacher_forcing_agrees_with_the_logits() {
    for architecture in ["llama", "t5", "bart"] {
        let fixture = Fixture::read(architecture);
        let checkpoint = fixture.open("config.json");
        let model = load(&fixture);
        let prompt = Prompt::new("Say: {}");
        let pairs = [
            ("the weather", " is it like"),
            ("in Boston", ""),
            ("x", " what?"),
        ];
        let scores = model.log_likelihood(&prompt, &pairs).unwrap();
        let weigh = |logits: &[f32], tokens: &[u32]| ln_softmax_over(logits, tokens, f64::from);
        let follow = |pairs: &[(&str, &str)]| -> Vec<Followed> {
            let followed = model.follow(&prompt, pairs, &weigh).unwrap();
            followed.into_iter().map(Result::unwrap).collect()
        };
        let followed = follow(&pairs);
        for (((text, continuation), score), followed) in pairs.iter().zip(scores).zip(followed) {
            let ids = |text: &str, special| checkpoint.encode(text, special).unwrap();
            let prompt = ids(&prompt.fill(text), true);
            let written = ids(continuation, false);
            let (source, start) = if architecture == "llama" {
                (vec![], prompt)
            } else {
                let start = fixture.cases.iter().find(|c| !c.decoder_ids.is_empty());
                (prompt, start.unwrap().decoder_ids[..1].to_vec())
            };
            let row = [&start[..], &written].concat();
            let logits = model.logits(&source, &row).unwrap();
            let expected = log_probability(&logits, &row, start.len());
            let score = score.unwrap();
            assert_eq!(score.tokens, written.len());
            assert!(
                (score.total - expected).abs() < 1e-4,
                "{architecture}: {score:?} for {expected}"
            );
            assert_eq!(followed.likelihood, score, "{architecture}");
            let ended = [&row[..], &[END]].concat();
            let logits = model.logits(&source, &ended).unwrap();
            let expected = log_probability(&logits, &ended, row.len());
            assert!(
                (followed.end - expected).abs() < 1e-4,
                "{architecture}: {followed:?} for an end of {expected}"
            );
            assert_eq!(follow(&[(text, continuation)]), [followed], "alone");
        }
    }
}

#[test]
fn what_does_not_fit_fails_for_its_own_lane_alone() {
    let fixture = Fixture::read("llama");
    let model = load(&fixture);
    let long = "the weather ".repeat(10_000);
    let sequence = |text| Sequence {
        text,
        seed: Seed::root(1),
        max_new_tokens: MaxNewTokens::Tokens(4),
        banned: &[],
    };
    let sequences = [sequence("the"), sequence(&long), sequence("it's")];
    let made = model
        .generate(&Prompt::new("{}"), &sequences, &greedy)
        .unwrap();
    assert!(made[0].is_ok() && made[2].is_ok());
    let reason = made[1].as_ref().unwrap_err();
    assert!(reason.reason.contains("room for"), "{reason}");
    let small = LocalModel::load(fixture.open("config.json"), plain(20_000)).unwrap();
    // Memory is the machine's limit and never a trial's outcome.
    let error = small
        .generate(&Prompt::new("{}"), &[sequence(&"the ".repeat(20))], &greedy)
        .unwrap_err();
    assert!(error.to_string().contains("--memory"), "{error}");
}

#[test]
fn chat_models_are_addressed_by_their_template() {
    let fixture = Fixture::read("llama");
    let chat = LocalModel::load(fixture.open("config.json"), Options::default()).unwrap();
    let prompt = Prompt::new("what is it like in {}");
    let text = "Boston?";
    let wrapped = "<|im_start|>user\nwhat is it like in Boston?<|im_end|>\n<|im_start|>assistant\n";
    let checkpoint = fixture.open("config.json");
    assert_eq!(
        chat.prompt_tokens(&prompt, text).unwrap(),
        checkpoint.encode(wrapped, true).unwrap().len()
    );
    assert!(
        fixture.expected["chat"]["prompt"]
            .as_str()
            .unwrap()
            .ends_with("<|im_start|>assistant\n")
    );
}
