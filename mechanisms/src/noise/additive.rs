//! Noise on every number of a latent, of an amount that a claim asks for.
//!
//! # Definition
//! Latents of two texts differ by at most Δ₂ in ℓ2 and Δ₁ in ℓ1. The noise on each number is independent of the others,
//! - `analytic-gaussian`: N(0, σ²) with the smallest σ that (ε, δ) allows for Δ₂ (Balle and Wang);
//! - `gaussian`: N(0, σ²) with the classical σ = Δ₂ √(2 ln(1.25/δ)) / ε;
//! - `laplace`: Laplace(Δ₁/ε), for δ = 0.
//!
//! The classical σ is proven for ε < 1 only; for others it suffices as long as Balle and Wang's condition, which is
//! necessary and sufficient, holds of it: at δ = 10⁻⁵ up to about ε = 8.4.
//!
//! # Source
//! Dwork & Roth, *The Algorithmic Foundations of Differential Privacy* (2014), Theorems 3.6 and 3.22; Balle & Wang,
//! *Improving the Gaussian Mechanism for Differential Privacy* (ICML 2018), Theorem 8.

use ndarray::{Array2, ArrayView1};
use teda_core::{Basis, Guarantee, Latent, Neighbours, Parameter, Query, Result, Stream, Unit};

use super::analytic_gaussian;
use super::coin::laplace;
use super::metric::normals;

/// The names that the parameter `noise` can have.
pub const NOISES: [&str; 3] = ["analytic-gaussian", "gaussian", "laplace"];

/// The law of the noise.
pub const NOISE: Parameter = Parameter::choice(
    "noise",
    &NOISES,
    "the law of the noise; gaussian: its classical amount, as published, which is too little at large epsilon",
);

/// What the noise leaves to chance.
pub const DELTA: Parameter = Parameter::number(
    "delta",
    1e-5,
    [1e-12, 0.5],
    "delta of the claim, which the noise is made for; 0 with noise=laplace",
);

/// By how much the latents of two texts differ at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sensitivity {
    /// Δ₂.
    pub l2: f64,
    /// Δ₁.
    pub l1: f64,
}

/// Noise for one latent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdditiveNoise {
    law: Law,
    /// What it is claimed to give.
    claim: Guarantee,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Law {
    Gaussian { sigma: f64 },
    Laplace { scale: f64 },
}

impl AdditiveNoise {
    /// The noise of one of the names of [`NOISE`].
    #[must_use]
    pub fn new(name: &str, sensitivity: Sensitivity, epsilon: f64, delta: f64) -> Self {
        let Sensitivity { l2, l1 } = sensitivity;
        let (law, delta, basis) = match name {
            "laplace" => {
                let scale = l1 / epsilon;
                (Law::Laplace { scale }, 0.0, Basis::Proven)
            }
            "gaussian" => {
                let sigma = l2 * (2.0 * (1.25 / delta).ln()).sqrt() / epsilon;
                let suffices = analytic_gaussian::delta(sigma / l2, epsilon) <= delta;
                let basis = if suffices {
                    Basis::Proven
                } else {
                    Basis::Claimed
                };
                (Law::Gaussian { sigma }, delta, basis)
            }
            _ => {
                let sigma = analytic_gaussian::sigma(l2, epsilon, delta);
                (Law::Gaussian { sigma }, delta, Basis::Proven)
            }
        };
        Self {
            law,
            claim: Guarantee {
                epsilon,
                delta,
                unit: Unit::Text,
                neighbours: Neighbours::AnyTexts,
                basis,
            },
        }
    }

    /// The claim of a mechanism whose latents differ as [`Self::new`] was told, between any two texts.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        self.claim
    }

    /// Whether it is normal.
    #[must_use]
    pub fn is_gaussian(&self) -> bool {
        matches!(self.law, Law::Gaussian { .. })
    }

    /// The root of its mean square: what noise on one number amounts to.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        match self.law {
            Law::Gaussian { sigma } => sigma,
            Law::Laplace { scale } => 2_f64.sqrt() * scale,
        }
    }

    /// ln of the density of independent draws, without its constant: correct to a few units in the last place, as
    /// certificates need it.
    #[must_use]
    pub fn ln_density(&self, noise: &[f64]) -> f64 {
        match self.law {
            Law::Gaussian { sigma } => -sum(noise.iter().map(|z| (z / sigma).powi(2))) / 2.0,
            Law::Laplace { scale } => -sum(noise.iter().map(|z| z.abs() / scale)),
        }
    }

    /// Independent draws.
    pub fn draw(&self, count: usize, stream: &mut Stream) -> Vec<f64> {
        match self.law {
            Law::Gaussian { sigma } => (normals(count, stream) * sigma).to_vec(),
            Law::Laplace { scale } => (0..count).map(|_| laplace(scale, stream)).collect(),
        }
    }
}

/// [`Latent::noisy`] of clean latents and noise on each, which `draw` makes of the query's coins.
///
/// # Errors
/// Those of [`Latent::clean`].
pub fn noisy(
    latent: &impl Latent,
    batch: &[Query<'_>],
    draw: impl Fn(&mut Stream) -> Vec<f64>,
) -> Result<Array2<f64>> {
    let texts: Vec<&str> = batch.iter().map(|query| query.text).collect();
    let mut latents = latent.clean(&texts)?;
    for (mut latent, query) in latents.rows_mut().into_iter().zip(batch) {
        for (number, noise) in latent.iter_mut().zip(draw(&mut query.seed.stream())) {
            *number += noise;
        }
    }
    Ok(latents)
}

/// [`Latent::log_densities`] where `ln_density` is that of the noise on one latent.
///
/// # Errors
/// Those of [`Latent::clean`].
pub fn log_densities(
    latent: &impl Latent,
    batch: &[Query<'_>],
    candidates: &[Vec<&str>],
    ln_density: impl Fn(&[f64]) -> f64,
) -> Result<Vec<Vec<f64>>> {
    let noisy = latent.noisy(batch)?;
    let texts: Vec<&str> = candidates.iter().flatten().copied().collect();
    let clean = latent.clean(&texts)?;
    let mut clean = clean.rows().into_iter();
    let densities = |(noisy, candidates): (ArrayView1<'_, f64>, &Vec<&str>)| {
        let clean = clean.by_ref().take(candidates.len());
        let density = |clean| ln_density(&(&noisy - &clean).to_vec());
        clean.map(density).collect()
    };
    Ok(noisy
        .rows()
        .into_iter()
        .zip(candidates)
        .map(densities)
        .collect())
}

/// A sum of numbers of one sign with the error of one rounding, or little more (Neumaier 1974).
fn sum(numbers: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0);
    for number in numbers {
        let next = sum + number;
        lost += match sum.abs() >= number.abs() {
            true => (sum - next) + number,
            false => (number - next) + sum,
        };
        sum = next;
    }
    sum + lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_lose_nothing() {
        let numbers = [1e16, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(sum(numbers.into_iter()), 1e16 + 4.0);
        assert_eq!(sum(std::iter::repeat_n(0.1, 10)), 1.0);
    }
}
