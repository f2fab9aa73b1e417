//! The store against a hub and a `pip` on this machine; no network is used.

mod from_hub;
mod kept;
#[cfg(unix)]
mod packages;
mod server;

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use teda_core::digest::hexadecimal;
use tempfile::TempDir;

use super::environment::Environment;
use super::{Options, Store};
use server::{Behaviour, FakeHub, HubFile};

/// A hub that nobody serves.
const NO_HUB: &str = "http://127.0.0.1:9";

/// Caches of its own.
struct Place {
    root: TempDir,
    endpoint: String,
}

impl Place {
    fn new(endpoint: &str) -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
            endpoint: endpoint.to_owned(),
        }
    }

    fn store(&self, offline: bool) -> Store {
        let environment = Environment {
            cache: self.path("cache"),
            hub_cache: self.path("hf/hub"),
            endpoint: self.endpoint.clone(),
            token: None,
            programs: vec![self.path("bin")],
        };
        Store::within(
            environment,
            Options {
                offline,
                quiet: true,
            },
        )
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file, with the directories that it needs.
    fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Names of what looks like models in the store.
    fn models(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("cache/models"));
        let mut names: Vec<String> = entries
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != ".partial")
            .collect();
        names.sort_unstable();
        names
    }
}

fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Weights long enough to break off in the middle.
fn weights() -> Vec<u8> {
    (0..200_000_u32).flat_map(u32::to_le_bytes).collect()
}

/// A repository with one file of weights and some things that are not wanted.
fn repository() -> Behaviour {
    let small = |name: &str, content: &str| HubFile {
        name: name.to_owned(),
        content: content.as_bytes().to_vec(),
        sha256: None,
    };
    Behaviour {
        files: vec![
            small("README.md", "read me"),
            small("config.json", "{}"),
            small("tokenizer.json", "{\"a\": 1}"),
            small("1_Pooling/config.json", "{\"pooling\": true}"),
            large("model.safetensors", &weights()),
            large("pytorch_model.bin", b"a pickle"),
        ],
        ..Behaviour::default()
    }
}

fn large(name: &str, content: &[u8]) -> HubFile {
    HubFile {
        name: name.to_owned(),
        content: content.to_vec(),
        sha256: Some(sha256(content)),
    }
}

/// Overwrites the middle of a file.
fn damage(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes).unwrap();
}
