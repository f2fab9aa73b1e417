//! Exact log-probabilities by teacher forcing.

use rayon::prelude::*;
use teda_core::{Answer, LogLikelihood, Longest, Prompt, Result};

use super::LocalModel;
use super::lanes::shared;
use crate::kernel::keys_values::next_room;
use crate::matrix::Matrix;
use crate::transformer::attention::Sources;
use crate::transformer::encoder::check_tokens;
use crate::transformer::{Memory, Pass, Prefix, Segment};

/// Tokens of one pass, and rows of logits made at once: bounds on what a worker holds.
const TOKENS: usize = 1024;
const LOGITS: usize = 64;

/// A continuation to be scored.
struct Pair {
    source: Vec<u32>,
    /// What the decoder reads: the prompt, then the continuation but for its last token.
    tokens: Vec<u32>,
    continuation: Vec<u32>,
}

/// ln P(continuation | prompt filled with text) of each pair, summed in double precision.
pub(super) fn log_likelihood(
    model: &LocalModel,
    prompt: &Prompt,
    pairs: &[(&str, &str)],
) -> Result<Vec<Answer<LogLikelihood>>> {
    let prefix = model.prefixes.of(model, prompt)?;
    let pairs: Vec<Answer<Pair>> = pairs
        .par_iter()
        .map(|(text, continuation)| pair(model, prompt, text, continuation))
        .collect::<Result<_>>()?;
    let ready: Vec<&Pair> = pairs.iter().filter_map(|pair| pair.as_ref().ok()).collect();
    let scored: Vec<Vec<LogLikelihood>> = batches(&ready)
        .par_iter()
        .map(|batch| score(model, batch, prefix.as_deref()))
        .collect::<Result<_>>()?;
    let mut scored = scored.into_iter().flatten();
    Ok(pairs
        .iter()
        .map(|pair| match pair {
            Err(reason) => Err(reason.clone()),
            Ok(_) => Ok(scored.next().expect("every pair is scored")),
        })
        .collect())
}

fn pair(
    model: &LocalModel,
    prompt: &Prompt,
    text: &str,
    continuation: &str,
) -> Result<Answer<Pair>> {
    let continuation = model.tokens(continuation, false)?;
    let job = match model.job(
        model.read(prompt, text)?,
        Longest::Tokens(continuation.len()),
        &[],
    )? {
        Ok(job) => job,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut tokens = job.prompt;
    tokens.extend_from_slice(&continuation[..continuation.len().saturating_sub(1)]);
    Ok(Ok(Pair {
        source: job.source,
        tokens,
        continuation,
    }))
}

/// Consecutive pairs, as many as a pass takes.
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

fn score(
    model: &LocalModel,
    pairs: &[&Pair],
    prefix: Option<&Prefix>,
) -> Result<Vec<LogLikelihood>> {
    let rows: Vec<_> = pairs
        .iter()
        .map(|pair| {
            let first = pair.tokens.len() - pair.continuation.len().max(1) + 1;
            let asked = (first - 1..pair.tokens.len()).take(pair.continuation.len());
            (&pair.source[..], &pair.tokens[..], asked.collect())
        })
        .collect();
    let states = states(model, &rows, prefix)?;
    let targets: Vec<u32> = pairs.iter().flat_map(|p| p.continuation.clone()).collect();
    let mut scores = Vec::with_capacity(targets.len());
    for (chunk, targets) in targets.chunks(LOGITS).enumerate() {
        let rows: Vec<usize> = (chunk * LOGITS..chunk * LOGITS + targets.len()).collect();
        let logits = model.decoder.logits(states.select(&rows)?)?;
        let logits = logits.chunks_exact(model.decoder.vocabulary());
        scores.extend(
            logits
                .zip(targets)
                .map(|(row, t)| log_softmax(row, *t as usize)),
        );
    }
    let mut scores = scores.into_iter();
    Ok(pairs
        .iter()
        .map(|pair| LogLikelihood {
            total: scores.by_ref().take(pair.continuation.len()).sum(),
            tokens: pair.continuation.len(),
        })
        .collect())
}

fn log_softmax(logits: &[f32], target: usize) -> f64 {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f64 = logits.iter().map(|x| f64::from(x - highest).exp()).sum();
    f64::from(logits[target] - highest) - total.ln()
}

/// A row to read: what the encoder reads, what the decoder reads, and the places asked for in the latter.
type Row<'a> = (&'a [u32], &'a [u32], Vec<usize>);

/// The decoder's states at the places asked for, `[asked × hidden]`.
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
        // What is asked for must be among what is read anew.
        let shared = shared(prefix, &row[..asked.first().map_or(0, |first| first + 1)]);
        let own = &row[shared..];
        tokens.extend_from_slice(own);
        segments.push(Segment {
            tokens: own.len(),
            prefix: prefix.filter(|_| shared > 0),
            past: 0,
            region,
            asked: asked.iter().map(|place| place - shared).collect(),
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
