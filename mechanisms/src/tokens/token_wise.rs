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

use super::missing::missing;
use crate::text::spelling::Spelling;

/// A mechanism's weights, each the same in every call.
pub trait Weights {
    /// ln w(t, x).
    fn ln_weight(&self, t: u32, x: u32) -> f64;

    /// ln Σ_t w(t, x) over the released tokens t, for each x.
    fn ln_sums(&self, released: &[u32], xs: &[u32]) -> Vec<f64> {
        let of = |x: &u32| ln_sum(released.iter().map(|t| self.ln_weight(*t, *x)).collect());
        xs.iter().map(of).collect()
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
    ln_sums: LnSums,
}

/// ln Σ_t w(t, x) by x. When one is first asked for, those of all tokens of its text are computed, side by side.
struct LnSums(Vec<OnceLock<f64>>);

impl LnSums {
    /// The one of `x`, a token of `text`.
    fn of(&self, x: u32, text: &[u32], released: &[u32], weights: &impl Weights) -> f64 {
        let slot = |x: u32| &self.0[x as usize];
        if let Some(sum) = slot(x).get() {
            return *sum;
        }
        let missing = missing(&self.0, text);
        for (x, sum) in missing.iter().zip(weights.ln_sums(released, &missing)) {
            slot(*x).get_or_init(|| sum);
        }
        *slot(x).get().expect("a token of the text")
    }
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
        let of = |(release, text): &(&str, &str)| {
            let tokens = self.tokens.tokenize(text);
            let kept = weights.kept(&tokens);
            let drawn = |i: usize, place: usize| {
                let x = tokens[i];
                match kept[i] {
                    true => certain(released[place] == x),
                    false => {
                        let ln_sum = ln_sums.of(x, &tokens, released, weights);
                        weights.ln_weight(released[place], x) - ln_sum
                    }
                }
            };
            Ok(spelling.ln_probability(release, tokens.len(), drawn))
        };
        Ok(pairs.iter().map(of).collect())
    }

    fn tables(&self) -> Result<Tables> {
        Ok(Tables {
            spelling: Spelling::new(&*self.tokens)?,
            ln_sums: LnSums(vec![OnceLock::new(); self.tokens.vectors().nrows()]),
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
