//! Speed of generation, in decoded tokens a second.
//!
//! `cargo run --release --example generation -- MODEL SEQUENCES NEW THREADS PRECISION` continues one shared instruction
//! and a short text of its own per sequence by NEW tokens, SEQUENCES at once, three times; MODEL is a directory or
//! a GGUF file. It prints the best of the three, and the same with the cheapest possible choice of a
//! token, so that the cost of sampling over the whole vocabulary can be read off.

use std::path::Path;
use std::time::Instant;

use teda_core::{Error, LanguageModel, MaxNewTokens, Prompt, Result, Seed, Sequence, Stream};
use teda_models::generate::Options;
use teda_models::{Backend, Checkpoint, LocalModel};

/// As long as the prompts of the mechanisms that this stands for: some 160 tokens with a chat template.
const INSTRUCTION: &str = "You are given one sentence that a user said to a voice assistant. Say the same thing in \
other words, in one natural and fluent sentence, as another user would say it. Keep the intent of the sentence and every \
name, number, date and place that is needed to act on it. Do not answer the sentence, do not explain what you did, do not \
add anything that the sentence does not say, and do not leave out anything that it says. Write plain English without lists, \
headings, quotation marks or emoji. If the sentence is not grammatical, write the most likely sentence that was meant. \
Answer with the new sentence alone.\n\nSentence: {}";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, sequences, new, threads, precision] = &arguments[..] else {
        return Err(Error::usage(
            "generation MODEL SEQUENCES NEW THREADS PRECISION",
        ));
    };
    let number = |text: &String| -> Result<usize> {
        text.parse()
            .map_err(|e| Error::usage(format!("'{text}': {e}")))
    };
    let (sequences, new, threads) = (number(sequences)?, number(new)?, number(threads)?);
    let model = LocalModel::on(
        Checkpoint::open(model, Path::new(model))?,
        Options::default(),
        &Backend::of(precision.parse()?)?,
    )?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Error::failed(e.to_string()))?
        .install(|| measure(&model, sequences, new, threads))
}

fn measure(model: &LocalModel, sequences: usize, new: usize, threads: usize) -> Result<()> {
    let prompt = Prompt::new(INSTRUCTION);
    let texts: Vec<String> = (0..sequences)
        .map(|i| format!("play track {i} of the new album in the kitchen"))
        .collect();
    let work: Vec<Sequence<'_>> = texts
        .iter()
        .zip(0..)
        .map(|(text, i)| Sequence {
            text,
            seed: Seed::root(1).at(i),
            max_new_tokens: MaxNewTokens::Tokens(new),
            banned: &[],
        })
        .collect();
    let sample = |logits: &mut [f32], stream: &mut Stream| {
        // The token that ends a text is made as unlikely as any, so that sequences make the same number.
        logits[2] = f32::NEG_INFINITY;
        stream.softmax_over(logits, |logit| f64::from(logit.clamp(-5.0, 20.0)) / 1.2) as u32
    };
    let fixed = |_: &mut [f32], stream: &mut Stream| 100 + stream.below(1_000) as u32;
    let sampled = best(|| {
        model
            .generate(&prompt, &work, &sample)
            .map(|made| count(&made))
    })?;
    let plain = best(|| {
        model
            .generate(&prompt, &work, &fixed)
            .map(|made| count(&made))
    })?;
    println!(
        "{sequences} sequences, {threads} threads, prompt {} tokens: {sampled:.1} tokens/s sampled over {} tokens, {plain:.1} without sampling ({:.1} % of the time)",
        model.prompt_tokens(&prompt, &texts[0])?,
        model.vocabulary(),
        100.0 * (1.0 - sampled / plain),
    );
    Ok(())
}

fn count(made: &[teda_core::Answer<teda_core::Generated>]) -> usize {
    made.iter().flatten().map(|made| made.tokens.len()).sum()
}

fn best(mut run: impl FnMut() -> Result<usize>) -> Result<f64> {
    let mut best = 0.0_f64;
    for _ in 0..3 {
        let start = Instant::now();
        let tokens = run()?;
        best = best.max(tokens as f64 / start.elapsed().as_secs_f64());
    }
    Ok(best)
}
