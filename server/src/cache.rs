//! Answers kept on disk, so that a resumed or repeated run pays for none of them twice.
//!
//! # Format
//! One file for each server and model, JSON lines `{"key": …, "answer": …, "tokens": …}`, only ever appended to. The
//! key is SHA-256 over the endpoint, the request's body and the digest of the trial's seed: the same request in
//! another trial is another entry, because it stands for fresh coins. A sentence vector is keyed by its text. Neither
//! requests nor failures are kept.
//!
//! # Concurrent writers, kills
//! An entry is a single write to a file opened for appending, so processes may share it. A last line without its end
//! (a kill, a full disk) is ended on opening and then skipped like any other invalid line. Only an index of positions
//! is in memory; an entry's key is compared when it is read.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use teda_core::digest::hexadecimal;
use teda_core::{Error, Result, Seed};

/// Identifies an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// The key of `body` posted to `path`, for the coins of `seed` if any are involved.
    pub fn of(path: &str, body: &[u8], seed: Option<&Seed>) -> Self {
        let digest = Sha256::new()
            .chain_update((path.len() as u64).to_le_bytes())
            .chain_update(path)
            .chain_update((body.len() as u64).to_le_bytes())
            .chain_update(body)
            .chain_update(seed.map_or([0; 32], Seed::digest))
            .finalize();
        Self(digest.into())
    }

    /// The key of the same request for part `part` of its answer.
    pub fn with(&self, part: u64) -> Self {
        Self::of("part", &[&self.0[..], &part.to_le_bytes()].concat(), None)
    }

    fn hex(&self) -> String {
        hexadecimal(&self.0)
    }
}

/// The first half of a key in hexadecimal digits: enough to find an entry.
fn short(key: &str) -> Option<u128> {
    u128::from_str_radix(key.get(..32)?, 16).ok()
}

#[derive(Serialize)]
struct Entry<'a> {
    key: &'a str,
    answer: &'a Value,
    tokens: u64,
}

/// A stored answer.
#[derive(Debug, PartialEq, Deserialize)]
pub struct Kept {
    key: String,
    /// What was read from the server's answer.
    pub answer: Value,
    /// What it cost.
    pub tokens: u64,
}

/// The parts of an entry that an index needs.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    key: &'a str,
    #[serde(rename = "answer")]
    _answer: serde::de::IgnoredAny,
}

/// The answers of one model on one server.
pub struct Cache {
    path: PathBuf,
    /// Opened on first use.
    open: Mutex<Option<Open>>,
}

struct Open {
    file: File,
    /// Where the line of a key begins, and its length in bytes.
    index: HashMap<u128, (u64, u32)>,
}

impl Cache {
    /// The answers of `model` at `base` below `directory`, which is created if necessary.
    ///
    /// # Errors
    /// Failed, if the directory cannot be created.
    pub fn new(directory: &Path, base: &str, model: &str) -> Result<Self> {
        std::fs::create_dir_all(directory).map_err(|e| {
            Error::failed(format!(
                "{}: the directory for answers cannot be made: {e}",
                directory.display()
            ))
        })?;
        // Readable, and different for different pairs even if the readable part is equal.
        let readable: String = format!("{base}-{model}")
            .trim_start_matches("https://")
            .trim_start_matches("http://")
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '.' {
                    c
                } else {
                    '-'
                }
            })
            .take(80)
            .collect();
        let digest = Key::of(base, model.as_bytes(), None).hex();
        Ok(Self {
            path: directory.join(format!("{readable}-{}.jsonl", &digest[..12])),
            open: Mutex::new(None),
        })
    }

    /// The answer stored under `key`.
    ///
    /// # Errors
    /// Failed, if the file cannot be read.
    pub fn get(&self, key: &Key) -> Result<Option<Kept>> {
        let hex = key.hex();
        let mut open = self.lock();
        let open = self.opened(&mut open)?;
        let Some((start, length)) = short(&hex).and_then(|short| open.index.get(&short)) else {
            return Ok(None);
        };
        let mut line = vec![0; *length as usize];
        open.file
            .seek(SeekFrom::Start(*start))
            .and_then(|_| open.file.read_exact(&mut line))
            .map_err(|e| self.failed("read", &e))?;
        let kept = serde_json::from_slice::<Kept>(&line).ok();
        Ok(kept.filter(|kept| kept.key == hex))
    }

    /// Stores `answer`, which cost `tokens`, under `key`.
    ///
    /// # Errors
    /// Failed, if it cannot be written.
    pub fn put(&self, key: &Key, answer: &Value, tokens: u64) -> Result<()> {
        let hex = key.hex();
        let entry = Entry {
            key: &hex,
            answer,
            tokens,
        };
        let mut line = serde_json::to_vec(&entry).map_err(|e| self.failed("write", &e.into()))?;
        line.push(b'\n');
        let mut open = self.lock();
        let open = self.opened(&mut open)?;
        let written = open
            .file
            .write(&line)
            .map_err(|e| self.failed("write", &e))?;
        if written < line.len() {
            let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(self.failed("write", &full));
        }
        // Other processes append too: only the position after the write shows where it went.
        let end = open
            .file
            .stream_position()
            .map_err(|e| self.failed("read", &e))?;
        let (Some(short), Some(start)) = (short(&hex), end.checked_sub(line.len() as u64)) else {
            return Ok(());
        };
        open.index.insert(short, (start, line.len() as u32 - 1));
        Ok(())
    }

    fn opened<'a>(&self, open: &'a mut Option<Open>) -> Result<&'a mut Open> {
        if open.is_none() {
            *open = Some(self.load().map_err(|e| self.failed("open", &e))?);
        }
        Ok(open.as_mut().expect("it was just opened"))
    }

    fn load(&self) -> std::io::Result<Open> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        // Anybody who may write into the directory could have put a link to somebody else's file there.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
        let file = options
            .open(&self.path)
            .map_err(|error| match self.path.is_symlink() {
                true => std::io::Error::new(
                    error.kind(),
                    "it is a symbolic link, and is not opened through one; remove it",
                ),
                false => error,
            })?;
        let mut index = HashMap::new();
        let mut reader = BufReader::with_capacity(1 << 20, &file);
        let mut line = Vec::new();
        let mut start = 0;
        loop {
            line.clear();
            let length = reader.read_until(b'\n', &mut line)?;
            if length == 0 {
                break;
            }
            if line.last() != Some(&b'\n') {
                (&file).write_all(b"\n")?;
                break;
            }
            let head = serde_json::from_slice::<Head<'_>>(&line).ok();
            if let Some(short) = head.and_then(|head| short(head.key)) {
                index.insert(short, (start, length as u32 - 1));
            }
            start += length as u64;
        }
        Ok(Open { file, index })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, what: &str, error: &std::io::Error) -> Error {
        Error::failed(format!(
            "{}: cannot {what} the answers of the model server: {error}",
            self.path.display()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cache(directory: &Path) -> Cache {
        Cache::new(directory, "http://h/v1", "org/m").unwrap()
    }

    fn answer(cache: &Cache, number: u64) -> Option<Value> {
        cache.get(&key(number)).unwrap().map(|kept| kept.answer)
    }

    fn key(number: u64) -> Key {
        Key::of("completions", b"body", Some(&Seed::root(number)))
    }

    #[test]
    fn keys_tell_endpoint_body_and_seed_apart() {
        let keys = [
            key(0),
            key(1),
            Key::of("completions", b"body", None),
            Key::of("completions", b"bodx", None),
            Key::of("completionsb", b"ody", None),
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(key), "{i}");
        }
    }

    #[test]
    fn answers_outlive_the_object_and_belong_to_one_model() {
        let directory = tempfile::tempdir().unwrap();
        let first = cache(directory.path());
        for number in 0..5 {
            assert_eq!(answer(&first, number), None);
            first.put(&key(number), &json!(["ä", number]), 7).unwrap();
            assert_eq!(answer(&first, number), Some(json!(["ä", number])));
        }
        let second = cache(directory.path());
        assert_eq!(second.get(&key(3)).unwrap().unwrap().tokens, 7);
        assert_eq!(answer(&second, 3), Some(json!(["ä", 3])));
        let other = Cache::new(directory.path(), "http://h/v1", "org-m").unwrap();
        assert_eq!(answer(&other, 3), None);
    }

    #[test]
    fn a_torn_line_costs_itself_alone() {
        let directory = tempfile::tempdir().unwrap();
        let first = cache(directory.path());
        first.put(&key(0), &json!("zero"), 7).unwrap();
        first.put(&key(1), &json!("one"), 7).unwrap();
        let path = first.path.clone();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 4]).unwrap();
        let second = cache(directory.path());
        assert_eq!(answer(&second, 0), Some(json!("zero")));
        assert_eq!(answer(&second, 1), None);
        second.put(&key(2), &json!("two"), 7).unwrap();
        let third = cache(directory.path());
        assert_eq!(answer(&third, 1), None);
        assert_eq!(answer(&third, 2), Some(json!("two")));
    }

    #[cfg(unix)]
    #[test]
    fn answers_are_not_written_through_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let precious = directory.path().join("precious");
        std::fs::write(&precious, "mine").unwrap();
        let cache = cache(directory.path());
        std::os::unix::fs::symlink(&precious, &cache.path).unwrap();
        let error = cache.put(&key(0), &json!("zero"), 7).unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
        assert_eq!(std::fs::read(&precious).unwrap(), b"mine");
    }

    #[test]
    fn several_writers_do_not_disturb_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let writers: Vec<Cache> = (0..4).map(|_| cache(directory.path())).collect();
        std::thread::scope(|scope| {
            for (index, writer) in writers.iter().enumerate() {
                scope.spawn(move || {
                    for number in 0..50 {
                        let number = number * 4 + index as u64;
                        writer.put(&key(number), &json!(number), 7).unwrap();
                        assert_eq!(answer(writer, number), Some(json!(number)));
                    }
                });
            }
        });
        let reader = cache(directory.path());
        for number in 0..200 {
            assert_eq!(answer(&reader, number), Some(json!(number)));
        }
    }
}
