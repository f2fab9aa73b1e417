//! Integer counts of an attack's guesses.

use crate::Cause;

/// How often each candidate was guessed for each secret, `[secret × guess]`, as whole numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfusionMatrix {
    k: usize,
    counts: Vec<u64>,
    /// By cause, in the order of [`Cause::ALL`].
    failed: [u64; Cause::ALL.len()],
}

impl ConfusionMatrix {
    /// An empty matrix over `k` candidates.
    #[must_use]
    pub fn new(k: usize) -> Self {
        Self {
            k,
            counts: vec![0; k * k],
            failed: [0; Cause::ALL.len()],
        }
    }

    /// A matrix without failures from its counts, `[secret × guess]` in row-major order.
    ///
    /// # Panics
    /// If there are not exactly k² counts.
    #[must_use]
    pub fn from_counts(k: usize, counts: Vec<u64>) -> Self {
        assert_eq!(counts.len(), k * k, "a matrix over {k} candidates");
        Self {
            counts,
            ..Self::new(k)
        }
    }

    /// Counts one trial.
    ///
    /// # Panics
    /// If an index is not below k.
    pub fn record(&mut self, secret: usize, guess: usize, failure: Option<Cause>) {
        self.record_times(secret, guess, failure, 1);
    }

    /// Counts this many identical trials.
    ///
    /// # Panics
    /// If an index is not below k.
    pub fn record_times(
        &mut self,
        secret: usize,
        guess: usize,
        failure: Option<Cause>,
        times: u64,
    ) {
        assert!(secret < self.k && guess < self.k, "index outside the set");
        self.counts[secret * self.k + guess] += times;
        if let Some(cause) = failure {
            self.failed[cause as usize] += times;
        }
    }

    /// Number of candidates.
    #[must_use]
    pub fn k(&self) -> usize {
        self.k
    }

    /// Number of trials.
    #[must_use]
    pub fn trials(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Trials in which the guess was the secret.
    #[must_use]
    pub fn hits(&self) -> u64 {
        (0..self.k).map(|i| self.count(i, i)).sum()
    }

    /// Trials without a release or without scores; each is decided by a random guess and included in all counts.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Trials that failed for this cause.
    #[must_use]
    pub fn failed_by(&self, cause: Cause) -> u64 {
        self.failed[cause as usize]
    }

    /// Trials with this secret and this guess.
    #[must_use]
    pub fn count(&self, secret: usize, guess: usize) -> u64 {
        self.counts[secret * self.k + guess]
    }

    /// Trials with this secret.
    pub(crate) fn with_secret(&self, secret: usize) -> u64 {
        (0..self.k).map(|guess| self.count(secret, guess)).sum()
    }
}
