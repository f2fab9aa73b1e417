//! Parquet files, a row group and a column at a time, by polars' own crates for Parquet and Arrow.
//!
//! polars' tables are left out: they were nearly a third of the time that the whole program takes to build, and a sixth
//! of its size. What is stored and read here are columns of known types.

mod footer;
mod pages;
#[cfg(test)]
mod tests;
mod told;
mod writer;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use polars_arrow::array::Array;

pub use polars_arrow as arrow;
pub use polars_parquet::read::RowGroupMetadata;

pub use self::footer::Footer;
pub use self::writer::{Compression, Writer};

/// Why a file cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken(String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

impl Broken {
    /// For this reason.
    pub fn new(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

/// What can be read or written, or why not.
pub type Result<T> = std::result::Result<T, Broken>;

/// The values of the column of this name, as those of the type asked for.
///
/// # Errors
/// If they are of another type.
pub fn typed<'a, A: Array>(name: &str, column: &'a dyn Array) -> Result<&'a A> {
    let typed = column.as_any().downcast_ref();
    typed.ok_or_else(|| Broken::new(format!("column '{name}' holds {:?}", column.dtype())))
}

/// Runs the library, and turns a panic into an error for this reason: it indexes by numbers from the file, so a broken
/// file can make it go out of bounds. (If such a number is the size of an allocation, the process still ends.)
fn caught<T, E: fmt::Display>(
    reason: &str,
    run: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(Broken::new),
        Err(_) => Err(Broken::new(reason)),
    }
}
