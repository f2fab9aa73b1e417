//! What an attack does that may abstain.

use serde::{Deserialize, Serialize};

/// Results of an attack that may abstain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Guesses {
    /// Trials in which it guessed.
    pub guessed: u64,
    /// Trials in which it guessed right.
    pub right: u64,
    /// All trials, guessed or not.
    pub trials: u64,
}

impl Guesses {
    /// Counts one trial: whether its margin made the attack guess, and whether the guess was right.
    pub fn record(&mut self, threshold: f64, margin: f64, right: bool) {
        let guessed = margin >= threshold;
        self.trials += 1;
        self.guessed += u64::from(guessed);
        self.right += u64::from(guessed && right);
    }
}
