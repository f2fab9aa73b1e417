//! Speed of a sentence encoder, in sentences a second.
//!
//! `cargo run --release --example encoding -- MODEL FILE THREADS PRECISION` encodes the first 2,000 lines of FILE
//! with the encoder in the directory MODEL, three times after a warm-up, and prints the best.

use std::path::Path;
use std::time::Instant;

use teda_core::{Encoder, Error, Result};
use teda_models::{Backend, Checkpoint, SentenceEncoder};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, file, threads, precision] = &arguments[..] else {
        return Err(Error::usage("encoding MODEL FILE THREADS PRECISION"));
    };
    let threads: usize = threads
        .parse()
        .map_err(|e| Error::usage(format!("'{threads}': {e}")))?;
    let content = std::fs::read_to_string(file)
        .map_err(|e| Error::failed(format!("cannot read {file}: {e}")))?;
    let texts: Vec<&str> = content.lines().take(2_000).collect();
    let checkpoint = Checkpoint::open(model, Path::new(model))?;
    let encoder = SentenceEncoder::on(checkpoint, &Backend::of(precision.parse()?)?)?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Error::failed(e.to_string()))?;
    let mut best = f64::INFINITY;
    for run in 0..4 {
        let start = Instant::now();
        pool.install(|| encoder.encode(&texts))?;
        if run > 0 {
            best = best.min(start.elapsed().as_secs_f64());
        }
    }
    let speed = texts.len() as f64 / best;
    println!(
        "{} sentences, {threads} threads: {speed:.1} sentences/s",
        texts.len()
    );
    Ok(())
}
