//! LSTM autoencoders against PyTorch (`scripts/models/adept_fixture.py`).

use std::path::Path;

use ndarray::Array2;
use serde::Deserialize;
use teda_core::Autoencoder;
use teda_models::{Checkpoint, LstmAutoencoder};

#[derive(Deserialize)]
struct Expected {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    text: String,
    latent: Vec<f32>,
    made: String,
}

fn fixture() -> (LstmAutoencoder, Vec<Case>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/lstm");
    let model = LstmAutoencoder::load(Checkpoint::open("lstm", &folder).unwrap()).unwrap();
    let expected = std::fs::read(folder.join("expected.json")).unwrap();
    (
        model,
        serde_json::from_slice::<Expected>(&expected).unwrap().cases,
    )
}

#[test]
fn latents_and_texts_are_pytorch_s() {
    let (model, cases) = fixture();
    let texts: Vec<&str> = cases.iter().map(|case| &case.text[..]).collect();
    let latents = model.encode(&texts).unwrap();
    assert_eq!(latents.ncols(), model.dimension());
    for (case, latent) in cases.iter().zip(latents.rows()) {
        for (ours, theirs) in latent.iter().zip(&case.latent) {
            assert!(
                (ours - theirs).abs() < 1e-5,
                "'{}': {ours}, not {theirs}",
                case.text
            );
        }
    }
    let made = model.decode(latents.view()).unwrap();
    let expected: Vec<&str> = cases.iter().map(|case| &case.made[..]).collect();
    assert_eq!(made, expected);
    assert!(made.iter().any(|text| text.len() > 5), "{made:?}");
}

#[test]
fn a_row_has_the_same_bits_in_any_batch() {
    let (model, cases) = fixture();
    let texts: Vec<&str> = cases
        .iter()
        .map(|case| &case.text[..])
        .cycle()
        .take(77)
        .collect();
    let all = model.encode(&texts).unwrap();
    let made = model.decode(all.view()).unwrap();
    for (row, text) in texts.iter().enumerate().take(5) {
        let alone = model.encode(&[text]).unwrap();
        assert_eq!(alone.row(0), all.row(row), "{text}");
        assert_eq!(model.decode(alone.view()).unwrap(), made[row..=row]);
    }
    assert_eq!(
        model.encode(&[]).unwrap(),
        Array2::<f32>::zeros((0, model.dimension()))
    );
    assert!(model.decode(Array2::zeros((1, 3)).view()).is_err());
}
