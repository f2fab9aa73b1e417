//! What several tests need.

use crate::entry::{Pair, Utility};

/// The score of one pair.
pub fn score(utility: &dyn Utility, source: &str, release: &str) -> Option<f64> {
    utility.scores(&[Pair { source, release }]).unwrap()[0]
}
