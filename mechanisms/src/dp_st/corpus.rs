//! The public triples, and their clusters.
//!
//! `public.tsv` has a triple a line, its parts with a tab between them, and an empty line between clusters. It is made
//! by `scripts/models/dp_st_corpus.rs` of the novels and of MedQuAD, which ship. No part of SNIPS is in it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use ndarray::{Array2, ArrayView1, Axis, Slice};
use teda_core::{Encoder, Result};

use super::triples::Triple;

/// The public triples, cluster by cluster.
pub fn public() -> &'static [Vec<Triple>] {
    static PUBLIC: LazyLock<Vec<Vec<Triple>>> = LazyLock::new(|| read(include_str!("public.tsv")));
    &PUBLIC
}

/// Reads clusters.
fn read(text: &str) -> Vec<Vec<Triple>> {
    let triple = |line: &str| {
        let mut parts = line.splitn(3, '\t').map(str::to_owned);
        Some(Triple {
            subject: parts.next()?,
            relation: parts.next()?,
            object: parts.next()?,
        })
    };
    let cluster = |block: &str| block.lines().filter_map(triple).collect();
    text.split("\n\n").map(cluster).collect()
}

/// Clusters of public triples with the vectors of an encoder.
pub struct Corpus {
    /// The triples, one cluster after the other.
    pub triples: Vec<Triple>,
    /// The places of each cluster's triples.
    pub clusters: Vec<Range<usize>>,
    /// The place of the triple that the template writes a sentence of.
    pub places: HashMap<String, usize>,
    /// `[triples × dimension]`, of norm 1 or 0.
    vectors: Array2<f32>,
    /// `[clusters × dimension]`, of norm 1 or 0.
    centroids: Array2<f32>,
}

impl Corpus {
    /// # Errors
    /// If the encoder fails.
    pub fn new(clusters: &[Vec<Triple>], encoder: &dyn Encoder) -> Result<Self> {
        let triples: Vec<Triple> = clusters.concat();
        let mut ranges = Vec::new();
        let mut start = 0;
        for cluster in clusters {
            ranges.push(start..start + cluster.len());
            start += cluster.len();
        }
        let phrases: Vec<String> = triples.iter().map(Triple::phrase).collect();
        let phrases: Vec<&str> = phrases.iter().map(String::as_str).collect();
        let vectors = encoder.encode(&phrases)?;
        let mut centroids = Array2::zeros((ranges.len(), vectors.ncols()));
        for (range, mut centroid) in ranges.iter().zip(centroids.rows_mut()) {
            for vector in vectors
                .slice_axis(Axis(0), Slice::from(range.clone()))
                .rows()
            {
                centroid += &vector;
            }
            let norm = centroid.dot(&centroid).sqrt();
            if norm > 0.0 {
                centroid /= norm;
            }
        }
        let sentences = triples.iter().map(Triple::sentence);
        Ok(Self {
            places: sentences.zip(0..).collect(),
            clusters: ranges,
            triples,
            vectors,
            centroids,
        })
    }

    /// The cosines of a vector and the triples in these places.
    pub fn cosines(&self, vector: ArrayView1<'_, f32>, places: Range<usize>) -> Vec<f32> {
        cosines(&self.vectors, vector, places)
    }

    /// The cosines of a vector and all centroids.
    pub fn cosines_of_clusters(&self, vector: ArrayView1<'_, f32>) -> Vec<f32> {
        cosines(&self.centroids, vector, 0..self.clusters.len())
    }
}

fn cosines(rows: &Array2<f32>, vector: ArrayView1<'_, f32>, places: Range<usize>) -> Vec<f32> {
    let rows = rows.slice_axis(Axis(0), Slice::from(places));
    rows.rows()
        .into_iter()
        .map(|row| row.dot(&vector))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// A release is read by its sentences: no two triples write the same one, and none has an end inside.
    #[test]
    fn sentences_are_of_one_triple() {
        let all: Vec<String> = public().concat().iter().map(Triple::sentence).collect();
        let distinct: HashSet<&String> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert!(all.len() > 5000, "{}", all.len());
        assert!(
            all.iter()
                .all(|sentence| sentence.find('.') == Some(sentence.len() - 1))
        );
        assert!(public().iter().all(|cluster| !cluster.is_empty()));
    }
}
