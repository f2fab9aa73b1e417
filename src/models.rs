//! The models that `--encoder` and `--llm` name.

use std::sync::Arc;

use teda_core::{Error, Result};
use teda_mechanisms::registry as mechanisms;
use teda_models::builtin;
use teda_results::ModelRecord;

use crate::config::Config;
use crate::plan::Models;

/// Loads what the configuration's mechanisms and attacks need.
///
/// # Errors
/// Usage, for an unknown name or option.
pub fn load(config: &Config) -> Result<Models> {
    if config.encoder != "builtin" {
        return Err(Error::unknown("encoder", &config.encoder, &["builtin"]));
    }
    let options = infill_options(&config.llm)?;
    let encoder = Arc::new(builtin::encoder()?);
    let needed = config
        .mechanisms
        .iter()
        .map(|name| mechanisms::entry(name))
        .collect::<Result<Vec<_>>>()?
        .iter()
        .any(|entry| entry.generator);
    Ok(Models {
        encoder: encoder.clone(),
        tokens: encoder,
        generator: if needed {
            Some(Arc::new(builtin::infill(options)?))
        } else {
            None
        },
    })
}

/// What the manifest says of them.
#[must_use]
pub fn records() -> Vec<ModelRecord> {
    builtin::digests()
        .into_iter()
        .map(|(name, sha256)| ModelRecord {
            name: name.to_owned(),
            sha256,
        })
        .collect()
}

/// The options in `builtin[:mask=SHARE][,rounds=N]`.
fn infill_options(spec: &str) -> Result<builtin::Options> {
    let (name, options) = spec.split_once(':').unwrap_or((spec, ""));
    if name != "builtin" {
        return Err(Error::unknown("language model", name, &["builtin"]));
    }
    let mut parsed = builtin::Options::default();
    for option in options.split(',').filter(|option| !option.is_empty()) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let bad = || {
            Error::usage(format!(
                "--llm {spec}: '{option}' is no option of the built-in model. It takes mask=SHARE (0 to 1) and rounds=N (1 to 3), as in builtin:mask=0.3,rounds=2"
            ))
        };
        match key {
            "mask" => parsed.mask_rate = value.parse().map_err(|_| bad())?,
            "rounds" => parsed.rounds = value.parse().map_err(|_| bad())?,
            _ => return Err(bad()),
        }
    }
    Ok(parsed)
}
