//! Speed of the built-in models on one and two threads.
//!
//! `cargo run --release -p teda-models --example throughput -- FILE [CANDIDATES] [TEXTS]` takes one
//! text a line and prints candidates and tokens a second (special tokens counted) of the infilling
//! model, and sentences a second of the encoder.

use std::time::Instant;

use teda_core::{Encoder, Error, Prompt, Query, Result, Sampling, Seed, TextGenerator, TokenMap};
use teda_models::{Backend, builtin};

const SAMPLING: Sampling = Sampling {
    temperature: 1.0,
    max_new_tokens: 64,
};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments
        .next()
        .ok_or_else(|| Error::usage("which file of texts?"))?;
    let mut number = |default: usize| -> Result<usize> {
        arguments.next().map_or(Ok(default), |text| {
            text.parse()
                .map_err(|e| Error::usage(format!("'{text}': {e}")))
        })
    };
    let (candidates, limit) = (number(10)?, number(5_000)?);
    let content = std::fs::read_to_string(&file)
        .map_err(|e| Error::failed(format!("reading {file}: {e}")))?;
    let texts: Vec<&str> = content.lines().take(limit).collect();
    for threads in [1, 2] {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|e| Error::failed(e.to_string()))?
            .install(|| measure(&texts, candidates, threads))?;
    }
    Ok(())
}

fn measure(texts: &[&str], candidates: usize, threads: usize) -> Result<()> {
    let infill = builtin::infill(builtin::Options::default(), &Backend::F32)?;
    let encoder = builtin::encoder()?;
    let queries: Vec<Query<'_>> = texts
        .iter()
        .zip(0..)
        .map(|(text, index)| Query {
            text,
            seed: Seed::root(1).at(index),
        })
        .collect();
    let start = Instant::now();
    let rewrites = infill.complete(&Prompt::new("{}"), &queries, candidates, SAMPLING)?;
    let seconds = start.elapsed().as_secs_f64();
    let tokens: usize = texts
        .iter()
        .map(|text| infill.tokens(text))
        .sum::<Result<_>>()?;
    println!(
        "{threads} threads, infill: {:.0} candidates/s, {:.0} tokens/s, {:.1} tokens a text, {seconds:.2} s",
        (texts.len() * candidates) as f64 / seconds,
        (tokens * candidates) as f64 / seconds,
        tokens as f64 / texts.len() as f64,
    );
    let repeats = 50_000_usize.div_ceil(texts.len().max(1));
    let (mut encoding, mut tokenising) = (0.0, 0.0);
    for _ in 0..repeats {
        let start = Instant::now();
        encoder.encode(texts)?;
        encoding += start.elapsed().as_secs_f64();
        let start = Instant::now();
        for text in texts {
            encoder.tokenize(text);
        }
        tokenising += start.elapsed().as_secs_f64();
    }
    let sentences = (texts.len() * repeats) as f64;
    println!(
        "{threads} threads, encoder: {:.0} sentences/s; tokenising alone on 1 thread {:.0}",
        sentences / encoding,
        sentences / tokenising,
    );
    if let (Some(text), Some(rewrites)) = (texts.first(), rewrites.first()) {
        println!(
            "{text} → {}",
            rewrites.as_deref().unwrap_or_default().join(" | ")
        );
    }
    Ok(())
}
