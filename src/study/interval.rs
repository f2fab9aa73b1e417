//! How uncertain a measured number is: confidence limits at any level, for numbers of every kind.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};
use teda_core::stats::binomial::{self, Probability};

/// What a measured number rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// A share of independent trials: limits of Clopper and Pearson.
    Share {
        /// Trials that count.
        hits: u64,
        /// All trials.
        trials: u64,
    },
    /// The ε of a share p of k-fold guesses, ln((k − 1) p / (1 − p)), at least 0: the limits of the share, so converted.
    Epsilon {
        /// Right guesses.
        hits: u64,
        /// All guesses.
        trials: u64,
        /// Candidates.
        k: u32,
    },
    /// A mean of n values: limits by Student's t.
    Mean {
        /// The mean.
        mean: f64,
        /// The standard deviation of the values (n − 1).
        deviation: Option<f64>,
        /// The number of values.
        n: u64,
    },
    /// A number that is compared as it was printed.
    Exact {
        /// The number.
        #[serde(with = "teda_results::number")]
        value: f64,
    },
}

impl Spread {
    /// The mean of some values, at least one.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        Self::Mean {
            mean,
            deviation: (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()),
            n: values.len() as u64,
        }
    }

    /// The number itself.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        match *self {
            Self::Share { hits, trials } => (trials > 0).then(|| hits as f64 / trials as f64),
            Self::Epsilon { hits, trials, k } => {
                (trials > 0).then(|| epsilon(rate(hits, trials), k))
            }
            Self::Mean { mean, .. } => Some(mean),
            Self::Exact { value } => Some(value),
        }
    }

    /// A lower and an upper limit, each of which is wrong with probability `tail` at most; infinite where nothing is known.
    #[must_use]
    pub fn limits(&self, tail: f64) -> (f64, f64) {
        let share = |hits, trials| {
            (
                binomial::lower_limit(hits, trials, tail),
                binomial::upper_limit(hits, trials, tail),
            )
        };
        match *self {
            Self::Share { trials: 0, .. } | Self::Epsilon { trials: 0, .. } => {
                (f64::NEG_INFINITY, f64::INFINITY)
            }
            Self::Share { hits, trials } => {
                let (low, high) = share(hits, trials);
                (low.p, high.p)
            }
            Self::Epsilon { hits, trials, k } => {
                let (low, high) = share(hits, trials);
                (epsilon(low, k), epsilon(high, k))
            }
            Self::Mean { mean, deviation, n } => match deviation {
                Some(deviation) if n > 1 => {
                    let t = StudentsT::new(0.0, 1.0, (n - 1) as f64)
                        .map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - tail));
                    let half = t * deviation / (n as f64).sqrt();
                    (mean - half, mean + half)
                }
                _ => (f64::NEG_INFINITY, f64::INFINITY),
            },
            Self::Exact { value } => (value, value),
        }
    }

    /// All of them as one: shares of all trials, which is the mean of the shares where each has as many trials; means as
    /// the mean of all values. `None` for other kinds, or different ones.
    ///
    /// Shares may have different probabilities. Clopper and Pearson's limits of their sum hold for the mean probability all the
    /// same: a sum of independent trials with that mean has no heavier tails than the binomial (Hoeffding 1956, for counts at
    /// least one away from the mean).
    #[must_use]
    pub fn pooled(all: &[Self]) -> Option<Self> {
        let mut all = all.iter().cloned();
        let first = all.next()?;
        all.try_fold(first, |sum, next| match (sum, next) {
            (
                Self::Share { hits, trials },
                Self::Share {
                    hits: more,
                    trials: of,
                },
            ) => Some(Self::Share {
                hits: hits + more,
                trials: trials + of,
            }),
            (
                Self::Mean { mean, deviation, n },
                Self::Mean {
                    mean: other,
                    deviation: spread,
                    n: m,
                },
            ) => Some(joined((mean, deviation, n), (other, spread, m))),
            _ => None,
        })
    }
}

/// Two means as one, by the sums of squares around each.
fn joined(
    (a, deviation_a, n): (f64, Option<f64>, u64),
    (b, deviation_b, m): (f64, Option<f64>, u64),
) -> Spread {
    let (x, y) = (n as f64, m as f64);
    let mean = (a * x + b * y) / (x + y);
    let within = |deviation: Option<f64>, n: f64| deviation.map_or(0.0, |d| d * d * (n - 1.0));
    let squares = within(deviation_a, x)
        + within(deviation_b, y)
        + x * (a - mean).powi(2)
        + y * (b - mean).powi(2);
    let deviation = (n + m > 1).then(|| (squares / (x + y - 1.0)).sqrt());
    Spread::Mean {
        mean,
        deviation,
        n: n + m,
    }
}

fn rate(hits: u64, trials: u64) -> Probability {
    let share = |count| count as f64 / trials as f64;
    Probability {
        p: share(hits),
        q: share(trials - hits),
    }
}

fn epsilon(rate: Probability, k: u32) -> f64 {
    ((f64::from(k) - 1.0) * rate.p / rate.q).ln().max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy.stats.beta.ppf and t.ppf at a tail of 0.025.
    #[test]
    fn limits_are_those_of_scipy() {
        let close =
            |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 1e-6 && (b - d).abs() < 1e-6;
        let share = Spread::Share {
            hits: 60,
            trials: 100,
        };
        assert!(close(share.limits(0.025), (0.497_209_150, 0.696_705_231)));
        let odds = |p: f64| (p / (1.0 - p)).ln();
        let epsilon = Spread::Epsilon {
            hits: 60,
            trials: 100,
            k: 2,
        };
        let (low, high) = epsilon.limits(0.025);
        assert!(low == 0.0 && (high - odds(0.696_705_231)).abs() < 1e-5);
        let mean = Spread::Mean {
            mean: 1.0,
            deviation: Some(2.0),
            n: 3,
        };
        assert!(close(
            mean.limits(0.025),
            (1.0 - 4.968_275_420, 1.0 + 4.968_275_420)
        ));
    }

    #[test]
    fn nothing_is_known_of_no_trials_and_of_one_value() {
        let all = (f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!(Spread::Share { hits: 0, trials: 0 }.limits(0.01), all);
        let one = Spread::Mean {
            mean: 1.0,
            deviation: None,
            n: 1,
        };
        assert_eq!(one.limits(0.01), all);
        let whole = Spread::Epsilon {
            hits: 5,
            trials: 5,
            k: 2,
        };
        assert_eq!(whole.value(), Some(f64::INFINITY));
        assert_eq!(whole.limits(0.01).1, f64::INFINITY);
    }

    #[test]
    fn pooling_is_counting_all_values_together() {
        let shares = [(3, 10), (4, 20)].map(|(hits, trials)| Spread::Share { hits, trials });
        assert_eq!(
            Spread::pooled(&shares),
            Some(Spread::Share {
                hits: 7,
                trials: 30
            })
        );
        // Of 1, 2, 3 and 5, 9: the mean of five values and their deviation.
        let parts = [
            Spread::Mean {
                mean: 2.0,
                deviation: Some(1.0),
                n: 3,
            },
            Spread::Mean {
                mean: 7.0,
                deviation: Some(8.0_f64.sqrt()),
                n: 2,
            },
        ];
        let Some(Spread::Mean {
            mean,
            deviation: Some(deviation),
            n: 5,
        }) = Spread::pooled(&parts)
        else {
            panic!("no mean of five values");
        };
        assert!((mean - 4.0).abs() < 1e-12 && (deviation - 10.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(Spread::pooled(&[shares[0].clone(), parts[0].clone()]), None);
        assert_eq!(Spread::pooled(&[]), None);
    }
}
