//! Reading a fixture directory.

use std::fs;
use std::path::{Path, PathBuf};

use candle_core::Device;
use ndarray::Array2;
use safetensors::SafeTensors;
use serde::Deserialize;
use teda_models::{Backend, Checkpoint};

/// Single precision against single precision, over a few layers.
pub const TOLERANCE: f32 = 1e-4;

pub const BACKENDS: [Backend; 2] = [Backend::F32, Backend::Candle(Device::Cpu)];

#[derive(Deserialize)]
pub struct Case {
    pub ids: Vec<u32>,
    #[serde(default)]
    pub decoder_ids: Vec<u32>,
    pub text: Option<String>,
    #[serde(default)]
    pub greedy: Vec<u32>,
    #[serde(default)]
    pub log_prob: f64,
}

pub struct Fixture {
    architecture: &'static str,
    pub cases: Vec<Case>,
    pub expected: serde_json::Value,
}

pub fn path(architecture: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(architecture)
}

impl Fixture {
    pub fn read(architecture: &'static str) -> Self {
        let bytes = fs::read(path(architecture).join("expected.json")).unwrap();
        let mut expected: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        Self {
            architecture,
            cases: serde_json::from_value(expected["cases"].take()).unwrap(),
            expected,
        }
    }

    /// The checkpoint with the configuration in `config`. Directories without a tokenizer are read
    /// with the one that all vocabularies are of.
    pub fn open(&self, config: &str) -> Checkpoint {
        let from = path(self.architecture);
        let to = tempfile::tempdir().unwrap();
        let copy = |from: &Path, name: &str| {
            if from.exists() {
                fs::copy(from, to.path().join(name)).unwrap();
            }
        };
        copy(&from.join(config), "config.json");
        copy(&path("llama").join("tokenizer.json"), "tokenizer.json");
        for name in [
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
        ] {
            copy(&from.join(name), name);
        }
        // An open file stays readable after its directory is gone.
        Checkpoint::open(self.architecture, to.path()).unwrap()
    }

    /// The configurations that are there: transformers' newest layout, and the classic one.
    pub fn configurations(&self) -> Vec<&'static str> {
        ["config.json", "config-classic.json"]
            .into_iter()
            .filter(|name| path(self.architecture).join(name).exists())
            .collect()
    }

    pub fn array(&self, name: &str) -> Array2<f32> {
        array(&path(self.architecture).join("expected.safetensors"), name)
    }
}

pub fn array(file: &Path, name: &str) -> Array2<f32> {
    let bytes = fs::read(file).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensor = file.tensor(name).unwrap();
    let values = tensor
        .data()
        .as_chunks::<4>()
        .0
        .iter()
        .map(|b| f32::from_le_bytes(*b));
    let columns = *tensor.shape().last().unwrap();
    let values: Vec<f32> = values.collect();
    Array2::from_shape_vec((values.len() / columns, columns), values).unwrap()
}

/// The columns of a case's logits that were recorded.
pub fn recorded(case: usize, logits: &Array2<f32>) -> Array2<f32> {
    let columns: Vec<usize> = (case % 8..logits.ncols()).step_by(8).collect();
    logits.select(ndarray::Axis(1), &columns)
}

#[track_caller]
pub fn assert_close(what: &str, found: &Array2<f32>, expected: &Array2<f32>) {
    assert_eq!(found.dim(), expected.dim(), "{what}");
    for ((place, a), b) in found.indexed_iter().zip(expected) {
        let difference = (a - b).abs();
        assert!(
            difference <= TOLERANCE * b.abs().max(1.0),
            "{what} at {place:?}: {a} for {b}"
        );
    }
}
