//! What the classifier sees of a text, as one row of numbers.
//!
//! # Definition
//! Four parts: the words and the runs of characters of the text ([`super::grams`]), its sentence vector, and a 1 for
//! the intercept. Each of the first three has norm 1, or is 0 where a text has nothing of it. An empty text is not
//! shown to the encoder: its vector is 0.

use ndarray::Array2;
use rayon::prelude::*;
use teda_core::{Encoder, Result};

use super::grams::{Grams, Kind};
use super::sparse::Sparse;

/// The columns that training texts have.
pub(super) struct Features {
    words: Grams,
    runs: Grams,
    dimension: usize,
}

impl Features {
    /// The columns of `texts`, and their rows.
    ///
    /// # Errors
    /// If the encoder fails.
    pub(super) fn learn(texts: &[&str], encoder: &dyn Encoder) -> Result<(Self, Sparse)> {
        let vectors = vectors(texts, encoder)?;
        let features = Self {
            words: Grams::of(Kind::Words, texts),
            runs: Grams::of(Kind::Runs, texts),
            dimension: encoder.dimension(),
        };
        let rows = features.join(texts, &vectors);
        Ok((features, rows))
    }

    /// The rows of `texts` in these columns.
    ///
    /// # Errors
    /// If the encoder fails.
    pub(super) fn of(&self, texts: &[&str], encoder: &dyn Encoder) -> Result<Sparse> {
        Ok(self.join(texts, &vectors(texts, encoder)?))
    }

    fn join(&self, texts: &[&str], vectors: &Array2<f32>) -> Sparse {
        let runs = self.words.len();
        let vector = runs + self.runs.len();
        let one = vector + self.dimension;
        let shifted = |grams: &Grams, text: &str, first: usize| {
            let weights = grams.weights(text).into_iter();
            weights.map(move |(place, weight)| (place + first as u32, weight))
        };
        let rows = texts
            .par_iter()
            .enumerate()
            .map(|(row, text)| {
                let mut entries: Vec<(u32, f32)> = shifted(&self.words, text, 0).collect();
                entries.extend(shifted(&self.runs, text, runs));
                let vector = (vector as u32..one as u32).zip(vectors.row(row));
                entries.extend(
                    vector
                        .map(|(place, x)| (place, *x))
                        .filter(|(_, x)| *x != 0.0),
                );
                entries.push((one as u32, 1.0));
                entries
            })
            .collect();
        Sparse::new(one + 1, rows)
    }
}

/// The sentence vectors of `texts`, 0 for empty ones.
fn vectors(texts: &[&str], encoder: &dyn Encoder) -> Result<Array2<f32>> {
    let mut all = Array2::zeros((texts.len(), encoder.dimension()));
    let says = |place: &usize| !texts[*place].trim().is_empty();
    let places: Vec<usize> = (0..texts.len()).filter(says).collect();
    if !places.is_empty() {
        let shown: Vec<&str> = places.iter().map(|place| texts[*place]).collect();
        let found = encoder.encode(&shown)?;
        for (place, vector) in places.into_iter().zip(found.rows()) {
            all.row_mut(place).assign(&vector);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths, and nothing for a text that it should not see.
    struct Lengths;

    impl Encoder for Lengths {
        fn dimension(&self) -> usize {
            2
        }

        fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
            assert!(texts.iter().all(|text| !text.trim().is_empty()));
            let angle = |row: usize| texts[row].len() as f32 / 50.0;
            let of = |(row, column): (usize, usize)| [angle(row).cos(), angle(row).sin()][column];
            Ok(Array2::from_shape_fn((texts.len(), 2), of))
        }
    }

    #[test]
    fn a_row_has_its_parts_and_ends_in_one() {
        let texts = ["a b", "", "a b c", "", "odd \u{0301}\u{200d}"];
        let (features, rows) = Features::learn(&texts, &Lengths).unwrap();
        assert_eq!((rows.rows(), rows.columns()), (5, rows.columns()));
        let ones = vec![1.0; rows.columns()];
        // The norms of the parts of the first text, and its intercept.
        let sum = |row: usize| rows.times(&ones, 1)[row];
        assert!(sum(0) > 3.0, "{}", sum(0));
        // Empty: the word for it, and the intercept.
        assert_eq!(sum(1), 2.0);
        let again = features.of(&texts, &Lengths).unwrap();
        assert_eq!(again.times(&ones, 1), rows.times(&ones, 1));
    }

    #[test]
    fn texts_that_are_all_empty_are_no_reason_to_fail() {
        let (features, rows) = Features::learn(&["", "", ""], &Lengths).unwrap();
        assert_eq!((rows.rows(), rows.columns()), (3, 4));
        assert_eq!(features.of(&["a", ""], &Lengths).unwrap().columns(), 4);
    }
}
