//! Mechanisms of known ε, their optimal attacks, and the exact test of a count of false claims.
//!
//! With a true rate at most the tail, more false claims than pass occur in fewer than 1 of 10 000
//! seeds. The attacks are optimal for their mechanism, so the true ε is within reach, and a bound that
//! spent more than it says would be caught.

use statrs::distribution::{Binomial, DiscreteCDF};
use teda_core::estimator::anytime::success_limit;
use teda_core::estimator::{Level, gdp};
use teda_core::{Role, Seed, Stream};

/// Simulated audits for each figure.
pub const AUDITS: u64 = 2_000;

/// The levels at which everything is tested.
pub fn levels() -> [Level; 2] {
    [0.05, 0.01].map(|alpha| Level::new(alpha).unwrap())
}

/// A mechanism whose privacy is known exactly.
#[derive(Debug, Clone, Copy)]
pub enum Law {
    /// The secret with probability e^ε/(e^ε+k−1), else another candidate.
    RandomisedResponse { k: usize, epsilon: f64 },
    /// Two candidates at distance 1 with Laplace noise of scale 1/ε.
    Laplace { epsilon: f64 },
    /// Two candidates at distance μ with standard normal noise.
    Gaussian { mu: f64 },
}

/// What one trial showed.
pub struct Trial {
    pub secret: usize,
    pub guess: usize,
    /// By how much the likeliest candidate is likelier than the next.
    pub margin: f64,
    pub log_likelihoods: Vec<f64>,
}

impl Trial {
    pub fn right(&self) -> bool {
        self.guess == self.secret
    }
}

impl Law {
    pub fn k(self) -> usize {
        match self {
            Self::RandomisedResponse { k, .. } => k,
            Self::Laplace { .. } | Self::Gaussian { .. } => 2,
        }
    }

    /// The smallest ε at which it is (ε, δ)-DP.
    pub fn epsilon(self, delta: f64) -> f64 {
        let exact = match self {
            Self::RandomisedResponse { k, epsilon } => {
                let others = k as f64 - 1.0;
                let own = epsilon.exp() / (epsilon.exp() + others);
                ((own - delta) * (epsilon.exp() + others)).max(1.0).ln()
            }
            Self::Laplace { epsilon } => epsilon + 2.0 * (-delta).ln_1p(),
            Self::Gaussian { mu } => gdp::epsilon(mu, delta).unwrap(),
        };
        exact.max(0.0)
    }

    /// How often the likeliest candidate is the secret.
    pub fn hit_rate(self) -> f64 {
        match self {
            Self::RandomisedResponse { k, epsilon } => success_limit(k, epsilon, 0.0).p,
            Self::Laplace { epsilon } => 1.0 - 0.5 * (-0.5 * epsilon).exp(),
            Self::Gaussian { mu } => {
                // (1 + total variation)/2.
                0.5 * (1.0 + gdp::delta(mu, 0.0))
            }
        }
    }

    fn release(self, secret: usize, coins: &mut Stream) -> f64 {
        match self {
            Self::RandomisedResponse { k, epsilon } => {
                let kept = 1.0 / (1.0 + (k as f64 - 1.0) * (-epsilon).exp());
                if coins.uniform() < kept {
                    secret as f64
                } else {
                    ((secret + 1 + coins.below(k - 1)) % k) as f64
                }
            }
            Self::Laplace { epsilon } => {
                let noise = -(1.0 - coins.uniform()).ln() / epsilon;
                let sign = if coins.uniform() < 0.5 { -1.0 } else { 1.0 };
                secret as f64 + sign * noise
            }
            Self::Gaussian { mu } => {
                let radius = (-2.0 * (1.0 - coins.uniform()).ln()).sqrt();
                mu * secret as f64 + radius * (std::f64::consts::TAU * coins.uniform()).cos()
            }
        }
    }

    /// ln P(y|v) up to a constant, in an arithmetic that never gives a ratio above ε.
    fn ln_likelihood(self, y: f64, candidate: usize) -> f64 {
        let v = candidate as f64;
        match self {
            Self::RandomisedResponse { epsilon, .. } if y == v => epsilon,
            Self::RandomisedResponse { .. } => 0.0,
            // |y − v| less |y − ½|, which lies in [−½, ½] exactly.
            Self::Laplace { epsilon } => {
                let side = (y - 0.5).clamp(-0.5, 0.5);
                epsilon * if candidate == 0 { -side } else { side }
            }
            Self::Gaussian { mu } => -0.5 * (y - mu * v) * (y - mu * v),
        }
    }

    /// One trial, from the streams of its audit.
    fn trial(self, streams: &mut Streams) -> Trial {
        let secret = streams.secret.below(self.k());
        let y = self.release(secret, &mut streams.mechanism);
        let log_likelihoods: Vec<f64> = (0..self.k()).map(|v| self.ln_likelihood(y, v)).collect();
        let highest = log_likelihoods.iter().copied().fold(f64::MIN, f64::max);
        let best: Vec<usize> = (0..self.k())
            .filter(|v| log_likelihoods[*v] == highest)
            .collect();
        let next = log_likelihoods
            .iter()
            .copied()
            .filter(|x| *x < highest)
            .fold(f64::MIN, f64::max);
        Trial {
            secret,
            guess: best[streams.ties.below(best.len())],
            margin: if best.len() == 1 { highest - next } else { 0.0 },
            log_likelihoods,
        }
    }

    /// The trials of one audit.
    pub fn trials(self, seed: Seed, number: usize) -> impl Iterator<Item = Trial> {
        let mut streams = Streams {
            secret: seed.role(0, Role::Secret).stream(),
            mechanism: seed.role(0, Role::Mechanism).stream(),
            ties: seed.role(0, Role::Ties).stream(),
        };
        (0..number).map(move |_| self.trial(&mut streams))
    }
}

struct Streams {
    secret: Stream,
    mechanism: Stream,
    ties: Stream,
}

/// How many of the audits, each with its own seed, claim too much.
pub fn false_claims(name: &str, audits: u64, mut audit: impl FnMut(Seed) -> bool) -> u64 {
    let root = Seed::root(2026).named(name);
    (0..audits).map(|i| u64::from(audit(root.at(i)))).sum()
}

/// P[Bin(n, p) ≥ seen].
pub fn at_least(seen: u64, audits: u64, p: f64) -> f64 {
    if seen == 0 {
        1.0
    } else {
        Binomial::new(p, audits).unwrap().sf(seen - 1)
    }
}

/// Fails where so many false claims are next to impossible at a rate of `tail`.
pub fn assert_covered(what: &str, seen: u64, tail: f64) {
    let p = at_least(seen, AUDITS, tail);
    println!("{what}: {seen} of {AUDITS} above the truth at a tail of {tail}, p = {p:.4}");
    assert!(p > 1e-4, "{what}: {seen} of {AUDITS}, p = {p}");
}
