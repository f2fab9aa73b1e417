//! `she`: summation with histogram encoding, Laplace noise on the one-hot vector.
//!
//! # Definition
//! y_i = 1[i = x] + Laplace(2/ε) for each of K categories, independently ([`Histogram`]).
//!
//! # Guarantee
//! ε-LDP between any two texts of the domain: a density of Laplace(b) changes by a factor of at most e^{1/b} when its
//! centre moves by 1, and the centres of two entries do, so the ratio is at most e^{2/b} = e^ε. Tight: that is the
//! ratio wherever y_x ≥ 1 and y_x′ ≤ 0. Proven for exact noise.
//!
//! # Source
//! Dwork, McSherry, Nissim & Smith (TCC 2006) for the noise; as a protocol with this name, Wang et al. (USENIX
//! Security 2017), Section 4.3.
//!
//! # Deviations
//! Numbers are rounded to a lattice against the floating-point attack, and computed in double precision: see
//! [`Lattice`](crate::noise::lattice::Lattice) for what that protects and what it does not. There is no protection
//! against timing.

use teda_core::{Result, Stream};

use super::histogram::{Histogram, Noise};
use super::protocol::Local;
use crate::entry::{Context, Entry};
use crate::noise::coin::laplace;

pub const ENTRY: Entry = Entry {
    name: "she",
    summary: "histogram encoding: Laplace noise on the one-hot vector of the text",
    source: "Wang et al. (USENIX Security 2017), Section 4.3",
    build: &|context, epsilon, _| Ok(Box::new(protocol(context, "'she'", epsilon)?)),
    ..Entry::PROTOCOL
};

/// The protocol; `owner` is its name in messages.
///
/// # Errors
/// Usage, for a data set of fewer than two texts.
pub fn protocol(
    context: &Context,
    owner: &'static str,
    epsilon: f64,
) -> Result<Local<Histogram<Laplace>>> {
    Local::new(context, owner, (epsilon, 0.0), |size| {
        Histogram::new(size, Laplace::of_sensitivity(2.0, epsilon))
    })
}

/// Laplace noise.
pub struct Laplace {
    scale: f64,
}

impl Laplace {
    /// The noise that makes vectors at most `sensitivity` apart in ℓ1 ε-indistinguishable.
    pub fn of_sensitivity(sensitivity: f64, epsilon: f64) -> Self {
        Self {
            scale: sensitivity / epsilon,
        }
    }
}

impl Noise for Laplace {
    fn scale(&self) -> f64 {
        self.scale
    }

    fn draw(&self, count: usize, stream: &mut Stream) -> Vec<f64> {
        (0..count).map(|_| laplace(self.scale, stream)).collect()
    }

    /// The integral of the density over a step. With t = h/2b it is e^{−|z|/b}·sinh t, and 1 − e^{−t} at z = 0, where
    /// the density has its edge.
    fn ln_mass(&self, noise: f64, step: f64) -> f64 {
        let t = step / (2.0 * self.scale);
        if noise == 0.0 {
            (-(-t).exp_m1()).ln()
        } else {
            t - noise.abs() / self.scale + (-(-2.0 * t).exp_m1() / 2.0).ln()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use statrs::distribution::ContinuousCDF;

    use super::*;
    use crate::ldp::histogram::tests::assert_noise;

    #[test]
    fn noise_is_laplaces() {
        for epsilon in [0.1, 1.0, 4.0] {
            let exact = statrs::distribution::Laplace::new(0.0, 2.0 / epsilon).unwrap();
            let noise = Laplace::of_sensitivity(2.0, epsilon);
            assert_noise(noise, |z| exact.cdf(z), "Laplace");
        }
    }

    proptest! {
        /// Privacy itself: moving both centres by 1 changes no probability by more than a factor of e^ε, and that is
        /// reached.
        #[test]
        fn the_ratio_never_exceeds_epsilon(
            ln_epsilon in -5.0_f64..8.0, own in -1e7_f64..1e7, other in -1e7_f64..1e7
        ) {
            let epsilon = ln_epsilon.exp();
            let noise = Laplace::of_sensitivity(2.0, epsilon);
            let step = crate::noise::lattice::Lattice::new(noise.scale).step();
            let loss = |y: f64, z: f64| {
                let mass = |noise_: f64| noise.ln_mass(noise_, step);
                mass(y - 1.0) + mass(z) - mass(y) - mass(z - 1.0)
            };
            let found = loss(own.round() * step, other.round() * step);
            let slack = 1e-9 * (1.0 + epsilon);
            prop_assert!(found.abs() <= epsilon + slack, "{found} at {epsilon}");
            let reached = loss(1.0 + 1e3 * step, -5.0 * step);
            prop_assert!((reached - epsilon).abs() <= slack, "{reached} at {epsilon}");
        }
    }
}
