//! A single error for everything that was tried without success.

use teda_core::Error;

use super::name::Remote;

/// Sources that could not supply a model, each with the reason.
pub(super) struct Failures<'a> {
    remote: &'a Remote,
    tried: Vec<(String, String)>,
}

impl<'a> Failures<'a> {
    pub(super) fn of(remote: &'a Remote) -> Self {
        Self {
            remote,
            tried: Vec::new(),
        }
    }

    /// Adds a source and why it failed.
    pub(super) fn add(&mut self, source: impl Into<String>, why: impl ToString) {
        self.tried.push((source.into(), why.to_string()));
    }

    /// The error if fetching was allowed.
    pub(super) fn unobtainable(&self) -> Error {
        let name = &self.remote.name;
        Error::failed(format!(
            "model {name} could not be fetched. Tried:\n{}\
             What to do: check the network (a proxy is named by HTTPS_PROXY, a mirror of the hub by HF_ENDPOINT), \
             or run `teda models pull {name}` on a machine with network and copy its cache here (TEDA_CACHE names it), \
             or give a directory that holds the model in place of the name",
            self.list()
        ))
    }

    /// The error if fetching was not allowed.
    pub(super) fn offline(&self) -> Error {
        let name = &self.remote.name;
        Error::failed(format!(
            "model {name} is not on this machine, and offline nothing is fetched. Looked in:\n{}\
             What to do: run `teda models pull {name}` with network; on another machine, copy its cache here and name it \
             in TEDA_CACHE (teda's) or HF_HOME (that of the Hugging Face tools)",
            self.list()
        ))
    }

    fn list(&self) -> String {
        self.tried
            .iter()
            .map(|(source, why)| format!("  {source}: {why}\n"))
            .collect()
    }
}
