//! GGUF files against the dequantised weights under transformers, and files that are broken.

use std::fs;
use std::path::Path;

use teda_models::generate::Options;
use teda_models::{Backend, Checkpoint, LocalModel, SentenceEncoder};

use crate::fixture::{Fixture, array, assert_close, path, recorded};

fn model(checkpoint: Checkpoint) -> teda_core::Result<LocalModel> {
    LocalModel::on(checkpoint, Options::default(), &Backend::F32)
}

#[test]
fn dequantised_weights_agree_with_transformers() {
    for (architecture, kinds) in [
        ("llama", &["f16", "q8_0", "q4_1"][..]),
        ("qwen3", &["q8_0"]),
        ("gemma3", &["q8_0"]),
    ] {
        let fixture = Fixture::read(architecture);
        let directory = path(architecture);
        for kind in kinds {
            let file = directory.join(format!("model-{kind}.gguf"));
            let checkpoint = Checkpoint::open(kind, &file).unwrap();
            let text = "what is it like in Boston?";
            let reference = Fixture::read("llama").open("config.json");
            assert_eq!(
                checkpoint.encode(text, false).unwrap(),
                reference.encode(text, false).unwrap()
            );
            let model = model(checkpoint).unwrap();
            for case in [2, 4] {
                let logits = model.logits(&[], &fixture.cases[case].ids).unwrap();
                let name = format!("{kind}.case{case}.logits");
                let expected = array(&directory.join("expected-gguf.safetensors"), &name);
                let what = format!("{architecture} {name}");
                assert_close(&what, &recorded(case, &logits), &expected);
            }
        }
    }
}

#[track_caller]
fn refused(what: &str, path: &Path, parts: &[&str]) {
    let error = Checkpoint::open("mine", path)
        .and_then(|checkpoint| model(checkpoint).map(|_| ()))
        .expect_err(what)
        .to_string();
    for part in parts {
        assert!(error.contains(part), "{what}: {error}");
    }
}

#[test]
fn broken_and_wrong_files_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let gguf = fs::read(path("llama").join("model-q8_0.gguf")).unwrap();
    for length in [0, 3, 40, 2_000, gguf.len() - 1] {
        let file = here.join("cut.gguf");
        fs::write(&file, &gguf[..length]).unwrap();
        refused(
            "a cut GGUF file",
            &file,
            &["cut.gguf", "not a complete GGUF file"],
        );
    }
    refused(
        "no file",
        &here.join("none.gguf"),
        &["none.gguf", "cannot read"],
    );
    refused("an empty directory", here, &["there is no config.json"]);
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        fs::copy(path("llama").join(name), here.join(name)).unwrap();
    }
    let whole = fs::read(here.join("model.safetensors")).unwrap();
    for length in [0, 7, 300, whole.len() - 1] {
        fs::write(here.join("model.safetensors"), &whole[..length]).unwrap();
        let parts = ["model.safetensors", "not a complete safetensors file"];
        refused("a cut safetensors file", here, &parts);
    }
    fs::copy(
        path("qwen3").join("model.safetensors"),
        here.join("model.safetensors"),
    )
    .unwrap();
    let parts = ["model.safetensors", "tensor '", "has shape"];
    refused("another model's weights", here, &parts);
    fs::copy(path("bert").join("config.json"), here.join("config.json")).unwrap();
    refused(
        "an encoder",
        here,
        &["model_type 'bert' is not a language model that generates"],
    );
    fs::copy(path("llama").join("config.json"), here.join("config.json")).unwrap();
    let error = SentenceEncoder::load(Checkpoint::open("mine", here).unwrap())
        .err()
        .unwrap();
    assert!(
        error
            .to_string()
            .contains("is not a sentence encoder; known: bert, mpnet"),
        "{error}"
    );
    fs::write(here.join("config.json"), "{\"model_type\": \"llama\"}").unwrap();
    refused(
        "an empty configuration",
        here,
        &["config.json", "vocab_size"],
    );
    fs::write(here.join("config.json"), "{").unwrap();
    refused("invalid JSON", here, &["config.json", "not JSON"]);
    fs::write(here.join("tokenizer.json"), "{}").unwrap();
    fs::copy(path("llama").join("config.json"), here.join("config.json")).unwrap();
    refused("no tokenizer", here, &["tokenizer.json", "not a tokenizer"]);
}
