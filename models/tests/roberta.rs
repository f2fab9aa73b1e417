//! The RoBERTa forward pass against transformers' logits, and its refusals.

use std::fs;
use std::path::{Path, PathBuf};

use ndarray::{Array2, Axis};
use safetensors::SafeTensors;
use serde::Deserialize;
use teda_models::{Checkpoint, MaskedLm, Row};

const CASES: &[u8] = include_bytes!("fixtures/infill_logits.json");
const EXPECTED: &[u8] = include_bytes!("fixtures/infill_logits.safetensors");

#[derive(Deserialize)]
struct Fixture {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    ids: Vec<u32>,
    positions: Vec<usize>,
}

fn builtin() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("builtin/infill")
}

fn load() -> MaskedLm {
    MaskedLm::load(&Checkpoint::open("infill", &builtin()).unwrap()).unwrap()
}

fn cases() -> Vec<Case> {
    serde_json::from_slice::<Fixture>(CASES).unwrap().cases
}

fn words(name: &str) -> Vec<u32> {
    let file = SafeTensors::deserialize(EXPECTED).unwrap();
    let data = file.tensor(name).unwrap().data();
    data.as_chunks::<4>()
        .0
        .iter()
        .map(|b| u32::from_le_bytes(*b))
        .collect()
}

fn expected(name: &str, rows: usize) -> Array2<f32> {
    let values: Vec<f32> = words(name).iter().map(|w| f32::from_bits(*w)).collect();
    Array2::from_shape_vec((rows, values.len() / rows), values).unwrap()
}

fn largest_difference(a: &Array2<f32>, b: &Array2<f32>) -> f32 {
    assert_eq!(a.dim(), b.dim());
    let differences = a.iter().zip(b).map(|(x, y)| (x - y).abs());
    differences.fold(0.0, |highest, d| {
        if d > highest || d.is_nan() {
            d
        } else {
            highest
        }
    })
}

#[test]
fn logits_and_hidden_states_agree_with_transformers() {
    let cases = cases();
    let rows: Vec<Row<'_>> = cases
        .iter()
        .map(|case| Row {
            tokens: &case.ids,
            asked: &case.positions,
        })
        .collect();
    let model = load();
    let states = model.hidden_states(&rows).unwrap();
    let first: Vec<usize> = (0..cases.len()).map(|case| 2 * case).collect();
    let difference = largest_difference(
        &states.select(Axis(0), &first),
        &expected("hidden", cases.len()),
    );
    assert!(difference <= 1e-4, "hidden states differ by {difference:e}");

    let columns = words("columns");
    let model = model.restricted_to(&columns).unwrap();
    let logits = model.logits(&rows).unwrap();
    let difference = largest_difference(&logits, &expected("logits", 2 * cases.len()));
    assert!(difference <= 1e-4, "logits differ by {difference:e}");
    println!("largest difference of the logits: {difference:e}");

    // A restricted decoder and a row on its own give the same bits.
    let all = load().logits(&rows).unwrap();
    let columns: Vec<usize> = columns.iter().map(|c| *c as usize).collect();
    assert_eq!(all.select(Axis(1), &columns), logits);
    for (index, row) in rows.iter().enumerate() {
        let alone = model.logits(&[*row]).unwrap();
        let in_batch = logits.select(Axis(0), &[2 * index, 2 * index + 1]);
        assert_eq!(alone, in_batch, "case {index}");
    }
}

#[test]
fn pads_change_nothing() {
    let model = load();
    let plain = Row {
        tokens: &[0, 326, 4, 607, 2],
        asked: &[2, 4],
    };
    let padded = Row {
        tokens: &[0, 326, 1, 4, 607, 2, 1, 1],
        asked: &[3, 5],
    };
    assert_eq!(
        model.logits(&[plain]).unwrap(),
        model.logits(&[padded]).unwrap()
    );
}

#[test]
fn rows_that_are_no_input_are_refused() {
    let model = load();
    let long = vec![5; model.longest() + 1];
    let refused: [(&[u32], &[usize], &str); 5] = [
        (&[], &[], "row 1: 0 tokens, the model takes 1 to 128"),
        (&long, &[0], "row 1: 129 tokens, the model takes 1 to 128"),
        (
            &[0, 9_999, 2],
            &[1],
            "row 1: token 9999 is outside the model's vocabulary of 8192",
        ),
        (
            &[0, 2],
            &[2],
            "row 1: position 2 is a pad or outside the row of 2",
        ),
        (
            &[0, 1, 2],
            &[1],
            "row 1: position 1 is a pad or outside the row of 3",
        ),
    ];
    for (tokens, asked, message) in refused {
        let good = Row {
            tokens: &[0, 2],
            asked: &[],
        };
        let error = model.logits(&[good, Row { tokens, asked }]).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    assert_eq!(model.logits(&[]).unwrap().dim(), (0, 8_192));
    let silent = Row {
        tokens: &long[1..],
        asked: &[],
    };
    assert_eq!(model.logits(&[silent]).unwrap().dim(), (0, 8_192));
    let outside = load().restricted_to(&[8_192]).err().unwrap();
    assert_eq!(
        outside.to_string(),
        "token 8192 is outside the model's vocabulary of 8192"
    );
}

#[test]
fn a_wrong_configuration_is_named_with_tensor_and_shapes() {
    let refused = |config: &str| {
        let directory = tempfile::tempdir().unwrap();
        for name in ["model.safetensors", "tokenizer.json"] {
            fs::copy(builtin().join(name), directory.path().join(name)).unwrap();
        }
        fs::write(directory.path().join("config.json"), config).unwrap();
        let error = MaskedLm::load(&Checkpoint::open("m", directory.path()).unwrap())
            .err()
            .unwrap();
        assert!(matches!(error, teda_core::Error::Failed(_)));
        let text = error.to_string();
        assert!(text.starts_with("model 'm': "), "{text}");
        text
    };
    let config = fs::read_to_string(builtin().join("config.json")).unwrap();
    for (from, to, message) in [
        (
            "576",
            "640",
            "model.safetensors: tensor 'roberta.encoder.layer.0.intermediate.dense.weight' has shape \
             [576, 192], expected [640, 192]",
        ),
        (
            "\"num_hidden_layers\": 3",
            "\"num_hidden_layers\": 4",
            "model.safetensors: tensor 'roberta.encoder.layer.3.attention.self.query.weight' of shape \
             [192, 192] is missing",
        ),
        (
            "\"num_attention_heads\": 4",
            "\"num_attention_heads\": 5",
            "config.json: a width of 192 is not a multiple of 5 heads",
        ),
        ("relu", "mish", "unknown variant `mish`"),
        (
            "\"roberta\"",
            "\"t5\"",
            "model_type 't5' is not a masked language model; known: roberta",
        ),
    ] {
        let error = refused(&config.replace(from, to));
        assert!(
            error.ends_with(message) || error.contains(message),
            "{error}"
        );
    }
}
