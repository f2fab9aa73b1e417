//! The store's settings from the environment, read once when it is opened.
//!
//! The names are those of the Hugging Face tools, so that one setting works for them and for teda.

use std::ffi::OsString;
use std::path::PathBuf;

use teda_core::{Error, Result};

/// Where caches are, how the hub is reached and where programs are searched.
#[derive(Debug, Clone)]
pub(super) struct Environment {
    /// Root of teda's cache: `TEDA_CACHE`, `$XDG_CACHE_HOME/teda` or `~/.cache/teda`.
    pub(super) cache: PathBuf,
    /// The Hugging Face cache: `HF_HUB_CACHE`, `$HF_HOME/hub` or their default.
    pub(super) hub_cache: PathBuf,
    /// The hub: `HF_ENDPOINT` or the public one, without a slash at the end.
    pub(super) endpoint: String,
    /// `HF_TOKEN`, or what the Hugging Face tools stored at login.
    pub(super) token: Option<String>,
    /// The directories of `PATH`.
    pub(super) programs: Vec<PathBuf>,
}

const PUBLIC_HUB: &str = "https://huggingface.co";

impl Environment {
    /// The environment of this process.
    ///
    /// # Errors
    /// Usage, if no cache is named and there is no home directory to put one in.
    pub(super) fn read() -> Result<Self> {
        Self::from(|name| std::env::var_os(name), std::env::home_dir())
    }

    /// The environment in which `variable` returns the values of variables.
    ///
    /// # Errors
    /// Same as [`read`](Self::read).
    pub(super) fn from(
        variable: impl Fn(&str) -> Option<OsString>,
        home: Option<PathBuf>,
    ) -> Result<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let path = |name: &str| set(name).map(PathBuf::from);
        let text = |name: &str| set(name).and_then(|value| value.into_string().ok());
        let caches = path("XDG_CACHE_HOME").or_else(|| home.map(|home| home.join(".cache")));
        let below = |name: &str, folder: &str| {
            path(name)
                .or_else(|| caches.as_ref().map(|caches| caches.join(folder)))
                .ok_or_else(|| {
                    Error::usage(format!(
                        "there is no home directory to keep models in; set {name} to a directory"
                    ))
                })
        };
        let cache = below("TEDA_CACHE", "teda")?;
        let hub_home = below("HF_HOME", "huggingface")?;
        let token = text("HF_TOKEN").or_else(|| {
            let file = path("HF_TOKEN_PATH").unwrap_or_else(|| hub_home.join("token"));
            std::fs::read_to_string(file).ok()
        });
        Ok(Self {
            cache,
            hub_cache: path("HF_HUB_CACHE").unwrap_or_else(|| hub_home.join("hub")),
            endpoint: text("HF_ENDPOINT")
                .unwrap_or_else(|| PUBLIC_HUB.to_owned())
                .trim_end_matches('/')
                .to_owned(),
            token: token
                .map(|token| token.trim().to_owned())
                .filter(|token| !token.is_empty()),
            programs: set("PATH")
                .map(|path| std::env::split_paths(&path).collect())
                .unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Result<Environment> {
        Environment::from(
            |name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            },
            None,
        )
    }

    #[test]
    fn the_nearest_variable_wins_and_empty_ones_do_not_count() {
        let read = environment(&[
            ("XDG_CACHE_HOME", "/x"),
            ("TEDA_CACHE", ""),
            ("HF_HOME", "/hf"),
            ("HF_TOKEN", " secret\n"),
            ("HF_ENDPOINT", "http://mirror/"),
        ])
        .unwrap();
        assert_eq!(read.cache, PathBuf::from("/x/teda"));
        assert_eq!(read.hub_cache, PathBuf::from("/hf/hub"));
        assert_eq!(read.token.as_deref(), Some("secret"));
        assert_eq!(read.endpoint, "http://mirror");
        let plain = environment(&[("XDG_CACHE_HOME", "/x"), ("TEDA_CACHE", "/t")]).unwrap();
        assert_eq!(plain.cache, PathBuf::from("/t"));
        assert_eq!(plain.hub_cache, PathBuf::from("/x/huggingface/hub"));
        assert_eq!(plain.endpoint, PUBLIC_HUB);
    }

    #[test]
    fn without_a_home_the_variable_to_set_is_named() {
        let error = environment(&[]).unwrap_err().to_string();
        assert!(error.contains("TEDA_CACHE"), "{error}");
    }
}
