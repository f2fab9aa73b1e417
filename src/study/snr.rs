//! How large the latents of dp-bart are beside their noise: TeDA (arXiv 2603.22968), Figure 10.

use teda_core::{Error, Result};
use teda_mechanisms::{NOISES, dp_bart_noise, registry};

use crate::audit::config::Config;
use crate::audit::run;
use crate::models::Access;

/// The mechanism whose latents are measured.
pub const MECHANISM: &str = "dp-bart";

/// The latents that are compared with their noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Latents {
    /// What they are of, in words.
    pub of: String,
    /// The mean norm of a clipped latent.
    pub norm: f64,
    /// The numbers of a latent.
    pub numbers: usize,
}

impl Latents {
    /// The clipped latents of the configuration's first data set, as its model computes them.
    ///
    /// # Errors
    /// Usage, for a configuration that cannot be satisfied; failed, if the model fails.
    pub fn measured(config: &Config, access: &Access) -> Result<Self> {
        let request = &config.datasets[0];
        let texts = teda_datasets::load(request, access.limits, &mut std::io::stdin())?;
        // Latents before the noise depend on no epsilon.
        let config = Config {
            epsilons: Some(vec![1.0]),
            ..config.clone()
        };
        let mechanism = run::mechanism(&config, access)?;
        let none = || Error::failed(format!("'{MECHANISM}' has no latent"));
        let latent = mechanism.latent().ok_or_else(none)?;
        let rows: Vec<&str> = texts.texts.iter().map(String::as_str).collect();
        let clean = latent.clean(&rows)?;
        let norms = clean.rows().into_iter().map(|row| row.dot(&row).sqrt());
        Ok(Self {
            of: format!(
                "latents of {} texts of {} by {}",
                rows.len(),
                request.source,
                config.llm
            ),
            norm: norms.sum::<f64>() / rows.len() as f64,
            numbers: clean.ncols(),
        })
    }

    /// ‖latent‖ / √E‖noise‖² at `epsilon`, for each law of the noise, in the order of [`NOISES`].
    ///
    /// # Errors
    /// Usage, for parameters that dp-bart does not have.
    pub fn ratios(&self, set: &[(String, String)], epsilon: f64) -> Result<Vec<f64>> {
        let settings = registry::entry(MECHANISM)?.settings(None, set)?;
        let ratio = |name: &&str| {
            let noise = dp_bart_noise(name, &settings, self.numbers, epsilon);
            self.norm / (noise.deviation() * (self.numbers as f64).sqrt())
        };
        Ok(NOISES.iter().map(ratio).collect())
    }
}
