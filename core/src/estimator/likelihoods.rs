//! Log-likelihoods of one release under each candidate, as used by white-box estimators.

use crate::{Error, Result};

/// The highest log-likelihood.
///
/// # Errors
/// Failed, if there are fewer than two, or they are NaN, +∞ or all −∞: no candidate could give such a release.
pub fn highest(log_likelihoods: &[f64]) -> Result<f64> {
    if log_likelihoods.len() < 2 {
        return Err(Error::failed(
            "the likelihoods of a release compare two candidates or more",
        ));
    }
    let mut highest = f64::NEG_INFINITY;
    for ln in log_likelihoods {
        if ln.is_nan() || *ln == f64::INFINITY {
            return Err(Error::failed(format!(
                "a log-likelihood of a release is {ln}"
            )));
        }
        highest = highest.max(*ln);
    }
    if highest == f64::NEG_INFINITY {
        return Err(Error::failed(
            "a release has likelihood 0 under every candidate",
        ));
    }
    Ok(highest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_values_are_refused() {
        let none = f64::NEG_INFINITY;
        assert_eq!(highest(&[none, -3.0]).unwrap(), -3.0);
        for bad in [
            vec![],
            vec![-1.0],
            vec![f64::NAN, 0.0],
            vec![f64::INFINITY, 0.0],
            vec![none, none],
        ] {
            assert!(matches!(highest(&bad), Err(Error::Failed(_))), "{bad:?}");
        }
    }
}
