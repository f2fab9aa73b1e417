//! Jeffreys' posterior of an error rate, as a distribution of its angle.
//!
//! # Definition
//! After e errors and s successes the rate is Beta(½ + e, ½ + s); its angle θ with rate sin²θ has a density
//! proportional to sin²ᵉθ cos²ˢθ. It is stored as a table of equal cells over the range that holds its mass.
//!
//! # Source
//! Jeffreys (1946).

use super::angle::Angle;
use super::binomial::Probability;
use super::quadrature;

/// Cells of a posterior's table per panel of the quadrature.
const CELLS: usize = 24;

/// Beta(½ + errors, ½ + successes) of a rate, as a distribution of its angle, in a table of equal cells.
pub struct Posterior {
    start: f64,
    width: f64,
    /// At each end of a cell: the probability of a smaller angle, and the density.
    ends: Vec<(f64, f64)>,
    peak: Angle,
    errors: f64,
    successes: f64,
    total: f64,
}

impl Posterior {
    /// The posterior, cut where the rest is negligible compared with `tail`.
    pub fn new(errors: u64, trials: u64, tail: f64) -> Self {
        let (errors, trials) = (errors as f64, trials as f64);
        let successes = trials - errors;
        let peak = Angle::of(Probability {
            p: errors / trials,
            q: successes / trials,
        });
        // The density falls at least as fast as exp(−trials·shift²).
        let drop = 16.0 - tail.ln();
        let reach = (drop / trials).sqrt();
        let start = (peak.radians() - reach).max(0.0);
        let end = (peak.radians() + reach).min(std::f64::consts::FRAC_PI_2);
        // A panel is two and a half standard deviations or less.
        let cells = (1.7 * drop.sqrt()).ceil() as usize * CELLS;
        let mut posterior = Self {
            start,
            width: (end - start) / cells as f64,
            ends: Vec::with_capacity(cells + 1),
            peak,
            errors,
            successes,
            total: 1.0,
        };
        let mut mass = 0.0;
        let mut ends = vec![(0.0, posterior.density(start))];
        for i in 0..cells {
            let to = posterior.angle(i + 1);
            mass += quadrature::panel(posterior.angle(i), to, |angle| posterior.density(angle));
            ends.push((mass, posterior.density(to)));
        }
        posterior.total = mass;
        posterior.ends = ends.iter().map(|(f, g)| (f / mass, g / mass)).collect();
        posterior
    }

    fn angle(&self, end: usize) -> f64 {
        self.start + self.width * end as f64
    }

    /// Where the distribution starts.
    pub fn start(&self) -> f64 {
        self.start
    }

    /// Where it ends.
    pub fn end(&self) -> f64 {
        self.angle(self.ends.len() - 1)
    }

    /// The ends of the panels.
    pub fn breaks(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.ends.len()).step_by(CELLS).map(|i| self.angle(i))
    }

    /// Density of the angle.
    pub fn density(&self, angle: f64) -> f64 {
        let shift = angle - self.peak.radians();
        let ln_ratio = self
            .peak
            .ln_likelihood_ratio(self.errors, self.successes, shift);
        ln_ratio.exp() / self.total
    }

    /// The probability of a smaller angle: the cubic through both ends of the cell with the densities as slopes. A
    /// cell is a tenth of a standard deviation, so the error is 10⁻⁷ of the density.
    pub fn cdf(&self, angle: f64) -> f64 {
        if angle <= self.start {
            return 0.0;
        }
        let position = (angle - self.start) / self.width;
        let i = position as usize;
        if i + 1 >= self.ends.len() {
            return 1.0;
        }
        let ((f, df), (g, dg)) = (self.ends[i], self.ends[i + 1]);
        let (t, rise) = (position - i as f64, g - f);
        let (left, right) = (df * self.width - rise, dg * self.width - rise);
        f + t * (rise + (1.0 - t) * ((1.0 - t) * left - t * right))
    }
}

/// sin² of an angle, with its complement.
pub fn rate(angle: f64) -> Probability {
    let (sine, cosine) = angle.sin_cos();
    Probability {
        p: sine * sine,
        q: cosine * cosine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{Beta, ContinuousCDF};

    #[test]
    fn the_table_is_the_beta_law() {
        for (errors, trials) in [(0, 1), (0, 100), (7, 7), (3, 40), (900, 1_000)] {
            let posterior = Posterior::new(errors, trials, 1e-3);
            let beta = Beta::new(0.5 + errors as f64, 0.5 + (trials - errors) as f64).unwrap();
            for i in 1..100 {
                let angle = std::f64::consts::FRAC_PI_2 * f64::from(i) / 100.0;
                let (found, expected) = (posterior.cdf(angle), beta.cdf(rate(angle).p));
                assert!(
                    (found - expected).abs() < 1e-7,
                    "{errors}/{trials}: {found} {expected}"
                );
            }
        }
    }
}
