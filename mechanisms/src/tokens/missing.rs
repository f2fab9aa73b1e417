//! Which tokens' slots are still empty.

use std::sync::OnceLock;

/// The `tokens` whose slots are empty, each once and in ascending order; a token without a slot is not among them.
pub fn missing<T>(slots: &[OnceLock<T>], tokens: &[u32]) -> Vec<u32> {
    let is_missing = |token: &&u32| {
        let slot = slots.get(**token as usize);
        slot.is_some_and(|slot| slot.get().is_none())
    };
    let mut missing: Vec<u32> = tokens.iter().filter(is_missing).copied().collect();
    missing.sort_unstable();
    missing.dedup();
    missing
}
