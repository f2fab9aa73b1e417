//! A data set with its sentence vectors.

use std::sync::Arc;

use ndarray::Array2;
use teda_core::{Encoder, Result, plain};
use teda_datasets::Dataset;

/// A data set with everything that all cells on it share.
pub struct Corpus {
    /// The data set as loaded.
    pub dataset: Dataset,
    /// Its distinct texts.
    pub texts: Arc<[String]>,
    /// Their sentence vectors, `[texts × dimension]`.
    pub vectors: Arc<Array2<f32>>,
    /// Texts of the data set that no set of a derived corpus is based on.
    left_out: usize,
}

impl Corpus {
    /// Embeds a data set's texts.
    ///
    /// # Errors
    /// Any error of the encoder.
    pub fn new(dataset: Dataset, encoder: &dyn Encoder) -> Result<Self> {
        let texts: Arc<[String]> = dataset.texts.clone().into();
        Ok(Self {
            vectors: embed(&texts, encoder)?,
            dataset,
            texts,
            left_out: 0,
        })
    }

    /// A corpus of sets of `k` texts each, derived from the texts of `source`.
    ///
    /// # Errors
    /// Any error of the encoder.
    pub fn derived(
        source: &Self,
        k: usize,
        texts: Arc<[String]>,
        encoder: &dyn Encoder,
    ) -> Result<Self> {
        Ok(Self {
            dataset: source.dataset.clone(),
            vectors: embed(&texts, encoder)?,
            left_out: source.texts.len() - texts.len() / k,
            texts,
        })
    }
}

impl Corpus {
    /// A one-line summary of the data set: every dropped row is accounted for.
    #[must_use]
    pub fn summary(&self) -> String {
        let d = &self.dataset;
        let mut line = format!(
            "{}: {} distinct texts of {} rows",
            plain(&d.name),
            d.texts.len(),
            d.rows
        );
        for (count, what) in [
            (d.merged, "equal to an earlier one"),
            (d.empty, "empty"),
            (d.outside_length, "too short or too long"),
            (d.beyond_limit, "beyond --limit"),
            (self.left_out, "without one-token neighbours"),
        ] {
            if count > 0 {
                line += &format!(", {count} {what}");
            }
        }
        line
    }
}

/// Sentence vectors of texts, `[texts × dimension]`.
///
/// # Errors
/// Any error of the encoder.
pub fn embed(texts: &[String], encoder: &dyn Encoder) -> Result<Arc<Array2<f32>>> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Ok(Arc::new(encoder.encode(&texts)?))
}
