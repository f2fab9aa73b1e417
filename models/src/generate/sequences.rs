//! The sequences of one worker.

use std::collections::{BTreeSet, VecDeque};

use teda_core::{Choose, Error, Result, Seed, Stream};

use super::{Job, LocalModel, SEQUENCES};
use crate::kernel::keys_values::next_room;
use crate::transformer::attention::Sources;
use crate::transformer::encoder::check_tokens;
use crate::transformer::{Memory, Pass, Prefix, Segment};

/// New tokens per pass beyond which no further prompt joins it: this bounds its activations.
const TOKENS: usize = 2048;

/// A worker and its jobs.
pub(super) struct Worker<'a> {
    model: &'a LocalModel,
    work: &'a [(&'a Job, Seed)],
    prefix: Option<&'a Prefix>,
    memory: Memory,
    /// Keys and values of the sequences' sources.
    sources: Option<Memory>,
    /// Slots per sequence, and per source.
    room: (usize, usize),
    sequences: Vec<Option<Running>>,
}

/// An active sequence.
struct Running {
    job: usize,
    /// Tokens to be read in the next pass.
    next: Vec<u32>,
    shares_prefix: bool,
    /// Tokens of its own read so far.
    past: usize,
    made: Vec<u32>,
    stream: Stream,
}

impl<'a> Worker<'a> {
    /// Sequences for `work`, as many as the memory bound allows.
    pub(super) fn new(
        model: &'a LocalModel,
        work: &'a [(&'a Job, Seed)],
        prefix: Option<&'a Prefix>,
    ) -> Result<Self> {
        let decoder = &model.decoder;
        let own = |job: &Job| job.prompt.len() - shared(prefix, &job.prompt) + job.max_new_tokens;
        let longest = |length: &dyn Fn(&Job) -> usize| {
            let lengths = work.iter().map(|(job, _)| length(job));
            next_room(lengths.max().unwrap_or(1))
        };
        let room = (longest(&own), longest(&|job| job.source.len()));
        let source_bytes = if model.source.is_some() {
            decoder.shape.bytes(room.1)
        } else {
            0
        };
        let bytes = decoder.shape.bytes(room.0) + source_bytes;
        let fitting = model.memory().checked_div(bytes);
        let count = fitting
            .unwrap_or(SEQUENCES)
            .clamp(1, SEQUENCES)
            .min(work.len().max(1));
        let memory = |slots| Memory::new(&decoder.backend, decoder.shape, count * slots);
        Ok(Self {
            model,
            work,
            prefix,
            memory: memory(room.0)?,
            sources: model.source.as_ref().map(|_| memory(room.1)).transpose()?,
            room,
            sequences: std::iter::repeat_with(|| None).take(count).collect(),
        })
    }

    /// The tokens generated for every job, in order.
    pub(super) fn run(
        mut self,
        ends: &BTreeSet<u32>,
        choose: &Choose<'_>,
    ) -> Result<Vec<Vec<u32>>> {
        let mut done = vec![Vec::new(); self.work.len()];
        let mut waiting: VecDeque<usize> = (0..self.work.len())
            .filter(|job| self.work[*job].0.max_new_tokens > 0)
            .collect();
        loop {
            self.fill(&mut waiting)?;
            let active: Vec<usize> = (0..self.sequences.len())
                .filter(|sequence| self.sequences[*sequence].is_some())
                .collect();
            if active.is_empty() {
                return Ok(done);
            }
            let mut logits = self.pass(&active)?;
            let vocabulary = self.model.decoder.vocabulary();
            for (sequence, logits) in active.into_iter().zip(logits.chunks_exact_mut(vocabulary)) {
                let running = self.sequences[sequence]
                    .as_mut()
                    .expect("the sequence is active");
                ban(&self.work[running.job].0.banned, &running.made, logits)?;
                let token = choose(logits, &mut running.stream);
                if token as usize >= vocabulary {
                    return Err(Error::failed(format!(
                        "token {token} was chosen among {vocabulary}"
                    )));
                }
                running.made.push(token);
                running.next = vec![token];
                let max_new_tokens = self.work[running.job].0.max_new_tokens;
                if running.made.len() >= max_new_tokens || ends.contains(&token) {
                    done[running.job] = std::mem::take(&mut running.made);
                    self.sequences[sequence] = None;
                }
            }
        }
    }

    /// Gives waiting jobs to free sequences. A job whose prompt another sequence has read takes over its keys and
    /// values; a job whose prompt another sequence is about to read waits for that.
    fn fill(&mut self, waiting: &mut VecDeque<usize>) -> Result<()> {
        let mut tokens = 0;
        let mut started = Vec::new();
        for sequence in 0..self.sequences.len() {
            if self.sequences[sequence].is_some() || tokens >= TOKENS {
                continue;
            }
            let ready = waiting
                .iter()
                .position(|job| !self.is_about_to_be_read(*job));
            let Some(job) = ready.and_then(|place| waiting.remove(place)) else {
                break;
            };
            let (work, seed) = self.work[job];
            let shared = shared(self.prefix, &work.prompt);
            let own = work.prompt.len() - shared;
            let mut running = Running {
                job,
                next: work.prompt[shared..].to_vec(),
                shares_prefix: shared > 0,
                past: 0,
                made: Vec::with_capacity(work.max_new_tokens),
                stream: seed.stream(),
            };
            if let Some(sibling) = self.sibling(job) {
                self.memory
                    .copy(sibling * self.room.0, sequence * self.room.0, own - 1)?;
                if let Some(sources) = &mut self.sources {
                    let (from, to) = (sibling * self.room.1, sequence * self.room.1);
                    sources.copy(from, to, work.source.len())?;
                }
                running.past = own - 1;
                running.next.drain(..own - 1);
            } else {
                check_tokens(&work.prompt, self.model.decoder.vocabulary())?;
                tokens += own + work.source.len();
                started.push((sequence, &work.source));
            }
            self.sequences[sequence] = Some(running);
        }
        self.read_sources(&started)
    }

    /// The active jobs with the prompt of `job`, by sequence.
    fn same_prompt(&self, job: usize) -> impl Iterator<Item = (usize, &Running)> {
        let wanted = self.work[job].0;
        let running = self.sequences.iter().enumerate();
        running
            .filter_map(|(sequence, running)| Some((sequence, running.as_ref()?)))
            .filter(move |(_, running)| {
                let other = self.work[running.job].0;
                other.prompt == wanted.prompt && other.source == wanted.source
            })
    }

    /// A sequence that has read the prompt of `job`.
    fn sibling(&self, job: usize) -> Option<usize> {
        self.same_prompt(job)
            .find(|(_, running)| running.past > 0)
            .map(|(sequence, _)| sequence)
    }

    fn is_about_to_be_read(&self, job: usize) -> bool {
        self.sibling(job).is_none() && self.same_prompt(job).next().is_some()
    }

    /// Encodes the sources of sequences.
    fn read_sources(&mut self, started: &[(usize, &Vec<u32>)]) -> Result<()> {
        let (Some(side), Some(memory)) = (&self.model.source, &mut self.sources) else {
            return Ok(());
        };
        if started.is_empty() {
            return Ok(());
        }
        let rows = started
            .iter()
            .map(|(_, source)| (&source[..], (0..source.len()).collect()))
            .collect();
        let slots: Vec<usize> = started
            .iter()
            .flat_map(|(sequence, source)| {
                let first = sequence * self.room.1;
                first..first + source.len()
            })
            .collect();
        let encoded = side.encoder.run(rows)?;
        self.model
            .decoder
            .stack
            .store_sources(&encoded, &slots, memory)
    }

    /// Reads every active sequence's next tokens. Returns the logits `[sequences × vocabulary]` after them.
    fn pass(&mut self, active: &[usize]) -> Result<Vec<f32>> {
        let mut tokens = Vec::new();
        let mut segments = Vec::with_capacity(active.len());
        let mut regions = Vec::new();
        for sequence in active {
            let running = self.sequences[*sequence]
                .as_mut()
                .expect("the sequence is active");
            tokens.extend_from_slice(&running.next);
            segments.push(Segment {
                tokens: running.next.len(),
                prefix: self.prefix.filter(|_| running.shares_prefix),
                past: running.past,
                region: sequence * self.room.0,
                asked: vec![running.next.len() - 1],
                padding: 0,
            });
            running.past += running.next.len();
            let source = &self.work[running.job].0.source;
            regions.push((sequence * self.room.1, source.len()));
        }
        let sources = self
            .sources
            .as_ref()
            .map(|memory| Sources { memory, regions });
        let decoder = &self.model.decoder;
        let pass = Pass::new(segments);
        let states = decoder.states(&tokens, &pass, &mut self.memory, sources.as_ref())?;
        decoder.logits(states)
    }
}

/// Excludes every token that would complete a sequence in `banned` after what was `made`.
///
/// # Errors
/// If that excludes every token.
fn ban(banned: &[Vec<u32>], made: &[u32], logits: &mut [f32]) -> Result<()> {
    let mut any = false;
    for row in banned {
        let (last, before) = row.split_last().expect("a spelling has tokens");
        if made.ends_with(before) {
            logits[*last as usize] = f32::NEG_INFINITY;
            any = true;
        }
    }
    if any && logits.iter().all(|logit| *logit == f32::NEG_INFINITY) {
        return Err(Error::failed(format!(
            "the words that must not be written leave none of the {} tokens",
            logits.len()
        )));
    }
    Ok(())
}

/// How many tokens of `prompt` the prefix holds: all of the prefix's, or none. At least one token is left to read.
pub(super) fn shared(prefix: Option<&Prefix>, prompt: &[u32]) -> usize {
    prefix
        .map(|prefix| &prefix.tokens)
        .filter(|tokens| prompt.len() > tokens.len() && prompt.starts_with(tokens))
        .map_or(0, Vec::len)
}
