//! The hunt for the worst pair through the one loop: 50 pairs of texts, randomised response between the two of each.
//! Where one pair leaks more than the others, the hunt shows more of it than all pairs together and than the worst of
//! many pairs with a bound each; where none does, its bound exceeds the truth no more often than α/2.

use ndarray::Array2;
use statrs::distribution::{Binomial, DiscreteCDF};
use teda::audit::pairs::Pairs;
use teda::{Audit, Encoder, Guarantee, Mechanism, Query, Release, Result};

const PAIRS: usize = 50;
/// ε of every pair but the worst.
const USUAL: f64 = 0.2;

/// Text 2i or 2i + 1.
fn number(text: &str) -> usize {
    text.parse().expect("texts are numbers")
}

/// Randomised response between texts 2i and 2i + 1, at `worst` for the last pair.
struct Twins {
    worst: f64,
}

impl Mechanism for Twins {
    fn guarantee(&self) -> Option<Guarantee> {
        None
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let rewrite = |query: &Query<'_>| {
            let text = number(query.text);
            let epsilon = match text / 2 == PAIRS - 1 {
                true => self.worst,
                false => USUAL,
            };
            let kept = query.seed.stream().uniform() < 1.0 / (1.0 + (-epsilon).exp());
            let released = if kept { text } else { text ^ 1 };
            Release::of(released.to_string())
        };
        Ok(batch.iter().map(rewrite).collect())
    }
}

/// Twins are near each other and far from all others, so that at λ = 10000 candidates are twins.
struct Directions;

impl Encoder for Directions {
    fn dimension(&self) -> usize {
        PAIRS + 1
    }

    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let mut vectors = Array2::zeros((texts.len(), self.dimension()));
        for (mut vector, text) in vectors.rows_mut().into_iter().zip(texts) {
            let text = number(text);
            let side: f32 = if text.is_multiple_of(2) { 0.3 } else { -0.3 };
            vector[text / 2] = 0.95;
            vector[PAIRS] = side;
        }
        Ok(vectors)
    }
}

/// The bound of an audit.
fn bound(worst: f64, trials: u64, seed: u64, audit: impl FnOnce(Audit) -> Audit) -> f64 {
    let all = Audit::new(Twins { worst })
        .texts((0..2 * PAIRS).map(|text| text.to_string()))
        .encoder(Directions)
        .attacks(["embedding"])
        .lambda(10_000.0)
        .trials(trials)
        .seed(seed);
    audit(all).run().unwrap().cells()[0].empirical_epsilon
}

fn hunted(audit: Audit) -> Audit {
    audit.pairs(Pairs::Hunt(PAIRS))
}

#[test]
fn a_hunt_shows_more_of_one_bad_pair_than_any_bound_without_it() {
    for seed in 0..3 {
        let hunted = bound(3.0, 10_000, seed, hunted);
        let pooled = bound(3.0, 10_000, seed, |audit| audit);
        let united = bound(3.0, 10_000, seed, |audit| audit.estimator("worst-pair"));
        let split = bound(3.0, 10_000, seed, |audit| {
            audit.estimator("worst-pair-split")
        });
        println!("hunted {hunted}, worst pair {united}, split {split}, pooled {pooled}");
        assert!(pooled < 0.4 && pooled < united.min(split));
        assert!(united.max(split) < hunted - 0.3);
        assert!((2.75..3.1).contains(&hunted));
    }
}

/// What is chosen among equals is no worse than they are.
#[test]
fn a_hunt_among_equal_pairs_claims_no_more_than_it_may() {
    let audits = 200;
    for alpha in [0.1, 0.01] {
        let exceeds = |seed: &u64| {
            let audit = |audit: Audit| hunted(audit).alpha(alpha);
            bound(USUAL, 900, *seed, audit) > USUAL
        };
        let exceeded = (0..audits).filter(exceeds).count() as u64;
        let law = Binomial::new(alpha / 2.0, audits).unwrap();
        let p = exceeded.checked_sub(1).map_or(1.0, |below| law.sf(below));
        println!("α = {alpha}: {exceeded} of {audits} above ε, p = {p:.2e}");
        assert!(
            p > 1e-4,
            "α = {alpha}: {exceeded} of {audits} above ε, p = {p}"
        );
    }
}
