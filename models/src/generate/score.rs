//! Likelihoods along a given continuation: teacher forcing.

use rayon::prelude::*;
use teda_core::{Answer, Followed, LogLikelihood, MaxNewTokens, Prompt, Result, Weigh};

use super::LocalModel;
use super::sequences::shared;
use crate::kernel::keys_values::next_room;
use crate::matrix::Matrix;
use crate::transformer::attention::Sources;
use crate::transformer::encoder::check_tokens;
use crate::transformer::{Memory, Pass, Prefix, Segment};

/// Tokens per pass, and rows of logits computed at once: these bound a worker's memory.
const TOKENS: usize = 1024;
const LOGITS: usize = 64;

/// A continuation to follow.
struct Pair {
    source: Vec<u32>,
    /// The tokens that the decoder reads: the prompt, then the continuation up to the last position that is needed.
    tokens: Vec<u32>,
    continuation: Vec<u32>,
}

impl Pair {
    /// The tokens to weigh, position by position: the continuation's, then those that end it, if any.
    fn targets<'a>(&'a self, ends: &'a [u32]) -> impl Iterator<Item = &'a [u32]> {
        let end = (!ends.is_empty()).then_some(ends);
        self.continuation.chunks(1).chain(end)
    }
}

/// The results of `weigh` for each pair's continuation, summed in double precision, and for any of `ends` after it.
pub(super) fn follow(
    model: &LocalModel,
    prompt: &Prompt,
    pairs: &[(&str, &str)],
    ends: &[u32],
    weigh: &Weigh<'_>,
) -> Result<Vec<Answer<Followed>>> {
    let prefix = model.prefixes.of(model, prompt)?;
    let pairs: Vec<Answer<Pair>> = pairs
        .par_iter()
        .map(|(text, continuation)| pair(model, prompt, text, continuation, ends))
        .collect::<Result<_>>()?;
    let ready: Vec<&Pair> = pairs.iter().filter_map(|pair| pair.as_ref().ok()).collect();
    let followed: Vec<Vec<Followed>> = batches(&ready)
        .par_iter()
        .map(|batch| walk(model, batch, prefix.as_deref(), ends, weigh))
        .collect::<Result<_>>()
        .map_err(|e| model.named(e))?;
    let mut followed = followed.into_iter().flatten();
    Ok(pairs
        .iter()
        .map(|pair| match pair {
            Err(reason) => Err(reason.clone()),
            Ok(_) => Ok(followed.next().expect("every pair is followed")),
        })
        .collect())
}

fn pair(
    model: &LocalModel,
    prompt: &Prompt,
    text: &str,
    continuation: &str,
    ends: &[u32],
) -> Result<Answer<Pair>> {
    let continuation = model.tokens(continuation, false)?;
    check_tokens(&continuation, model.decoder.vocabulary()).map_err(|e| model.named(e))?;
    // Without a prompt a decoder begins a text as it was trained to: with its start.
    let mut read = model.read(prompt, text)?;
    if read.is_empty() && model.source.is_none() {
        read.extend(model.start);
    }
    let job = match model.job(read, MaxNewTokens::Tokens(continuation.len()), &[])? {
        Ok(job) => job,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut tokens = job.prompt;
    // The last token is read only if what comes after it is needed.
    let read = continuation.len() - usize::from(ends.is_empty() && !continuation.is_empty());
    tokens.extend_from_slice(&continuation[..read]);
    Ok(Ok(Pair {
        source: job.source,
        tokens,
        continuation,
    }))
}

/// Consecutive pairs, as many as fit into a pass.
fn batches<'a>(pairs: &'a [&'a Pair]) -> Vec<&'a [&'a Pair]> {
    let mut batches = Vec::new();
    let mut rest = pairs;
    while !rest.is_empty() {
        let mut tokens = 0;
        let fitting = rest
            .iter()
            .take_while(|pair| {
                tokens += pair.tokens.len() + pair.source.len();
                tokens <= TOKENS
            })
            .count();
        let (batch, after) = rest.split_at(fitting.max(1));
        batches.push(batch);
        rest = after;
    }
    batches
}

fn walk(
    model: &LocalModel,
    pairs: &[&Pair],
    prefix: Option<&Prefix>,
    ends: &[u32],
    weigh: &Weigh<'_>,
) -> Result<Vec<Followed>> {
    let rows: Vec<_> = pairs
        .iter()
        .map(|pair| {
            let asked = pair.targets(ends).count();
            let first = pair.tokens.len() - asked.max(1);
            (
                &pair.source[..],
                &pair.tokens[..],
                (first..first + asked).collect(),
            )
        })
        .collect();
    let states = states(model, &rows, prefix)?;
    let targets: Vec<&[u32]> = pairs.iter().flat_map(|pair| pair.targets(ends)).collect();
    let mut weights = Vec::with_capacity(targets.len());
    for (chunk, targets) in targets.chunks(LOGITS).enumerate() {
        let rows: Vec<usize> = (chunk * LOGITS..chunk * LOGITS + targets.len()).collect();
        let logits = model.decoder.logits(states.select(&rows)?)?;
        let logits = logits.chunks_exact(model.decoder.vocabulary());
        weights.extend(logits.zip(targets).map(|(row, target)| weigh(row, target)));
    }
    let mut weights = weights.into_iter();
    Ok(pairs
        .iter()
        .map(|pair| Followed {
            likelihood: LogLikelihood {
                total: weights.by_ref().take(pair.continuation.len()).sum(),
                tokens: pair.continuation.len(),
            },
            end: match ends {
                [] => f64::NEG_INFINITY,
                _ => weights.next().expect("every target is weighed"),
            },
        })
        .collect())
}

/// A row to read: what the encoder reads, what the decoder reads, and the positions needed in the latter.
type Row<'a> = (&'a [u32], &'a [u32], Vec<usize>);

/// The decoder's states at the positions needed, `[asked × hidden]`.
pub(super) fn states(
    model: &LocalModel,
    rows: &[Row<'_>],
    prefix: Option<&Prefix>,
) -> Result<Matrix> {
    let decoder = &model.decoder;
    let mut region = 0;
    let mut tokens = Vec::new();
    let mut segments = Vec::with_capacity(rows.len());
    for (_, row, asked) in rows {
        check_tokens(row, decoder.vocabulary())?;
        // The positions needed must be among those that are read anew.
        let shared = shared(prefix, &row[..asked.first().map_or(0, |first| first + 1)]);
        let own = &row[shared..];
        tokens.extend_from_slice(own);
        segments.push(Segment {
            tokens: own.len(),
            prefix: prefix.filter(|_| shared > 0),
            past: 0,
            region,
            asked: asked.iter().map(|place| place - shared).collect(),
            padding: 0,
        });
        region += next_room(own.len());
    }
    let mut source_memory = None;
    if let Some(side) = &model.source {
        let mut slots = Vec::new();
        let mut regions = Vec::new();
        let mut first: usize = 0;
        for (source, _, _) in rows {
            slots.extend(first..first + source.len());
            regions.push((first, source.len()));
            first += next_room(source.len());
        }
        let encoded = side.encoder.run(
            rows.iter()
                .map(|(source, _, _)| (*source, (0..source.len()).collect()))
                .collect(),
        )?;
        let mut memory = Memory::new(&decoder.backend, decoder.shape, first)?;
        decoder.stack.store_sources(&encoded, &slots, &mut memory)?;
        source_memory = Some((memory, regions));
    }
    let sources = source_memory.as_ref().map(|(memory, regions)| Sources {
        memory,
        regions: regions.clone(),
    });
    let pass = Pass::new(segments);
    let mut memory = Memory::scratch(&decoder.backend, decoder.shape, region)?;
    decoder.states(&tokens, &pass, &mut memory, sources.as_ref())
}
