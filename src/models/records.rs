//! The manifest's records of models that are no files of the store.

use teda_models::builtin;
use teda_results::ModelRecord;
use teda_server::Http;

/// The files of a model in the binary.
pub(super) fn shipped(model: builtin::Model) -> Vec<ModelRecord> {
    builtin::digests(model)
        .into_iter()
        .map(|(name, sha256)| ModelRecord {
            name: name.to_owned(),
            source: "ships in the binary".to_owned(),
            sha256: Some(sha256),
        })
        .collect()
}

/// A server.
pub(super) fn server_record(server: &Http) -> ModelRecord {
    ModelRecord {
        name: server.name(),
        source: "server".to_owned(),
        sha256: None,
    }
}
