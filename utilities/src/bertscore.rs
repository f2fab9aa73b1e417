//! `bertscore`: how well the words of a release match those of its text, in their context.
//!
//! # Definition
//! Each token has the unit vector that the encoder's last layer makes of it. P is the mean, over the tokens of the release, of
//! the greatest cosine with a token of the text; R the same with the two exchanged; the score is F = 2PR / (P + R). The
//! encoder's own tokens (`[CLS]`, `[SEP]`) can be matched, and are not counted in the means. 0 where one of the two has no
//! tokens of its own. No weights by frequency, no rescaling with a baseline.
//!
//! # Source
//! Zhang et al., *BERTScore: Evaluating text generation with BERT* (ICLR 2020), as in the package bert-score with
//! `num_layers` = all layers, `idf=False`, `rescale_with_baseline=False`. Figures depend on encoder and layer: the package's default
//! is layer 17 of roberta-large, and its scores lie close together.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;
use teda_core::{Encoder, Error, Result, TokenEncoder, TokenVectors};

use crate::cosine::distinct;
use crate::entry::{Entry, Needs, Pair, Utility};
use crate::words::harmonic;

pub const ENTRY: Entry = Entry {
    name: "bertscore",
    summary: "F of the best matches between the tokens of text and release, by their vectors",
    source: "BERTScore (ICLR 2020), as in bert-score",
    needs: Needs::Encoder,
    digits: 4,
    build: |context| {
        let (encoder, name) = context.encoder.clone();
        if encoder.token_encoder().is_none() {
            return Err(Error::usage(format!(
                "the utility 'bertscore' needs the vectors of tokens, which the encoder {name} does not show: take --encoder builtin, or one that runs in this process, such as minilm"
            )));
        }
        Ok(Box::new(BertScore { encoder, name }))
    },
};

struct BertScore {
    encoder: Arc<dyn Encoder>,
    name: String,
}

impl BertScore {
    /// The encoder's tokens, which the entry found it to show.
    fn tokens(&self) -> &dyn TokenEncoder {
        self.encoder.token_encoder().expect("it shows tokens")
    }
}

/// Pairs whose token vectors are held at once.
const PAIRS: usize = 256;

impl Utility for BertScore {
    fn scores(&self, pairs: &[Pair<'_>]) -> Result<Vec<Option<f64>>> {
        let mut scores = Vec::with_capacity(pairs.len());
        for pairs in pairs.chunks(PAIRS) {
            let (texts, places) = distinct(pairs);
            let mut tokens = self.tokens().token_vectors(&texts)?;
            tokens
                .par_iter_mut()
                .for_each(|tokens| normalise(&mut tokens.vectors));
            let score = |[source, release]: &[usize; 2]| score(&tokens[*source], &tokens[*release]);
            scores.par_extend(places.par_iter().map(score).map(Some));
        }
        Ok(scores)
    }

    fn signature(&self) -> String {
        format!("F, encoder: {}, last layer, no idf, no baseline", self.name)
    }
}

fn normalise(vectors: &mut Array2<f32>) {
    for mut row in vectors.rows_mut() {
        let norm = row.dot(&row).sqrt();
        if norm > 0.0 {
            row /= norm;
        }
    }
}

/// F of two texts' tokens.
fn score(source: &TokenVectors, release: &TokenVectors) -> f64 {
    let cosines = release.vectors.dot(&source.vectors.t());
    let precision = mean_of_best(cosines.view(), &release.special);
    let recall = mean_of_best(cosines.t(), &source.special);
    harmonic(precision, recall)
}

/// The mean of the greatest cosine in each row that is no special token's; 0 if there is no row.
fn mean_of_best(cosines: ArrayView2<'_, f32>, special: &[bool]) -> f64 {
    if cosines.is_empty() {
        return 0.0;
    }
    let best = |row: ndarray::ArrayView1<'_, f32>| row.iter().copied().fold(f32::MIN, f32::max);
    let own: Vec<f64> = cosines
        .axis_iter(Axis(0))
        .zip(special)
        .filter(|(_, special)| !**special)
        .map(|(row, _)| f64::from(best(row)))
        .collect();
    match own.len() {
        0 => 0.0,
        count => own.iter().sum::<f64>() / count as f64,
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn tokens(vectors: Array2<f32>, special: &[bool]) -> TokenVectors {
        TokenVectors {
            vectors,
            special: special.to_vec(),
        }
    }

    #[test]
    fn special_tokens_are_matched_and_not_counted() {
        let source = tokens(array![[1.0, 0.0], [0.0, 1.0]], &[true, false]);
        let release = tokens(array![[1.0, 0.0], [0.6, 0.8]], &[false, false]);
        // The release's tokens find 1 and 0.8; the source's one of its own finds 0.8.
        let expected = harmonic(0.9, 0.8);
        assert!((score(&source, &release) - expected).abs() < 1e-6);
        let none = tokens(array![[1.0, 0.0]], &[true]);
        assert_eq!(score(&source, &none), 0.0);
        assert_eq!(score(&none, &source), 0.0);
        let empty = tokens(Array2::zeros((0, 2)), &[]);
        assert_eq!(score(&empty, &source), 0.0);
    }
}
