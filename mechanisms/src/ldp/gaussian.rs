//! `gaussian`: the analytic Gaussian mechanism on the one-hot vector of a text's category.
//!
//! # Definition
//! y = e_x + z with independent z_i of law N(0, σ²), σ the smallest that (ε, δ) allows for the ℓ2 distance Δ₂ = √2 of
//! two one-hot vectors ([`sigma`]).
//!
//! # Guarantee
//! (ε, δ)-LDP between any two texts of the domain, and tight: at this σ no smaller δ would do, as Balle and Wang's
//! condition is necessary and sufficient. It is not ε-LDP with δ = 0 for any ε. Proven for exact noise.
//!
//! # Source
//! Balle & Wang (ICML 2018), Algorithm 1.
//!
//! # Deviations
//! Numbers are rounded to a lattice against the floating-point attack, and computed in double precision: see
//! [`Lattice`](crate::noise::lattice::Lattice). A draw is never beyond 8.6 σ, while a normal number is with
//! probability 10⁻¹⁷: that adds to δ, once for each category. The probability of a lattice point is taken as the
//! density there times the step; at z standard deviations the relative error is below 10⁻¹³·z².

use teda_core::stats::normal::FOR_NOISE as NORMAL;
use teda_core::{Parameter, Stream};

use super::histogram::{Histogram, Noise};
use super::protocol::Local;
use crate::entry::Entry;
use crate::noise::analytic_gaussian::sigma;
use crate::noise::metric::normals;

pub const ENTRY: Entry = Entry {
    name: "gaussian",
    summary: "analytic Gaussian mechanism on the one-hot vector of the text: delta is not 0",
    source: "Balle & Wang (ICML 2018), Algorithm 1",
    parameters: &[DELTA],
    build: &|context, epsilon, settings| {
        let delta = settings.get(DELTA.name);
        let claim = (epsilon, delta);
        Ok(Box::new(Local::new(
            context,
            "'gaussian'",
            claim,
            |size| {
                let sigma = sigma(2_f64.sqrt(), epsilon, delta);
                Histogram::new(size, Gaussian { sigma })
            },
        )?))
    },
    ..Entry::PROTOCOL
};

const DELTA: Parameter = Parameter::number(
    "delta",
    1e-5,
    [1e-12, 0.5],
    "delta of the claim, which the noise is made for",
);

/// Gaussian noise.
struct Gaussian {
    sigma: f64,
}

impl Noise for Gaussian {
    const GAUSSIAN: bool = true;

    fn scale(&self) -> f64 {
        self.sigma
    }

    fn draw(&self, count: usize, stream: &mut Stream) -> Vec<f64> {
        (normals(count, stream) * self.sigma).to_vec()
    }

    fn ln_mass(&self, noise: f64, step: f64) -> f64 {
        NORMAL.ln_density(noise / self.sigma) + (step / self.sigma).ln()
    }
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ContinuousCDF, Normal};
    use teda_core::{Query, Seed};

    use super::*;
    use crate::ldp::histogram::tests::assert_noise;
    use crate::testing::toy;

    #[test]
    fn noise_is_normal() {
        let normal = Normal::new(0.0, 1.5).unwrap();
        assert_noise(Gaussian { sigma: 1.5 }, |z| normal.cdf(z), "Gaussian");
    }

    /// The claim itself on its own releases: of the reports of one text, δ is the mean of (1 − e^{ε−ℓ})₊ with ℓ
    /// the logarithm of the ratio of likelihoods.
    #[test]
    fn the_mean_excess_of_the_loss_is_delta() {
        let (epsilon, delta, draws) = (1.0_f64, 0.05, 40_000);
        let given = toy::given(&[("delta", "0.05")]);
        let settings = ENTRY.settings(None, &given).unwrap();
        let context = toy::over(&["a", "b", "c"]);
        let mechanism = ENTRY.instance(&context, Some(epsilon), &settings).unwrap();
        let claim = mechanism.guarantee().unwrap();
        assert_eq!((claim.epsilon, claim.delta), (epsilon, delta));
        let queries: Vec<Query<'_>> = (0..draws)
            .map(|i| Query {
                text: "a",
                seed: Seed::root(28).at(i),
            })
            .collect();
        let releases = mechanism.rewrite(&queries).unwrap();
        let likelihood = mechanism.likelihood().unwrap();
        let excess: Vec<f64> = releases
            .iter()
            .map(|release| {
                let pairs = [(&release.text[..], "a"), (&release.text[..], "b")];
                let logs = likelihood.log_likelihood(&pairs).unwrap();
                let (own, other) = (logs[0].clone().unwrap(), logs[1].clone().unwrap());
                (1.0 - (epsilon - own + other).exp()).max(0.0)
            })
            .collect();
        let n = draws as f64;
        let mean = excess.iter().sum::<f64>() / n;
        let variance = excess.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / n;
        // Four standard deviations.
        assert!((mean - delta).abs() < 4.0 * (variance / n).sqrt(), "{mean}");
    }
}
