//! How far a model in bfloat16 agrees with itself in single precision.
//!
//! `cargo run --release --example agreement -- MODEL FILE COUNT [PRECISION]` reads the first COUNT lines of FILE with the model
//! in the directory or GGUF file MODEL, in bfloat16 by the fastest instructions or those of PRECISION. Of a sentence encoder it prints the least and the mean cosine of a text's two vectors;
//! of a language model, at how many places both make the same token the most likely one, and how often that of
//! single precision is among the first two of bfloat16.

use std::path::Path;

use ndarray::ArrayView1;
use teda_core::{Encoder, Error, Result};
use teda_models::generate::Options;
use teda_models::{Backend, Checkpoint, LocalModel, Precision, SentenceEncoder};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (model, file, count, precision) = match &arguments[..] {
        [model, file, count] => (model, file, count, "bf16"),
        [model, file, count, precision] => (model, file, count, precision.as_str()),
        _ => return Err(Error::usage("agreement MODEL FILE COUNT [PRECISION]")),
    };
    let count: usize = count
        .parse()
        .map_err(|e| Error::usage(format!("'{count}': {e}")))?;
    let content = std::fs::read_to_string(file)
        .map_err(|e| Error::failed(format!("cannot read {file}: {e}")))?;
    let texts: Vec<&str> = content.lines().take(count).collect();
    let open = || Checkpoint::open(model, Path::new(model));
    let (single, half) = (
        Backend::of(Precision::F32)?,
        Backend::of(precision.parse()?)?,
    );
    if let Ok(encoder) = SentenceEncoder::on(open()?, &single) {
        return vectors(&encoder, &SentenceEncoder::on(open()?, &half)?, &texts);
    }
    let checkpoint = open()?;
    let rows: Vec<Vec<u32>> = texts
        .iter()
        .map(|text| checkpoint.encode(text, true))
        .collect::<Result<_>>()?;
    let load = |backend| LocalModel::on(open()?, Options::default(), backend);
    tokens(&load(&single)?, &load(&half)?, &rows)
}

fn vectors(single: &SentenceEncoder, half: &SentenceEncoder, texts: &[&str]) -> Result<()> {
    let (a, b) = (single.encode(texts)?, half.encode(texts)?);
    let dot = |a: ArrayView1<'_, f32>, b: ArrayView1<'_, f32>| -> f64 {
        a.iter()
            .zip(b)
            .map(|(x, y)| f64::from(*x) * f64::from(*y))
            .sum()
    };
    let cosines: Vec<f64> = a
        .rows()
        .into_iter()
        .zip(b.rows())
        .map(|(a, b)| dot(a, b) / (dot(a, a) * dot(b, b)).sqrt())
        .collect();
    let least = cosines.iter().copied().fold(1.0, f64::min);
    let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
    println!(
        "{} texts: cosine at least 1 - {:.2e}, on average 1 - {:.2e}",
        texts.len(),
        1.0 - least,
        1.0 - mean
    );
    Ok(())
}

fn tokens(single: &LocalModel, half: &LocalModel, rows: &[Vec<u32>]) -> Result<()> {
    let (mut places, mut same, mut second) = (0_usize, 0_usize, 0_usize);
    for row in rows.iter().filter(|row| !row.is_empty()) {
        let (a, b) = (single.logits(&[], row)?, half.logits(&[], row)?);
        for (a, b) in a.rows().into_iter().zip(b.rows()) {
            let best = highest(a);
            let above = b.iter().filter(|x| **x > b[best]).count();
            places += 1;
            same += usize::from(above == 0);
            second += usize::from(above <= 1);
        }
    }
    let share = |count: usize| 100.0 * count as f64 / places as f64;
    println!(
        "{places} places: the same next token at {same} ({:.2} %), among the first two at {second} ({:.2} %)",
        share(same),
        share(second)
    );
    Ok(())
}

fn highest(logits: ArrayView1<'_, f32>) -> usize {
    let all = logits.iter().enumerate();
    let best = all.max_by(|a, b| a.1.total_cmp(b.1));
    best.map_or(0, |(index, _)| index)
}
