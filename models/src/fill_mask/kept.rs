//! States that were computed before, by the content of their rows: in memory, and on disk.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use teda_core::{Result, State};

use crate::disk::Disk;

use super::row::{GapRow, Key};

/// Bytes that an entry takes beside its numbers.
const OVERHEAD: usize = size_of::<Key>() + size_of::<State>() + 2 * size_of::<usize>();

/// The states kept so far. What is kept saves time and changes no result.
pub(super) struct States {
    memory: usize,
    kept: Mutex<Kept>,
    disk: Option<Disk>,
}

#[derive(Default)]
struct Kept {
    states: HashMap<Key, State>,
    bytes: usize,
}

impl States {
    /// None yet in memory, where at most `memory` bytes are kept.
    pub(super) fn new(memory: usize, disk: Option<Disk>) -> Self {
        Self {
            memory,
            kept: Mutex::default(),
            disk,
        }
    }

    /// The states of `rows`; `compute` is asked for those that are not kept, each once.
    ///
    /// # Errors
    /// Those of `compute`; failed, if the disk cannot be read or written.
    pub(super) fn of(
        &self,
        rows: &[GapRow],
        compute: impl FnOnce(&[&GapRow]) -> Result<Vec<State>>,
    ) -> Result<Vec<State>> {
        let keys: Vec<Key> = rows.iter().map(GapRow::key).collect();
        let mut found: HashMap<Key, State> = HashMap::new();
        let mut missing: HashMap<Key, &GapRow> = HashMap::new();
        {
            let kept = self.kept();
            for (key, row) in keys.iter().zip(rows) {
                match kept.states.get(key) {
                    Some(state) => drop(found.insert(*key, state.clone())),
                    None => drop(missing.insert(*key, row)),
                }
            }
        }
        let mut fresh: HashMap<Key, State> = HashMap::new();
        if let Some(disk) = &self.disk {
            for key in missing.keys() {
                fresh.extend(disk.get(key)?.map(|state| (*key, state)));
            }
            missing.retain(|key, _| !fresh.contains_key(key));
        }
        let (new, asked): (Vec<Key>, Vec<&GapRow>) = missing.into_iter().unzip();
        let computed = compute(&asked)?;
        if let Some(disk) = self.disk.as_ref().filter(|_| !new.is_empty()) {
            disk.put(new.iter().zip(&computed))?;
        }
        fresh.extend(new.into_iter().zip(computed));
        let mut kept = self.kept();
        for (key, state) in fresh {
            let bytes = OVERHEAD + size_of_val(&*state);
            if kept.bytes + bytes <= self.memory {
                kept.bytes += bytes;
                kept.states.insert(key, state.clone());
            }
            found.insert(key, state);
        }
        Ok(keys.iter().map(|key| found[key].clone()).collect())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
