//! Lists of ε, by number or by the name of a published grid.
//!
//! # Source
//! `teda`: TeDA (arXiv 2603.22968), Section 4: the ten nominal ε at which every mechanism is audited there, in the
//! mechanism's own unit.

use std::str::FromStr;

use teda_core::{Error, Result, shown};

/// TeDA's ten nominal ε.
pub const TEDA: [f64; 10] = [
    0.1, 0.5, 1.0, 10.0, 50.0, 100.0, 250.0, 750.0, 1000.0, 2500.0,
];

/// The grids that have a name.
const GRIDS: [(&str, &[f64]); 1] = [("teda", &TEDA)];

/// One entry of a list of ε: a number, or the name of a grid, which stands for all its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Epsilons(Vec<f64>);

impl Epsilons {
    /// The numbers of several entries, in order.
    #[must_use]
    pub fn joined(entries: &[Self]) -> Vec<f64> {
        entries.iter().flat_map(|entry| entry.0.clone()).collect()
    }
}

impl FromStr for Epsilons {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        if let Some((_, grid)) = GRIDS.iter().find(|(name, _)| *name == text) {
            return Ok(Self(grid.to_vec()));
        }
        let number = text.parse().map_err(|_| {
            let names: Vec<&str> = GRIDS.iter().map(|(name, _)| *name).collect();
            Error::usage(format!(
                "epsilon '{}': it is a number, or the name of a grid: {}",
                shown(text),
                names.join(", ")
            ))
        })?;
        Ok(Self(vec![number]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: &str) -> Result<Vec<f64>> {
        let entries: Result<Vec<Epsilons>> = list.split(',').map(str::parse).collect();
        Ok(Epsilons::joined(&entries?))
    }

    #[test]
    fn a_name_stands_for_its_numbers_alone_and_among_others() {
        assert_eq!(read("teda").unwrap(), TEDA);
        let more = read("0.2, teda,5000").unwrap();
        assert_eq!(
            (more.len(), more[0], more[1], more[11]),
            (12, 0.2, 0.1, 5000.0)
        );
        for wrong in ["ted", "TeDA", "1,,2", "one"] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains("a grid: teda"), "{error}");
        }
    }
}
