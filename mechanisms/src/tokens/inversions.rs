//! For each token of a vocabulary, the sums that a draw in its place needs, kept while there is memory.
//!
//! What is kept for a token depends only on that token, so neither the order of tokens nor the threads nor the memory
//! can change a draw.

use std::sync::OnceLock;

use teda_core::Inversion;

use super::missing::missing;
use crate::memory::Memory;

/// A token's sums, once they are asked for; `None` if there was no memory for them.
type Slot = OnceLock<Option<Box<Inversion>>>;

/// The sums by token.
pub struct Inversions {
    memory: Memory,
    /// Number of tokens.
    tokens: usize,
    /// Allocated when a token is first asked for; empty if there was no memory even for empty slots.
    slots: OnceLock<Vec<Slot>>,
    /// Bytes of one token's sums.
    each: usize,
}

impl Inversions {
    /// No sums yet, for `tokens` tokens in whose place one of `released` tokens is drawn.
    pub fn new(tokens: usize, released: usize, memory: Memory) -> Self {
        Self {
            memory,
            tokens,
            slots: OnceLock::new(),
            each: Inversion::bytes(released),
        }
    }

    /// The sums of `token`, computed by `make`; `None` if there is no memory for them.
    pub fn of(&self, token: u32, make: impl FnOnce() -> Inversion) -> Option<&Inversion> {
        let kept = self
            .slots()
            .get(token as usize)?
            .get_or_init(|| self.memory.take(self.each).then(|| Box::new(make())));
        kept.as_deref()
    }

    /// The `tokens` whose sums have not been asked for yet, each once; none if there was no memory for slots.
    pub fn missing(&self, tokens: &[u32]) -> Vec<u32> {
        missing(self.slots(), tokens)
    }

    fn slots(&self) -> &[Slot] {
        self.slots
            .get_or_init(|| match self.memory.take(self.empty()) {
                true => (0..self.tokens).map(|_| Slot::new()).collect(),
                false => Vec::new(),
            })
    }

    /// Bytes of the empty slots.
    fn empty(&self) -> usize {
        self.tokens * size_of::<Slot>()
    }
}

impl Drop for Inversions {
    fn drop(&mut self) {
        let Some(slots) = self.slots.get().filter(|slots| !slots.is_empty()) else {
            return;
        };
        let kept = |slot: &&Slot| matches!(slot.get(), Some(Some(_)));
        let kept = slots.iter().filter(kept).count();
        self.memory.give_back(self.empty() + kept * self.each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_kept_as_there_is_memory_for_and_all_is_given_back() {
        let make = || Inversion::new(&mut [0.0; 8]);
        let empty = 3 * size_of::<Slot>();
        let each = Inversion::bytes(8);
        for (bytes, kept) in [
            (0, 0),
            (empty - 1, 0),
            (empty, 0),
            (empty + 2 * each, 2),
            (empty + 9 * each, 3),
        ] {
            let memory = Memory::new(bytes);
            let inversions = Inversions::new(3, 8, memory.clone());
            let missing = if bytes < empty { &[][..] } else { &[0, 2] };
            assert_eq!(inversions.missing(&[2, 0, 2]), missing);
            for _ in 0..2 {
                let found = [2, 0, 1].map(|token| inversions.of(token, make).is_some());
                let expected = [0, 1, 2].map(|place| place < kept);
                assert_eq!(found, expected, "{bytes}");
                assert_eq!(inversions.missing(&[2, 0, 2]), [0; 0]);
            }
            drop(inversions);
            assert!(memory.take(bytes) && !memory.take(1));
        }
    }
}
