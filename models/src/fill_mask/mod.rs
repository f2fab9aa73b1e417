//! Fills gaps in texts with a masked language model that also reads the whole text.
//!
//! # Definition
//! A gap is shown to the model as `<s> whole </s></s> before <mask> after </s>`, each of the two texts with a space
//! before it (Meisenbacher et al. 2024). The state at the mask is norm(gelu(dense(h))), the input of the head's last
//! layer: logits = W·state + b.
//!
//! # Long texts
//! With a window of L tokens, each of the two texts has at most (L − 8) / 2. A longer one is cut to the same tokens
//! around the gap, as the authors' package does.
//!
//! # Work
//! A state is computed once for each row of tokens, and kept in memory as far as there is room, and on disk
//! where a file is named. Logits are computed from it for the tokens that are asked for, always in whole panels of the
//! kernel, so that their bits do not depend on what is asked for.
//!
//! # Deviations
//! The authors' package cuts the text, decodes the tokens that are left, and tokenises the result again; here the
//! tokens that are left are used. A text that itself contains `<mask>` has its gap where the gap is, not at its first
//! mask.

mod kept;
mod row;

use std::ops::Range;
use std::path::PathBuf;

use rayon::prelude::*;
use teda_core::{Error, Gap, Keep, MaskedLanguageModel, Result, State};
use tokenizers::Tokenizer;

use self::kept::States;
use self::row::{GapRow, Special};
use crate::checkpoint::{Checkpoint, decode_all};
use crate::disk::Disk;
use crate::masked::{MaskedLm, Row};
use crate::matrix::Backend;

/// Tokens per call of the model: its activations stay in the second-level cache.
const BATCH: usize = 384;
/// Gaps tokenised per task.
const GAPS: usize = 64;

/// How a [`FillMask`] runs.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Bytes for states that are kept in memory.
    pub memory: usize,
    /// The file where states are kept, which belongs to these weights alone; `None` to keep them in memory only.
    pub states: Option<PathBuf>,
    /// Mean and standard deviation of its logits at gaps of public text.
    pub logit_moments: Option<(f64, f64)>,
}

/// A masked language model that fills gaps.
pub struct FillMask {
    model: MaskedLm,
    tokenizer: Tokenizer,
    special: Special,
    words: Vec<String>,
    states: States,
    logit_moments: Option<(f64, f64)>,
}

impl FillMask {
    /// The model of an opened checkpoint.
    ///
    /// # Errors
    /// Failed, if it is another kind of model, or its tokenizer is not of RoBERTa's kind.
    pub fn load(checkpoint: Checkpoint, options: &Options) -> Result<Self> {
        Self::on(checkpoint, options, &Backend::best())
    }

    /// Like [`FillMask::load`], on a given backend.
    ///
    /// # Errors
    /// Same as [`FillMask::load`].
    pub fn on(checkpoint: Checkpoint, options: &Options, backend: &Backend) -> Result<Self> {
        let model = MaskedLm::on(&checkpoint, backend)?;
        Self::new(model, checkpoint.tokenizer, options)
    }

    /// Combines a model and its tokenizer.
    ///
    /// # Errors
    /// Failed, if the tokenizer lacks special tokens or does not fit the model.
    pub(crate) fn new(model: MaskedLm, tokenizer: Tokenizer, options: &Options) -> Result<Self> {
        let special = Special::of(&tokenizer)?;
        let vocabulary = model.vocabulary();
        if tokenizer.get_vocab_size(true) > vocabulary {
            return Err(Error::failed(format!(
                "the tokenizer has {} tokens, the model {vocabulary}",
                tokenizer.get_vocab_size(true)
            )));
        }
        if model.longest() < row::SHORTEST_WINDOW {
            return Err(Error::failed(format!(
                "the model takes {} tokens; a text and its copy with a gap need at least {}",
                model.longest(),
                row::SHORTEST_WINDOW
            )));
        }
        let words = (0..vocabulary as u32)
            .map(|token| Ok(decode_all(&tokenizer, &[token])?.trim().to_owned()))
            .collect::<Result<_>>()?;
        let disk = options.states.as_deref();
        let disk = disk
            .map(|path| Disk::open(path, model.hidden()))
            .transpose()?;
        Ok(Self {
            states: States::new(options.memory, disk),
            model,
            tokenizer,
            special,
            words,
            logit_moments: options.logit_moments,
        })
    }

    /// The states of `rows`, computed now.
    fn compute(&self, rows: &[&GapRow]) -> Result<Vec<State>> {
        // The longest first: no core is left alone with a long row at the end.
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|row| std::cmp::Reverse(rows[*row].tokens.len()));
        let mut batches: Vec<&[usize]> = Vec::new();
        let mut rest = &order[..];
        while let Some(first) = rest.first() {
            let count = (BATCH / rows[*first].tokens.len()).clamp(1, rest.len());
            let (batch, after) = rest.split_at(count);
            batches.push(batch);
            rest = after;
        }
        let computed: Vec<Vec<State>> = batches
            .par_iter()
            .map(|batch| {
                let asked: Vec<Row<'_>> = batch.iter().map(|row| rows[*row].asked()).collect();
                let features = self.model.features(&asked)?;
                Ok(features
                    .rows()
                    .into_iter()
                    .map(|row| row.to_vec().into())
                    .collect())
            })
            .collect::<Result<_>>()?;
        let mut placed: Vec<Option<State>> = vec![None; rows.len()];
        for (row, state) in order.iter().zip(computed.into_iter().flatten()) {
            placed[*row] = Some(state);
        }
        Ok(placed.into_iter().flatten().collect())
    }
}

impl MaskedLanguageModel for FillMask {
    fn words(&self) -> &[String] {
        &self.words
    }

    fn logit_moments(&self) -> Option<(f64, f64)> {
        self.logit_moments
    }

    fn states(&self, gaps: &[Gap<'_>], keep: Keep) -> Result<Vec<State>> {
        let row = |gap| GapRow::new(&self.tokenizer, &self.special, self.model.longest(), gap);
        let rows: Vec<GapRow> = gaps
            .par_chunks(GAPS)
            .map(|gaps| gaps.iter().map(row).collect::<Result<Vec<_>>>())
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect();
        match keep {
            Keep::Yes => self.states.of(&rows, |missing| self.compute(missing)),
            Keep::No => self.compute(&rows.iter().collect::<Vec<_>>()),
        }
    }

    fn logits(&self, states: &[&State], tokens: Range<usize>) -> Result<Vec<f32>> {
        self.model.decode(states, tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    const WHOLE: &str = "play some jazz music by miles davis";

    fn gap(place: usize) -> (String, String) {
        let words: Vec<&str> = WHOLE.split(' ').collect();
        (words[..place].join(" "), words[place + 1..].join(" "))
    }

    fn gaps(parts: &[(String, String)]) -> Vec<Gap<'_>> {
        parts
            .iter()
            .map(|(before, after)| Gap {
                whole: WHOLE,
                before,
                after,
            })
            .collect()
    }

    #[test]
    fn a_state_is_that_of_its_gap_alone_whatever_is_kept() {
        let parts: Vec<_> = (0..7).map(gap).collect();
        let gaps = gaps(&parts);
        let [much, none] =
            [1 << 20, 0].map(|memory| builtin::fill_mask(memory, &Backend::F32).unwrap());
        let all = much.states(&gaps, Keep::Yes).unwrap();
        assert_eq!(much.states(&gaps, Keep::Yes).unwrap(), all);
        assert_eq!(much.states(&gaps, Keep::No).unwrap(), all);
        for (gap, state) in gaps.iter().zip(&all) {
            assert_eq!(
                none.states(&[*gap], Keep::Yes).unwrap(),
                std::slice::from_ref(state)
            );
        }
    }

    #[test]
    fn a_logit_is_the_same_to_the_bit_however_it_is_asked_for() {
        let model = builtin::fill_mask(1 << 20, &Backend::F32).unwrap();
        let parts: Vec<_> = (0..7).map(gap).collect();
        let states = model.states(&gaps(&parts), Keep::Yes).unwrap();
        let states: Vec<&State> = states.iter().collect();
        let count = model.words().len();
        let all = model.logits(&states, 0..count).unwrap();
        for range in [0..1, 5..6, 31..33, 64..200, count - 1..count, 7..7] {
            let some = model.logits(&states[2..4], range.clone()).unwrap();
            let expected: Vec<f32> = (2..4)
                .flat_map(|state| all[state * count..][range.clone()].to_vec())
                .collect();
            assert_eq!(some, expected, "{range:?}");
        }
    }

    #[test]
    fn every_token_writes_a_word_without_white_space_around_it() {
        let model = builtin::fill_mask(0, &Backend::F32).unwrap();
        assert!(model.words().iter().all(|word| word.trim() == word));
        let written = |wanted: &str| model.words().iter().any(|word| word == wanted);
        assert!(written("music") && written("<mask>") && written("."));
    }

    #[test]
    fn a_text_beyond_the_window_is_cut_around_its_gap() {
        let model = builtin::fill_mask(0, &Backend::F32).unwrap();
        let long = "music ".repeat(500);
        let after = format!("jazz {long}");
        let state = |whole: &str, before: &str, after: &str| {
            let gap = Gap {
                whole,
                before,
                after,
            };
            model.states(&[gap], Keep::No).unwrap().remove(0)
        };
        let one = state(&format!("{long}blues jazz {long}"), &long, &after);
        let other = state(
            &format!("{long}blues jazz {long} end"),
            &long,
            &format!("{after} end"),
        );
        assert_eq!(one, other);
        let nearer = format!("{long}rock");
        let third = state(&format!("{nearer} blues jazz {long}"), &nearer, &after);
        assert_ne!(one, third);
    }
}
