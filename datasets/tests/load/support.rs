//! Files to load, and what loading them gives.

use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use teda_core::Error;
use teda_datasets::{Dataset, Limits, Request, load};
use tempfile::TempDir;

/// A folder that is gone with the test.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Path of `name` in it.
    pub fn path(&self, name: &str) -> String {
        let path: PathBuf = self.0.path().join(name);
        path.to_str().unwrap().to_owned()
    }

    /// Writes a file and gives its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

pub fn gzip(content: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content.as_ref()).unwrap();
    encoder.finish().unwrap()
}

pub fn request(source: &str) -> Request {
    Request {
        source: source.to_owned(),
        ..Request::default()
    }
}

/// Loads without standard input.
pub fn try_load(request: &Request) -> Result<Dataset, Error> {
    load(request, Limits::default(), &mut std::io::empty())
}

pub fn dataset(source: &str) -> Dataset {
    try_load(&request(source)).unwrap()
}

pub fn of_split(source: &str, split: &str) -> Result<Dataset, Error> {
    try_load(&Request {
        split: Some(split.to_owned()),
        ..request(source)
    })
}

/// The message of the usage error that loading gives.
pub fn usage(request: &Request) -> String {
    match try_load(request) {
        Err(Error::Usage(message)) => message,
        other => panic!("not a usage error: {other:?}"),
    }
}

/// The message of the failure that loading gives.
pub fn failure(source: &str) -> String {
    match try_load(&request(source)) {
        Err(Error::Failed(message)) => message,
        other => panic!("not a failure: {other:?}"),
    }
}

/// Asserts that `message` has all `parts`.
#[track_caller]
pub fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "'{part}' is not in: {message}");
    }
}
