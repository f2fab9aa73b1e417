//! `cosine`: how near a release is to its text in meaning, as a sentence encoder sees it.
//!
//! # Definition
//! The cosine of the two sentence vectors. Not defined where one of them is 0, which only a text without any known token has.
//!
//! # Source
//! Reimers & Gurevych, *Sentence-BERT* (EMNLP 2019): SBERT-Cos of PrivRewrite and SafeDP-Rewrite, CS of the DP-MLM and DP-ST
//! papers. Which encoder it was decides what the figure means, so the signature names it.

use std::collections::HashMap;
use std::sync::Arc;

use teda_core::{Encoder, Result};

use crate::entry::{Entry, Needs, Pair, Utility};

pub const ENTRY: Entry = Entry {
    name: "cosine",
    summary: "cosine of the sentence vectors of text and release (SBERT-Cos)",
    source: "Sentence-BERT (EMNLP 2019)",
    needs: Needs::Encoder,
    digits: 4,
    build: |context| {
        let (encoder, name) = context.encoder.clone();
        Ok(Box::new(Cosine { encoder, name }))
    },
};

struct Cosine {
    encoder: Arc<dyn Encoder>,
    name: String,
}

impl Utility for Cosine {
    fn scores(&self, pairs: &[Pair<'_>]) -> Result<Vec<Option<f64>>> {
        let (texts, places) = distinct(pairs);
        let vectors = self.encoder.encode(&texts)?;
        let cosine = |[source, release]: &[usize; 2]| {
            let [a, b] = [source, release].map(|place| vectors.row(*place));
            let known = [a, b].iter().all(|row| row.iter().any(|x| *x != 0.0));
            let products = a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y));
            known.then(|| products.sum::<f64>().clamp(-1.0, 1.0))
        };
        Ok(places.iter().map(cosine).collect())
    }

    fn signature(&self) -> String {
        format!("encoder: {}", self.name)
    }
}

/// The different texts of some pairs, and where those of each pair are among them.
pub fn distinct<'a>(pairs: &[Pair<'a>]) -> (Vec<&'a str>, Vec<[usize; 2]>) {
    let mut texts = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut place = |text: &'a str| {
        *known.entry(text).or_insert_with(|| {
            texts.push(text);
            texts.len() - 1
        })
    };
    let places = pairs
        .iter()
        .map(|pair| [place(pair.source), place(pair.release)])
        .collect();
    (texts, places)
}

#[cfg(test)]
mod tests {
    use teda_models::builtin;

    use super::*;
    use crate::testing::score;

    #[test]
    fn equal_texts_have_1_and_unknown_ones_none() {
        let encoder = Arc::new(builtin::encoder().unwrap());
        let cosine = Cosine {
            encoder,
            name: "builtin".to_owned(),
        };
        let same = score(&cosine, "play some jazz", "play some jazz").unwrap();
        assert!((same - 1.0).abs() < 1e-6, "{same}");
        let near = score(&cosine, "play some jazz", "play some music").unwrap();
        let far = score(&cosine, "play some jazz", "weather in boston").unwrap();
        assert!(far < near && near < same, "{far} {near}");
        assert_eq!(score(&cosine, "play", ""), None);
    }

    #[test]
    fn each_text_is_encoded_once() {
        let pair = |source, release| Pair { source, release };
        let (texts, places) = distinct(&[pair("a", "b"), pair("b", "b"), pair("a", "c")]);
        assert_eq!(texts, ["a", "b", "c"]);
        assert_eq!(places, [[0, 1], [1, 1], [0, 2]]);
    }
}
