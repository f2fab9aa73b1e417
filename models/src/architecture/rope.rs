//! The frequencies of rotary position embeddings, as configurations describe them.

use std::sync::Arc;

use serde_json::Value;
use teda_core::{Error, Result};

use crate::matrix::rotary::Rotary;

/// Most positions; the longest models have some ten million.
const POSITIONS: usize = 1 << 26;
/// Most numbers in a head; the widest models have 512.
const WIDEST: usize = 1 << 16;

/// The table for these frequencies and `positions` positions.
///
/// # Errors
/// If a frequency is not a finite number, or there are more positions than any model has.
pub(super) fn table(frequencies: &[f32], positions: usize) -> Result<Arc<Rotary>> {
    if let Some(bad) = frequencies.iter().find(|f| !f.is_finite()) {
        return Err(Error::failed(format!(
            "config.json: the settings of rope give the frequency {bad}: rope_theta must be above 0, and so must every factor"
        )));
    }
    if positions > POSITIONS {
        return Err(Error::failed(format!(
            "config.json: max_position_embeddings is {positions}: at most {POSITIONS} are possible"
        )));
    }
    Ok(Arc::new(Rotary::new(frequencies, positions)))
}

/// θ^(−2i/width) for i < width/2, scaled according to `settings`: `rope_type` (or `type`) `default`, `linear` (every
/// frequency divided by `factor`) or `llama3` (low ones divided, high ones kept, and a smooth transition between
/// them).
///
/// # Errors
/// For another `rope_type`, and if heads are wider than any model's.
pub(super) fn frequencies(theta: f64, width: usize, settings: &Value) -> Result<Vec<f32>> {
    if width > WIDEST {
        return Err(Error::failed(format!(
            "config.json: heads are {width} wide: at most {WIDEST} are possible"
        )));
    }
    let plain: Vec<f32> = (0..width / 2)
        .map(|i| 1.0 / (theta as f32).powf(2.0 * i as f32 / width as f32))
        .collect();
    let kind = settings["rope_type"].as_str().or(settings["type"].as_str());
    let number = |name: &str| {
        settings[name].as_f64().map(|x| x as f32).ok_or_else(|| {
            Error::failed(format!("config.json: the rope setting '{name}' is missing"))
        })
    };
    match kind.unwrap_or("default") {
        "default" => Ok(plain),
        "linear" => {
            let factor = number("factor")?;
            Ok(plain.into_iter().map(|f| f / factor).collect())
        }
        "llama3" => {
            let (factor, context) = (
                number("factor")?,
                number("original_max_position_embeddings")?,
            );
            let (low, high) = (number("low_freq_factor")?, number("high_freq_factor")?);
            let scaled = plain.into_iter().map(|f| {
                let wavelength = 2.0 * std::f32::consts::PI / f;
                if wavelength < context / high {
                    f
                } else if wavelength > context / low {
                    f / factor
                } else {
                    let smooth = (context / wavelength - low) / (high - low);
                    (1.0 - smooth) * f / factor + smooth * f
                }
            });
            Ok(scaled.collect())
        }
        other => Err(Error::failed(format!(
            "config.json: the rope type '{other}' is not supported; known: default, linear, llama3"
        ))),
    }
}
