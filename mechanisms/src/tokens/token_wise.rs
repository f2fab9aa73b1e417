//! The likelihood of a text that was written token by token in place of another text's tokens.
//!
//! # Definition
//! P(release | text) = Σ Π_i P(t_i | x_i) over the sequences t_1 … t_n of released tokens that write the release
//! ([`Spelling`]), x_1 … x_n being the text's tokens and P(t | x) = w(t, x) / Σ_t' w(t', x) over all released t'; for
//! tokens that are kept, t_i = x_i with certainty.
//!
//! # Errors
//! Same as [`Spelling`].

use std::sync::{Arc, OnceLock};

use teda_core::{Answer, Result, TokenMap};

use crate::text::spelling::Spelling;

/// A mechanism's weights, each the same in every call.
pub trait Weights {
    /// ln w(t, x).
    fn ln_weight(&self, t: u32, x: u32) -> f64;

    /// ln Σ_t w(t, x) over the released tokens t.
    fn ln_sum(&self, released: &[u32], x: u32) -> f64 {
        ln_sum(released.iter().map(|t| self.ln_weight(*t, x)).collect())
    }

    /// Which of a text's tokens stay as they are.
    fn kept(&self, tokens: &[u32]) -> Vec<bool> {
        vec![false; tokens.len()]
    }
}

/// Likelihoods over one vocabulary under one mechanism's weights.
pub struct TokenWise {
    tokens: Arc<dyn TokenMap>,
    /// Built when a likelihood is first asked for.
    tables: OnceLock<Result<Tables>>,
}

struct Tables {
    spelling: Spelling,
    /// ln Σ_t w(t, x) by x, each computed when it is first asked for.
    ln_sums: Vec<OnceLock<f64>>,
}

impl TokenWise {
    /// Likelihoods over the vocabulary of `tokens`.
    pub fn new(tokens: Arc<dyn TokenMap>) -> Self {
        Self {
            tokens,
            tables: OnceLock::new(),
        }
    }

    /// ln P(release | text) of each pair, always with the same `weights`; −∞ if no sequence of as many tokens as the
    /// text has writes the release.
    ///
    /// # Errors
    /// Failed, if the vocabulary has no such sum.
    pub fn log_likelihood(
        &self,
        pairs: &[(&str, &str)],
        weights: &impl Weights,
    ) -> Result<Vec<Answer<f64>>> {
        let tables = self.tables.get_or_init(|| self.tables());
        let Tables { spelling, ln_sums } = tables.as_ref().map_err(Clone::clone)?;
        let released = self.tokens.released();
        let ln_sum_of = |x: u32| *ln_sums[x as usize].get_or_init(|| weights.ln_sum(released, x));
        let of = |(release, text): &(&str, &str)| {
            let tokens = self.tokens.tokenize(text);
            let kept = weights.kept(&tokens);
            let drawn = |i: usize, place: usize| {
                let x = tokens[i];
                match kept[i] {
                    true => certain(released[place] == x),
                    false => weights.ln_weight(released[place], x) - ln_sum_of(x),
                }
            };
            Ok(spelling.ln_probability(release, tokens.len(), drawn))
        };
        Ok(pairs.iter().map(of).collect())
    }

    fn tables(&self) -> Result<Tables> {
        Ok(Tables {
            spelling: Spelling::new(&*self.tokens)?,
            ln_sums: vec![OnceLock::new(); self.tokens.vectors().nrows()],
        })
    }
}

/// ln of 1 or of 0.
fn certain(happens: bool) -> f64 {
    if happens { 0.0 } else { f64::NEG_INFINITY }
}

/// ln Σ exp(w) of log weights, one of which is finite.
pub fn ln_sum(log_weights: Vec<f64>) -> f64 {
    let highest = log_weights
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = log_weights.iter().map(|w| (w - highest).exp()).sum();
    highest + sum.ln()
}
