//! The bytes of a source, as a whole: read, checked against their claimed format, decompressed.

use std::fs::File;
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use teda_core::{Error, Result, plain};

use crate::cards::Card;
use crate::limits::Limits;
use crate::place::Place;

const GZIP: &[u8] = b"\x1f\x8b";
const PARQUET: &[u8] = b"PAR1";
/// The name of standard input in messages.
pub(crate) const STDIN: &str = "stdin";
const ZIP: &[u8] = b"PK\x03\x04";

/// Bytes read at once.
const CHUNK: usize = 1 << 16;

/// What is about to be read, and the limits on it.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    /// For messages.
    pub(crate) name: &'a str,
    /// The limits on its size.
    pub(crate) limits: Limits,
    /// Whether it is text: if so, no line may be longer than a text.
    pub(crate) lines: bool,
}

/// Opens the file at `path`. A file that is too large is refused before it is read; for a compressed file, the
/// decompressed size counts.
///
/// # Errors
/// Usage, for a missing file and one that is too large; failed, if it cannot be opened.
pub(crate) fn open(path: &Path, compressed: bool, limits: Limits) -> Result<File> {
    let shown = shown(path);
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::usage(format!("there is no file '{shown}'")),
        _ => cannot_read(&shown, &error),
    })?;
    // A device has no size, and is read up to the limit.
    let size = file.metadata().map_or(0, |file| file.len());
    if !compressed {
        limits.check_input(&shown, "has", size)?;
    }
    Ok(file)
}

/// The file of a shipped dataset, decompressed.
///
/// # Errors
/// Failed, if the program is damaged.
pub(crate) fn shipped(card: &Card) -> Result<Vec<u8>> {
    let reading = Reading {
        name: card.name,
        limits: Limits::NONE,
        lines: false,
    };
    reading.gunzip(card.file)
}

/// The name of a file in messages.
pub(crate) fn shown(path: &Path) -> String {
    plain(&path.display().to_string()).into_owned()
}

fn cannot_read(name: &str, error: &io::Error) -> Error {
    Error::failed(format!("cannot read '{name}': {error}"))
}

impl Reading<'_> {
    /// All bytes of `source`.
    ///
    /// # Errors
    /// Usage, if there are more than allowed; failed, if reading fails.
    pub(crate) fn plain(self, source: impl Read) -> Result<Vec<u8>> {
        self.read(source, "has", |error| match self.name {
            STDIN => Error::failed(format!("cannot read standard input: {error}")),
            name => cannot_read(name, error),
        })
    }

    /// Decompresses `packed` with gzip.
    ///
    /// # Errors
    /// Usage, if `packed` is not gzip at all, or unpacks to more than allowed; failed, if it is broken, truncated or
    /// cannot be read.
    pub(crate) fn gunzip(self, mut packed: impl Read) -> Result<Vec<u8>> {
        let name = self.name;
        let mut head = Vec::new();
        let mut begun = packed.by_ref().take(GZIP.len() as u64);
        begun
            .read_to_end(&mut head)
            .map_err(|error| cannot_read(name, &error))?;
        if head != GZIP {
            return Err(Error::usage(format!(
                "'{name}' is not compressed with gzip, whatever its name says: take '.gz' off its name, \
                 or compress it"
            )));
        }
        let packed = BufReader::with_capacity(CHUNK, Cursor::new(head).chain(packed));
        let unpacked = MultiGzDecoder::new(packed);
        self.read(unpacked, "unpacks to", |error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::failed(format!(
                "'{name}' ends in the middle of its compressed data: copy or download it again"
            )),
            _ => Error::failed(format!(
                "cannot decompress '{name}' ({error}): copy or download it again"
            )),
        })
    }

    /// The bytes of a Parquet file; if it does not begin like one, reading stops.
    ///
    /// # Errors
    /// Same as [`Self::plain`].
    pub(crate) fn parquet(self, mut source: impl Read) -> Result<Vec<u8>> {
        let mut head = Vec::new();
        let mut begun = source.by_ref().take(PARQUET.len() as u64);
        begun
            .read_to_end(&mut head)
            .map_err(|error| cannot_read(self.name, &error))?;
        if head != PARQUET {
            return Ok(head);
        }
        self.plain(Cursor::new(head).chain(source))
    }

    fn read(
        self,
        mut source: impl Read,
        what: &str,
        failed: impl Fn(&io::Error) -> Error,
    ) -> Result<Vec<u8>> {
        let (mut bytes, mut chunk) = (Vec::new(), vec![0; CHUNK]);
        let (mut line, mut length) = (1, 0);
        loop {
            let came = match source.read(&mut chunk) {
                Ok(0) => return Ok(bytes),
                Ok(came) => &chunk[..came],
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(&error)),
            };
            if self.lines {
                self.measure(came, &mut line, &mut length)?;
            }
            if (bytes.len() + came.len()) as u64 > self.limits.input {
                return Err(self.limits.endless(self.name, what));
            }
            bytes.extend_from_slice(came);
        }
    }

    /// Refuses a line that is too long as soon as that is known: it may never end.
    fn measure(self, came: &[u8], line: &mut usize, length: &mut u64) -> Result<()> {
        for (number, piece) in came.split(|byte| *byte == b'\n').enumerate() {
            if number > 0 {
                (*line, *length) = (*line + 1, 0);
            }
            *length += piece.len() as u64;
            if *length > self.limits.text {
                return Place::line(self.name, *line).refuse(format_args!(
                    "the line has more than {} bytes, the most that a text may have: see whether the file is text, \
                     or raise --max-text-bytes",
                    self.limits.text
                ));
            }
        }
        Ok(())
    }
}

/// Refuses bytes that are not text but a well-known container, which deserves a better message than "not UTF-8".
///
/// # Errors
/// Usage, saying what they are and what to do.
pub(crate) fn refuse_containers(bytes: &[u8], name: &str) -> Result<()> {
    let what = if bytes.starts_with(GZIP) {
        "compressed with gzip: end the file's name in '.gz', or decompress it"
    } else if is_parquet(bytes) {
        "a Parquet file: end its name in '.parquet'"
    } else if bytes.starts_with(ZIP) {
        "a zip archive or a spreadsheet: extract it, or export the texts as CSV or JSON lines"
    } else {
        return Ok(());
    };
    Err(Error::usage(format!("'{name}' is {what}")))
}

/// Whether `bytes` begin like Parquet.
pub(crate) fn begins_as_parquet(bytes: &[u8]) -> bool {
    bytes.starts_with(PARQUET)
}

/// Whether `bytes` begin and end like Parquet. A match at only one end may be a text about Parquet.
pub(crate) fn is_parquet(bytes: &[u8]) -> bool {
    bytes.len() > 2 * PARQUET.len() && begins_as_parquet(bytes) && bytes.ends_with(PARQUET)
}
