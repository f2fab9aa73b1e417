//! What is computed once for a text, whatever the trial: its places, and a distribution for each word that is drawn.
//!
//! With independent positions a distribution depends on neither the seed nor the other draws.

use teda_core::{Inversion, State};

use super::places::Place;

/// The distribution of one drawn word.
pub struct Distribution {
    /// The model's state at the word's gap, from which logits are computed.
    pub state: State,
    /// The sums of the weights of all tokens.
    pub inversion: Inversion,
}

/// A text ready for rewriting.
pub struct Prepared {
    /// Its places.
    pub places: Vec<Place>,
    /// One for each place that is drawn, in order.
    pub distributions: Vec<Distribution>,
}

impl Prepared {
    /// Bytes that it takes, if a distribution is over `tokens` tokens; its states are the model's.
    pub fn bytes(&self, tokens: usize) -> usize {
        let words = self
            .places
            .iter()
            .map(|place| size_of::<Place>() + place.word.len());
        words.sum::<usize>() + self.distributions.len() * Inversion::bytes(tokens)
    }
}
