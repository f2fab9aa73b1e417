//! The exponential mechanism at twice the utility's scale, audited between texts that differ in one
//! token.
//!
//! Over a vocabulary of tens of thousands of words it leaks about what it claims, so that no attack can
//! refute it: the factor ½ pays for the normaliser, and all normalisers are alike. Here they are not. A
//! lonely word x stands against [`CROWD`] words with one vector y: u(x; x) = u(y; y) = 1, u(x; y) = 0.
//! With weights e^{s·u}, P(x | x) / P(x | y) = e^s (1 + n e^s) / (e^s + n) for n = CROWD. At s = ε = 1 this is
//! e^{1.75}: more than the claim, while at s = ε/2 it is e^{0.89}. The attack is sure
//! where x was released, and says so.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2};
use teda::{Answer, Attack, Audit, Encoder, Observation, Result};
use teda_core::{TokenMap, Verdict};
use teda_mechanisms::{Context, registry};

const CROWD: usize = 8;
const TRIALS: u64 = 20_000;
const EPSILON: f64 = 1.0;
/// One word each, the lonely one and one of the crowd.
const TEXTS: [&str; 2] = ["w0", "w1"];

/// Words "w0" (alone) and "w1" … (the crowd).
struct Words {
    vectors: Array2<f32>,
    released: Vec<u32>,
}

fn words() -> Words {
    Words {
        vectors: Array2::from_shape_fn((1 + CROWD, 2), |(word, axis)| {
            f32::from(u8::from((word > 0) == (axis == 1)))
        }),
        released: (0..=CROWD as u32).collect(),
    }
}

impl TokenMap for Words {
    fn tokenize(&self, text: &str) -> Vec<u32> {
        let number = |word: &str| word.strip_prefix('w')?.parse().ok();
        text.split_whitespace().filter_map(number).collect()
    }

    fn detokenize(&self, tokens: &[u32]) -> String {
        let words: Vec<String> = tokens.iter().map(|token| format!("w{token}")).collect();
        words.join(" ")
    }

    fn vectors(&self) -> ArrayView2<'_, f32> {
        self.vectors.view()
    }

    fn released(&self) -> &[u32] {
        &self.released
    }
}

impl Encoder for Words {
    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
        Ok(Array2::zeros((texts.len(), 1)))
    }

    fn dimension(&self) -> usize {
        1
    }
}

/// The registry's mechanism over these words: the audit's own vocabulary is English.
fn audit(name: &str) -> Audit {
    let words = Arc::new(words());
    let texts = TEXTS.map(String::from).into();
    let context = Context::without_models(texts, words.clone(), words);
    let entry = registry::entry(name).unwrap();
    let settings = entry.settings(None, &[]).unwrap();
    Audit::boxed(entry.instance(&context, Some(EPSILON), &settings).unwrap())
}

/// Sure of "w0" where it was released: a word of the crowd tells less.
struct Lonely;

impl Attack for Lonely {
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>> {
        let score = |seen: &Observation<'_>| {
            let (said, sure) = match seen.release == TEXTS[0] {
                true => (0, 1.0),
                false => (1, 0.1),
            };
            let score = |text: &usize| if *text == said { sure } else { 0.0 };
            Ok(seen.candidates.iter().map(score).collect())
        };
        Ok(batch.iter().map(score).collect())
    }
}

/// Texts of one token each differ in one token: the claim of the mechanism is one between any two of them.
#[test]
fn half_the_noise_is_a_violation_and_the_sound_twin_is_consistent() {
    for (name, expected, exact) in [
        ("em-half-noise", Verdict::Violation, 1.752),
        ("em", Verdict::Consistent, 0.886),
    ] {
        let audit = audit(name).texts(TEXTS).attack("lonely", Lonely);
        let audit = audit.lambda(0.0).estimator("abstain");
        let report = audit.trials(TRIALS).seed(5).run().unwrap();
        let cell = &report.cells()[0];
        assert_eq!(cell.claimed_epsilon, Some(EPSILON), "{name}");
        assert_eq!(cell.verdict, expected, "{name}: {cell:?}");
        let bound = cell.empirical_epsilon;
        assert!(bound < exact && bound > exact - 0.3, "{name}: {bound}");
    }
}
