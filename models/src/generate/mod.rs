//! Language models that generate text, in batches.
//!
//! # How it runs
//! Each worker thread has up to `SEQUENCES` sequences at once, as far as its share of the memory bound allows. One
//! pass advances every sequence by a token; a sequence that ends takes the next job at once, whose prompt joins the
//! same pass. The common beginning of all prompts is computed and stored once for all workers and calls. The head runs
//! only at the last token of each sequence.
//!
//! # Determinism
//! A sequence's logits have the same bits whatever runs beside it, and its coins come from its own stream: the batch,
//! the number of threads and the memory bound change the speed but no result.

mod beam;
mod halves;
mod prefix;
mod sampler;
mod score;
mod sequences;

use std::collections::BTreeSet;

use rayon::prelude::*;
use teda_core::{
    Answer, Beyond, Choose, EncoderDecoder, Error, Followed, Generated, LanguageModel,
    LogLikelihood, MaxNewTokens, Prompt, Result, Scorer, Seed, Sequence, Weigh, ln_softmax_over,
};
use tokenizers::Tokenizer;

use crate::architecture;
use crate::checkpoint::{Chat, Checkpoint, decode, encode};
use crate::matrix::Backend;
use crate::transformer::encoder::check_tokens;
use crate::transformer::{Decoder, Prefix, SourceSide};
use prefix::Prefixes;
use sequences::Worker;

pub use sampler::Sampler;

/// Most sequences per worker: enough for the weights to be read once for many tokens.
const SEQUENCES: usize = 64;
/// A call with fewer jobs than this is not divided further among workers.
const JOBS: usize = 16;

/// The field of `config.json` by which a model that was trained to rewrite says that it reads the text alone, and no
/// prompt around it: `"teda_reads": "text"`, as `scripts/models/post_processor.py` writes it.
const READS: &str = "teda_reads";

/// How a language model is run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Whether the model follows instructions; a model that does not reads only the text of a prompt.
    pub instructed: bool,
    /// Whether prompts are put into the model's chat template, if it has one.
    pub chat: bool,
    /// Bytes that the keys and values of all workers' sequences may take together.
    pub memory: usize,
    /// Mean and standard deviation of the model's logits on public text, if they are known.
    pub logit_moments: Option<(f64, f64)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            instructed: true,
            chat: true,
            memory: 2 << 30,
            logit_moments: None,
        }
    }
}

/// A decoder, or an encoder and a decoder, with its tokenizer.
pub struct LocalModel {
    name: String,
    decoder: Decoder,
    source: Option<SourceSide>,
    tokenizer: Tokenizer,
    chat: Option<Chat>,
    ends: BTreeSet<u32>,
    /// The token that fills up rows of a fixed length, if the model has one.
    pad: Option<u32>,
    /// The token that begins a text, if the model has one.
    start: Option<u32>,
    options: Options,
    prefixes: Prefixes,
}

/// Most tokens in a continuation of a prompt with `read` tokens.
fn count(max_new_tokens: MaxNewTokens, read: usize) -> usize {
    match max_new_tokens {
        MaxNewTokens::Tokens(count) => count,
        MaxNewTokens::AsPrompt => read,
        MaxNewTokens::BeyondPrompt(extra) => read + extra,
    }
}

/// A continuation to generate.
struct Job {
    /// The tokens that the decoder reads first.
    prompt: Vec<u32>,
    /// The tokens that the encoder reads, if there is one.
    source: Vec<u32>,
    max_new_tokens: usize,
    /// Token sequences that must not be completed.
    banned: Vec<Vec<u32>>,
}

impl LocalModel {
    /// The model of an opened checkpoint.
    ///
    /// # Errors
    /// Failed, if it is another kind of model or its files do not fit together.
    pub fn load(checkpoint: Checkpoint, options: Options) -> Result<Self> {
        Self::on(checkpoint, options, &Backend::best())
    }

    /// Like [`LocalModel::load`], on a given backend.
    ///
    /// # Errors
    /// Same as [`LocalModel::load`].
    pub fn on(checkpoint: Checkpoint, options: Options, backend: &Backend) -> Result<Self> {
        let (decoder, source) = architecture::decoder(&checkpoint, backend)?;
        let special = |name: &str| {
            let token = checkpoint.config[name].as_u64();
            token.and_then(|token| u32::try_from(token).ok())
        };
        let (pad, start) = (special("pad_token_id"), special("bos_token_id"));
        let options = Options {
            instructed: options.instructed && checkpoint.config[READS] != "text",
            ..options
        };
        Ok(Self {
            name: checkpoint.name,
            decoder,
            source,
            tokenizer: checkpoint.tokenizer,
            chat: checkpoint.chat.filter(|_| options.chat),
            ends: checkpoint.ends,
            pad,
            start,
            options,
            prefixes: Prefixes::default(),
        })
    }

    /// An error with the model's name: several models may be in use.
    fn named(&self, error: Error) -> Error {
        error.context(format!("model '{}'", self.name))
    }

    /// The filled prompt as the model reads it.
    fn read(&self, prompt: &Prompt, text: &str) -> Result<Vec<u32>> {
        if !self.options.instructed {
            return self.tokens(text, true);
        }
        let (wrapped, begins) = match &self.chat {
            Some(chat) => {
                let wrapped = self.prefixes.wrapped(chat, prompt);
                let wrapped = wrapped.map_err(|e| self.named(e))?;
                let begins = chat.begins(&wrapped);
                (wrapped, begins)
            }
            None => (prompt.clone(), false),
        };
        self.tokens(&wrapped.fill(text), !begins)
    }

    fn tokens(&self, text: &str, special: bool) -> Result<Vec<u32>> {
        encode(&self.tokenizer, text, special).map_err(|e| self.named(e))
    }

    /// Whether `read` tokens of a prompt and `max_new_tokens` more tokens fit.
    fn fits(&self, read: usize, max_new_tokens: usize) -> bool {
        match &self.source {
            // The decoder begins with one token of its own.
            Some(side) => read <= side.encoder.longest && max_new_tokens < self.decoder.longest,
            None => read + max_new_tokens <= self.decoder.longest,
        }
    }

    /// The largest number of tokens that fit.
    fn room(&self) -> usize {
        let source = self.source.as_ref().map(|side| side.encoder.longest);
        source.map_or(self.decoder.longest, |source| {
            source.min(self.decoder.longest)
        })
    }

    /// The job of continuing a prompt of `tokens`, or why the model cannot do it.
    ///
    /// # Errors
    /// If a single sequence does not fit the memory bound: that is not an outcome of the model, so it must not become
    /// a trial's outcome.
    fn job(
        &self,
        tokens: Vec<u32>,
        max_new_tokens: MaxNewTokens,
        banned: &[String],
    ) -> Result<Answer<Job>> {
        let (read, max_new_tokens) = (tokens.len(), count(max_new_tokens, tokens.len()));
        if !self.fits(read, max_new_tokens) {
            return Ok(Err(format!(
                "the prompt has {read} tokens and its continuation up to {max_new_tokens}; the model has room for {}",
                self.room()
            )
            .into()));
        }
        if read == 0 && self.source.is_none() {
            return Ok(Err("the prompt is empty".into()));
        }
        let (prompt, source) = match &self.source {
            Some(side) => (vec![side.start], tokens),
            None => (tokens, Vec::new()),
        };
        let (bytes, bound) = (self.bytes(&prompt, &source, max_new_tokens), self.memory());
        if bytes > bound {
            return Err(Error::failed(format!(
                "a prompt of {read} tokens and {max_new_tokens} more need {} MiB of keys and values, and a thread's share of the memory bound is {} MiB: raise --memory or take fewer --threads",
                bytes.div_ceil(1 << 20),
                bound >> 20
            )));
        }
        Ok(Ok(Job {
            prompt,
            source,
            max_new_tokens,
            banned: self.spellings(banned)?,
        }))
    }

    /// The token sequences that write `words`: in lower case and capitalised, at the beginning of a text and after a
    /// space.
    fn spellings(&self, words: &[String]) -> Result<Vec<Vec<u32>>> {
        let mut rows = BTreeSet::new();
        for word in words {
            let capital: String = word
                .chars()
                .take(1)
                .flat_map(char::to_uppercase)
                .chain(word.chars().skip(1))
                .collect();
            for word in [word, &capital] {
                for text in [word.clone(), format!(" {word}")] {
                    rows.insert(self.tokens(&text, false)?);
                }
            }
        }
        rows.remove(&Vec::new());
        for row in &rows {
            check_tokens(row, self.decoder.vocabulary()).map_err(|e| self.named(e))?;
        }
        Ok(rows.into_iter().collect())
    }

    /// Bytes of the keys and values of one sequence whose prompt is not shared.
    fn bytes(&self, prompt: &[u32], source: &[u32], max_new_tokens: usize) -> usize {
        let shape = self.decoder.shape;
        shape.bytes(prompt.len() + max_new_tokens)
            + if self.source.is_some() {
                shape.bytes(source.len())
            } else {
                0
            }
    }

    /// A worker's share of the memory bound.
    fn memory(&self) -> usize {
        self.options.memory / rayon::current_num_threads().max(1)
    }

    /// Logits at every position of a sequence of decoder tokens, `[tokens × vocabulary]`; with a source, given what
    /// the encoder reads.
    ///
    /// # Errors
    /// If a sequence is too long or holds an unknown token.
    pub fn logits(&self, source: &[u32], tokens: &[u32]) -> Result<ndarray::Array2<f32>> {
        let every = (0..tokens.len()).collect();
        let states = score::states(self, &[(source, tokens, every)], None)?;
        let logits = self.decoder.logits(states).map_err(|e| self.named(e))?;
        Ok(
            ndarray::Array2::from_shape_vec((tokens.len(), self.decoder.vocabulary()), logits)
                .expect("logits are whole rows"),
        )
    }

    /// Hidden states after the last layer and norm at every position of a sequence of decoder tokens.
    ///
    /// # Errors
    /// Same as [`LocalModel::logits`].
    pub fn hidden_states(&self, source: &[u32], tokens: &[u32]) -> Result<Vec<f32>> {
        let every = (0..tokens.len()).collect();
        score::states(self, &[(source, tokens, every)], None)?.into_values()
    }

    /// Continuations of token sequences, with nothing decoded and no token ending them: (what the encoder reads, what
    /// the decoder reads, how many tokens), one stream seed per sequence.
    ///
    /// # Errors
    /// If a sequence is too long or the model fails.
    pub fn continue_tokens(
        &self,
        rows: &[(Vec<u32>, Vec<u32>, usize)],
        seeds: &[Seed],
        choose: &Choose<'_>,
    ) -> Result<Vec<Vec<u32>>> {
        let jobs: Vec<Job> = rows
            .iter()
            .map(|(source, prompt, max_new_tokens)| Job {
                prompt: prompt.clone(),
                source: source.clone(),
                max_new_tokens: *max_new_tokens,
                banned: Vec::new(),
            })
            .collect();
        let work: Vec<(&Job, Seed)> = jobs.iter().zip(seeds.iter().copied()).collect();
        self.run(&work, None, &BTreeSet::new(), choose)
    }

    /// Runs jobs on this call's workers; each part of the jobs stays with one worker from beginning to end.
    fn run(
        &self,
        work: &[(&Job, Seed)],
        prefix: Option<&Prefix>,
        ends: &BTreeSet<u32>,
        choose: &Choose<'_>,
    ) -> Result<Vec<Vec<u32>>> {
        let parts = rayon::current_num_threads()
            .min(work.len().div_ceil(JOBS))
            .max(1);
        let part = work.len().div_ceil(parts).max(1);
        let done: Vec<Vec<Vec<u32>>> = work
            .par_chunks(part)
            .map(|work| Worker::new(self, work, prefix)?.run(ends, choose))
            .collect::<Result<_>>()
            .map_err(|e| self.named(e))?;
        Ok(done.into_iter().flatten().collect())
    }
}

impl LanguageModel for LocalModel {
    fn vocabulary(&self) -> usize {
        self.decoder.vocabulary()
    }

    fn follows_instructions(&self) -> bool {
        self.options.instructed
    }

    fn prompt_tokens(&self, prompt: &Prompt, text: &str) -> Result<usize> {
        Ok(self.read(prompt, text)?.len())
    }

    fn beyond_window(
        &self,
        prompt: &Prompt,
        texts: &[&str],
        max_new_tokens: MaxNewTokens,
    ) -> Result<Option<Beyond>> {
        let fits = |text: &&str| {
            let tokens = self.prompt_tokens(prompt, text)?;
            Ok(usize::from(
                !self.fits(tokens, count(max_new_tokens, tokens)),
            ))
        };
        let texts = texts.par_iter().map(fits).sum::<Result<usize>>()?;
        let window = self.room();
        Ok((texts > 0).then_some(Beyond { texts, window }))
    }

    fn logit_moments(&self) -> Option<(f64, f64)> {
        self.options.logit_moments
    }

    fn encoder_decoder(&self) -> Option<&dyn EncoderDecoder> {
        self.source.is_some().then_some(self as &dyn EncoderDecoder)
    }

    fn generate(
        &self,
        prompt: &Prompt,
        sequences: &[Sequence<'_>],
        choose: &Choose<'_>,
    ) -> Result<Vec<Answer<Generated>>> {
        let prefix = self.prefixes.of(self, prompt)?;
        let jobs: Vec<Answer<Job>> = sequences
            .par_iter()
            .map(|sequence| {
                self.job(
                    self.read(prompt, sequence.text)?,
                    sequence.max_new_tokens,
                    sequence.banned,
                )
            })
            .collect::<Result<_>>()?;
        let work: Vec<(&Job, Seed)> = jobs
            .iter()
            .zip(sequences)
            .filter_map(|(job, sequence)| Some((job.as_ref().ok()?, sequence.seed)))
            .collect();
        let mut done = self
            .run(&work, prefix.as_deref(), &self.ends, choose)?
            .into_iter();
        jobs.iter()
            .map(|job| match job {
                Err(reason) => Ok(Err(reason.clone())),
                Ok(_) => {
                    let tokens = done.next().expect("every job is done");
                    let text = decode(&self.tokenizer, &tokens).map_err(|e| self.named(e))?;
                    Ok(Ok(Generated { text, tokens }))
                }
            })
            .collect()
    }

    fn follow(
        &self,
        prompt: &Prompt,
        pairs: &[(&str, &str)],
        weigh: &Weigh<'_>,
    ) -> Result<Vec<Answer<Followed>>> {
        let among = |token: &u32| (*token as usize) < self.vocabulary();
        let ends: Vec<u32> = self.ends.iter().copied().filter(among).collect();
        score::follow(self, prompt, pairs, &ends, weigh)
    }
}

impl Scorer for LocalModel {
    fn log_likelihood(
        &self,
        prompt: &Prompt,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Answer<LogLikelihood>>> {
        let weigh = |logits: &[f32], tokens: &[u32]| ln_softmax_over(logits, tokens, f64::from);
        let followed = score::follow(self, prompt, pairs, &[], &weigh)?;
        let likelihood = |answer: Answer<Followed>| answer.map(|followed| followed.likelihood);
        Ok(followed.into_iter().map(likelihood).collect())
    }
}
