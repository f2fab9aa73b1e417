//! White-box certificates: what a mechanism's own probabilities prove about its ε.
//!
//! # Definition
//! Pure DP: ε ≥ |ln P(y|v_i) − ln P(y|v_j)| for every output y and every pair; the certificate is the largest over all
//! outputs seen, ∞ if y is possible under only one of the two. δ > 0: with ℓ = ln P(y|v) − ln P(y|v′), y drawn for the
//! secret v, the smallest δ of a pair is δ(ε) = E[(1 − e^{ε−ℓ})₊]. X_ε is that value for one trial, averaged over the
//! k − 1 other candidates; the certificate is the last ε of the grid 0, 0.01, 0.02, … up to which every `E[X_ε] ≤ δ`
//! was refuted by betting.
//!
//! # Guarantee
//! Pure DP: certain, no confidence level is spent; the likelihoods must be exact, and y need not even have been drawn
//! at random. δ > 0: under (ε, δ)-DP `E[X_ε] ≤ δ`, and so for every larger ε. A claim above the true ε requires that
//! the first true hypothesis on the grid is refuted, whatever is refuted after it, so one test at α/2 is the whole
//! price of the search, at all times simultaneously.
//!
//! # Source
//! Neyman & Pearson (1933); δ(ε) as the hockey-stick divergence: Barthe & Olmedo (2013); tests in a
//! fixed order: Maurer, Hothorn & Lehmacher (1995).
//!
//! # Deviations
//! Each log-likelihood is assumed to be right to 8 ulps, and differences are lowered by that amount on both sides.
//! Likelihoods with larger errors, such as sums of many terms, must be rounded by whoever computes them.
//!
//! # Errors
//! Failed, if a log-likelihood is NaN or +∞, if all are −∞, if there are fewer than two, and at δ > 0 if the release
//! was impossible under its own secret. Usage, if δ is not in (0, 1).

use super::evidence::{self, Design, Evidence, Observed};
use super::{Assurance, Bound, Estimator, Level, Needs, likelihoods};
use crate::stats::betting::{Horizon, Wager};
use crate::{Error, Result};

/// The estimator by certificates.
pub const ESTIMATOR: Estimator = Estimator {
    name: "certificate",
    summary: "the largest log-likelihood ratio of a release between two candidates (white box, needs no attack)",
    spends: "nothing at delta = 0, where it is certain; else alpha/2 on tests by betting in a fixed order",
    assurance: Assurance::Certain,
    needs: Needs::Likelihoods,
    supports: |_| Ok(()),
    begin: |design| Box::new(Certified::new(design)),
};

/// Evidence from releases with their likelihoods.
enum Certified {
    Exact {
        certificate: Certificate,
        witness: Option<Vec<u32>>,
    },
    Approximate(ApproximateCertificate),
}

impl Certified {
    fn new(design: Design) -> Self {
        let horizon = Horizon::Trials(design.trials);
        match ApproximateCertificate::new(design.delta, design.level, horizon) {
            Ok(approximate) => Self::Approximate(approximate),
            // At δ = 0.
            Err(_) => Self::Exact {
                certificate: Certificate::new(),
                witness: None,
            },
        }
    }
}

impl Evidence for Certified {
    /// A trial without a release proves nothing.
    fn record(&mut self, trial: &Observed<'_>) -> Result<()> {
        if trial.failure.is_some() && trial.log_likelihoods.is_empty() {
            return Ok(());
        }
        let likelihoods = evidence::likelihoods(ESTIMATOR.name, trial)?;
        match self {
            Self::Approximate(certificate) => certificate.observe(trial.secret, likelihoods),
            Self::Exact {
                certificate,
                witness,
            } => {
                let before = certificate.epsilon();
                certificate.observe(likelihoods)?;
                if let Some(shown) = certificate.witness().filter(|w| w.epsilon > before) {
                    let pair = [shown.likeliest, shown.unlikeliest];
                    *witness = Some(pair.map(|place| trial.candidates[place]).into());
                }
                Ok(())
            }
        }
    }

    fn bound(&self) -> Bound {
        Bound {
            epsilon: match self {
                Self::Exact { certificate, .. } => certificate.epsilon(),
                Self::Approximate(certificate) => certificate.epsilon(),
            },
            // A single release that is impossible under another candidate shows any ε.
            ceiling: f64::INFINITY,
        }
    }

    fn witness(&self) -> Option<Vec<u32>> {
        match self {
            Self::Exact { witness, .. } => witness.clone(),
            Self::Approximate(_) => None,
        }
    }
}

/// The error of a log-likelihood, in units in the last place.
const ULPS: f64 = 8.0;
/// The error of e^{ε−ℓ} beyond that of ℓ.
const ROUNDING: f64 = 2e-15;
/// The step of the ε grid at δ > 0.
const STEP: f64 = 0.01;
const STEPS: usize = 2_000;

/// The output that proves the most under pure DP.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Witness {
    /// Number of the output, in the order observed, from 0.
    pub output: u64,
    /// The candidate under which it is most likely.
    pub likeliest: usize,
    /// The candidate under which it is least likely.
    pub unlikeliest: usize,
    /// ε ≥ this, for certain. ∞ if the output is impossible under the latter.
    pub epsilon: f64,
}

/// The largest log-likelihood ratio over outputs and pairs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Certificate {
    outputs: u64,
    witness: Option<Witness>,
}

impl Certificate {
    /// The state before any output.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an output with its log-likelihood under every candidate.
    ///
    /// # Errors
    /// Failed, if there are fewer than two, or they are NaN, +∞ or all −∞.
    pub fn observe(&mut self, log_likelihoods: &[f64]) -> Result<()> {
        likelihoods::highest(log_likelihoods)?;
        let extreme = |sign: f64| {
            (0..log_likelihoods.len())
                .max_by(|i, j| {
                    (sign * log_likelihoods[*i]).total_cmp(&(sign * log_likelihoods[*j]))
                })
                .expect("two candidates or more")
        };
        let (likeliest, unlikeliest) = (extreme(1.0), extreme(-1.0));
        let epsilon = ratio(log_likelihoods[likeliest], log_likelihoods[unlikeliest]).max(0.0);
        if epsilon > self.epsilon() {
            self.witness = Some(Witness {
                output: self.outputs,
                likeliest,
                unlikeliest,
                epsilon,
            });
        }
        self.outputs += 1;
        Ok(())
    }

    /// ε ≥ this, for certain; 0 if nothing was shown.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        self.witness.map_or(0.0, |witness| witness.epsilon)
    }

    /// The output that shows it.
    #[must_use]
    pub fn witness(&self) -> Option<Witness> {
        self.witness
    }
}

/// The bound at δ > 0.
#[derive(Debug, Clone)]
pub struct ApproximateCertificate {
    /// One for each ε of the grid up to the largest ℓ so far, with e^ε.
    wagers: Vec<(f64, Wager)>,
    /// The wager of every other ε: all its values were 0.
    silent: Wager,
    /// How many hypotheses of the grid are refuted without a gap, from the first.
    refuted: usize,
}

impl ApproximateCertificate {
    /// The state before any output, at δ = `delta`.
    ///
    /// # Errors
    /// Usage, if δ is not in (0, 1): at δ = 0 the [`Certificate`] is exact.
    pub fn new(delta: f64, level: Level, horizon: Horizon) -> Result<Self> {
        if !(delta > 0.0 && delta < 1.0) {
            return Err(Error::usage(format!(
                "the certificate by betting needs 0 < delta < 1, not delta = {delta}; at delta = 0 the certificate of single outputs is exact"
            )));
        }
        Ok(Self {
            wagers: Vec::new(),
            silent: Wager::new(delta, level.tail(), horizon),
            refuted: 0,
        })
    }

    /// Adds the next release, drawn for candidate `secret`, with its log-likelihood under every candidate. Releases
    /// come in the order of the trials.
    ///
    /// # Errors
    /// Failed, if there are fewer than two, one is NaN or +∞, or is −∞ for the secret itself, or the secret is not a
    /// candidate.
    pub fn observe(&mut self, secret: usize, log_likelihoods: &[f64]) -> Result<()> {
        let others = relative_likelihoods(secret, log_likelihoods)?;
        self.extend(&others);
        self.silent.observe(0.0);
        for (grown, wager) in &mut self.wagers[self.refuted..] {
            let sum: f64 = others
                .iter()
                .map(|other| (1.0 - *grown * other).max(0.0))
                .sum();
            wager.observe((sum / others.len() as f64).min(1.0));
        }
        self.refuted += self.wagers[self.refuted..]
            .iter()
            .take_while(|(_, wager)| wager.refuted())
            .count();
        Ok(())
    }

    /// Gives a separate wager to every ε of the grid for which the next value is not 0.
    fn extend(&mut self, others: &[f64]) {
        let least = others.iter().copied().fold(f64::INFINITY, f64::min);
        while self.wagers.len() <= STEPS {
            let grown = grid(self.wagers.len()).exp();
            if grown * least >= 1.0 {
                break;
            }
            self.wagers.push((grown, self.silent));
        }
    }

    /// ε ≥ this with confidence 1 − α/2, even if it is looked at after every trial; 0 if nothing was shown.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        grid(self.refuted.saturating_sub(1))
    }
}

/// P(y|v′)/P(y|v) for the secret v and every other v′, rounded up.
fn relative_likelihoods(secret: usize, log_likelihoods: &[f64]) -> Result<Vec<f64>> {
    likelihoods::highest(log_likelihoods)?;
    let own = *log_likelihoods.get(secret).ok_or_else(|| {
        Error::failed(format!(
            "secret {secret} among {} candidates",
            log_likelihoods.len()
        ))
    })?;
    if own == f64::NEG_INFINITY {
        return Err(Error::failed(
            "a release has likelihood 0 under the secret that it was made for",
        ));
    }
    Ok(log_likelihoods
        .iter()
        .enumerate()
        .filter(|(j, _)| *j != secret)
        .map(|(_, other)| (-ratio(own, *other)).exp() * (1.0 + ROUNDING))
        .collect())
}

fn grid(i: usize) -> f64 {
    i as f64 * STEP
}

/// ln of the ratio of two likelihoods, not both 0, lowered by their possible error.
fn ratio(ln_numerator: f64, ln_denominator: f64) -> f64 {
    if ln_denominator == f64::NEG_INFINITY {
        return f64::INFINITY;
    }
    let allowance = ULPS * f64::EPSILON * (ln_numerator.abs() + ln_denominator.abs());
    // The difference of two finite numbers may overflow, but that does not make it infinite.
    (ln_numerator - ln_denominator).min(f64::MAX) - allowance
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn level() -> Level {
        Level::new(0.01).unwrap()
    }

    #[test]
    fn the_widest_pair_of_any_output_is_the_witness() {
        let mut certificate = Certificate::new();
        assert_eq!((certificate.epsilon(), certificate.witness()), (0.0, None));
        certificate.observe(&[-5.0, -5.0, -5.0]).unwrap();
        assert_eq!(certificate.witness(), None);
        certificate.observe(&[-1.0, -3.5, -2.0]).unwrap();
        certificate.observe(&[-2.0, -2.0, -4.0]).unwrap();
        let witness = certificate.witness().unwrap();
        assert_eq!(
            (witness.output, witness.likeliest, witness.unlikeliest),
            (1, 0, 1)
        );
        assert!(witness.epsilon < 2.5 && witness.epsilon > 2.5 - 1e-13);
    }

    #[test]
    fn an_output_that_one_candidate_cannot_make_is_infinite_evidence() {
        let mut certificate = Certificate::new();
        certificate.observe(&[-700.0, f64::NEG_INFINITY]).unwrap();
        assert_eq!(certificate.epsilon(), f64::INFINITY);
        let mut finite = Certificate::new();
        finite.observe(&[f64::MAX, f64::MIN]).unwrap();
        assert!(finite.epsilon() < f64::INFINITY);
    }

    #[test]
    fn what_is_no_likelihood_is_refused() {
        let none = f64::NEG_INFINITY;
        let mut approximate = ApproximateCertificate::new(0.1, level(), Horizon::AnyTime).unwrap();
        for bad in [vec![0.0], vec![none, none], vec![f64::NAN, 0.0]] {
            assert!(matches!(
                Certificate::new().observe(&bad),
                Err(Error::Failed(_))
            ));
            assert!(matches!(
                approximate.observe(0, &bad),
                Err(Error::Failed(_))
            ));
        }
        assert!(matches!(
            approximate.observe(0, &[none, 0.0]),
            Err(Error::Failed(_))
        ));
        assert!(matches!(
            approximate.observe(2, &[0.0, 0.0]),
            Err(Error::Failed(_))
        ));
        for delta in [0.0, 1.0, f64::NAN] {
            let refused = ApproximateCertificate::new(delta, level(), Horizon::AnyTime);
            assert!(matches!(refused, Err(Error::Usage(_))));
        }
    }

    /// Every output is impossible under the other candidate: δ = 1 is needed for any ε, so any smaller δ is refuted on
    /// the whole grid.
    #[test]
    fn a_mechanism_without_privacy_reaches_the_end_of_the_grid() {
        let mut approximate =
            ApproximateCertificate::new(0.01, level(), Horizon::Trials(200)).unwrap();
        for _ in 0..200 {
            approximate
                .observe(1, &[f64::NEG_INFINITY, -3.0, f64::NEG_INFINITY])
                .unwrap();
        }
        assert_eq!(approximate.epsilon(), 20.0);
    }

    proptest! {
        /// Against integers, whose differences are exact: never above, barely below.
        #[test]
        fn rounding_is_downwards(a in -1_000_000_i64..0, b in -1_000_000_i64..0, scale in 0.001_f64..1.0) {
            let mut certificate = Certificate::new();
            let (x, y) = (a as f64 * scale, b as f64 * scale);
            certificate.observe(&[x, y]).unwrap();
            let exact = (a - b).abs() as f64 * scale;
            prop_assert!(certificate.epsilon() <= exact);
            prop_assert!(certificate.epsilon() >= exact - 1e-8);
        }

        #[test]
        fn more_outputs_never_show_less(outputs in proptest::collection::vec((-9.0_f64..0.0, -9.0_f64..0.0), 1..40)) {
            let mut certificate = Certificate::new();
            let mut approximate = ApproximateCertificate::new(0.05, level(), Horizon::AnyTime).unwrap();
            for (a, b) in outputs {
                let before = (certificate.epsilon(), approximate.epsilon());
                certificate.observe(&[a, b]).unwrap();
                approximate.observe(0, &[a, b]).unwrap();
                prop_assert!(certificate.epsilon() >= before.0 && approximate.epsilon() >= before.1);
                prop_assert!(approximate.epsilon() <= certificate.epsilon().max(0.0));
            }
        }
    }
}
