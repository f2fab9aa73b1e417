//! What is computed once for a text, whatever the trial: its places, and a distribution for each word that is drawn.
//!
//! With independent positions a distribution depends on neither the seed nor the other draws. It is kept while there is
//! memory, which saves time and changes no release.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use teda_core::{Inversion, Result, State};

use super::places::Place;
use crate::memory::Memory;

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
    fn bytes(&self, tokens: usize) -> usize {
        let words = self
            .places
            .iter()
            .map(|place| size_of::<Place>() + place.word.len());
        words.sum::<usize>() + self.distributions.len() * Inversion::bytes(tokens)
    }
}

/// Texts that are ready.
pub struct Texts {
    memory: Memory,
    /// Tokens of the vocabulary.
    tokens: usize,
    kept: Mutex<HashMap<String, Arc<Prepared>>>,
    taken: AtomicUsize,
}

impl Texts {
    /// None yet.
    pub fn new(tokens: usize, memory: Memory) -> Self {
        Self {
            memory,
            tokens,
            kept: Mutex::default(),
            taken: AtomicUsize::new(0),
        }
    }

    /// Every one of `texts`, made ready by `prepare` if it is not kept; equal texts are made ready once.
    ///
    /// # Errors
    /// Those of `prepare`.
    pub fn of<'a>(
        &self,
        texts: impl Iterator<Item = &'a str>,
        prepare: impl FnOnce(&[&'a str]) -> Result<Vec<Prepared>>,
    ) -> Result<HashMap<&'a str, Arc<Prepared>>> {
        let mut found: HashMap<&str, Arc<Prepared>> = HashMap::new();
        let mut missing: Vec<&str> = Vec::new();
        {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            for text in texts {
                match kept.get(text) {
                    Some(prepared) => drop(found.insert(text, prepared.clone())),
                    None => missing.push(text),
                }
            }
        }
        missing.sort_unstable();
        missing.dedup();
        for (text, prepared) in missing.iter().zip(prepare(&missing)?) {
            found.insert(text, self.keep(text, prepared));
        }
        Ok(found)
    }

    fn keep(&self, text: &str, prepared: Prepared) -> Arc<Prepared> {
        let bytes = prepared.bytes(self.tokens) + text.len();
        let prepared = Arc::new(prepared);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.contains_key(text) && self.memory.take(bytes) {
            self.taken.fetch_add(bytes, Ordering::Relaxed);
            kept.insert(text.to_owned(), prepared.clone());
        }
        prepared
    }
}

impl Drop for Texts {
    fn drop(&mut self) {
        self.memory.give_back(self.taken.load(Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(_: &str) -> Prepared {
        Prepared {
            places: Vec::new(),
            distributions: Vec::new(),
        }
    }

    #[test]
    fn texts_are_made_ready_once_while_there_is_memory_and_all_is_given_back() {
        for (bytes, kept) in [(0, 0), (1, 1), (2, 2), (100, 2)] {
            let memory = Memory::new(bytes);
            let texts = Texts::new(8, memory.clone());
            let made = Mutex::new(0);
            for _ in 0..3 {
                let prepare = |missing: &[&str]| {
                    *made.lock().unwrap() += missing.len();
                    Ok(missing.iter().copied().map(prepared).collect())
                };
                assert_eq!(
                    texts
                        .of(["a", "b", "a"].into_iter(), prepare)
                        .unwrap()
                        .len(),
                    2
                );
            }
            assert_eq!(
                made.into_inner().unwrap(),
                2 + 2 * (2 - kept),
                "{bytes} bytes"
            );
            drop(texts);
            assert!(memory.take(bytes) && !memory.take(1));
        }
    }
}
