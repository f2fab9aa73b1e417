//! `teda models snr`: how large DP-BART's latents are beside their noise.

use clap::Args;
use teda_core::{Error, Result};
use teda_datasets::Request;
use teda_mechanisms::{NOISES, registry};

use super::flags::{AccessArguments, parse_setting};
use super::output::{fitted, print};
use teda::audit::config::Config;
use teda::audit::source::Source;
use teda::report::columns::table;
use teda::study::snr::{Latents, MECHANISM};

/// Compares the latents of dp-bart with their noise, for each law of the noise.
///
/// The ratio is ‖latent‖ / √E‖noise‖², where ‖latent‖ is the mean norm of the clipped latents of public texts, as the
/// model computes them. With --norm and --numbers nothing is measured: the ratio of latents of that norm and that many
/// numbers is computed.
#[derive(Args)]
#[command(after_long_help = "Examples:
  teda models snr                                          # the rewriter in the binary
  teda models snr facebook/bart-base --set pruning=pr
  teda models snr --norm 5.7 --numbers 3640                # TeDA's Figure 10")]
pub struct Arguments {
    /// builtin, or an encoder-decoder: short name, repository or path
    #[arg(value_name = "MODEL", default_value = "builtin")]
    model: String,
    /// Nominal epsilons
    #[arg(
        long,
        value_name = "E,…",
        value_delimiter = ',',
        default_value = "250,1000,2500"
    )]
    epsilon: Vec<f64>,
    /// Sets a parameter of dp-bart other than noise (repeatable; see `teda list mechanisms`)
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = parse_setting)]
    set: Vec<(String, String)>,
    /// Public texts (as of `teda audit`)
    #[arg(long, value_name = "NAME", default_value = "snips")]
    dataset: String,
    /// Texts used
    #[arg(long, value_name = "N", default_value_t = 500)]
    limit: usize,
    /// The norm of a clipped latent, instead of measuring it
    #[arg(long, value_name = "X", requires = "numbers")]
    norm: Option<f64>,
    /// The numbers of a latent, instead of counting them
    #[arg(long, value_name = "K", requires = "norm")]
    numbers: Option<usize>,
    #[command(flatten)]
    access: AccessArguments,
}

impl Arguments {
    pub fn run(self) -> Result<()> {
        registry::entry(MECHANISM)?.settings(None, &self.set)?;
        if let Some(bad) = self.epsilon.iter().find(|e| !(**e > 0.0 && e.is_finite())) {
            return Err(Error::usage(format!(
                "epsilon = {bad}: it must be a positive, finite number"
            )));
        }
        let latents = match (self.norm, self.numbers) {
            (Some(norm), Some(numbers)) => Latents {
                of: "given".to_owned(),
                norm,
                numbers,
            },
            _ => Latents::measured(&self.config()?, &self.access.access(false))?,
        };
        let mut ratios = table(["epsilon", NOISES[0], NOISES[1], NOISES[2]]);
        for epsilon in &self.epsilon {
            let row = latents.ratios(&self.set, *epsilon)?.into_iter();
            let row = row.map(|ratio| format!("{ratio:.3}"));
            ratios.add_row(std::iter::once(epsilon.to_string()).chain(row));
        }
        print(&format!(
            "{}: {} numbers, norm {:.4}\nnorm of the latent / norm of its noise, by the law of the noise:\n\n{}",
            latents.of,
            latents.numbers,
            latents.norm,
            fitted(ratios)
        ))
    }

    /// The configuration of the mechanism whose latents are measured.
    fn config(&self) -> Result<Config> {
        Ok(Config {
            set: self.set.clone(),
            datasets: vec![Request {
                source: self.dataset.clone(),
                limit: Some(self.limit),
                ..Request::default()
            }],
            llm: self.model.clone(),
            ..Config::new(vec![Source::parse(MECHANISM)?])
        })
    }
}
