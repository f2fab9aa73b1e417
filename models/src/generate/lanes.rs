//! One worker's lanes.

use std::collections::BTreeSet;

use teda_core::{Choose, Error, Result, Seed, Stream};

use super::{Job, LANES, LocalModel};
use crate::transformer::attention::Sources;
use crate::transformer::encoder::check_tokens;
use crate::transformer::{Memory, Pass, Prefix, Segment};

/// New tokens of a pass beyond which no further prompt joins it: a bound on its activations.
const TOKENS: usize = 2048;

/// A worker and its jobs.
pub(super) struct Worker<'a> {
    model: &'a LocalModel,
    work: &'a [(&'a Job, Seed)],
    prefix: Option<&'a Prefix>,
    memory: Memory,
    /// Keys and values of the lanes' sources.
    sources: Option<Memory>,
    /// Slots of a lane, and of its source.
    room: (usize, usize),
    lanes: Vec<Option<Running>>,
}

/// A lane at work.
struct Running {
    job: usize,
    /// Tokens to be read in the next pass.
    next: Vec<u32>,
    shares_prefix: bool,
    /// Own tokens read so far.
    past: usize,
    made: Vec<u32>,
    stream: Stream,
}

impl<'a> Worker<'a> {
    /// Lanes for `work`, as many as the memory bound allows.
    pub(super) fn new(
        model: &'a LocalModel,
        work: &'a [(&'a Job, Seed)],
        prefix: Option<&'a Prefix>,
    ) -> Result<Self> {
        let decoder = &model.decoder;
        let own = |job: &Job| job.prompt.len() - shared(prefix, &job.prompt) + job.longest;
        let longest = |length: &dyn Fn(&Job) -> usize| {
            let lengths = work.iter().map(|(job, _)| length(job));
            lengths.max().unwrap_or(1).next_multiple_of(32)
        };
        let room = (longest(&own), longest(&|job| job.source.len()));
        let source_bytes = if model.source.is_some() {
            decoder.shape.bytes(room.1)
        } else {
            0
        };
        let bytes = decoder.shape.bytes(room.0) + source_bytes;
        let count = (model.memory() / bytes)
            .clamp(1, LANES)
            .min(work.len().max(1));
        let memory = |slots| Memory::new(&decoder.backend, decoder.shape, count * slots);
        Ok(Self {
            model,
            work,
            prefix,
            memory: memory(room.0)?,
            sources: model.source.as_ref().map(|_| memory(room.1)).transpose()?,
            room,
            lanes: std::iter::repeat_with(|| None).take(count).collect(),
        })
    }

    /// The tokens made for every job, in order.
    pub(super) fn run(
        mut self,
        ends: &BTreeSet<u32>,
        choose: &Choose<'_>,
    ) -> Result<Vec<Vec<u32>>> {
        let mut done = vec![Vec::new(); self.work.len()];
        let mut waiting = 0..self.work.len();
        loop {
            self.fill(&mut waiting)?;
            let active: Vec<usize> = (0..self.lanes.len())
                .filter(|lane| self.lanes[*lane].is_some())
                .collect();
            if active.is_empty() {
                return Ok(done);
            }
            let mut logits = self.pass(&active)?;
            let vocabulary = self.model.decoder.vocabulary();
            for (lane, logits) in active.into_iter().zip(logits.chunks_exact_mut(vocabulary)) {
                let running = self.lanes[lane].as_mut().expect("the lane is active");
                let token = choose(logits, &mut running.stream);
                if token as usize >= vocabulary {
                    return Err(Error::failed(format!(
                        "token {token} was chosen among {vocabulary}"
                    )));
                }
                running.made.push(token);
                running.next = vec![token];
                let longest = self.work[running.job].0.longest;
                if running.made.len() >= longest || ends.contains(&token) {
                    done[running.job] = std::mem::take(&mut running.made);
                    self.lanes[lane] = None;
                }
            }
        }
    }

    /// Gives waiting jobs to free lanes.
    fn fill(&mut self, waiting: &mut std::ops::Range<usize>) -> Result<()> {
        let mut tokens = 0;
        let mut started = Vec::new();
        for lane in 0..self.lanes.len() {
            if self.lanes[lane].is_some() || tokens >= TOKENS {
                continue;
            }
            let Some(job) = waiting.find(|job| self.work[*job].0.longest > 0) else {
                break;
            };
            let (work, seed) = self.work[job];
            check_tokens(&work.prompt, self.model.decoder.vocabulary())?;
            let shared = shared(self.prefix, &work.prompt);
            tokens += work.prompt.len() - shared + work.source.len();
            self.lanes[lane] = Some(Running {
                job,
                next: work.prompt[shared..].to_vec(),
                shares_prefix: shared > 0,
                past: 0,
                made: Vec::with_capacity(work.longest),
                stream: seed.stream(),
            });
            started.push((lane, &work.source));
        }
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
            .flat_map(|(lane, source)| {
                let first = lane * self.room.1;
                first..first + source.len()
            })
            .collect();
        let encoded = side.encoder.run(rows)?;
        self.model
            .decoder
            .stack
            .store_sources(&encoded, &slots, memory)
    }

    /// Reads every active lane's next tokens: logits `[lanes × vocabulary]` after them.
    fn pass(&mut self, active: &[usize]) -> Result<Vec<f32>> {
        let mut tokens = Vec::new();
        let mut segments = Vec::with_capacity(active.len());
        let mut regions = Vec::new();
        for lane in active {
            let running = self.lanes[*lane].as_mut().expect("the lane is active");
            tokens.extend_from_slice(&running.next);
            segments.push(Segment {
                tokens: running.next.len(),
                prefix: self.prefix.filter(|_| running.shares_prefix),
                past: running.past,
                region: lane * self.room.0,
                asked: vec![running.next.len() - 1],
            });
            running.past += running.next.len();
            let source = &self.work[running.job].0.source;
            regions.push((lane * self.room.1, source.len()));
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

/// How many tokens of `prompt` the prefix holds: all of its own, or none. At least one token is left
/// to be read.
pub(super) fn shared(prefix: Option<&Prefix>, prompt: &[u32]) -> usize {
    prefix
        .map(|prefix| &prefix.tokens)
        .filter(|tokens| prompt.len() > tokens.len() && prompt.starts_with(tokens))
        .map_or(0, Vec::len)
}
