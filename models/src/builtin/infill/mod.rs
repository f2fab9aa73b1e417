//! Rewriting by infilling: some words of a text are masked and drawn anew by a small masked language model; all others
//! are kept verbatim.
//!
//! # Definition
//! For each candidate and round, max(1, round(rate · n)) of the n maskable words of the text ([`units`]) are chosen
//! uniformly without replacement. Each becomes one `<mask>`, and each mask is drawn from softmax(logits / temperature)
//! over the whole words of the vocabulary: the pieces that are a space and letters or digits. A later round masks the
//! result of the previous one afresh. If a text marks words by [`MASK`](teda_core::MASK), exactly these are drawn anew
//! in every round, and all others are kept. A text without maskable words is returned unchanged. In any other text,
//! white space becomes single spaces.
//!
//! # Long texts
//! Units go into consecutive windows of at most 120 pieces, and each window is a separate row.
//!
//! # Randomness
//! Candidate c of a query has the stream `seed.at(c)`: for each round the choice of words, then one uniform number per
//! mask from left to right. As the model's rows are independent of their batch, a candidate depends only on its query,
//! its number and the options.

mod sampler;
mod source;
mod units;
mod windows;

use rayon::prelude::*;
use teda_core::{Answer, Error, Prompt, Query, Result, Sampling, Stream, TextGenerator};
use tokenizers::Tokenizer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

use crate::checkpoint::{Checkpoint, decode};
use crate::masked::{MaskedLm, Row};
use crate::matrix::Backend;
use source::{Cache, Source};
use windows::{Builder, Special, WINDOW, Window};

/// Candidates per task.
const TASK: usize = 32;
/// Queries tokenised per task.
const QUERIES: usize = 256;

/// How much an [`Infill`] rewrites.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Share of a text's maskable words that a round draws anew, in (0, 1].
    pub mask_rate: f64,
    /// Rounds, 1 to 3.
    pub rounds: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mask_rate: 0.3,
            rounds: 1,
        }
    }
}

/// The infilling rewriter.
pub struct Infill {
    model: MaskedLm,
    tokenizer: Tokenizer,
    special: Special,
    /// Whole words that may replace a mask, with their tokens; one column of the logits each.
    words: Vec<Word>,
    options: Options,
}

struct Word {
    token: u32,
    text: String,
}

/// An unfinished candidate.
struct Draft<'a> {
    source: &'a Source<'a>,
    stream: Stream,
    /// For each unit, the index of the word that replaced it.
    replaced: Vec<Option<usize>>,
}

impl Infill {
    /// An infilling rewriter using another masked language model with RoBERTa's kind of tokenizer.
    ///
    /// # Errors
    /// [`Error::Usage`] if `options` are out of range; [`Error::Failed`] if the checkpoint cannot be used.
    pub fn of(checkpoint: Checkpoint, options: Options, backend: &Backend) -> Result<Self> {
        let model = MaskedLm::on(&checkpoint, backend)?;
        Self::new(model, checkpoint.tokenizer, options)
    }

    /// Combines a model and its tokenizer.
    ///
    /// # Errors
    /// [`Error::Usage`] if `options` are out of range; [`Error::Failed`] if the tokenizer lacks special tokens or
    /// whole words, or does not fit the model.
    pub(super) fn new(model: MaskedLm, mut tokenizer: Tokenizer, options: Options) -> Result<Self> {
        options.check()?;
        // White space before a unit is added explicitly, so that a unit without any gets none.
        tokenizer.with_pre_tokenizer(Some(ByteLevel::new(false, true, true)));
        let special = |token: &str| {
            tokenizer.token_to_id(token).ok_or_else(|| {
                Error::failed(format!("the infilling tokenizer has no token '{token}'"))
            })
        };
        let special = Special {
            begin: special("<s>")?,
            end: special("</s>")?,
            mask: special("<mask>")?,
        };
        if model.longest() < WINDOW + 2 {
            return Err(Error::failed(format!(
                "the infilling model takes {} tokens, fewer than a window's {}",
                model.longest(),
                WINDOW + 2
            )));
        }
        let words = whole_words(&tokenizer);
        if words.is_empty() {
            return Err(Error::failed("the infilling vocabulary has no whole words"));
        }
        let tokens: Vec<u32> = words.iter().map(|word| word.token).collect();
        Ok(Self {
            model: model.restricted_to(&tokens)?,
            tokenizer,
            special,
            words,
            options,
        })
    }

    /// Number of tokens that the model sees for an unmasked `text` (`<s>` and `</s>` counted once).
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn tokens(&self, text: &str) -> Result<usize> {
        Ok(Source::read(&self.tokenizer, text, &mut Cache::new())?.length() + 2)
    }

    /// The finished texts of `drafts`.
    fn rewrite(&self, mut drafts: Vec<Draft<'_>>, temperature: f64) -> Result<Vec<String>> {
        for _ in 0..self.options.rounds {
            let mut windows = Vec::new();
            for (index, draft) in drafts.iter_mut().enumerate() {
                let chosen = self.choose(draft);
                let mut builder = Builder::new(&self.special, index, &mut windows);
                for (unit, masked) in chosen.into_iter().enumerate() {
                    if masked {
                        builder.mask(unit);
                    } else if let Some(word) = draft.replaced[unit] {
                        builder.keep(&[self.words[word].token]);
                    } else {
                        builder.keep(draft.source.pieces(unit));
                    }
                }
                builder.finish();
            }
            let mut rest = windows.as_slice();
            while !rest.is_empty() {
                let (batch, after) = rest.split_at(windows::batch(rest));
                self.fill(batch, &mut drafts, temperature)?;
                rest = after;
            }
        }
        Ok(drafts.iter().map(|draft| self.text(draft)).collect())
    }

    /// For each unit, whether this round masks it.
    fn choose(&self, draft: &mut Draft<'_>) -> Vec<bool> {
        let mut chosen = vec![false; draft.source.units.len()];
        let mut left = draft.source.maskable.clone();
        let count = if draft.source.marked {
            left.len()
        } else {
            left.len().min(self.options.masks(left.len()))
        };
        for i in 0..count {
            // Fisher-Yates, stopped after `count` draws.
            let j = i + draft.stream.below(left.len() - i);
            left.swap(i, j);
            chosen[left[i]] = true;
        }
        chosen
    }

    /// Draws the masks of `windows` from left to right.
    fn fill(&self, windows: &[Window], drafts: &mut [Draft<'_>], temperature: f64) -> Result<()> {
        let rows: Vec<Row<'_>> = windows
            .iter()
            .map(|window| Row {
                tokens: &window.tokens,
                asked: &window.asked,
            })
            .collect();
        let mut logits = self.model.logits(&rows)?;
        let masks = windows
            .iter()
            .flat_map(|window| window.units.iter().map(|unit| (window.draft, *unit)));
        for ((draft, unit), mut logits) in masks.zip(logits.rows_mut()) {
            let draft = &mut drafts[draft];
            let logits = logits
                .as_slice_mut()
                .expect("the model's logits are contiguous");
            let word = sampler::draw(logits, temperature, draft.stream.uniform())?;
            draft.replaced[unit] = Some(word);
        }
        Ok(())
    }

    fn text(&self, draft: &Draft<'_>) -> String {
        if draft.source.maskable.is_empty() {
            return draft.source.text.to_owned();
        }
        let mut text = String::with_capacity(draft.source.text.len() + 16);
        for (unit, replaced) in draft.source.units.iter().zip(&draft.replaced) {
            if unit.spaced && !text.is_empty() {
                text.push(' ');
            }
            text.push_str(replaced.map_or(unit.text, |word| &self.words[word].text));
        }
        text
    }
}

impl TextGenerator for Infill {
    /// A masked language model does not follow instructions: the prompt has no effect, nor does the maximum length,
    /// because a rewrite has as many words as its text.
    fn complete(
        &self,
        _: &Prompt,
        queries: &[Query<'_>],
        n: usize,
        sampling: Sampling,
    ) -> Result<Vec<Answer<Vec<String>>>> {
        sampling.check()?;
        let temperature = sampling.temperature;
        let sources: Vec<Vec<Source<'_>>> = queries
            .par_chunks(QUERIES)
            .map(|queries| {
                let mut cache = Cache::new();
                queries
                    .iter()
                    .map(|query| Source::read(&self.tokenizer, query.text, &mut cache))
                    .collect()
            })
            .collect::<Result<_>>()?;
        let sources: Vec<Source<'_>> = sources.into_iter().flatten().collect();
        let total = queries.len() * n;
        let texts: Vec<Vec<String>> = (0..total.div_ceil(TASK))
            .into_par_iter()
            .map(|task| {
                let drafts = (task * TASK..total.min((task + 1) * TASK))
                    .map(|job| Draft {
                        source: &sources[job / n],
                        stream: queries[job / n].seed.at((job % n) as u64).stream(),
                        replaced: vec![None; sources[job / n].units.len()],
                    })
                    .collect();
                self.rewrite(drafts, temperature)
            })
            .collect::<Result<_>>()?;
        let mut texts = texts.into_iter().flatten();
        Ok(queries
            .iter()
            .map(|_| Ok(texts.by_ref().take(n).collect()))
            .collect())
    }
}

impl Options {
    fn check(&self) -> Result<()> {
        if !(self.mask_rate > 0.0 && self.mask_rate <= 1.0) {
            return Err(Error::usage(format!(
                "mask rate {} is not above 0 and at most 1",
                self.mask_rate
            )));
        }
        if !(1..=3).contains(&self.rounds) {
            return Err(Error::usage(format!(
                "{} rounds, 1 to 3 are possible",
                self.rounds
            )));
        }
        Ok(())
    }

    /// Number of masks per round in a text of `maskable` words.
    fn masks(&self, maskable: usize) -> usize {
        ((self.mask_rate * maskable as f64).round() as usize).max(1)
    }
}

/// The pieces that are a space followed only by letters and digits, by ascending token.
fn whole_words(tokenizer: &Tokenizer) -> Vec<Word> {
    let tokens = 0..tokenizer.get_vocab_size(true) as u32;
    tokens
        .filter_map(|token| {
            // A piece that ends inside a character decodes to U+FFFD, which is not a letter.
            let text = decode(tokenizer, &[token]).ok()?;
            let word = text.strip_prefix(' ')?;
            let whole = !word.is_empty() && word.chars().all(char::is_alphanumeric);
            whole.then(|| Word {
                token,
                text: word.to_owned(),
            })
        })
        .collect()
}
