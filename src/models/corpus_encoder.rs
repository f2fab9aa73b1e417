//! Encodes the texts of a corpus: in blocks, so that one sees how far it is, and only those that no earlier run encoded.

use std::path::Path;

use ndarray::{Array2, ArrayView1};
use sha2::{Digest, Sha256};
use teda_core::{Encoder, Result};
use teda_models::Backend;
use teda_models::disk::{Disk, Key};

use super::access::Watch;
use super::named::digest_of;
use teda_hub::Resolved;

/// Texts encoded between two reports of how far it is: a few seconds for a large model.
const BLOCK: usize = 256;

/// An encoder for many texts. Row i is the encoder's own for text i, to the bit.
pub struct CorpusEncoder<'a> {
    /// The encoder.
    pub encoder: &'a dyn Encoder,
    /// Vectors that it made earlier.
    pub kept: Option<&'a Disk>,
    /// Hears how far it is.
    pub watch: &'a Watch,
}

impl Encoder for CorpusEncoder<'_> {
    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let mut vectors = Array2::zeros((texts.len(), self.dimension()));
        let mut missing: Vec<usize> = Vec::new();
        for (place, text) in texts.iter().enumerate() {
            match self.known(text)? {
                Some(vector) => vectors.row_mut(place).assign(&ArrayView1::from(&*vector)),
                None => missing.push(place),
            }
        }
        let total = missing.len() as u64;
        for (block, places) in (0..).zip(missing.chunks(BLOCK)) {
            (self.watch)("encoding texts", block * BLOCK as u64, total);
            let asked: Vec<&str> = places.iter().map(|place| texts[*place]).collect();
            let made = self.encoder.encode(&asked)?;
            self.keep(&asked, &made)?;
            for (place, vector) in places.iter().zip(made.rows()) {
                vectors.row_mut(*place).assign(&vector);
            }
        }
        (self.watch)("encoding texts", total, total);
        Ok(vectors)
    }

    fn dimension(&self) -> usize {
        self.encoder.dimension()
    }
}

impl CorpusEncoder<'_> {
    fn known(&self, text: &str) -> Result<Option<std::sync::Arc<[f32]>>> {
        self.kept.map_or(Ok(None), |kept| kept.get(&key(text)))
    }

    fn keep(&self, texts: &[&str], vectors: &Array2<f32>) -> Result<()> {
        let Some(kept) = self.kept else {
            return Ok(());
        };
        let made: Vec<_> = texts
            .iter()
            .zip(vectors.rows())
            .map(|(text, vector)| (key(text), vector.iter().copied().collect()))
            .collect();
        kept.put(made.iter().map(|(key, vector)| (key, vector)))
    }
}

fn key(text: &str) -> Key {
    Sha256::digest(text).into()
}

/// The vectors that the encoder of these files made, below `cache`.
///
/// # Errors
/// Failed, if they cannot be opened.
pub fn kept(cache: &Path, files: &Resolved, backend: &Backend, dimension: usize) -> Result<Disk> {
    let made_by = digest_of(files, backend);
    Disk::open(&cache.join("vectors").join(made_by), dimension)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use super::*;

    /// The lengths of texts, and how many it was asked for.
    struct Lengths(AtomicUsize);

    impl Encoder for Lengths {
        fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
            self.0.fetch_add(texts.len(), Ordering::Relaxed);
            let lengths = texts.iter().map(|text| text.len() as f32).collect();
            Ok(Array2::from_shape_vec((texts.len(), 1), lengths).unwrap())
        }

        fn dimension(&self) -> usize {
            1
        }
    }

    #[test]
    fn a_text_is_encoded_once_and_how_far_it_is_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let lengths = Lengths(AtomicUsize::new(0));
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = told.clone();
        let watch: Watch =
            Arc::new(move |_, done, total| heard.lock().unwrap().push((done, total)));
        let texts: Vec<String> = (0..600).map(|n| "x".repeat(n)).collect();
        let all: Vec<&str> = texts.iter().map(String::as_str).collect();
        let encode = |texts: &[&str]| {
            let disk = Disk::open(&folder.path().join("model"), 1).unwrap();
            let encoder = CorpusEncoder {
                encoder: &lengths,
                kept: Some(&disk),
                watch: &watch,
            };
            encoder.encode(texts).unwrap()
        };
        let first = encode(&all[..300]);
        assert_eq!(lengths.0.load(Ordering::Relaxed), 300);
        let whole = encode(&all);
        assert_eq!(lengths.0.load(Ordering::Relaxed), 600);
        assert_eq!(whole, lengths.encode(&all).unwrap());
        assert_eq!(first.rows().into_iter().count(), 300);
        assert_eq!(encode(&all), whole);
        let told = told.lock().unwrap();
        assert_eq!(told[..3], [(0, 300), (256, 300), (300, 300)]);
    }
}
