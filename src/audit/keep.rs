//! What a run stores of its trials.

use serde::{Deserialize, Serialize};
use teda_core::{Error, Result};
use teda_utilities::registry;

/// What a run stores of its trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// One row per trial, in trials.parquet: the run can be resumed, merged and judged again.
    #[default]
    Rows,
    /// Only their counts: for protocols over few categories that make millions of trials a second.
    Counts,
}

impl Keep {
    /// Refuses utilities that do not exist, or that would have no releases to be measured on.
    ///
    /// # Errors
    /// Usage.
    pub fn can_be_measured(self, utilities: &[String]) -> Result<()> {
        registry::entries(utilities)?;
        if self == Self::Counts && !utilities.is_empty() {
            return Err(Error::usage(
                "utilities are measured on releases, and --keep counts keeps none: leave out one of the two",
            ));
        }
        Ok(())
    }
}
