//! What is computed once for a text, whatever the trial.
//!
//! It is kept while there is memory, which saves time and changes no release.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use teda_core::Result;

use crate::memory::Memory;

/// Texts that are ready, each with what was computed for it.
pub struct ByText<T> {
    memory: Memory,
    /// The bytes that what was computed takes.
    bytes: Box<dyn Fn(&T) -> usize + Send + Sync>,
    kept: Mutex<HashMap<String, Arc<T>>>,
    taken: AtomicUsize,
}

impl<T> ByText<T> {
    /// None yet.
    pub fn new(memory: Memory, bytes: impl Fn(&T) -> usize + Send + Sync + 'static) -> Self {
        Self {
            memory,
            bytes: Box::new(bytes),
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
        prepare: impl FnOnce(&[&'a str]) -> Result<Vec<T>>,
    ) -> Result<HashMap<&'a str, Arc<T>>> {
        let mut found: HashMap<&str, Arc<T>> = HashMap::new();
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

    fn keep(&self, text: &str, prepared: T) -> Arc<T> {
        let bytes = (self.bytes)(&prepared) + text.len();
        let prepared = Arc::new(prepared);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.contains_key(text) && self.memory.take(bytes) {
            self.taken.fetch_add(bytes, Ordering::Relaxed);
            kept.insert(text.to_owned(), prepared.clone());
        }
        prepared
    }
}

impl<T> Drop for ByText<T> {
    fn drop(&mut self) {
        self.memory.give_back(self.taken.load(Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_made_ready_once_while_there_is_memory_and_all_is_given_back() {
        for (bytes, kept) in [(0, 0), (1, 1), (2, 2), (100, 2)] {
            let memory = Memory::new(bytes);
            let texts = ByText::new(memory.clone(), |(): &()| 0);
            let made = Mutex::new(0);
            for _ in 0..3 {
                let prepare = |missing: &[&str]| {
                    *made.lock().unwrap() += missing.len();
                    Ok(vec![(); missing.len()])
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
