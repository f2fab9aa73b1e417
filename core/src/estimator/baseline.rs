//! The two-hypothesis baseline: true and false positive rate estimated separately.
//!
//! # Definition
//! With k = 2, "positive" means guessing the first candidate. ε̂ = max(0, ln((TPR − δ) / FPR)), where TPR is the
//! Clopper-Pearson lower limit over the trials whose secret was the first candidate, and FPR the upper limit over
//! those whose secret was the second. Each limit spends α/4, so that the bound spends α/2 like every other.
//!
//! # Source
//! Arcolezi & Gambs (2024), with which TeDA's Section 3.3 compares.
//!
//! # Deviations
//! There each hypothesis has T trials; here T are all trials, and about half of them have either secret.

use super::evidence::Counted;
use super::{Assurance, Bound, Estimator, Level, Needs, positive_ln_ratio, two_candidates};
use crate::ConfusionMatrix;
use crate::stats::binomial;

/// The estimator of Arcolezi & Gambs.
pub const ESTIMATOR: Estimator = Estimator {
    name: "baseline",
    summary: "true and false positive rate of two hypotheses (k = 2), estimated apart",
    spends: "alpha/4 on each of two Clopper-Pearson limits",
    assurance: Assurance::Confidence,
    needs: Needs::Guesses,
    supports: |design| two_candidates("baseline", design),
    begin: |design| Counted::begin(design, bound),
};

/// The bound from a matrix over two candidates.
#[must_use]
pub fn bound(matrix: &ConfusionMatrix, level: Level, delta: f64) -> Bound {
    let (first, second) = (matrix.with_secret(0), matrix.with_secret(1));
    let epsilon = |true_positives, false_positives| {
        if first == 0 || second == 0 {
            return 0.0;
        }
        let tail = level.tail() / 2.0;
        let tpr = binomial::lower_limit(true_positives, first, tail);
        let fpr = binomial::upper_limit(false_positives, second, tail);
        positive_ln_ratio(tpr.p - delta, fpr.p)
    };
    Bound {
        epsilon: epsilon(matrix.count(0, 0), matrix.count(1, 0)),
        ceiling: epsilon(first, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::estimator::Design;

    fn matrix(counts: [[u64; 2]; 2]) -> ConfusionMatrix {
        ConfusionMatrix::from_counts(2, counts.concat())
    }

    /// Randomised response with 10⁶ trials per hypothesis, at its expected counts.
    #[test]
    fn randomised_response_at_its_mean() {
        for (epsilon, expected) in [(0.5_f64, 0.494), (1.0, 0.994), (2.0, 1.991), (4.0, 3.979)] {
            let hits = (1e6 / (1.0 + (-epsilon).exp())).round() as u64;
            let miss = 1_000_000 - hits;
            let bound = bound(
                &matrix([[hits, miss], [miss, hits]]),
                Level::new(0.01).unwrap(),
                0.0,
            );
            assert!(
                (bound.epsilon - expected).abs() < 1e-3,
                "{epsilon}: {}",
                bound.epsilon
            );
        }
    }

    #[test]
    fn one_sided_trials_show_nothing() {
        let bound = bound(&matrix([[100, 0], [0, 0]]), Level::new(0.01).unwrap(), 0.0);
        assert_eq!((bound.epsilon, bound.ceiling), (0.0, 0.0));
    }

    #[test]
    fn more_than_two_candidates_are_refused() {
        let design = |k| Design {
            k,
            trials: 9,
            tuning: 0,
            level: Level::new(0.01).unwrap(),
            delta: 0.0,
        };
        assert!((ESTIMATOR.supports)(&design(2)).is_ok());
        assert!(matches!(
            (ESTIMATOR.supports)(&design(4)),
            Err(Error::Usage(_))
        ));
    }
}
