//! Errors of a test between two hypotheses, counted separately.
//!
//! # Definition
//! With two candidates, "positive" means that the secret is the first one, as for the baseline. A false positive is a
//! trial whose secret is the second and whose guess is the first; a false negative is the opposite. The rates FPR and
//! FNR are over the trials of each secret.
//!
//! # Source
//! The hypothesis test behind differential privacy: Kairouz, Oh & Viswanath (2015).

use super::Bound;
use crate::{ConfusionMatrix, Error, Result};

/// Errors and trials of each hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCounts {
    /// Trials of the second secret guessed as the first.
    pub false_positives: u64,
    /// Trials of the second secret.
    pub negatives: u64,
    /// Trials of the first secret guessed as the second.
    pub false_negatives: u64,
    /// Trials of the first secret.
    pub positives: u64,
}

impl ErrorCounts {
    /// From errors and trials of the second secret (false positives), then of the first.
    ///
    /// # Panics
    /// If there are more errors than trials.
    #[must_use]
    pub fn new(false_positives: u64, negatives: u64, false_negatives: u64, positives: u64) -> Self {
        assert!(
            false_positives <= negatives && false_negatives <= positives,
            "more errors than trials"
        );
        Self {
            false_positives,
            negatives,
            false_negatives,
            positives,
        }
    }

    /// The same number of trials without errors.
    fn without_errors(&self) -> Self {
        Self::new(0, self.negatives, 0, self.positives)
    }

    /// A bound and its ceiling from a matrix over two candidates; both 0 for other matrices, which no supported design
    /// produces.
    pub(super) fn bound(matrix: &ConfusionMatrix, of: impl Fn(&Self) -> f64) -> Bound {
        let counts = Self::of(matrix).ok();
        Bound {
            epsilon: counts.as_ref().map_or(0.0, &of),
            ceiling: counts.map_or(0.0, |counts| of(&counts.without_errors())),
        }
    }

    /// The errors in a matrix over two candidates.
    ///
    /// # Errors
    /// Usage, for another number of candidates.
    pub fn of(matrix: &ConfusionMatrix) -> Result<Self> {
        if matrix.k() != 2 {
            return Err(Error::usage(format!(
                "error rates compare two hypotheses: they need k = 2, not {}",
                matrix.k()
            )));
        }
        Ok(Self::new(
            matrix.count(1, 0),
            matrix.with_secret(1),
            matrix.count(0, 1),
            matrix.with_secret(0),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_is_read_as_the_baseline_reads_it() {
        let matrix = ConfusionMatrix::from_counts(2, vec![70, 30, 5, 195]);
        assert_eq!(
            ErrorCounts::of(&matrix).unwrap(),
            ErrorCounts::new(5, 200, 30, 100)
        );
        assert!(matches!(
            ErrorCounts::of(&ConfusionMatrix::new(3)),
            Err(Error::Usage(_))
        ));
    }
}
