//! The latents of DP-BART and ADePT audited, between texts whose latents are opposite corners: a mechanism's bound rises
//! with ε to the ceiling, the analytic Gaussian keeps its claim, and what keeps it not is refuted.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView2};
use teda::{Audit, Report, Verdict};
use teda_core::{
    Answer, Autoencoder, BeamSearch, Choose, EncoderDecoder, Error, Followed, Generated,
    LanguageModel, LogLikelihood, Mechanism, Prompt, Result, Scorer, Sequence, Weigh,
};
use teda_mechanisms::{Context, registry};
use teda_models::builtin;

const DELTA: f64 = 1e-5;
/// Two tokens each, at opposite corners of the cube, and with different differences of their tokens.
const TEXTS: [&str; 2] = ["low high", "high low"];

/// A model of two halves whose words are corners of a cube; it writes nothing.
struct Corners;

impl EncoderDecoder for Corners {
    fn hidden(&self) -> usize {
        3
    }

    fn encode(&self, texts: &[&str], tokens: usize) -> Result<Array2<f32>> {
        let words: Vec<Vec<&str>> = texts.iter().map(|t| t.split(' ').collect()).collect();
        let number = |(row, place): (usize, usize)| match words[row].get(place / 3) {
            Some(&"high") => 1.0,
            _ => -1.0,
        };
        Ok(Array2::from_shape_fn((texts.len(), tokens * 3), number))
    }

    fn key_weights(&self) -> Result<Array1<f64>> {
        Ok(Array1::ones(3))
    }

    fn decode(&self, vectors: ArrayView2<'_, f32>, _: BeamSearch) -> Result<Vec<String>> {
        Ok(vec!["written".to_owned(); vectors.nrows()])
    }
}

/// A text's latent is a corner of a cube far outside the clip: clipped, its numbers are alike.
impl Autoencoder for Corners {
    fn dimension(&self) -> usize {
        6
    }

    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let mut latents = EncoderDecoder::encode(self, texts, 2)?;
        // "low high" becomes the corner of −1, "high low" that of 1.
        let second = latents.columns_mut().into_iter().skip(3);
        second.for_each(|mut column| column *= -1.0);
        Ok(latents * 100.0)
    }

    fn decode(&self, latents: ArrayView2<'_, f32>) -> Result<Vec<String>> {
        Ok(vec!["written".to_owned(); latents.nrows()])
    }
}

fn unused<T>() -> Result<T> {
    Err(Error::failed("only its halves are used"))
}

impl LanguageModel for Corners {
    fn vocabulary(&self) -> usize {
        2
    }

    fn follows_instructions(&self) -> bool {
        false
    }

    fn prompt_tokens(&self, _: &Prompt, _: &str) -> Result<usize> {
        unused()
    }

    fn logit_moments(&self) -> Option<(f64, f64)> {
        None
    }

    fn encoder_decoder(&self) -> Option<&dyn EncoderDecoder> {
        Some(self)
    }

    fn generate(
        &self,
        _: &Prompt,
        _: &[Sequence<'_>],
        _: &Choose<'_>,
    ) -> Result<Vec<Answer<Generated>>> {
        unused()
    }

    fn follow(
        &self,
        _: &Prompt,
        _: &[(&str, &str)],
        _: &Weigh<'_>,
    ) -> Result<Vec<Answer<Followed>>> {
        unused()
    }
}

impl Scorer for Corners {
    fn log_likelihood(&self, _: &Prompt, _: &[(&str, &str)]) -> Result<Vec<Answer<LogLikelihood>>> {
        unused()
    }
}

fn mechanism(name: &str, epsilon: f64, set: &[(&str, &str)]) -> Box<dyn Mechanism> {
    let encoder = Arc::new(builtin::encoder().unwrap());
    let texts = TEXTS.map(String::from).into();
    let context = Context {
        language_model: Some(Arc::new(Corners)),
        autoencoder: Some(Arc::new(Corners)),
        ..Context::without_models(texts, encoder.clone(), encoder)
    };
    let entry = registry::entry(name).unwrap();
    let tokens: &[_] = match name.starts_with("dp-bart") {
        true => &[("tokens", "2")],
        false => &[],
    };
    let set: Vec<(String, String)> = [tokens, set]
        .concat()
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let settings = entry.settings(None, &set).unwrap();
    entry.instance(&context, Some(epsilon), &settings).unwrap()
}

fn audit(mechanism: Box<dyn Mechanism>, attacks: &[&str], estimator: &str) -> Report {
    let audit = Audit::boxed(mechanism).named("it").texts(TEXTS);
    let audit = audit.lambda(0.0).trials(20_000).estimator(estimator);
    audit.attacks(attacks).run().unwrap()
}

/// Its only noise is Laplace's.
const BROKEN_ADEPT: &str = "adept-l2-laplace";

/// Bound and verdict on the latents.
fn latent(name: &str, epsilon: f64, noise: &str, estimator: &str) -> (f64, Verdict) {
    let set = [("noise", noise)];
    let set = if name == BROKEN_ADEPT { &[] } else { &set[..] };
    let report = audit(
        mechanism(name, epsilon, set),
        &["internal-embedding"],
        estimator,
    );
    let [cell] = report.cells() else {
        panic!("one cell, not {}", report.cells().len());
    };
    assert_eq!(cell.mechanism, "it (latent)");
    assert_eq!((cell.claimed_epsilon, cell.failed), (Some(epsilon), 0));
    (cell.empirical_epsilon, cell.verdict)
}

#[test]
fn the_bound_rises_with_epsilon_to_the_ceiling() {
    for name in ["dp-bart", "adept"] {
        let epsilons = [0.5, 2.0, 10.0, 50.0, 250.0];
        let bounds = epsilons.map(|epsilon| latent(name, epsilon, "analytic-gaussian", "teda").0);
        assert!(bounds.is_sorted() && bounds[0] < 1.0, "{bounds:?}");
        // 20,000 guesses, all right: ln(p/(1 − p)) of the lower limit of Clopper and Pearson.
        let ceiling = 8.2360;
        assert!((bounds[4] - ceiling).abs() < 1e-3, "{bounds:?}");
        assert!(bounds[2] > bounds[1] + 1.0, "{bounds:?}");
    }
}

/// The audit's δ is that of the claim, since none is given.
#[test]
fn the_analytic_gaussian_keeps_its_claim_and_the_classical_is_refuted() {
    for (name, epsilon) in ["dp-bart", "adept"]
        .into_iter()
        .flat_map(|name| [1.0, 5.0, 15.0].map(|epsilon| (name, epsilon)))
    {
        let (analytic, verdict) = latent(name, epsilon, "analytic-gaussian", "gdp");
        assert!(analytic <= epsilon, "{analytic} at {epsilon}");
        assert!(analytic > 0.4 * epsilon, "{analytic} at {epsilon}");
        assert_eq!(verdict, Verdict::Consistent);
        let (classical, verdict) = latent(name, epsilon, "gaussian", "gdp");
        if epsilon < 8.0 {
            assert!(classical < epsilon, "{classical} at {epsilon}");
            assert_eq!(verdict, Verdict::Consistent);
        } else {
            assert!(classical > epsilon, "{classical} at {epsilon}");
            assert_eq!(verdict, Verdict::Violation);
        }
        let (certified, _) = latent(name, epsilon, "analytic-gaussian", "certificate");
        assert!(certified <= epsilon, "{certified} at {epsilon}");
    }
}

/// The control's latents are told apart with certainty by what their tokens differ by; those of its sound twin not.
#[test]
fn broadcast_noise_is_refuted() {
    for epsilon in [1.0, 10.0] {
        let (bound, verdict) = latent(
            "dp-bart-broadcast",
            epsilon,
            "analytic-gaussian",
            "certificate",
        );
        assert!(bound > epsilon, "{bound} at {epsilon}");
        assert_eq!(verdict, Verdict::Violation);
    }
    let (bound, verdict) = latent("dp-bart-broadcast", 1.0, "analytic-gaussian", "teda");
    assert!(bound > 8.0, "{bound}");
    assert_eq!(verdict, Verdict::Violation);
}

/// The Laplace mechanism is pure: a certificate shows its ε exactly where one number of many differs most. ADePT's first
/// sensitivity, the ℓ2 bound, is √d times too small for it, d being 6 here.
#[test]
fn laplace_noise_is_certified_within_its_claim_unless_made_for_the_l2_bound() {
    for epsilon in [1.0, 6.0] {
        for name in ["dp-bart", "adept"] {
            let (bound, verdict) = latent(name, epsilon, "laplace", "certificate");
            assert!(bound <= epsilon * (1.0 + 1e-12), "{bound} at {epsilon}");
            assert!(bound > 0.3 * epsilon, "{bound} at {epsilon}");
            assert_ne!(verdict, Verdict::Violation);
        }
        let (bound, verdict) = latent(BROKEN_ADEPT, epsilon, "", "certificate");
        let all = 6_f64.sqrt() * epsilon * (1.0 + 1e-12);
        assert!(
            bound > 2.0 * epsilon && bound <= all,
            "{bound} at {epsilon}"
        );
        assert_eq!(verdict, Verdict::Violation);
    }
}

/// What is found of the latent is said of the latent, and the verdict on the releases is another.
#[test]
fn a_bound_on_the_latent_is_none_on_the_release() {
    let mechanism = mechanism("dp-bart", 15.0, &[("noise", "gaussian")]);
    let report = audit(mechanism, &["embedding", "internal-embedding"], "teda");
    let [releases, latents] = report.cells() else {
        panic!("two cells");
    };
    assert_eq!(releases.mechanism, "it");
    assert_eq!(latents.mechanism, "it (latent)");
    // The decoder writes the same for all, and each cell is the only one of its kind.
    assert_eq!(releases.empirical_epsilon, 0.0);
    assert!(latents.empirical_epsilon > 2.0);
    assert_eq!((releases.choices, latents.choices), (1, 1));
    assert_eq!((releases.delta, latents.delta), (DELTA, DELTA));
    assert!(report.table().contains("it (latent)"));
}
