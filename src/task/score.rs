//! How right predictions are: accuracy, macro F1, and their spread over repetitions.
//!
//! # Definition
//! F1 of a class is 2 TP / (2 TP + FP + FN). Macro F1 is its mean over the classes that occur among the true or the
//! predicted ones, as in scikit-learn: a class that was predicted and never true counts with 0, one that is in neither
//! does not count.

use serde::Serialize;

/// How right the predictions of one test are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// The share of right predictions.
    pub accuracy: f64,
    /// The mean F1 of the classes.
    pub macro_f1: f64,
}

impl Score {
    /// The score of `predicted` where `truth` is right; both below `k`.
    #[must_use]
    pub fn of(truth: &[usize], predicted: &[usize], k: usize) -> Self {
        let (mut both, mut either) = (vec![0_u64; k], vec![0_u64; k]);
        for (truth, predicted) in truth.iter().zip(predicted) {
            either[*truth] += 1;
            either[*predicted] += 1;
            both[*truth] += u64::from(truth == predicted);
        }
        let occurs = || (0..k).filter(|class| either[*class] > 0);
        let f1 = |class: usize| 2.0 * both[class] as f64 / either[class] as f64;
        Self {
            accuracy: both.iter().sum::<u64>() as f64 / truth.len().max(1) as f64,
            macro_f1: occurs().map(f1).sum::<f64>() / occurs().count().max(1) as f64,
        }
    }
}

/// A number over repetitions with different seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation (divided by repetitions − 1); none for a single value.
    pub deviation: Option<f64>,
    /// The values, one a seed.
    pub values: Vec<f64>,
}

impl Spread {
    /// The spread of some values, at least one.
    #[must_use]
    pub fn of(values: Vec<f64>) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        Self {
            mean,
            deviation: (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()),
            values,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// What scikit-learn computes (`scripts/task/reference.py`).
    #[derive(Deserialize)]
    struct Reference {
        scores: Vec<Known>,
    }

    #[derive(Deserialize)]
    struct Known {
        truth: Vec<usize>,
        predicted: Vec<usize>,
        accuracy: f64,
        macro_f1: f64,
    }

    #[test]
    fn scores_are_those_of_scikit_learn_also_where_classes_are_absent() {
        let text = include_str!("fixtures/reference.json");
        let reference: Reference = serde_json::from_str(text).unwrap();
        assert_eq!(reference.scores.len(), 5);
        for known in reference.scores {
            for k in [6, 9] {
                let found = Score::of(&known.truth, &known.predicted, k);
                assert!((found.accuracy - known.accuracy).abs() < 1e-14, "{found:?}");
                assert!((found.macro_f1 - known.macro_f1).abs() < 1e-14, "{found:?}");
            }
        }
    }

    #[test]
    fn a_spread_has_a_deviation_where_there_is_more_than_one() {
        let one = Spread::of(vec![0.5]);
        assert_eq!((one.mean, one.deviation), (0.5, None));
        let three = Spread::of(vec![1.0, 2.0, 6.0]);
        assert_eq!((three.mean, three.deviation), (3.0, Some(7.0_f64.sqrt())));
    }
}
