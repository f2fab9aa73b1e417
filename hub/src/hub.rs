//! The Hugging Face hub, and the cache that it shares with other tools.
//!
//! What a repository holds is asked in one request, whose refusals are explained; files are then
//! downloaded by `hf-hub`, which resumes interrupted ones and keeps the layout of the cache.

use std::error::Error as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hf_hub::api::sync::{ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, Repo, RepoType};
use reqwest::StatusCode;
use reqwest::blocking::{Client, RequestBuilder, Response};
use reqwest::redirect::Policy;
use serde::Deserialize;
use teda_core::{Error, Result};

use super::Gathered;
use super::environment::Environment;
use super::layout::{self, Told};
use super::name::Remote;
use super::progress::Progress;
use super::record::Source;

const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(60);

/// How often a download that breaks off is taken up again.
const TRIES: usize = 3;

/// The hub as the environment names it.
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
    /// Whether some file was there before, so that it may be damaged.
    pub(super) reused: bool,
}

/// What the hub says of a revision.
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
    #[serde(rename = "blobId")]
    blob: Option<String>,
    lfs: Option<Lfs>,
}

/// What the hub says of a large file.
#[derive(Deserialize)]
struct Lfs {
    sha256: Option<String>,
}

impl Sibling {
    fn sha256(&self) -> Option<&str> {
        self.lfs.as_ref()?.sha256.as_deref()
    }

    /// The name of the file's content in the cache.
    fn etag(&self) -> Option<&str> {
        self.sha256().or(self.blob.as_deref())
    }
}

impl<'a> Hub<'a> {
    pub(super) fn new(environment: &'a Environment, progress: Progress) -> Self {
        Self {
            environment,
            progress,
        }
    }

    /// The hub and what is asked of it, for messages.
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

    /// What the cache has of the model, if that is all of it.
    pub(super) fn cached(&self, remote: &Remote) -> Option<Found> {
        let cache = self.cache().repo(repo(remote, &remote.revision));
        let own = cache.pointer_path(&remote.revision);
        let snapshot = if own.is_dir() {
            own
        } else {
            // <repository>/snapshots/<revision> stands beside <repository>/refs.
            let refs = self
                .cache()
                .repo(repo(remote, &remote.revision))
                .pointer_path("")
                .parent()?
                .join("refs");
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

    /// Downloads what the cache lacks of the model, or everything if `force`.
    ///
    /// # Errors
    /// Failed, where the hub cannot be reached, refuses, or has no such model.
    pub(super) fn fetch(&self, remote: &Remote, force: bool) -> Result<Found> {
        let listing = self.listing(remote)?;
        let there: Vec<String> = listing
            .siblings
            .iter()
            .map(|sibling| sibling.rfilename.clone())
            .collect();
        let mut download = Download {
            hub: self,
            remote,
            listing: &listing,
            snapshot: self
                .cache()
                .repo(repo(remote, &listing.sha))
                .pointer_path(&listing.sha),
            force,
            api: None,
            reused: false,
        };
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
        // Lets the Hugging Face tools find the snapshot by the name that was asked for.
        let cache = self.cache().repo(repo(remote, &remote.revision));
        cache.create_ref(&listing.sha).ok();
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
        let listing: Listing = answer.json().map_err(|e| {
            Error::failed(format!("it did not answer as a hub does: {}", cause(&e)))
        })?;
        // Becomes the name of a directory.
        if !is_hexadecimal(&listing.sha) {
            return Err(Error::failed(format!(
                "it did not answer as a hub does: '{}' is no commit",
                listing.sha
            )));
        }
        Ok(listing)
    }

    /// Asks for one file without downloading it, so that a refusal can be explained.
    fn may_download(&self, remote: &Remote, commit: &str, file: &str) -> Result<()> {
        let url = format!(
            "{}/{}/resolve/{commit}/{file}",
            self.environment.endpoint, remote.repository
        );
        // Large files are redirected to storage that answers downloads alone.
        let answer = self.send(client(Policy::none())?.head(url))?;
        if answer.status().is_client_error() || answer.status().is_server_error() {
            return Err(self.refusal(remote, &answer));
        }
        Ok(())
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

    /// What a refusal means and what to do about it.
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
            .map_or(String::new(), |said| format!(" (it says: {said})"));
        Error::failed(format!("{}: {meaning}{said}", status.as_u16()))
    }
}

/// The download of one model.
struct Download<'a> {
    hub: &'a Hub<'a>,
    remote: &'a Remote,
    listing: &'a Listing,
    snapshot: PathBuf,
    force: bool,
    /// Made once the hub has shown that it lets files be downloaded.
    api: Option<ApiRepo>,
    reused: bool,
}

impl Download<'_> {
    /// The file in the cache, downloaded if it is not there.
    fn file(&mut self, name: &str) -> Result<PathBuf> {
        let path = self.snapshot.join(name);
        let sibling = self
            .listing
            .siblings
            .iter()
            .find(|sibling| sibling.rfilename == name);
        let size = sibling.and_then(|sibling| sibling.size);
        let whole = |path: &Path| {
            fs::metadata(path).is_ok_and(|found| size.is_none_or(|size| size == found.len()))
        };
        if whole(&path) && !self.force {
            self.reused = true;
            return Ok(path);
        }
        if let Some((sibling, size)) = sibling.zip(size) {
            self.drop_overlong_part(sibling, size);
        }
        let path = self.download(name)?;
        if !whole(&path) {
            return Err(Error::failed(format!(
                "{name}: not of the size that the hub states; try again with --force"
            )));
        }
        Ok(path)
    }

    fn download(&mut self, name: &str) -> Result<PathBuf> {
        let progress = self.hub.progress;
        let api = match self.api.take() {
            Some(api) => api,
            None => self.open(name)?,
        };
        let api = self.api.insert(api);
        let mut tries = 1;
        loop {
            match api.download_with_progress(name, progress.bar()) {
                Ok(path) => return Ok(path),
                // The part that came stays, and the next try asks for the rest.
                Err(ApiError::IoError(e)) if tries < TRIES => {
                    progress.note(&format!("{name}: {e}; going on where it broke off"));
                    tries += 1;
                }
                Err(e) => return Err(Error::failed(format!("{name}: {e}"))),
            }
        }
    }

    fn open(&self, first: &str) -> Result<ApiRepo> {
        let environment = self.hub.environment;
        let commit = &self.listing.sha;
        self.hub.may_download(self.remote, commit, first)?;
        self.hub.progress.note(&format!(
            "{}: from {}",
            self.remote.name,
            self.hub.title(self.remote)
        ));
        let api = ApiBuilder::from_cache(self.hub.cache())
            .with_endpoint(environment.endpoint.clone())
            .with_token(environment.token.clone())
            .build()
            .map_err(|e| Error::failed(e.to_string()))?;
        Ok(api.repo(repo(self.remote, commit)))
    }

    /// A part that is as long as the whole, left by a process that was killed between its last byte
    /// and its end, would make `hf-hub` ask for nothing and fail on every try.
    fn drop_overlong_part(&self, sibling: &Sibling, size: u64) {
        let Some(etag) = sibling.etag().filter(|etag| is_hexadecimal(etag)) else {
            return;
        };
        let cache = self.hub.cache().repo(repo(self.remote, &self.listing.sha));
        let part = cache.blob_path(etag).with_extension("part");
        if fs::metadata(&part).is_ok_and(|found| found.len() >= size) {
            fs::remove_file(part).ok();
        }
    }
}

impl Found {
    /// Puts the files into `directory`, as further names of the same content where that is possible.
    ///
    /// # Errors
    /// Failed, where a file cannot be placed.
    pub(super) fn place(&self, remote: &Remote, directory: &Path) -> Result<Gathered> {
        let mut files = Vec::new();
        for name in &self.files {
            let from = self.snapshot.join(name);
            // The cache has links to files that are named by the content.
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

    /// The digest that the hub states of a file.
    fn stated(&self, name: &str) -> Option<String> {
        let siblings = &self.listing.as_ref()?.siblings;
        let sibling = siblings.iter().find(|sibling| sibling.rfilename == name)?;
        sibling.sha256().map(str::to_owned)
    }
}

/// The SHA-256 by which the cache names a large file; small ones have other names.
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
        .timeout(ANSWER)
        .redirect(redirects)
        .user_agent(concat!("teda/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|e| Error::failed(format!("no HTTP client: {}", cause(&e))))
}

/// The innermost reason of a failed request; the outer ones only say that it failed.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost = error.source();
    while let Some(next) = innermost.and_then(|e| e.source()) {
        innermost = Some(next);
    }
    innermost.map_or_else(|| error.to_string(), ToString::to_string)
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
            known.join(", ")
        )
    }
}
