//! Vectors that a model made of texts, kept on disk, so that another run over the same texts reads nothing again: the states of a
//! masked language model, and sentence vectors.
//!
//! # Format
//! One file for each model, only ever appended to: records of one size, each `MARK`, the key of what was read, the numbers of
//! its vector (f32, little-endian), and the first eight bytes of the SHA-256 of key and numbers. A batch is a single
//! write to a file opened for appending, so processes may share it. After a torn record (a kill, a full disk) the next
//! one is found by its mark. Only an index is in memory. Records are checked when the file is opened and when they are
//! read; a damaged one counts as missing.
//!
//! A vector tells what its text says: the file belongs to whoever may read the texts, and is made so that nobody else may
//! open it.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use teda_core::{Error, Result, State};

/// Identifies what was read: a digest of it.
pub type Key = [u8; 32];

/// Begins a record.
const MARK: [u8; 8] = *b"teda.st1";
const KEY: usize = size_of::<Key>();
const CHECK: usize = 8;

/// The vectors of one model on disk.
pub struct Disk {
    path: PathBuf,
    /// Numbers in a vector.
    numbers: usize,
    open: Mutex<Open>,
}

struct Open {
    file: File,
    /// Where the record of a key begins.
    index: HashMap<Key, u64>,
}

impl Disk {
    /// Opens the file at `path`, with its directory made if necessary, for vectors of `numbers` numbers.
    ///
    /// # Errors
    /// Failed, if it cannot be opened or read.
    pub fn open(path: &Path, numbers: usize) -> Result<Self> {
        let failed = |error| failed(path, "open", &error);
        let directory = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            // Anybody who may write into the directory could have put a link to somebody else's file there.
            options.mode(0o600).custom_flags(libc::O_NOFOLLOW);
        }
        let file = options.open(path).map_err(failed)?;
        let index = index(&file, record(numbers)).map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            numbers,
            open: Mutex::new(Open { file, index }),
        })
    }

    /// The vector kept for `key`.
    ///
    /// # Errors
    /// Failed, if the file cannot be read.
    pub fn get(&self, key: &Key) -> Result<Option<State>> {
        let mut record = vec![0; record(self.numbers)];
        {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(start) = open.index.get(key).copied() else {
                return Ok(None);
            };
            open.file
                .seek(SeekFrom::Start(start))
                .and_then(|_| open.file.read_exact(&mut record))
                .map_err(|error| failed(&self.path, "read", &error))?;
        }
        let (content, check) = record[MARK.len()..].split_at(KEY + 4 * self.numbers);
        let sound = content.starts_with(key) && *check == checksum(content);
        Ok(sound.then(|| {
            let numbers = content[KEY..].chunks_exact(4);
            numbers
                .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
                .collect()
        }))
    }

    /// Keeps vectors.
    ///
    /// # Errors
    /// Failed, if they cannot be written.
    pub fn put<'a>(&self, states: impl Iterator<Item = (&'a Key, &'a State)>) -> Result<()> {
        let mut bytes = Vec::new();
        let mut keys = Vec::new();
        for (key, state) in states {
            bytes.extend_from_slice(&MARK);
            let start = bytes.len();
            bytes.extend_from_slice(key);
            bytes.extend(state.iter().flat_map(|number| number.to_le_bytes()));
            let check = checksum(&bytes[start..]);
            bytes.extend_from_slice(&check);
            keys.push(*key);
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let end = open
            .file
            .write_all(&bytes)
            .and_then(|()| open.file.stream_position())
            .map_err(|error| failed(&self.path, "write", &error))?;
        // Other processes append too: only the position after the write shows where it went.
        let start = end.saturating_sub(bytes.len() as u64);
        let size = record(self.numbers) as u64;
        open.index.extend(
            keys.into_iter()
                .zip((0..).map(|place| start + place * size)),
        );
        Ok(())
    }
}

/// Bytes of a record.
fn record(numbers: usize) -> usize {
    MARK.len() + KEY + 4 * numbers + CHECK
}

fn checksum(content: &[u8]) -> [u8; CHECK] {
    let digest = Sha256::digest(content);
    std::array::from_fn(|byte| digest[byte])
}

/// Where each key's record begins.
fn index(file: &File, size: usize) -> std::io::Result<HashMap<Key, u64>> {
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut index = HashMap::new();
    let mut record = Vec::new();
    let mut start = 0;
    loop {
        let missing = (size - record.len()) as u64;
        if reader.by_ref().take(missing).read_to_end(&mut record)? < missing as usize {
            return Ok(index);
        }
        let (content, check) = record[MARK.len()..].split_at(size - MARK.len() - CHECK);
        let skipped = if record.starts_with(&MARK) && *check == checksum(content) {
            index.insert(std::array::from_fn(|byte| content[byte]), start);
            size
        } else {
            // Part of a torn record: the next mark may begin the next one.
            let mut after = record[1..].windows(MARK.len());
            after
                .position(|bytes| bytes == MARK)
                .map_or(size - MARK.len() + 1, |place| place + 1)
        };
        record.drain(..skipped);
        start += skipped as u64;
    }
}

fn failed(path: &Path, what: &str, error: &std::io::Error) -> Error {
    Error::failed(format!(
        "{}: cannot {what} what a model made of texts: {error}",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> Key {
        [number; KEY]
    }

    fn state(number: u8) -> State {
        [f32::from(number), -0.5, f32::MIN_POSITIVE].into()
    }

    fn put(disk: &Disk, numbers: &[u8]) {
        let all: Vec<(Key, State)> = numbers.iter().map(|n| (key(*n), state(*n))).collect();
        disk.put(all.iter().map(|(key, state)| (key, state)))
            .unwrap();
    }

    fn has(disk: &Disk, numbers: &[u8]) {
        for number in 0..9 {
            let expected = numbers.contains(&number).then(|| state(number));
            assert_eq!(disk.get(&key(number)).unwrap(), expected, "{number}");
        }
    }

    #[test]
    fn states_outlive_the_object_and_writers_share_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("states").join("model");
        let one = Disk::open(&path, 3).unwrap();
        let other = Disk::open(&path, 3).unwrap();
        put(&one, &[1, 2]);
        put(&other, &[3]);
        put(&one, &[4]);
        has(&one, &[1, 2, 4]);
        has(&other, &[3]);
        has(&Disk::open(&path, 3).unwrap(), &[1, 2, 3, 4]);
    }

    #[test]
    fn a_torn_or_changed_record_costs_itself_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model");
        put(&Disk::open(&path, 3).unwrap(), &[1, 2]);
        let size = record(3);
        let bytes = std::fs::read(&path).unwrap();
        for torn in [1, 7, 8, 30, size - 1] {
            std::fs::write(&path, &bytes[..size + torn]).unwrap();
            put(&Disk::open(&path, 3).unwrap(), &[3, 4]);
            has(&Disk::open(&path, 3).unwrap(), &[1, 3, 4]);
        }
        let mut changed = bytes;
        changed[MARK.len() + KEY + 2] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        has(&Disk::open(&path, 3).unwrap(), &[2]);
    }

    #[cfg(unix)]
    #[test]
    fn it_is_its_owner_s_and_no_link() {
        use std::os::unix::fs::MetadataExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model");
        drop(Disk::open(&path, 3).unwrap());
        assert_eq!(path.metadata().unwrap().mode() & 0o077, 0);
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(Disk::open(&link, 3).is_err());
    }
}
