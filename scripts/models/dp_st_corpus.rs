//! Makes DP-ST's public triples and their clusters of public texts: `mechanisms/src/dp_st/public.tsv`.
//!
//! ```text
//! cargo build --release --workspace --all-targets
//! python dp_st_texts.py --data DATA | ../../target/release/examples/dp_st_corpus > ../../mechanisms/src/dp_st/public.tsv
//! ```
//!
//! It reads a text a line and takes their triples until there are [`TRIPLES`]: those of at most [`WORDS`] words of
//! letters, each sentence once. Clusters are by k-means on the sphere (Dhillon & Modha 2001) over the vectors of the
//! encoder in the binary, about 300 triples each as in the paper. The same texts give the same file.

use std::collections::HashSet;
use std::io::BufRead;

use ndarray::{Array2, ArrayView1};
use teda_core::{Encoder, Seed};
use teda_mechanisms::{Triple, triples};

/// Triples that are taken.
const TRIPLES: usize = 9600;
/// Their clusters.
const CLUSTERS: usize = 32;
/// Words of a triple at most.
const WORDS: usize = 9;
/// Rounds of k-means, more than it takes to settle.
const ROUNDS: usize = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut sentences = HashSet::new();
    let mut taken: Vec<Triple> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        for triple in triples(&line?) {
            if is_plain(&triple) && sentences.insert(triple.sentence().to_lowercase()) {
                taken.push(triple);
            }
        }
        if taken.len() >= TRIPLES {
            break;
        }
    }
    taken.truncate(TRIPLES);
    let phrases: Vec<String> = taken.iter().map(Triple::phrase).collect();
    let phrases: Vec<&str> = phrases.iter().map(String::as_str).collect();
    let vectors = teda_models::builtin::encoder()?.encode(&phrases)?;
    let own = clusters(&vectors);
    let mut blocks = Vec::new();
    for cluster in 0..CLUSTERS {
        let members = taken.iter().zip(&own).filter(|(_, own)| **own == cluster);
        let mut lines: Vec<String> = members
            .map(|(t, _)| format!("{}\t{}\t{}\n", t.subject, t.relation, t.object))
            .collect();
        lines.sort();
        eprintln!("cluster {cluster}: {} triples", lines.len());
        if !lines.is_empty() {
            blocks.push(lines.concat());
        }
    }
    print!("{}", blocks.join("\n"));
    Ok(())
}

/// Whether a triple is of a few words of letters.
fn is_plain(triple: &Triple) -> bool {
    let phrase = triple.phrase();
    phrase.split(' ').count() <= WORDS
        && phrase
            .split(' ')
            .all(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()))
        && phrase
            .chars()
            .all(|c| c.is_ascii_alphabetic() || " '-".contains(c))
}

/// The cluster of each vector.
fn clusters(vectors: &Array2<f32>) -> Vec<usize> {
    let mut stream = Seed::root(0).named("clusters").stream();
    let mut centres = Array2::zeros((CLUSTERS, vectors.ncols()));
    for mut centre in centres.rows_mut() {
        centre.assign(&vectors.row(stream.below(vectors.nrows())));
    }
    let mut own = vec![0; vectors.nrows()];
    for _ in 0..ROUNDS {
        let before = own.clone();
        for (row, own) in vectors.rows().into_iter().zip(&mut own) {
            *own = nearest(&centres, row);
        }
        if own == before {
            break;
        }
        centres.fill(0.0);
        for (row, own) in vectors.rows().into_iter().zip(&own) {
            let mut centre = centres.row_mut(*own);
            centre += &row;
        }
        for mut centre in centres.rows_mut() {
            let norm = centre.dot(&centre).sqrt();
            if norm > 0.0 {
                centre /= norm;
            }
        }
    }
    own
}

fn nearest(centres: &Array2<f32>, row: ArrayView1<'_, f32>) -> usize {
    let cosines: Vec<f32> = centres
        .rows()
        .into_iter()
        .map(|centre| centre.dot(&row))
        .collect();
    (1..CLUSTERS).fold(
        0,
        |best, i| {
            if cosines[i] > cosines[best] { i } else { best }
        },
    )
}
