//! Downloads files of the hub into the Hugging Face cache.
//!
//! Below a repository's folder, `blobs/ETAG` is the content of a file, `blobs/ETAG.part` the part of it received so
//! far, `blobs/ETAG.lock` is held by the process that downloads it, and `snapshots/COMMIT/NAME` points to it. Other
//! tools write the same layout, so one tool can finish what another began.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
#[cfg(unix)]
use std::os::unix::fs::symlink;
#[cfg(windows)]
use std::os::windows::fs::symlink_file as symlink;
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use reqwest::StatusCode;
use reqwest::blocking::{Client, Response};
use reqwest::header::{ETAG, LOCATION, RANGE};
use reqwest::redirect::Policy;
use teda_core::{Error, Result};

use super::{Hub, Listing, cause, client};
use crate::lock::lock;
use crate::name::Remote;

/// How often an interrupted download is resumed.
const TRIES: usize = 3;
/// Most redirections within the hub.
const REDIRECTIONS: usize = 5;
/// The header in which the hub identifies a large file's content when it redirects to storage.
const LINKED_ETAG: &str = "x-linked-etag";

/// The download of one model.
pub(super) struct Download<'a> {
    hub: &'a Hub<'a>,
    remote: &'a Remote,
    listing: &'a Listing,
    /// Whether to fetch files that are already there.
    force: bool,
    /// Asks only the hub itself.
    asking: Client,
    /// Also follows redirections to the storage that the hub names.
    getting: Client,
    /// Whether the user was told what is being downloaded.
    announced: bool,
    /// Where the files are in the cache.
    pub(super) snapshot: PathBuf,
    /// Whether some file was already there.
    pub(super) reused: bool,
}

impl<'a> Download<'a> {
    /// The download of what `listing` says about `remote`; sends no request yet.
    ///
    /// # Errors
    /// Failed, if there can be no HTTP client.
    pub(super) fn new(
        hub: &'a Hub<'a>,
        remote: &'a Remote,
        listing: &'a Listing,
        force: bool,
    ) -> Result<Self> {
        Ok(Self {
            hub,
            remote,
            listing,
            force,
            asking: client(Policy::none())?,
            getting: client(Policy::default())?,
            announced: false,
            snapshot: hub.folder(remote).join("snapshots").join(&listing.sha),
            reused: false,
        })
    }

    /// The path of the file in the cache; downloads it if it is not there.
    ///
    /// # Errors
    /// Failed, if the hub cannot be reached or refuses, the download breaks off again and again, or the file is not
    /// what the hub states.
    pub(super) fn file(&mut self, name: &str) -> Result<PathBuf> {
        let path = self.snapshot.join(name);
        let mut siblings = self.listing.siblings.iter();
        let sibling = siblings.find(|sibling| sibling.rfilename == name);
        let size = sibling.and_then(|sibling| sibling.size);
        let whole = |path: &Path| {
            fs::metadata(path).is_ok_and(|found| size.is_none_or(|size| size == found.len()))
        };
        if whole(&path) && !self.force {
            self.reused = true;
            return Ok(path);
        }
        self.download(name, size)?;
        if !whole(&path) {
            return Err(Error::failed(format!(
                "{name}: not of the size that the hub states; try again with --force"
            )));
        }
        Ok(path)
    }

    fn download(&mut self, name: &str, size: Option<u64>) -> Result<()> {
        let at = |e: io::Error| Error::failed(format!("{name}: {e}"));
        let progress = self.hub.progress;
        let (endpoint, repository) = (&self.hub.environment.endpoint, &self.remote.repository);
        let url = format!(
            "{endpoint}/{repository}/resolve/{}/{name}",
            self.listing.sha
        );
        let etag = self.etag(name, &url)?;
        if !self.announced {
            let (model, title) = (&self.remote.name, self.hub.title(self.remote));
            progress.note(&format!("{model}: from {title}"));
            self.announced = true;
        }
        let blobs = self.hub.folder(self.remote).join("blobs");
        fs::create_dir_all(&blobs).map_err(at)?;
        let blob = blobs.join(&etag);
        let waiting = || progress.note(&format!("{name}: another process has it, waiting"));
        let _lock = lock(&blob.with_extension("lock"), waiting).map_err(at)?;
        let part = blob.with_extension("part");
        let bar = progress.bar(name);
        let mut tries = 1;
        while let Err(e) = self.transfer(name, &url, &part, size, &bar)? {
            let reason = cause(&e);
            if tries == TRIES {
                return Err(Error::failed(format!("{name}: {reason}")));
            }
            progress.note(&format!("{name}: {reason}; going on where it broke off"));
            tries += 1;
        }
        bar.finish();
        fs::rename(part, &blob).map_err(at)?;
        point(&self.snapshot, name, &blob, &etag).map_err(at)
    }

    /// The hub's identifier for the content of a file. Refusals of the download show here.
    fn etag(&self, name: &str, url: &str) -> Result<String> {
        let odd =
            |what: &str| Error::failed(format!("{name}: it did not answer as a hub does: {what}"));
        let mut url = url.to_owned();
        for _ in 0..REDIRECTIONS {
            let answer = self.hub.send(self.asking.head(&url))?;
            if answer.status().is_client_error() || answer.status().is_server_error() {
                return Err(self.hub.refusal(self.remote, &answer));
            }
            if let Some(moved) = within(&answer) {
                url = moved;
                continue;
            }
            let headers = answer.headers();
            let etag = headers
                .get(LINKED_ETAG)
                .or_else(|| headers.get(ETAG))
                .and_then(|etag| etag.to_str().ok())
                .ok_or_else(|| odd("no etag"))?;
            let etag = etag.trim_start_matches("W/").trim_matches('"');
            // It becomes the name of a file.
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            if etag.is_empty() || !etag.bytes().all(plain) {
                return Err(odd(&format!("'{etag}' is not an etag")));
            }
            return Ok(etag.to_owned());
        }
        Err(odd("it redirects in a circle"))
    }

    /// Downloads what `part` lacks of the content at `url`.
    ///
    /// # Errors
    /// Failed, if nothing can come; the inner error means that it broke off and may be resumed.
    fn transfer(
        &self,
        name: &str,
        url: &str,
        part: &Path,
        size: Option<u64>,
        bar: &ProgressBar,
    ) -> Result<io::Result<()>> {
        let at = |e: io::Error| Error::failed(format!("{name}: {e}"));
        let mut options = OpenOptions::new();
        let mut file = options.create(true).append(true).open(part).map_err(at)?;
        let mut start = file.metadata().map_err(at)?.len();
        // A process that is killed after its last byte but before it finishes leaves a part to which nothing can be
        // added.
        if size.is_some_and(|size| start >= size) {
            file.set_len(0).map_err(at)?;
            start = 0;
        }
        let mut request = self.getting.get(url);
        if start > 0 {
            request = request.header(RANGE, format!("bytes={start}-"));
        }
        let answer = self.hub.send(request)?;
        if !answer.status().is_success() {
            return Err(self.hub.refusal(self.remote, &answer));
        }
        if start > 0 && answer.status() != StatusCode::PARTIAL_CONTENT {
            // All of it comes, whether asked for or not.
            file.set_len(0).map_err(at)?;
            start = 0;
        }
        bar.set_length(start + answer.content_length().unwrap_or(0));
        bar.set_position(start);
        // No more than the hub says there is: disks are finite.
        let most = size.map_or(u64::MAX, |size| (size - start).saturating_add(1));
        let mut body = bar.wrap_read(answer).take(most);
        Ok(io::copy(&mut body, &mut file).map(drop))
    }
}

/// Where the hub redirects to within itself, as it does for a repository that was renamed: an address without a host.
fn within(answer: &Response) -> Option<String> {
    let location = answer.headers().get(LOCATION)?.to_str().ok()?;
    let own = answer.status().is_redirection() && location.starts_with('/');
    let url = answer.url().join(location).ok()?;
    (own && url.host() == answer.url().host()).then(|| url.into())
}

/// Makes `name` in `snapshot` refer to the content in `blob`, by a link or, if links are impossible, by moving it
/// there.
fn point(snapshot: &Path, name: &str, blob: &Path, etag: &str) -> io::Result<()> {
    let pointer = snapshot.join(name);
    if pointer.is_symlink() && pointer.exists() {
        return Ok(());
    }
    pointer.parent().map_or(Ok(()), fs::create_dir_all)?;
    // Relative to the repository's folder, so that the cache can be moved as a whole.
    let up = name.split('/').count() + 1;
    let mut to: PathBuf = std::iter::repeat_n("..", up).collect();
    to.extend(["blobs", etag]);
    symlink(to, &pointer).or_else(|_| fs::rename(blob, &pointer))
}
