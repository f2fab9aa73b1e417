//! The Hugging Face hub, and the cache that it shares with other tools.
//!
//! The contents of a repository are queried in one request, whose refusals are explained; files are then downloaded
//! into the cache, which has the layout of `hf-hub`.

mod download;

use std::error::Error as StdError;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hf_hub::{Cache, Repo, RepoType};
use reqwest::StatusCode;
use reqwest::blocking::{Client, RequestBuilder, Response};
use reqwest::redirect::Policy;
use serde::Deserialize;
use teda_core::{Error, Result, listed, shown};

use super::Gathered;
use super::environment::Environment;
use super::layout::{self, Told};
use super::name::Remote;
use super::progress::Progress;
use super::record::Source;
use download::Download;

const CONNECT: Duration = Duration::from_secs(10);
/// How long an answer may take to begin, and a body may stall: a large file may take any time. (Tests do not wait for
/// a minute.)
const STALL: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 60 });
/// Most bytes in a listing: some hundred for each of a hundred thousand files.
const LISTING: u64 = 64 << 20;

/// The hub as named by the environment.
pub(super) struct Hub<'a> {
    environment: &'a Environment,
    progress: Progress,
}

/// The files of a model in the Hugging Face cache.
pub(super) struct Found {
    commit: String,
    snapshot: PathBuf,
    files: Vec<String>,
    listing: Option<Listing>,
    /// Whether some file was there before, and so may be damaged.
    pub(super) reused: bool,
}

/// The hub's data on a revision.
#[derive(Deserialize)]
struct Listing {
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
    lfs: Option<Lfs>,
}

/// The hub's data on a large file.
#[derive(Deserialize)]
struct Lfs {
    sha256: Option<String>,
}

impl Sibling {
    fn sha256(&self) -> Option<&str> {
        self.lfs.as_ref()?.sha256.as_deref()
    }
}

impl<'a> Hub<'a> {
    pub(super) fn new(environment: &'a Environment, progress: Progress) -> Self {
        Self {
            environment,
            progress,
        }
    }

    /// The hub and the request, for messages.
    pub(super) fn title(&self, remote: &Remote) -> String {
        format!(
            "the hub, {}/{} at {}",
            self.environment.endpoint, remote.repository, remote.revision
        )
    }

    /// The cache, for messages.
    pub(super) fn cache_title(&self) -> String {
        format!(
            "the Hugging Face cache, {}",
            self.environment.hub_cache.display()
        )
    }

    /// The cached files of the model, if they are complete.
    pub(super) fn cached(&self, remote: &Remote) -> Option<Found> {
        let cache = self.cache().repo(repo(remote, &remote.revision));
        let own = cache.pointer_path(&remote.revision);
        let snapshot = if own.is_dir() {
            own
        } else {
            let refs = self.folder(remote).join("refs");
            let commit = fs::read_to_string(refs.join(&remote.revision)).ok()?;
            cache.pointer_path(commit.trim())
        };
        let files = match &remote.file {
            Some(file) => snapshot.join(file).is_file().then(|| vec![file.clone()])?,
            None => {
                let there = layout::files_in(&snapshot).ok()?;
                layout::select(&there, |index| read(&snapshot.join(index))).ok()?
            }
        };
        Some(Found {
            commit: snapshot.file_name()?.to_str()?.to_owned(),
            snapshot,
            files,
            listing: None,
            reused: true,
        })
    }

    /// Downloads what the cache lacks of the model, or everything if `force` is set.
    ///
    /// # Errors
    /// Failed, if the hub cannot be reached, refuses, or does not have the model.
    pub(super) fn fetch(&self, remote: &Remote, force: bool) -> Result<Found> {
        let listing = self.listing(remote)?;
        let there: Vec<String> = listing
            .siblings
            .iter()
            .map(|sibling| sibling.rfilename.clone())
            .collect();
        let mut download = Download::new(self, remote, &listing, force)?;
        let files = match &remote.file {
            Some(file) if there.contains(file) => vec![file.clone()],
            Some(file) => return Err(Error::failed(no_such_file(file, &there))),
            None => layout::select(&there, |index| {
                let path = download.file(index).map_err(|e| e.to_string())?;
                read(&path)
            })
            .map_err(|what| Error::failed(format!("the repository {what}")))?,
        };
        for file in &files {
            download.file(file)?;
        }
        let (snapshot, reused) = (download.snapshot, download.reused);
        // Lets the Hugging Face tools find the snapshot by the name that was asked for, and tools built on hf-hub by
        // its own name.
        for revision in [&remote.revision, &listing.sha] {
            let cache = self.cache().repo(repo(remote, revision));
            cache.create_ref(&listing.sha).ok();
        }
        Ok(Found {
            commit: listing.sha.clone(),
            snapshot,
            files,
            listing: Some(listing),
            reused,
        })
    }

    fn cache(&self) -> Cache {
        Cache::new(self.environment.hub_cache.clone())
    }

    /// The repository's folder in the cache.
    fn folder(&self, remote: &Remote) -> PathBuf {
        let name = repo(remote, &remote.revision).folder_name();
        self.environment.hub_cache.join(name)
    }

    fn listing(&self, remote: &Remote) -> Result<Listing> {
        let url = format!(
            "{}/api/models/{}/revision/{}?blobs=true",
            self.environment.endpoint,
            remote.repository,
            remote.revision.replace('/', "%2F")
        );
        let answer = self.send(client(Policy::default())?.get(url))?;
        let status = answer.status();
        if !status.is_success() {
            return Err(self.refusal(remote, &answer));
        }
        let odd = |what: &dyn std::fmt::Display| {
            Error::failed(format!("it did not answer as a hub does: {what}"))
        };
        let mut body = Vec::new();
        let read = answer.take(LISTING + 1).read_to_end(&mut body);
        read.map_err(|e| odd(&cause(&e)))?;
        if body.len() as u64 > LISTING {
            return Err(odd(&format!("a listing of more than {LISTING} bytes")));
        }
        let listing: Listing = serde_json::from_slice(&body).map_err(|e| odd(&e))?;
        // It becomes the name of a directory.
        if !is_hexadecimal(&listing.sha) {
            return Err(Error::failed(format!(
                "it did not answer as a hub does: '{}' is not a commit",
                shown(&listing.sha)
            )));
        }
        Ok(listing)
    }

    fn send(&self, request: RequestBuilder) -> Result<Response> {
        let request = match &self.environment.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        request
            .send()
            .map_err(|e| Error::failed(format!("it cannot be reached: {}", cause(&e))))
    }

    /// The meaning of a refusal and what to do about it.
    fn refusal(&self, remote: &Remote, answer: &Response) -> Error {
        let page = format!("{}/{}", self.environment.endpoint, remote.repository);
        let status = answer.status();
        let meaning = match (status, &self.environment.token) {
            (StatusCode::UNAUTHORIZED, None) => format!(
                "the repository does not exist, or is private or gated. If it is gated, accept its terms at {page} and set HF_TOKEN to a token of that account"
            ),
            (StatusCode::UNAUTHORIZED, Some(_)) => format!(
                "the token (HF_TOKEN, or of the Hugging Face tools' login) is not accepted, or its account may not read {page}"
            ),
            (StatusCode::FORBIDDEN, _) => {
                format!("access is not granted to this account; accept the terms at {page}")
            }
            (StatusCode::NOT_FOUND, _) => "no such repository, revision or file".to_owned(),
            (StatusCode::TOO_MANY_REQUESTS, _) => {
                "too many requests from here; wait some minutes, or set HF_TOKEN".to_owned()
            }
            _ => "it failed; try again later".to_owned(),
        };
        let said = answer
            .headers()
            .get("x-error-message")
            .and_then(|value| value.to_str().ok())
            .map_or(String::new(), |said| {
                // It may have repeated what it was sent.
                let said = match &self.environment.token {
                    Some(token) => said.replace(token, "[token]"),
                    None => said.to_owned(),
                };
                format!(" (it says: {})", shown(&said))
            });
        Error::failed(format!("{}: {meaning}{said}", status.as_u16()))
    }
}

impl Found {
    /// Puts the files into `directory`, as hard links to the same content if possible.
    ///
    /// # Errors
    /// Failed, if a file cannot be placed.
    pub(super) fn place(&self, remote: &Remote, directory: &Path) -> Result<Gathered> {
        let mut files = Vec::new();
        for name in &self.files {
            let from = self.snapshot.join(name);
            // The cache has links to files that are named by their content.
            let content = from
                .canonicalize()
                .map_err(|e| Error::failed(format!("{}: {e}", from.display())))?;
            let to = directory.join(if remote.file.is_some() {
                name.rsplit('/').next().unwrap_or(name)
            } else {
                name
            });
            let placed = to
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| {
                    fs::hard_link(&content, &to).or_else(|_| fs::copy(&content, &to).map(|_| ()))
                });
            placed.map_err(|e| Error::failed(format!("{}: {e}", to.display())))?;
            let stated = self.stated(name).or_else(|| named_by_digest(&content));
            let relative = to.strip_prefix(directory).unwrap_or(&to);
            files.push((relative.to_string_lossy().replace('\\', "/"), stated));
        }
        Ok(Gathered {
            source: Source::Hub {
                repository: remote.repository.clone(),
                revision: remote.revision.clone(),
                commit: self.commit.clone(),
            },
            files,
        })
    }

    /// The digest that the hub states for a file.
    fn stated(&self, name: &str) -> Option<String> {
        let siblings = &self.listing.as_ref()?.siblings;
        let sibling = siblings.iter().find(|sibling| sibling.rfilename == name)?;
        sibling.sha256().map(str::to_owned)
    }
}

/// The SHA-256 by which the cache names a large file; small files have other names.
fn named_by_digest(content: &Path) -> Option<String> {
    let name = content.file_name()?.to_str()?;
    (name.len() == 64 && is_hexadecimal(name)).then(|| name.to_owned())
}

fn is_hexadecimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn repo(remote: &Remote, revision: &str) -> Repo {
    Repo::with_revision(
        remote.repository.clone(),
        RepoType::Model,
        revision.to_owned(),
    )
}

fn client(redirects: Policy) -> Result<Client> {
    Client::builder()
        .connect_timeout(CONNECT)
        .timeout(STALL)
        .redirect(redirects)
        .user_agent(concat!("teda/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|e| Error::failed(format!("no HTTP client: {}", cause(&e))))
}

/// The innermost cause of a failed request; the outer ones only say that it failed.
fn cause(error: &(dyn StdError + 'static)) -> String {
    let mut innermost = error;
    while let Some(next) = innermost.source() {
        innermost = next;
    }
    innermost.to_string()
}

fn read(path: &Path) -> Told<Vec<u8>> {
    fs::read(path).map_err(|e| format!("has {}, which cannot be read: {e}", path.display()))
}

fn no_such_file(file: &str, there: &[String]) -> String {
    let known: Vec<&str> = there
        .iter()
        .filter(|name| name.ends_with(".gguf"))
        .map(String::as_str)
        .collect();
    if known.is_empty() {
        format!("the repository has no {file}, nor any other GGUF file")
    } else {
        format!(
            "the repository has no {file}; its GGUF files: {}",
            listed(&known)
        )
    }
}
