//! A vocabulary of a few tokens, and models over it, on which tests can enumerate everything.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView2};
use teda_core::{
    Answer, Autoencoder, BeamSearch, Choose, Encoder, EncoderDecoder, Followed, Gap, Generated,
    Keep, LanguageModel, LogLikelihood, MaskedLanguageModel, MaxNewTokens, Prompt, Query, Result,
    Sampling, Scorer, Seed, Sequence, State, TextGenerator, TokenMap, Weigh, ln_softmax_over,
};

use crate::entry::Context;
use crate::memory::Memory;

/// Tokens "t0" … "t7" and the unknown token.
pub const TOKENS: usize = 9;
/// The unknown token: a zero vector, never released.
pub const UNKNOWN: u32 = 8;

/// What the toy language model says of its logits.
pub const MOMENTS: (f64, f64) = (0.0, 0.5);

pub struct Toy {
    vectors: Array2<f32>,
    released: Vec<u32>,
}

/// Vectors in general position.
pub fn tokens() -> Arc<Toy> {
    let mut stream = Seed::root(9).named("toy").stream();
    let mut vectors = Array2::from_shape_simple_fn((TOKENS, 4), || stream.uniform() as f32 - 0.4);
    for mut row in vectors.rows_mut() {
        let norm = row.dot(&row).sqrt();
        row /= norm;
    }
    vectors.row_mut(UNKNOWN as usize).fill(0.0);
    Arc::new(Toy {
        vectors,
        released: (0..UNKNOWN).collect(),
    })
}

/// Vectors that cancel: "t0" and "t1" are opposite, and so are "t2" and "t3", …, all else at right angles.
pub fn opposites() -> Arc<Toy> {
    let vectors = Array2::from_shape_fn((TOKENS, 4), |(token, axis)| match token / 2 == axis {
        true if token % 2 == 0 => 1.0,
        true => -1.0,
        false => 0.0,
    });
    Arc::new(Toy {
        vectors,
        released: (0..UNKNOWN).collect(),
    })
}

/// Two words in one dimension: "t0" at 1 and "t1" at −1; all others are at 0, and never released.
pub fn line() -> Arc<Toy> {
    let place = |token: usize| [1.0, -1.0].get(token).copied().unwrap_or(0.0);
    Arc::new(Toy {
        vectors: Array2::from_shape_fn((TOKENS, 1), |(token, _)| place(token)),
        released: vec![0, 1],
    })
}

/// Vectors at corners of a cube: those of "t0" and "t7" are opposite.
pub fn corners() -> Arc<Toy> {
    let vectors = Array2::from_shape_fn((TOKENS, 4), |(token, axis)| {
        if token >> (axis % 3) & 1 == 1 {
            1.0
        } else {
            -1.0
        }
    });
    Arc::new(Toy {
        vectors,
        released: (0..UNKNOWN).collect(),
    })
}

/// Settings as the command line gives them.
pub fn given(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    settings.iter().map(owned).collect()
}

pub fn context() -> Context {
    let toy = tokens();
    Context {
        texts: ["t0 t1 t2", "t3 t4", "t5 t6 t7 t0"]
            .map(String::from)
            .into(),
        tokens: toy.clone(),
        encoder: toy.clone(),
        generator: Some(toy.clone()),
        sampler: Some(toy.clone()),
        language_model: Some(toy.clone()),
        masked_language_model: Some(Arc::new(Gaps::new())),
        autoencoder: Some(toy.clone()),
        scorer: Some(toy),
        memory: Memory::new(1 << 20),
    }
}

/// The same over other texts.
pub fn over(texts: &[&str]) -> Context {
    Context {
        texts: texts.iter().copied().map(String::from).collect(),
        ..context()
    }
}

impl TokenMap for Toy {
    fn tokenize(&self, text: &str) -> Vec<u32> {
        text.split_whitespace()
            .map(|word| {
                word.strip_prefix('t')
                    .and_then(|n| n.parse().ok())
                    .filter(|n| *n < UNKNOWN)
                    .unwrap_or(UNKNOWN)
            })
            .collect()
    }

    fn detokenize(&self, tokens: &[u32]) -> String {
        let words: Vec<String> = tokens.iter().map(|t| format!("t{t}")).collect();
        words.join(" ")
    }

    fn vectors(&self) -> ArrayView2<'_, f32> {
        self.vectors.view()
    }

    fn released(&self) -> &[u32] {
        &self.released
    }
}

impl Encoder for Toy {
    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let mut vectors = Array2::zeros((texts.len(), 4));
        for (text, mut row) in texts.iter().zip(vectors.rows_mut()) {
            for token in self.tokenize(text) {
                row += &self.vectors.row(token as usize);
            }
            let norm = row.dot(&row).sqrt();
            if norm > 0.0 {
                row /= norm;
            }
        }
        Ok(vectors)
    }

    fn dimension(&self) -> usize {
        4
    }
}

impl TextGenerator for Toy {
    /// Candidate i is the text rotated by i words: several candidates, all a function of the text.
    fn complete(
        &self,
        _: &Prompt,
        queries: &[Query<'_>],
        n: usize,
        _: Sampling,
    ) -> Result<Vec<Answer<Vec<String>>>> {
        Ok(queries
            .iter()
            .map(|query| {
                let mut words: Vec<&str> = query.text.split_whitespace().collect();
                Ok((0..n)
                    .map(|i| {
                        let step = usize::from(!words.is_empty());
                        words.rotate_left(step);
                        words[..words.len().min(1 + i)].join(" ")
                    })
                    .collect())
            })
            .collect())
    }
}

impl Toy {
    /// Logits over "t0" … "t7" that depend on the text and on what was made before, from −2 to 2.
    pub fn logits(&self, text: &str, before: &[u32]) -> Vec<f32> {
        let mut seed = Seed::root(8).named(text);
        for token in before {
            seed = seed.at(u64::from(*token));
        }
        let mut stream = seed.stream();
        (0..UNKNOWN)
            .map(|_| (4.0 * stream.uniform() - 2.0) as f32)
            .collect()
    }
}

impl LanguageModel for Toy {
    fn vocabulary(&self) -> usize {
        UNKNOWN as usize
    }

    fn follows_instructions(&self) -> bool {
        true
    }

    fn prompt_tokens(&self, prompt: &Prompt, text: &str) -> Result<usize> {
        Ok(prompt.fill(text).split_whitespace().count())
    }

    fn logit_moments(&self) -> Option<(f64, f64)> {
        Some(MOMENTS)
    }

    fn encoder_decoder(&self) -> Option<&dyn EncoderDecoder> {
        Some(self)
    }

    fn generate(
        &self,
        prompt: &Prompt,
        sequences: &[Sequence<'_>],
        choose: &Choose<'_>,
    ) -> Result<Vec<Answer<Generated>>> {
        sequences
            .iter()
            .map(|sequence| {
                let max_new_tokens = match sequence.max_new_tokens {
                    MaxNewTokens::Tokens(count) => count,
                    MaxNewTokens::AsPrompt => self.prompt_tokens(prompt, sequence.text)?,
                    MaxNewTokens::BeyondPrompt(extra) => {
                        self.prompt_tokens(prompt, sequence.text)? + extra
                    }
                };
                let mut stream = sequence.seed.stream();
                let mut tokens = Vec::new();
                while tokens.len() < max_new_tokens {
                    let mut logits = self.logits(sequence.text, &tokens);
                    for token in sequence.banned.iter().flat_map(|word| self.tokenize(word)) {
                        logits[token as usize] = f32::NEG_INFINITY;
                    }
                    tokens.push(choose(&mut logits, &mut stream));
                }
                let text = self.detokenize(&tokens);
                Ok(Ok(Generated { text, tokens }))
            })
            .collect()
    }

    /// It never ends by itself, and an unknown word is none of its tokens.
    fn follow(
        &self,
        _: &Prompt,
        pairs: &[(&str, &str)],
        weigh: &Weigh<'_>,
    ) -> Result<Vec<Answer<Followed>>> {
        let along = |(text, continuation): &(&str, &str)| {
            let tokens = self.tokenize(continuation);
            let step = |i: usize| match tokens[i] {
                UNKNOWN => f64::NEG_INFINITY,
                token => weigh(&self.logits(text, &tokens[..i]), &[token]),
            };
            Ok(Followed {
                likelihood: LogLikelihood {
                    total: (0..tokens.len()).map(step).sum(),
                    tokens: tokens.len(),
                },
                end: f64::NEG_INFINITY,
            })
        };
        Ok(pairs.iter().map(along).collect())
    }
}

/// A token's vector is its own, and what fills up has the vector 0.
impl EncoderDecoder for Toy {
    fn hidden(&self) -> usize {
        4
    }

    fn encode(&self, texts: &[&str], tokens: usize) -> Result<Array2<f32>> {
        let rows: Vec<Vec<u32>> = texts.iter().map(|text| self.tokenize(text)).collect();
        Ok(Array2::from_shape_fn(
            (texts.len(), tokens * 4),
            |(row, place)| {
                let token = rows[row].get(place / 4);
                token.map_or(0.0, |token| self.vectors[[*token as usize, place % 4]])
            },
        ))
    }

    /// The decoder goes by later numbers more.
    fn key_weights(&self) -> Result<Array1<f64>> {
        Ok((0..4).map(f64::from).collect())
    }

    /// For each token's vector, the word whose vector has the highest product with it.
    fn decode(&self, vectors: ArrayView2<'_, f32>, _: BeamSearch) -> Result<Vec<String>> {
        let word = |vector: &[f32]| {
            let product = |token: &u32| -> f32 {
                let own = self.vectors.row(*token as usize);
                own.iter().zip(vector).map(|(a, b)| a * b).sum()
            };
            let best = (0..UNKNOWN).max_by(|a, b| product(a).total_cmp(&product(b)));
            format!("t{}", best.expect("there are tokens"))
        };
        let text = |row: &[f32]| row.chunks(4).map(word).collect::<Vec<_>>().join(" ");
        let rows = vectors.rows().into_iter();
        Ok(rows.map(|row| text(&row.to_vec())).collect())
    }
}

/// A text's latent is the sum of its words' vectors.
impl Autoencoder for Toy {
    fn dimension(&self) -> usize {
        self.vectors.ncols()
    }

    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let mut latents = Array2::zeros((texts.len(), self.vectors.ncols()));
        for (text, mut latent) in texts.iter().zip(latents.rows_mut()) {
            for token in self.tokenize(text) {
                latent += &self.vectors.row(token as usize);
            }
        }
        Ok(latents)
    }

    /// The word whose vector has the highest product with the latent.
    fn decode(&self, latents: ArrayView2<'_, f32>) -> Result<Vec<String>> {
        let search = BeamSearch {
            beams: 1,
            tokens: 1,
        };
        EncoderDecoder::decode(self, latents, search)
    }
}

impl Scorer for Toy {
    /// By its own logits, under an empty text.
    fn log_likelihood(
        &self,
        prompt: &Prompt,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Answer<LogLikelihood>>> {
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(_, made)| ("", *made)).collect();
        let weigh = |logits: &[f32], tokens: &[u32]| ln_softmax_over(logits, tokens, f64::from);
        let followed = self.follow(prompt, &pairs, &weigh)?;
        let likelihood = |answer: Answer<Followed>| answer.map(|followed| followed.likelihood);
        Ok(followed.into_iter().map(likelihood).collect())
    }
}

/// A masked language model over a few words, some of which are written alike, and one of which writes nothing. Its state
/// at a gap is its logits, from −3 to 3: a function of all that it is shown.
pub struct Gaps(Vec<String>);

impl Gaps {
    pub fn new() -> Self {
        Self(["t0", "t1", "T1", "", ".", "``"].map(String::from).into())
    }
}

impl MaskedLanguageModel for Gaps {
    fn words(&self) -> &[String] {
        &self.0
    }

    fn logit_moments(&self) -> Option<(f64, f64)> {
        Some(MOMENTS)
    }

    fn states(&self, gaps: &[Gap<'_>], _: Keep) -> Result<Vec<State>> {
        let state = |gap: &Gap<'_>| {
            let seed = Seed::root(5)
                .named(gap.whole)
                .named(gap.before)
                .named(gap.after);
            let mut stream = seed.stream();
            self.0
                .iter()
                .map(|_| (6.0 * stream.uniform() - 3.0) as f32)
                .collect()
        };
        Ok(gaps.iter().map(state).collect())
    }

    fn logits(&self, states: &[&State], tokens: std::ops::Range<usize>) -> Result<Vec<f32>> {
        let logits = states.iter().flat_map(|state| &state[tokens.clone()]);
        Ok(logits.copied().collect())
    }
}
