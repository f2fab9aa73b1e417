//! Speed of a masked language model at the gaps that DP-MLM makes, in gaps a second.
//!
//! `cargo run --release --example filling -- MODEL FILE THREADS` reads every gap of the lines of FILE with the model in
//! the directory MODEL, twice after a warm-up on the first lines, and prints the better.

use std::path::Path;
use std::time::Instant;

use teda_core::{Error, Gap, Keep, MaskedLanguageModel, Result};
use teda_mechanisms::gaps;
use teda_models::{Checkpoint, FillMask, fill_mask};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, file, threads] = &arguments[..] else {
        return Err(Error::usage("filling MODEL FILE THREADS"));
    };
    let threads: usize = threads
        .parse()
        .map_err(|e| Error::usage(format!("'{threads}': {e}")))?;
    let content = std::fs::read_to_string(file)
        .map_err(|e| Error::failed(format!("cannot read {file}: {e}")))?;
    let texts: Vec<_> = content.lines().map(gaps).collect();
    let all: Vec<Gap<'_>> = texts
        .iter()
        .flat_map(|(whole, gaps)| gaps.iter().map(move |gap| (whole, gap)))
        .map(|(whole, (before, after))| Gap {
            whole,
            before,
            after,
        })
        .collect();
    let model = FillMask::load(
        Checkpoint::open(model, Path::new(model))?,
        &fill_mask::Options::default(),
    )?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Error::failed(e.to_string()))?;
    pool.install(|| model.states(&all[..all.len().min(64)], Keep::No))?;
    let mut best = f64::INFINITY;
    for _ in 0..2 {
        let start = Instant::now();
        pool.install(|| model.states(&all, Keep::No))?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!(
        "{} gaps, {threads} threads: {:.2} gaps/s",
        all.len(),
        all.len() as f64 / best
    );
    Ok(())
}
