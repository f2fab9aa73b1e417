//! A static sentence encoder: a vector for every WordPiece, summed and normalised.
//!
//! # Definition
//! Token t has the vector `scales[t] · embeddings[t]` (8-bit integers, one scale per token). A text's vector is the
//! sum of its tokens' vectors without special tokens, divided by its norm; a text whose sum is 0 has the vector 0. The
//! sum runs in the order of the text, so that its bits depend only on the text.
//!
//! # Tokens
//! Uncased WordPiece with BERT's normalisation: control characters and NUL are dropped, accents are stripped, and a
//! word of more than 100 characters is one `[UNK]`. The names of special tokens, such as `[MASK]`, are recognised in a
//! text and mean those tokens, as always with BERT.
//!
//! # Speed
//! Words of ASCII characters, which nearly all are, are split here by the definition; only others go through the
//! tokenizer, which takes many times as long.

use std::collections::HashMap;

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;
use teda_core::{Encoder, Error, Result, TokenEncoder, TokenMap, TokenVectors};
use tokenizers::{Encoding, Tokenizer};

use crate::checkpoint::{Safetensors, Tensors};
use crate::kernel::normalise::sum;

/// Dimension of a vector.
const DIMENSION: usize = 160;
/// Texts per task.
const CHUNK: usize = 64;
/// Vocabulary entries that represent no text; so do `[unused…]`.
const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// What the names of special tokens begin with.
const SPECIAL_BEGINS: u8 = b'[';
/// What the names of tokens begin with that go on with a word.
const CONTINUES: &str = "##";
/// A longer word is unknown.
const MOST_CHARACTERS: usize = 100;

/// The static encoder over its vocabulary.
pub struct StaticEncoder {
    tokenizer: Tokenizer,
    /// `[tokens × DIMENSION]`, as stored.
    embeddings: Vec<i8>,
    /// `[tokens]`.
    scales: Vec<f32>,
    /// `[tokens × DIMENSION]`, of norm 1 or 0.
    vectors: Array2<f32>,
    /// `[tokens]`.
    names: Vec<String>,
    /// Tokens that begin a word, of ASCII characters alone.
    words: HashMap<String, u32>,
    /// Tokens that go on with one, without their number signs.
    further: HashMap<String, u32>,
    unknown: u32,
    /// Bytes of the longest token.
    longest: usize,
    released: Vec<u32>,
}

impl StaticEncoder {
    /// Combines a weight file, named `file` in messages, and a tokenizer.
    ///
    /// # Errors
    /// If the file is incomplete or its shapes do not fit the tokenizer's vocabulary.
    pub(super) fn load(
        file: &str,
        weights: &Safetensors,
        mut tokenizer: Tokenizer,
    ) -> Result<Self> {
        // A tokenizer file may contain its model's batch settings; a text is never cut or padded here.
        tokenizer
            .with_truncation(None)
            .map_err(|e| Error::failed(format!("{file}: {e}")))?
            .with_padding(None);
        let tokens = tokenizer.get_vocab_size(true);
        let embeddings = weights.bytes("embeddings", &[tokens, DIMENSION])?;
        let scales = weights.floats("scales", &[tokens])?;
        let names = (0..)
            .map_while(|id| tokenizer.id_to_token(id))
            .take(tokens)
            .collect::<Vec<_>>();
        if names.len() != tokens {
            return Err(Error::failed(format!(
                "{file}: the tokenizer has no token {} although it has {tokens}",
                names.len()
            )));
        }
        let mut vectors = Array2::zeros((tokens, DIMENSION));
        for (id, mut row) in vectors.rows_mut().into_iter().enumerate() {
            let row = row.as_slice_mut().expect("a fresh matrix is contiguous");
            add(row, scales[id], &embeddings[id * DIMENSION..][..DIMENSION]);
            normalise(row);
        }
        let unknown = tokenizer.token_to_id(SPECIAL[1]).ok_or_else(|| {
            Error::failed(format!("{file}: the tokenizer has no token {}", SPECIAL[1]))
        })?;
        let released = (0_u32..)
            .zip(&names)
            .zip(vectors.rows())
            .filter(|((_, name), row)| is_text(name) && row.iter().any(|x| *x != 0.0))
            .map(|((id, _), _)| id)
            .collect();
        let (mut words, mut further) = (HashMap::new(), HashMap::new());
        for (id, name) in (0_u32..).zip(&names).filter(|(_, name)| name.is_ascii()) {
            match name.strip_prefix(CONTINUES) {
                Some(rest) if !rest.is_empty() => further.insert(rest.to_owned(), id),
                _ => words.insert(name.clone(), id),
            };
        }
        let longest = names.iter().map(String::len).max().unwrap_or(0);
        Ok(Self {
            tokenizer,
            embeddings,
            scales,
            vectors,
            names,
            words,
            further,
            unknown,
            longest,
            released,
        })
    }

    /// Appends the tokens of a run without white space, if they can be told without the tokenizer: if it is ASCII without
    /// control characters, and holds no name of a special token. WordPiece splits at punctuation, every character of
    /// which is a word.
    fn split(&self, run: &str, tokens: &mut Vec<u32>) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != SPECIAL_BEGINS;
        if !run.bytes().all(is_plain) {
            return false;
        }
        let lower = run.to_ascii_lowercase();
        let is_mark = |character: char| character.is_ascii_punctuation();
        for part in lower.split_inclusive(is_mark) {
            let word = part.trim_end_matches(is_mark);
            self.split_word(word, tokens);
            self.split_word(&part[word.len()..], tokens);
        }
        true
    }

    /// Appends the tokens of a word: at each place the longest that there is, or one for the whole word if there is none
    /// at some place.
    fn split_word(&self, word: &str, tokens: &mut Vec<u32>) {
        let before = tokens.len();
        let mut start = 0;
        while start < word.len() {
            let table = if start == 0 {
                &self.words
            } else {
                &self.further
            };
            let ends = (start + 1..=word.len().min(start + self.longest)).rev();
            let found = ends.map(|end| (table.get(&word[start..end]), end));
            let longest = found.filter_map(|(token, end)| Some((*token?, end))).next();
            let Some((token, end)) = longest.filter(|_| word.len() <= MOST_CHARACTERS) else {
                tokens.truncate(before);
                tokens.push(self.unknown);
                return;
            };
            tokens.push(token);
            start = end;
        }
    }

    fn pieces(&self, text: &str) -> Encoding {
        self.tokenizer
            .encode_fast(text, false)
            .expect("WordPiece with an unknown token encodes every text")
    }

    fn encode_into(&self, text: &str, vector: &mut [f32]) {
        for token in self.tokenize(text) {
            let id = token as usize;
            let embedding = &self.embeddings[id * DIMENSION..][..DIMENSION];
            add(vector, self.scales[id], embedding);
        }
        normalise(vector);
    }
}

impl Encoder for StaticEncoder {
    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let mut vectors = vec![0.0; texts.len() * DIMENSION];
        vectors
            .par_chunks_mut(CHUNK * DIMENSION)
            .zip(texts.par_chunks(CHUNK))
            .for_each(|(vectors, texts)| {
                for (vector, text) in vectors.chunks_exact_mut(DIMENSION).zip(texts) {
                    self.encode_into(text, vector);
                }
            });
        Ok(Array2::from_shape_vec((texts.len(), DIMENSION), vectors)
            .expect("one vector a text was allocated"))
    }

    fn dimension(&self) -> usize {
        DIMENSION
    }

    fn token_encoder(&self) -> Option<&dyn TokenEncoder> {
        Some(self)
    }
}

/// A token's vector is the same in every context.
impl TokenEncoder for StaticEncoder {
    fn token_vectors(&self, texts: &[&str]) -> Result<Vec<TokenVectors>> {
        let vectors = |text: &&str| {
            let tokens: Vec<usize> = self.tokenize(text).iter().map(|t| *t as usize).collect();
            TokenVectors {
                vectors: self.vectors.select(Axis(0), &tokens),
                special: vec![false; tokens.len()],
            }
        };
        Ok(texts.par_iter().map(vectors).collect())
    }
}

impl TokenMap for StaticEncoder {
    fn tokenize(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::with_capacity(text.len() / 4);
        for word in text.split([' ', '\t', '\n', '\r']) {
            if !self.split(word, &mut tokens) {
                tokens.extend_from_slice(self.pieces(word).get_ids());
            }
        }
        tokens
    }

    /// Tokens joined by spaces, with a `##` continuation attached to the token before it. An id outside the vocabulary
    /// becomes `[UNK]`.
    fn detokenize(&self, tokens: &[u32]) -> String {
        let mut text = String::new();
        for token in tokens {
            let name = self
                .names
                .get(*token as usize)
                .map_or(SPECIAL[1], String::as_str);
            match name.strip_prefix(CONTINUES) {
                // The piece "##" itself is two number signs, not an empty continuation.
                Some(continuation) if !continuation.is_empty() => text.push_str(continuation),
                _ => {
                    if !text.is_empty() {
                        text.push(' ');
                    }
                    text.push_str(name);
                }
            }
        }
        text
    }

    fn vectors(&self) -> ArrayView2<'_, f32> {
        self.vectors.view()
    }

    fn released(&self) -> &[u32] {
        &self.released
    }
}

fn is_text(name: &str) -> bool {
    let reserved = name.starts_with("[unused") && name.ends_with(']');
    !reserved && !SPECIAL.contains(&name)
}

/// Adds one token's vector.
fn add(vector: &mut [f32], scale: f32, embedding: &[i8]) {
    for (x, e) in vector.iter_mut().zip(embedding) {
        *x += scale * f32::from(*e);
    }
}

/// Divides by the Euclidean norm; 0 stays 0.
fn normalise(vector: &mut [f32]) {
    let norm = sum(vector, |x| x * x).sqrt();
    if norm > 0.0 {
        for x in vector.iter_mut() {
            *x /= norm;
        }
    }
}

#[cfg(test)]
mod tests {
    use teda_core::Seed;

    use super::*;

    #[test]
    fn words_are_split_as_the_tokenizer_splits_them() {
        let encoder = super::super::encoder().unwrap();
        let parts = [
            "play",
            "Play",
            "THE",
            "boston's",
            "café",
            "CAFE\u{301}",
            "\u{301}",
            "東京",
            "東京tower",
            "[MASK]",
            "[mask]",
            "a[SEP]b",
            "unaffable",
            "uNaffAblest",
            "hyperparametrisation",
            "qzxvqj",
            "a##b",
            "don't.",
            "--...!?",
            "[",
            "]x",
            "a]b",
            "\u{1}b",
            "~`^|$<>=+",
            "anaesthesiologist2020",
            "x1y2",
            "42",
            "##s",
            "\u{0}",
            "\u{7f}",
            "\u{b}",
            "\u{c}",
            "\u{a0}",
            "\u{2003}",
            "\u{200b}",
            "ﬁne",
            "İstanbul",
            "…",
            "$3.50",
            " ",
            "\t",
            "\r\n",
            "\u{85}",
            "\u{fffd}",
            "K",
        ];
        for index in 0..5_000 {
            let mut stream = Seed::root(4).at(index).stream();
            let mut text = String::new();
            for _ in 0..stream.below(12) {
                text.push_str(parts[stream.below(parts.len())]);
                if stream.below(3) > 0 {
                    text.push(' ');
                }
            }
            let encoding = encoder.pieces(&text);
            assert_eq!(encoder.tokenize(&text), encoding.get_ids(), "{text:?}");
        }
    }
    #[test]
    fn any_ascii_is_split_as_the_tokenizer_splits_it() {
        let encoder = super::super::encoder().unwrap();
        let same = |text: &str| {
            assert_eq!(
                encoder.tokenize(text),
                encoder.pieces(text).get_ids(),
                "{text:?}"
            );
        };
        for index in 0..20_000 {
            let mut stream = Seed::root(5).at(index).stream();
            // All of ASCII, or few characters, so that there are names of tokens among the words.
            let set: &[u8] = match index % 3 {
                0 => b"[UNKMASclsep]#",
                1 => b"aeinrst'-.#",
                _ => &std::array::from_fn::<u8, 128, _>(|byte| byte as u8),
            };
            let length = stream.below(24);
            let text: String = (0..length)
                .map(|_| char::from(set[stream.below(set.len())]))
                .collect();
            same(&text);
        }
        for length in [99, 100, 101, 250] {
            for word in ["a", "ing", "9"] {
                same(&word.repeat(length)[..length]);
            }
        }
    }
}
