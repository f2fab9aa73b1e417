//! Determines which files of a repository or directory make up a model.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

/// A result whose error is the end of a sentence.
pub(super) type Told<T> = Result<T, String>;

/// Files that are required for loading, besides the weights.
const NEEDED: [&str; 2] = ["config.json", "tokenizer.json"];

const DIRECTORY: &str = "a model directory needs config.json, tokenizer.json and *.safetensors";

/// Optional files: chat templates, special tokens and, for sentence encoders, how token vectors become one vector.
const WELCOME: [&str; 7] = [
    "1_Pooling/config.json",
    "chat_template.jinja",
    "generation_config.json",
    "modules.json",
    "sentence_bert_config.json",
    "special_tokens_map.json",
    "tokenizer_config.json",
];

const INDEX: &str = "model.safetensors.index.json";
const WEIGHTS: &str = "model.safetensors";

/// The part of an index that maps tensors to files.
#[derive(Deserialize)]
struct Index {
    weight_map: std::collections::BTreeMap<String, String>,
}

/// The files that make up a model, sorted, out of all files `there`. `read` returns the bytes of the index of a model
/// in several files.
///
/// # Errors
/// What is missing, as the end of a sentence that begins with the place.
pub(super) fn select(
    there: &[String],
    read: impl FnOnce(&str) -> Told<Vec<u8>>,
) -> Told<Vec<String>> {
    let has = |name: &str| there.iter().any(|file| file == name);
    let mut taken: BTreeSet<String> = weights(there, read)?.into_iter().collect();
    for name in NEEDED {
        if !has(name) {
            return Err(format!(
                "has no {name}; {DIRECTORY}. If only {name} is missing, transformers' save_pretrained writes it"
            ));
        }
        taken.insert(name.to_owned());
    }
    taken.extend(
        WELCOME
            .iter()
            .filter(|name| has(name))
            .map(|&name| name.to_owned()),
    );
    Ok(taken.into_iter().collect())
}

fn weights(there: &[String], read: impl FnOnce(&str) -> Told<Vec<u8>>) -> Told<Vec<String>> {
    if there.iter().any(|file| file == INDEX) {
        let index: Index = serde_json::from_slice(&read(INDEX)?)
            .map_err(|e| format!("has a broken {INDEX}: {e}"))?;
        let mut files: BTreeSet<String> = index.weight_map.into_values().collect();
        // A name with directories could lead outside the place where the files are put.
        let missing = |shard: &&String| shard.contains(['/', '\\']) || !there.contains(shard);
        if let Some(shard) = files.iter().find(missing) {
            return Err(format!("lacks {shard}, which {INDEX} names"));
        }
        files.insert(INDEX.to_owned());
        return Ok(files.into_iter().collect());
    }
    let tensors: Vec<&String> = there
        .iter()
        .filter(|file| file.ends_with(".safetensors") && !file.contains('/'))
        .collect();
    match tensors.as_slice() {
        _ if there.iter().any(|file| file == WEIGHTS) => Ok(vec![WEIGHTS.to_owned()]),
        [only] => Ok(vec![(*only).clone()]),
        [] => Err(without_tensors(there)),
        several => Err(format!(
            "has {} safetensors files and neither {WEIGHTS} nor {INDEX} to say which are the model",
            several.len()
        )),
    }
}

/// Why there are no weights to load, and what can be done with the files there are.
fn without_tensors(there: &[String]) -> String {
    let named = |ending: &str| there.iter().find(|file| file.ends_with(ending));
    if let Some(gguf) = named(".gguf") {
        return format!("has no *.safetensors but GGUF files; name one of them: …/{gguf}");
    }
    let pickle = [".bin", ".pt", ".pth", ".ckpt"].into_iter().find_map(named);
    match pickle {
        Some(pickle) => format!(
            "has no *.safetensors, only the pickle {pickle}, which can run code when it is read and is never loaded; convert it (transformers: save_pretrained with safe_serialization) and name the directory"
        ),
        None => format!("has no *.safetensors; {DIRECTORY}"),
    }
}

/// The files in a directory that may belong to a model, by their names relative to it.
///
/// # Errors
/// If the directory cannot be read.
pub(super) fn files_in(directory: &Path) -> std::io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        // Follows links: the Hugging Face cache is made of them.
        if entry.path().is_file()
            && let Ok(name) = entry.file_name().into_string()
        {
            files.push(name);
        }
    }
    files.extend(
        WELCOME
            .iter()
            .filter(|name| name.contains('/') && directory.join(name).is_file())
            .map(|&name| name.to_owned()),
    );
    files.sort_unstable();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn unread(_: &str) -> Told<Vec<u8>> {
        panic!("no index to read")
    }

    #[test]
    fn one_file_of_weights_and_what_explains_it() {
        let there = files(&[
            "README.md",
            "config.json",
            "model.safetensors",
            "modules.json",
            "onnx/model.onnx",
            "pytorch_model.bin",
            "tokenizer.json",
            "1_Pooling/config.json",
        ]);
        assert_eq!(
            select(&there, unread).unwrap(),
            [
                "1_Pooling/config.json",
                "config.json",
                "model.safetensors",
                "modules.json",
                "tokenizer.json"
            ]
        );
    }

    #[test]
    fn of_several_files_those_that_the_index_names() {
        let there = files(&[
            "config.json",
            "consolidated.safetensors",
            "model-1.safetensors",
            "model-2.safetensors",
            "model.safetensors.index.json",
            "tokenizer.json",
        ]);
        let index = |map: &'static str| move |_: &str| Ok(map.as_bytes().to_vec());
        let taken = select(
            &there,
            index(r#"{"weight_map":{"a":"model-1.safetensors","b":"model-2.safetensors","c":"model-1.safetensors"}}"#),
        )
        .unwrap();
        assert_eq!(taken.len(), 5);
        assert!(!taken.contains(&"consolidated.safetensors".to_owned()));
        let there = [there, files(&["../../x.safetensors"])].concat();
        let missing = select(
            &there,
            index(r#"{"weight_map":{"a":"../../x.safetensors"}}"#),
        );
        assert!(missing.unwrap_err().contains("lacks ../../x.safetensors"));
    }

    #[test]
    fn what_is_missing_is_said() {
        for (there, said) in [
            (vec!["config.json", "tokenizer.json"], "no *.safetensors"),
            (
                vec!["config.json", "tokenizer.json", "pytorch_model.bin"],
                "only the pickle pytorch_model.bin",
            ),
            (vec!["a.Q4_0.gguf"], "…/a.Q4_0.gguf"),
            (
                vec!["config.json", "model.safetensors"],
                "has no tokenizer.json",
            ),
            (
                vec!["a.safetensors", "b.safetensors"],
                "2 safetensors files",
            ),
        ] {
            let error = select(&files(&there), unread).unwrap_err();
            assert!(error.contains(said), "{there:?}: {error}");
        }
    }
}
