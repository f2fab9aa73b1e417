//! Models by their names, for a run and outside one.

use std::path::Path;

use sha2::{Digest, Sha256};
use teda_core::digest::hexadecimal;
use teda_core::{Error, Result};
use teda_hub::{Resolved, Store};
use teda_models::generate::{self, LocalModel};
use teda_models::{Backend, Checkpoint, FillMask, MaskedLm, Precision, builtin, fill_mask};

use super::access::Access;
use super::spec::Spec;

/// What a masked language model keeps of the texts it read may take one part in this many of the memory for language
/// models, in addition to it.
pub(super) const SHARE_OF_STATES: usize = 4;

/// The language model that `name` names in the store, or `builtin`.
///
/// # Errors
/// Any error from the store or from opening the files.
pub fn language_model(name: &str, chat: bool, access: &Access) -> Result<LocalModel> {
    if name == "builtin" {
        return builtin::rewriter(access.memory, &Backend::best());
    }
    let resolved = Store::open(access.store())?.resolve(name)?;
    let options = generate::Options {
        instructed: true,
        chat,
        memory: access.memory,
        logit_moments: None,
    };
    LocalModel::load(Checkpoint::open(name, &resolved.path)?, options)
}

/// The masked language model that `name` names in the store, or `builtin-infill`; `None` if it is another kind of model.
///
/// # Errors
/// Any error from the store or from opening the files.
pub fn masked_language_model(name: &str, access: &Access) -> Result<Option<FillMask>> {
    let backend = Backend::best();
    if name == "builtin-infill" {
        return builtin::fill_mask(0, &backend).map(Some);
    }
    if name == "builtin" {
        return Ok(None);
    }
    let resolved = Store::open(access.store())?.resolve(name)?;
    let checkpoint = Checkpoint::open(name, &resolved.path)?;
    match MaskedLm::fits(&checkpoint) {
        true => masked(checkpoint, &resolved, &backend, access, None).map(Some),
        false => Ok(None),
    }
}

/// A masked language model from its files. What it makes of texts is kept below `cache`, by the digest of its files.
pub(super) fn masked(
    checkpoint: Checkpoint,
    resolved: &Resolved,
    backend: &Backend,
    access: &Access,
    cache: Option<&Path>,
) -> Result<FillMask> {
    let digest = digest_of(resolved, backend);
    let options = fill_mask::Options {
        memory: access.memory / SHARE_OF_STATES,
        states: cache.map(|cache| cache.join("states").join(digest)),
        logit_moments: resolved.card.as_ref().and_then(|card| card.logit_moments),
    };
    FillMask::on(checkpoint, &options, backend)
}

/// The digest of a model's files and of what they run on: the same one makes the same of a text.
pub(super) fn digest_of(resolved: &Resolved, backend: &Backend) -> String {
    let mut digest = Sha256::new().chain_update(backend.name());
    for file in &resolved.files {
        digest.update(&file.name);
        digest.update(&file.sha256);
    }
    hexadecimal(&digest.finalize())
}

/// The refusal of a model that is no masked one, for a mechanism that needs one.
pub(super) fn only_masked(spec: &Spec) -> Error {
    Error::usage(format!(
        "'dp-mlm' needs a masked language model run in this process, which --llm {spec} is not. Take --llm builtin, or for example --llm roberta-base (`teda models pull roberta-base` fetches it)"
    ))
}

/// The refusal of a model that is no autoencoder, for a mechanism that needs one.
pub(super) fn only_autoencoders(spec: &Spec) -> Error {
    Error::usage(format!(
        "'adept' needs an LSTM autoencoder run in this process, which --llm {spec} is not. Take --llm builtin, or the folder of one (docs/models.md says what is in it)"
    ))
}

/// The device that models run on, as the manifest names it.
///
/// # Errors
/// Usage, if this processor does not multiply in this precision.
pub fn device(precision: Precision) -> Result<String> {
    Backend::of(precision).map(|backend| backend.name())
}
