//! Claims that grow with the distance of two texts: what an audit makes of them, on a mechanism whose releases are
//! known exactly.

use teda::audit::epsilons::TEDA;
use teda::{Audit, Cell, Guarantee, Mechanism, Neighbours, Query, Release, Result, Verdict};
use teda_core::{Basis, Unit};

/// Texts are numbers. Laplace noise of scale 1/`noise`, then the nearest of the numbers −1 and 1: in place of the
/// other a number is released with probability ½e^{−noise}.
struct Line {
    noise: f64,
    claims: f64,
}

fn place(text: &str) -> f64 {
    text.parse().expect("texts are numbers here")
}

impl Mechanism for Line {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(Guarantee {
            epsilon: self.claims,
            delta: 0.0,
            unit: Unit::Text,
            neighbours: Neighbours::Metric,
            basis: Basis::Claimed,
        })
    }

    fn diameter(&self, texts: &[&str]) -> Option<f64> {
        let places: Vec<f64> = texts.iter().map(|text| place(text)).collect();
        let least = places.iter().copied().fold(f64::INFINITY, f64::min);
        Some(
            places
                .iter()
                .fold(0.0, |most, place| (place - least).max(most)),
        )
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let rewrite = |query: &Query<'_>| {
            let mut stream = query.seed.stream();
            let noise = -(1.0 - stream.uniform()).ln() / self.noise;
            let sign = if stream.uniform() < 0.5 { -1.0 } else { 1.0 };
            let released = (place(query.text) + sign * noise).signum();
            Release::of(released.to_string())
        };
        Ok(batch.iter().map(rewrite).collect())
    }
}

fn audited(noise: f64, claims: f64) -> Cell {
    let audit = Audit::new(Line { noise, claims }).texts(["1", "-1"]);
    let audit = audit.lambda(0.0).attacks(["overlap"]).trials(20_000);
    audit.run().unwrap().cells()[0].clone()
}

/// Its greatest loss at noise ε is ln(2e^ε − 1), above ε and below the 2ε that a distance of 2 allows.
#[test]
fn half_the_noise_is_refuted_and_the_right_noise_never_is() {
    for epsilon in [0.75, 1.0, 2.0] {
        let sound = audited(epsilon, epsilon);
        assert_eq!(sound.claimed_epsilon, Some(2.0 * epsilon));
        assert_eq!(sound.verdict, Verdict::Consistent, "{}", sound.explanation);
        assert!(sound.empirical_epsilon > epsilon, "{}", sound.explanation);
        let broken = audited(2.0 * epsilon, epsilon);
        assert_eq!(broken.verdict, Verdict::Violation, "{}", broken.explanation);
        let metric = broken.metric.unwrap();
        assert_eq!(metric.greatest_distance, 2.0);
        assert_eq!(metric.epsilon_per_distance, broken.empirical_epsilon / 2.0);
        assert!(metric.epsilon_per_distance > epsilon);
    }
}

/// One-token sets: the distance is that of two words of one set. With any texts nothing is claimed, since their
/// token counts differ.
#[test]
fn word_perturb_is_judged_between_texts_whose_distance_is_known() {
    let texts = [
        "play some jazz",
        "book a table in boston",
        "what is the weather like",
    ];
    let audited = |neighbours| {
        let audit = Audit::of("word-perturb").texts(texts).epsilons([TEDA[3]]);
        let audit = audit.neighbours(neighbours).attacks(["embedding"]);
        audit.trials(500).run().unwrap()
    };
    let report = audited(Neighbours::OneToken);
    let cell = &report.cells()[0];
    assert_eq!(cell.verdict, Verdict::Saturated, "{}", cell.explanation);
    let distance = cell.metric.unwrap().greatest_distance;
    assert!(distance > 1.0 && distance <= 2.0, "{distance}");
    assert_eq!(cell.claimed_epsilon, Some(10.0 * distance));
    assert!(
        report
            .table()
            .contains("greatest distance between two texts")
    );
    let cell = &audited(Neighbours::AnyTexts).cells()[0].clone();
    assert_eq!((cell.verdict, cell.metric), (Verdict::NoClaim, None));
}
