//! `teda models snr`: how large DP-BART's latents are beside their noise.

use clap::Args;
use teda_core::{Error, Result};
use teda_datasets::Request;
use teda_mechanisms::{NOISES, dp_bart_noise, registry};

use super::flags::{AccessArguments, parse_setting};
use super::output::print;
use teda::audit::config::Config;
use teda::audit::run;
use teda::audit::source::Source;
use teda::report::columns::{lines, table};

/// The mechanism whose latents are measured.
const MECHANISM: &str = "dp-bart";

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

/// The latents that are compared with their noise.
struct Latents {
    /// What they are of, in words.
    of: String,
    norm: f64,
    numbers: usize,
}

impl Arguments {
    pub fn run(self) -> Result<()> {
        let settings = registry::entry(MECHANISM)?.settings(None, &self.set)?;
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
            _ => self.measured()?,
        };
        let mut ratios = table(["epsilon", NOISES[0], NOISES[1], NOISES[2]]);
        for epsilon in &self.epsilon {
            let ratio = |name: &&str| {
                let noise = dp_bart_noise(name, &settings, latents.numbers, *epsilon);
                let amount = noise.deviation() * (latents.numbers as f64).sqrt();
                format!("{:.3}", latents.norm / amount)
            };
            let row = [epsilon.to_string()].into_iter();
            ratios.add_row(row.chain(NOISES.iter().map(ratio)));
        }
        print(&format!(
            "{}: {} numbers, norm {:.4}\nnorm of the latent / norm of its noise, by the law of the noise:\n\n{}",
            latents.of,
            latents.numbers,
            latents.norm,
            lines(&ratios)
        ))
    }

    /// The latents of the texts.
    fn measured(&self) -> Result<Latents> {
        let request = Request {
            source: self.dataset.clone(),
            split: None,
            limit: Some(self.limit),
            min_words: None,
            max_words: None,
        };
        let texts = teda_datasets::load(&request, self.access.limits(), &mut std::io::stdin())?;
        let config = Config {
            // Latents before the noise depend on no epsilon.
            epsilons: Some(vec![1.0]),
            set: self.set.clone(),
            datasets: vec![request],
            llm: self.model.clone(),
            ..Config::new(vec![Source::parse(MECHANISM)?])
        };
        let mechanism = run::mechanism(&config, &self.access.access(false))?;
        let none = || Error::failed(format!("'{MECHANISM}' has no latent"));
        let latent = mechanism.latent().ok_or_else(none)?;
        let rows: Vec<&str> = texts.texts.iter().map(String::as_str).collect();
        let clean = latent.clean(&rows)?;
        let norms = clean.rows().into_iter().map(|row| row.dot(&row).sqrt());
        Ok(Latents {
            of: format!(
                "latents of {} texts of {} by {}",
                rows.len(),
                self.dataset,
                self.model
            ),
            norm: norms.sum::<f64>() / rows.len() as f64,
            numbers: clean.ncols(),
        })
    }
}
