//! Models that the user keeps in a directory or file of their own.

use std::path::{Path, PathBuf};

use teda_core::{Error, Result};

use super::Resolved;
use super::layout::{self, Told};
use super::record::measure;

/// The model at `path`, measured: nothing states its expected digests, so there is nothing to compare them with.
///
/// # Errors
/// Usage, if `path` is neither a complete model directory nor a GGUF file; Failed, if it cannot be read.
pub(super) fn resolve(name: &str, path: &Path) -> Result<Resolved> {
    let absolute = path
        .canonicalize()
        .map_err(|e| Error::usage(format!("model {name}: {e}")))?;
    let (directory, names) = if absolute.is_dir() {
        let names = directory(&absolute)
            .map_err(|what| Error::usage(format!("model {name}: the directory {what}")))?;
        (absolute.clone(), names)
    } else {
        file(name, &absolute)?
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Ok(Resolved {
        name: name.to_owned(),
        source: format!("local {}", absolute.display()),
        files: measure(&directory, &names)?,
        path: absolute,
        card: None,
    })
}

/// The files of the model in a directory.
///
/// # Errors
/// What is missing, as the end of a sentence that begins with the directory.
fn directory(path: &Path) -> Told<Vec<String>> {
    let there = layout::files_in(path).map_err(|e| format!("cannot be read: {e}"))?;
    layout::select(&there, |index| {
        std::fs::read(path.join(index))
            .map_err(|e| format!("has {index}, which cannot be read: {e}"))
    })
}

/// The directory of a GGUF file, and its name in it.
fn file(name: &str, path: &Path) -> Result<(PathBuf, Vec<String>)> {
    let parts = path.parent().zip(path.file_name().and_then(|f| f.to_str()));
    match parts {
        Some((parent, file)) if file.ends_with(".gguf") => {
            Ok((parent.to_owned(), vec![file.to_owned()]))
        }
        _ => Err(Error::usage(format!(
            "model {name}: a model is a directory with config.json, tokenizer.json and *.safetensors, or a .gguf file"
        ))),
    }
}
