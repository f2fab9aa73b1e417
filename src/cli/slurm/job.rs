//! A job directory: its scripts, its shards, and which jobs Slurm was given.

use std::path::Path;

use serde::{Deserialize, Serialize};
use teda_core::{Error, Result, shown};
use teda_results::atomic_write;

/// The merged run.
pub const RUN: &str = "run";
/// The runs of the shards, by their numbers.
pub const SHARDS: &str = "shards";
/// The script that joins them.
pub const MERGE: &str = "merge.sbatch";
/// What it printed.
pub const MERGE_LOG: &str = "log/merge.txt";
/// What was submitted.
const FILE: &str = "job.json";
const SCHEMA: &str = "teda.slurm/1";

/// A job over all shards, and what was submitted of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    schema: String,
    /// Number of parts.
    pub shards: u32,
    /// Tasks that run at once at most, in each array.
    pub limit: Option<u32>,
    /// Every shard is a task of one of these.
    pub arrays: Vec<Array>,
    /// The jobs that were to join the shards, oldest first.
    pub merges: Vec<u64>,
}

/// A job array over consecutive shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Array {
    /// Its first shard, from 1; this is its task 1.
    pub first: u32,
    /// Its last shard.
    pub last: u32,
    /// The jobs that it was submitted as, whole or in part, oldest first.
    pub jobs: Vec<u64>,
}

impl Array {
    /// The task of a shard, if it is one of this array.
    pub fn task(&self, shard: u32) -> Option<u32> {
        (self.first..=self.last)
            .contains(&shard)
            .then(|| shard - self.first + 1)
    }
}

/// The script of the `number`-th array, from 0.
pub fn script(number: usize) -> String {
    format!("shards-{}.sbatch", number + 1)
}

/// What a task of the `number`-th array printed.
pub fn log(number: usize, task: &str) -> String {
    format!("log/shards-{}-task-{task}.txt", number + 1)
}

impl Job {
    /// A job of which nothing is submitted, in arrays whose tasks have numbers below `max_array_size`.
    pub fn new(shards: u32, limit: Option<u32>, max_array_size: u32) -> Self {
        let most = max_array_size.saturating_sub(1).max(1);
        let firsts = (1..=shards).step_by(most as usize);
        let array = |first: u32| Array {
            first,
            last: shards.min(first.saturating_add(most - 1)),
            jobs: Vec::new(),
        };
        Self {
            schema: SCHEMA.to_owned(),
            shards,
            limit,
            arrays: firsts.map(array).collect(),
            merges: Vec::new(),
        }
    }

    /// The job in `directory`.
    ///
    /// # Errors
    /// Usage, if there is none; failed, if its file is damaged.
    pub fn read(directory: &Path) -> Result<Self> {
        let path = directory.join(FILE);
        let text = std::fs::read_to_string(&path).map_err(|e| {
            Error::usage(format!(
                "{}: cannot read: {e}. Name a directory that `teda slurm audit` wrote",
                path.display()
            ))
        })?;
        Self::parse(&text).map_err(|e| e.context(path.display()))
    }

    /// Reads what [`Self::save`] writes.
    fn parse(text: &str) -> Result<Self> {
        let damaged = |why: &str| Error::failed(shown(why));
        let job: Self = serde_json::from_str(text).map_err(|e| damaged(&e.to_string()))?;
        if job.schema != SCHEMA {
            return Err(damaged(&format!(
                "schema '{}', but this teda reads '{SCHEMA}'",
                job.schema
            )));
        }
        let mut next = 1;
        for array in &job.arrays {
            if array.first != next || array.last < array.first || array.last > job.shards {
                return Err(damaged("its arrays are not its shards in order"));
            }
            next = array.last.saturating_add(1);
        }
        match job.arrays.last() {
            Some(last) if last.last == job.shards => Ok(job),
            _ => Err(damaged("its arrays do not hold all its shards")),
        }
    }

    /// Whether there is a job in `directory`.
    pub fn is_in(directory: &Path) -> bool {
        directory.join(FILE).exists()
    }

    /// Writes it into `directory`.
    ///
    /// # Errors
    /// Failed, if it cannot be written.
    pub fn save(&self, directory: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| Error::failed(format!("cannot write {FILE}: {e}")))?;
        atomic_write(&directory.join(FILE), (text + "\n").as_bytes())
    }

    /// The array of a shard with its number, from 0, and the shard's task in it.
    pub fn array_of(&self, shard: u32) -> Option<(usize, &Array, u32)> {
        let mut arrays = self.arrays.iter().enumerate();
        arrays.find_map(|(number, array)| Some((number, array, array.task(shard)?)))
    }
}

/// Numbers in ascending order as sbatch and people write them: `1-3,7`.
pub fn ranges(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let shown = runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        [only] => only.to_string(),
        [] => String::new(),
    });
    shown.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_as_large_as_the_cluster_allows_and_hold_every_shard_once() {
        for (shards, size, expected) in [
            (12, 1001, vec![(1, 12)]),
            (1000, 1001, vec![(1, 1000)]),
            (1001, 1001, vec![(1, 1000), (1001, 1001)]),
            (7, 4, vec![(1, 3), (4, 6), (7, 7)]),
            (2, 0, vec![(1, 1), (2, 2)]),
        ] {
            let job = Job::new(shards, None, size);
            let found: Vec<_> = job.arrays.iter().map(|a| (a.first, a.last)).collect();
            assert_eq!(found, expected);
            for shard in 1..=shards {
                let (_, array, task) = job.array_of(shard).unwrap();
                assert_eq!(array.first + task - 1, shard);
                assert!(task < size.max(2));
            }
        }
    }

    #[test]
    fn a_file_that_was_changed_is_refused() {
        let text = serde_json::to_string_pretty(&Job::new(7, Some(2), 4)).unwrap();
        assert!(Job::parse(&text).is_ok());
        for (old, new) in [
            ("\"last\": 6", "\"last\": 5"),
            ("\"shards\": 7", "\"shards\": 4000000000"),
            ("teda.slurm/1", "teda.slurm/9"),
            ("\"jobs\"", "\"\\u001b\""),
            ("\"first\": 1", "\"first\": 0"),
        ] {
            let changed = text.replacen(old, new, 1);
            assert_ne!(changed, text);
            let error = Job::parse(&changed).unwrap_err();
            assert!(matches!(error, Error::Failed(_)), "{new}: {error}");
        }
    }

    #[test]
    fn numbers_are_folded() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(ranges(&[]), "");
    }
}
