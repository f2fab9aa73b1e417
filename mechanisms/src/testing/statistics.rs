//! What tests of distributions share.

use std::collections::BTreeMap;

use statrs::distribution::{ChiSquared, ContinuousCDF};
use teda_core::{Mechanism, Query, Seed};

/// How often each text is released for `text` in `draws` rewrites.
pub fn releases(mechanism: &dyn Mechanism, text: &str, draws: u64) -> BTreeMap<String, f64> {
    let queries: Vec<Query<'_>> = (0..draws)
        .map(|i| Query {
            text,
            seed: Seed::root(11).at(i),
        })
        .collect();
    let mut counts = BTreeMap::new();
    for release in mechanism.rewrite(&queries).unwrap() {
        assert_eq!(release.failure, None);
        *counts.entry(release.text).or_default() += 1.0;
    }
    counts
}

/// The probabilities of these releases for `text`, as the mechanism itself states them.
pub fn probabilities(
    mechanism: &dyn Mechanism,
    releases: &[String],
    text: &str,
) -> BTreeMap<String, f64> {
    let pairs: Vec<(&str, &str)> = releases.iter().map(|r| (&r[..], text)).collect();
    let likelihood = mechanism.likelihood().unwrap();
    let logs = likelihood.log_likelihood(&pairs).unwrap();
    let exact = releases.iter().cloned().zip(logs);
    exact.map(|(r, log)| (r, log.unwrap().exp())).collect()
}

/// Asserts that counts are a sample of the exact probabilities, by Pearson's chi-square over the
/// outcomes of an expected count of at least 5, all others taken as one.
pub fn assert_sampled<K: Ord + std::fmt::Debug>(
    counts: &BTreeMap<K, f64>,
    exact: &BTreeMap<K, f64>,
    what: &str,
) {
    let sum: f64 = exact.values().sum();
    assert!(
        (sum - 1.0).abs() < 1e-9,
        "{what}: probabilities add to {sum}"
    );
    let draws: f64 = counts.values().sum();
    let (mut chi, mut cells) = (0.0, 0.0);
    let mut rest = (0.0, 0.0);
    for (outcome, p) in exact {
        let (mean, seen) = (p * draws, counts.get(outcome).copied().unwrap_or(0.0));
        if mean >= 5.0 {
            chi += (seen - mean) * (seen - mean) / mean;
            cells += 1.0;
        } else {
            rest = (rest.0 + mean, rest.1 + seen);
        }
    }
    if rest.0 >= 5.0 {
        chi += (rest.1 - rest.0) * (rest.1 - rest.0) / rest.0;
        cells += 1.0;
    }
    for outcome in counts.keys() {
        let possible = exact.get(outcome).is_some_and(|p| *p > 0.0);
        assert!(possible, "{what}: {outcome:?} has probability 0");
    }
    if cells > 1.0 {
        let p = ChiSquared::new(cells - 1.0).unwrap().sf(chi);
        assert!(p > 1e-4, "{what}: χ²={chi} over {cells} cells, p={p}");
    }
}

/// Asserts that a sample follows a continuous distribution, by Kolmogorov and Smirnov's distance at
/// level 10⁻⁴ (its limit law: 2·exp(−2·n·D²)).
pub fn assert_follows(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64, what: &str) {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let distance = sample
        .iter()
        .zip(0..)
        .map(|(x, rank)| {
            let p = cdf(*x);
            let below = f64::from(rank) / n;
            (p - below).abs().max((p - below - 1.0 / n).abs())
        })
        .fold(0.0, f64::max);
    let p = 2.0 * (-2.0 * n * distance * distance).exp();
    assert!(p > 1e-4, "{what}: D={distance} of {n}, p={p}");
}

/// The greatest |ln(p/q)| over the outcomes; infinite where one is possible under one alone.
pub fn greatest_loss<K: Ord>(p: &BTreeMap<K, f64>, q: &BTreeMap<K, f64>) -> f64 {
    let of = |map: &BTreeMap<K, f64>, key: &K| map.get(key).copied().unwrap_or(0.0);
    p.keys()
        .chain(q.keys())
        .map(|key| (of(p, key), of(q, key)))
        .filter(|(p, q)| *p > 0.0 || *q > 0.0)
        .map(|(p, q)| (p / q).ln().abs())
        .fold(0.0, f64::max)
}
