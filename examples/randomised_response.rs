//! k-ary randomised response as a process that teda audits: a template for a mechanism of one's own.
//!
//! ```text
//! cargo build --release --example randomised_response
//! teda audit --mech exec:"target/release/examples/randomised_response texts.txt" --dataset texts.txt
//! ```
//!
//! What a process reads and writes, and the three things that matter, stand in
//! `randomised_response.py`, which is the same mechanism: of the N distinct lines of a file, the one that is
//! the text is released with probability e^ε / (e^ε + N − 1), each other one with 1 / (e^ε + N − 1).

use std::error::Error;
use std::io::{BufRead, Write};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a file of texts")?;
    let domain = domain(&std::fs::read_to_string(path)?);
    if domain.len() < 2 {
        return Err("the file needs at least 2 distinct lines".into());
    }
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let query: Value = serde_json::from_str(&line?)?;
        // What is wrong with all queries ends the program; what is wrong with a text is its outcome.
        let epsilon = query["epsilon"].as_f64().ok_or("an epsilon is needed")?;
        let text = query["text"].as_str().ok_or("a text is needed")?;
        let answer = match query["release"].as_str() {
            Some(release) => log_likelihood(&domain, release, text, epsilon)
                .map(|value| json!({"id": query["id"], "log_likelihood": value})),
            None => {
                let seed = query["seed"].as_u64().ok_or("a seed is needed")?;
                release(&domain, text, epsilon, seed)
                    .map(|text| json!({"id": query["id"], "text": text}))
            }
        };
        let answer = answer.unwrap_or_else(|reason| json!({"id": query["id"], "error": reason}));
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

/// The distinct lines that are not empty, in order.
fn domain(content: &str) -> Vec<String> {
    let mut domain: Vec<String> = Vec::new();
    for line in content.lines().map(str::trim) {
        if !line.is_empty() && domain.iter().all(|known| known != line) {
            domain.push(line.to_owned());
        }
    }
    domain
}

/// The release for one text, or why there is none.
fn release<'a>(
    domain: &'a [String],
    text: &str,
    epsilon: f64,
    seed: u64,
) -> Result<&'a str, &'static str> {
    let secret = place(domain, text)?;
    let mut coins = ChaCha8Rng::seed_from_u64(seed);
    if coins.random::<f64>() < kept(domain, epsilon) {
        return Ok(&domain[secret]);
    }
    // Uniform over the other N − 1: those from the secret on move up by one.
    let other = coins.random_range(0..domain.len() - 1);
    Ok(&domain[if other < secret { other } else { other + 1 }])
}

/// ln P(release | text) as JSON, which has no infinity; or why it is not known.
fn log_likelihood(
    domain: &[String],
    release: &str,
    text: &str,
    epsilon: f64,
) -> Result<Value, &'static str> {
    let secret = place(domain, text)?;
    let kept = kept(domain, epsilon).ln();
    Ok(match place(domain, release) {
        Ok(released) if released == secret => json!(kept),
        Ok(_) => json!(kept - epsilon),
        Err(_) => json!("-inf"),
    })
}

/// The number of a text in the domain.
fn place(domain: &[String], text: &str) -> Result<usize, &'static str> {
    let known = domain.iter().position(|line| line == text);
    known.ok_or("the text is no line of the file")
}

/// e^ε / (e^ε + N − 1), divided through by e^ε so that no ε overflows.
fn kept(domain: &[String], epsilon: f64) -> f64 {
    1.0 / (1.0 + (domain.len() - 1) as f64 * (-epsilon).exp())
}
