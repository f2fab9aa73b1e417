//! How far a stored run got: what is asked of a shard that another machine makes.

use std::path::Path;

use teda_core::{Error, Result};
use teda_results::{CellPlan, Manifest, RunDir, Status, trials};

use crate::audit::config::Config;
use crate::report::finish::rows_of;

/// How many trials of a run are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Whether it is complete, was ended early, or is being made. A process that was killed leaves "running".
    pub status: Status,
    /// Trials that are stored, over all series.
    pub made: u64,
    /// Trials that it is to have, over all series.
    pub wanted: u64,
}

/// How far the run in `directory` got; `None` if none was begun. Nothing is locked or written: another process may be
/// making the run.
///
/// # Errors
/// Failed, if the manifest or the journal cannot be read or is damaged.
pub fn extent(directory: &Path) -> Result<Option<Extent>> {
    if !RunDir::holds_run(directory) {
        return Ok(None);
    }
    let manifest = Manifest::load(directory)?;
    let range = Config::of_run(&manifest, directory)?.trial_range();
    let series = manifest.cells.chunk_by(|a, b| a.series == b.series);
    let wanted = (range.end - range.start) * series.count() as u64;
    let made = match manifest.status {
        Status::Complete => wanted,
        Status::Running | Status::Interrupted => stored(directory, &manifest.cells)?,
    };
    Ok(Some(Extent {
        status: manifest.status,
        made,
        wanted,
    }))
}

/// Stored trials: the rows of one cell of each series.
fn stored(directory: &Path, cells: &[CellPlan]) -> Result<u64> {
    let counts: Vec<bool> = (0..cells.len())
        .map(|cell| rows_of(cells, cell) == cell)
        .collect();
    let rows = match trials::rows(directory) {
        Ok(rows) => rows,
        // A process that dies before its first batch leaves none.
        Err(Error::Usage(_)) => return Ok(0),
        Err(failed) => return Err(failed),
    };
    let mut stored = 0;
    for row in rows {
        stored += u64::from(counts.get(row?.cell as usize) == Some(&true));
    }
    Ok(stored)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Audit;

    #[test]
    fn trials_are_counted_once_whatever_the_attacks() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        assert_eq!(extent(&run).unwrap(), None);
        let audit = Audit::of("krr").dataset("categories:3").lambda(0.0);
        let audit = audit
            .epsilons([1.0, 2.0])
            .attacks(["learned", "overlap", "random"]);
        audit.trials(700).out(&run).run().unwrap();
        let complete = Extent {
            status: Status::Complete,
            made: 1400,
            wanted: 1400,
        };
        assert_eq!(extent(&run).unwrap(), Some(complete));
        // The rows themselves say the same.
        let manifest = Manifest::load(&run).unwrap();
        assert_eq!(stored(&run, &manifest.cells).unwrap(), 1400);
    }
}
