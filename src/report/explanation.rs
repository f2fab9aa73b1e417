//! What a verdict means, for people who are not statisticians.

use teda_core::estimator::{self, Assurance};
use teda_core::stats::binomial;
use teda_core::{Composition, Neighbours, Sign, Verdict, plain};
use teda_results::Cell;

use crate::report::mechanism::name;
use crate::report::reading;
use crate::report::warnings;

/// One sentence on a cell: what was shown, at which confidence, and how it compares with the claim. Failures too
/// frequent to ignore are at its end.
#[must_use]
pub fn of(cell: &Cell) -> String {
    let read = Vec::from_iter(reading::sentence(cell));
    let guessed = Vec::from_iter(guessed(cell));
    [vec![verdict_of(cell)], guessed, read, warnings::of(cell)]
        .concat()
        .join("; ")
}

fn verdict_of(cell: &Cell) -> String {
    let who = name(cell);
    let leak = number(cell.empirical_epsilon);
    let assured = assurance(cell);
    let claim = claim_of(cell);
    let texts = between(cell);
    let attack = &cell.attack;
    let shown = if cell.empirical_epsilon > 0.0 {
        let found = match assurance_of(cell) {
            // It needs no attack.
            Assurance::Certain => String::new(),
            _ => format!(" by the {attack} attack"),
        };
        let per = per_distance(cell);
        format!("{assured} {who} leaks at least ε = {leak}{per}{found} between {texts}")
    } else if cell.below_chance {
        format!(
            "releases of {who} tell the candidates apart, and the {attack} attack reads them the wrong way: right in {:.2} % of {} trials, {assured} below chance",
            100.0 * cell.success_rate,
            cell.trials
        )
    } else {
        format!("the {attack} attack found no leak of {who} {assured}")
    };
    match cell.verdict {
        Verdict::Violation => format!("{shown}; it claims {claim}"),
        Verdict::Consistent if cell.empirical_epsilon > 0.0 => {
            format!("{shown}, within the {claim} that it claims; a cleverer attack may find more")
        }
        Verdict::Consistent => {
            format!(
                "{shown}, which does not prove its claim of {claim}; a cleverer attack may find one"
            )
        }
        Verdict::Saturated => format!(
            "{shown}; its claim of {claim} is out of reach, since {} trials can show {} at most",
            cell.trials,
            number(cell.ceiling)
        ),
        Verdict::NoClaim => format!("{shown}; between such texts it claims nothing"),
        Verdict::Inconclusive => {
            let rest = match (cell.empirical_epsilon > 0.0, cell.claimed_epsilon) {
                (true, Some(_)) => format!("; {shown}, within the {claim} that it claims"),
                (true, None) => format!("; {shown}"),
                (false, Some(_)) => format!("; its claim of {claim} was not put to a test"),
                (false, None) => String::new(),
            };
            format!(
                "most answers of the {} attack on {who} are missing, so that nothing follows from what it did not find{rest}",
                cell.attack
            )
        }
    }
}

/// The claim as a number; of one that grows with the distance of two texts, how it comes about.
fn claim_of(cell: &Cell) -> String {
    let claim = cell.claimed_epsilon.map(number).unwrap_or_default();
    if let Some(composition) = cell.composition {
        return format!("{claim} ({})", product(&composition));
    }
    match (cell.metric, cell.epsilon) {
        (Some(metric), Some(epsilon)) => format!(
            "{claim} (ε = {epsilon} times {}, the greatest distance between two texts of a set)",
            number(metric.greatest_distance)
        ),
        _ => claim,
    }
}

/// What a composed claim is the product of.
fn product(composition: &Composition) -> String {
    let several = |number: u64, what: &str| match number {
        1 => String::new(),
        number => format!("{number} {what} × "),
    };
    let units = several(composition.units, &format!("{}s", composition.unit));
    let positions = several(composition.positions, "positions");
    format!("{positions}{units}{}", composition.epsilon)
}

/// How often an attack that may abstain guessed, and how often it was right.
fn guessed(cell: &Cell) -> Option<String> {
    let guesses = cell
        .guesses
        .filter(|guesses| guesses.guessed < guesses.trials)?;
    let share = 100.0 * guesses.guessed as f64 / guesses.trials as f64;
    Some(format!(
        "the {} attack guessed in {} of {} trials ({share:.0} %), where it was sure enough, and was right in {}",
        cell.attack, guesses.guessed, guesses.trials, guesses.right
    ))
}

/// What a leak is per unit of distance, where a claim is.
fn per_distance(cell: &Cell) -> String {
    cell.metric.map_or(String::new(), |metric| {
        let per = number(cell.empirical_epsilon / metric.greatest_distance);
        format!(" ({per} per unit of distance)")
    })
}

/// The texts that a leak is between: those of the witness, if there is one.
fn between(cell: &Cell) -> String {
    let texts: Vec<String> = cell.witness_texts.iter().map(|text| quoted(text)).collect();
    match (&texts[..], cell.neighbours) {
        ([first, second], _) => format!("{first} and {second}"),
        ([others @ .., last], _) => format!("some pair of {} and {last}", others.join(", ")),
        ([], Neighbours::OneToken) => "some pair of texts that differ in one token".to_owned(),
        ([], _) => "some pair of these texts".to_owned(),
    }
}

/// The beginning of a text in quotes, on one line and without control characters.
fn quoted(text: &str) -> String {
    const CHARACTERS: usize = 60;
    let mut beginning: String = text.chars().take(CHARACTERS).collect();
    if beginning.len() < text.len() {
        beginning.push('…');
    }
    format!("{beginning:?}")
}

/// How sure a bound is, according to its estimator.
fn assurance(cell: &Cell) -> String {
    let percent = confidence(cell.alpha);
    match assurance_of(cell) {
        Assurance::Certain if cell.delta == 0.0 => "for certain".to_owned(),
        Assurance::Credible => {
            format!("with {percent} % posterior probability (which is no confidence)")
        }
        _ if cell.choices > 1 => format!(
            "at {percent} % confidence (chosen among {0} cells: alpha/{0})",
            cell.choices
        ),
        _ => format!("at {percent} % confidence"),
    }
}

/// The assurance of the cell's estimator; a confidence if its name is from another version.
fn assurance_of(cell: &Cell) -> Assurance {
    estimator::named(&cell.estimator).map_or(Assurance::Confidence, |e| e.assurance)
}

/// A cell's verdict with its sentence.
#[must_use]
pub fn with_verdict(cell: &Cell) -> String {
    format!("{}: {}.", cell.verdict, cell.explanation)
}

/// The level of a cell's confidence in per cent, as intended: 1 − 0.01 is 0.99 only after rounding.
#[must_use]
pub fn confidence(alpha: f64) -> String {
    let text = format!("{:.4}", 100.0 * (1.0 - alpha));
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// For each mechanism and verdict, the cell that shows most, in the order of the cells. Each bound is at α divided by
/// the number of the mechanism's cells, which pays for the choice among them.
#[must_use]
pub fn telling(cells: &[Cell]) -> Vec<Cell> {
    let mut telling: Vec<Cell> = Vec::new();
    for cell in cells.iter().map(paid) {
        let same =
            |other: &&mut Cell| other.mechanism == cell.mechanism && other.verdict == cell.verdict;
        match telling.iter_mut().find(same) {
            Some(other) if shows(other) <= shows(&cell) => *other = cell,
            Some(_) => {}
            None => telling.push(cell),
        }
    }
    telling
}

/// What makes one cell more telling than another: its bound; failing that, being below chance. Otherwise, in the order
/// they come, the larger ε counts: where nothing was found, it says most.
fn shows(cell: &Cell) -> (f64, bool) {
    (cell.empirical_epsilon, cell.below_chance)
}

/// A cell with the bound, the verdict and the sentence that hold even though it was chosen among others.
fn paid(cell: &Cell) -> Cell {
    let claim = cell.claimed_epsilon;
    let epsilon = cell.chosen_epsilon.unwrap_or(cell.empirical_epsilon);
    let tail = cell.alpha / 2.0 / cell.choices as f64;
    let upper = binomial::upper_limit(cell.hits, cell.trials, tail);
    let mut paid = Cell {
        empirical_epsilon: epsilon,
        guesses: cell.chosen_guesses.or(cell.guesses),
        below_chance: cell.below_chance && upper.p < 1.0 / f64::from(cell.k),
        ..cell.clone()
    };
    // The level decides whether a violation is one.
    if cell.verdict == Verdict::Violation && claim.is_some_and(|claim| epsilon <= claim) {
        paid.verdict = Verdict::Consistent;
    }
    paid.explanation = of(&paid);
    paid
}

/// What an attack learned to go by, in words: the first `most` signs.
#[must_use]
pub fn signs(cell: &Cell, most: usize) -> Option<String> {
    let sign = |sign: &Sign| {
        let (weight, words) = (sign.weight, &sign.words);
        format!("{} ({weight:+.2})", plain(words))
    };
    let signs: Vec<String> = cell.signs.iter().take(most).map(sign).collect();
    (!signs.is_empty()).then(|| format!("{} goes by: {}.", cell.attack, signs.join("; ")))
}

/// At most four significant digits, rounded down: a bound is never reported as larger than it is.
#[must_use]
pub fn number(value: f64) -> String {
    if value.is_infinite() {
        return "∞".to_owned();
    }
    if value >= 1000.0 {
        return format!("{}", value.floor());
    }
    let scale = if value >= 10.0 { 100.0 } else { 1000.0 };
    format!("{}", (value * scale).floor() / scale)
}

#[cfg(test)]
mod tests {
    use teda_core::Unit;
    use teda_core::estimator::abstain::Guesses;

    use super::*;

    fn cell(empirical: f64, claim: Option<f64>, verdict: Verdict) -> Cell {
        Cell {
            dataset: "snips".into(),
            mechanism: "krr".into(),
            epsilon: Some(2.0),
            epsilon_unit: Some(Unit::Text),
            neighbours: Neighbours::AnyTexts,
            k: 2,
            lambda: 0.0,
            attack: "embedding".into(),
            trials: 500,
            hits: 400,
            failed: 0,
            failed_mechanism: 0,
            failed_transport: 0,
            failed_attack: 0,
            success_rate: 0.8,
            success_lower: 0.75,
            alpha: 0.01,
            delta: 0.0,
            estimator: "teda".into(),
            empirical_epsilon: empirical,
            ceiling: 4.5419,
            claimed_epsilon: claim,
            verdict,
            seconds: None,
            witness: None,
            witness_texts: Vec::new(),
            explanation: String::new(),
            trained: 0,
            below_chance: false,
            choices: 1,
            chosen_epsilon: Some(empirical),
            signs: Vec::new(),
            candidates: None,
            metric: None,
            mean_units: None,
            recall: None,
            guesses: None,
            chosen_guesses: None,
            composition: None,
        }
    }

    #[test]
    fn a_claim_that_grows_with_the_distance_says_how() {
        let metric = Some(teda_results::Metric {
            greatest_distance: 1.5,
            epsilon_per_distance: 2.0,
        });
        let cell = Cell {
            metric,
            ..cell(3.0, Some(3.0), Verdict::Consistent)
        };
        let said = of(&cell);
        let claim = "within the 3 (ε = 2 times 1.5, the greatest distance between two texts of a set) that it claims";
        assert!(
            said.contains("at least ε = 3 (2 per unit of distance) by"),
            "{said}"
        );
        assert!(said.contains(claim), "{said}");
    }

    #[test]
    fn a_claim_that_is_a_product_and_an_attack_that_abstained_say_so() {
        let composition = Some(Composition {
            epsilon: 0.5,
            unit: Unit::Token,
            units: 4,
            positions: 1,
        });
        let guesses = Some(Guesses {
            guessed: 200,
            right: 199,
            trials: 500,
        });
        let said = of(&Cell {
            composition,
            guesses,
            ..cell(1.0, Some(2.0), Verdict::Consistent)
        });
        assert!(
            said.contains("within the 2 (4 tokens × 0.5) that it claims"),
            "{said}"
        );
        let often = "the embedding attack guessed in 200 of 500 trials (40 %), where it was sure enough, and was right in 199";
        assert!(said.ends_with(often), "{said}");
    }

    #[test]
    fn every_verdict_has_its_sentence() {
        let say = |empirical, claim, verdict| of(&cell(empirical, claim, verdict));
        assert_eq!(
            say(3.1149, Some(2.0), Verdict::Violation),
            "at 99 % confidence krr (nominal ε = 2) leaks at least ε = 3.114 by the embedding attack between some pair of these texts; it claims 2"
        );
        assert!(say(1.5, Some(2.0), Verdict::Consistent).contains("within the 2 that it claims"));
        assert!(say(0.0, Some(2.0), Verdict::Consistent).contains("does not prove its claim of 2"));
        let saturated = say(2.61, Some(8300.0), Verdict::Saturated);
        assert!(saturated.ends_with(
            "its claim of 8300 is out of reach, since 500 trials can show 4.541 at most"
        ));
        assert!(say(0.02, None, Verdict::NoClaim).ends_with("it claims nothing"));
    }

    #[test]
    fn what_failed_is_said_and_most_of_it_leaves_nothing_to_say() {
        let say = |failed: [u64; 3], verdict| {
            let [failed_mechanism, failed_transport, failed_attack] = failed;
            let cell = Cell {
                failed_mechanism,
                failed_transport,
                failed_attack,
                ..cell(0.0, Some(2.0), verdict)
            };
            of(&cell)
        };
        let few = say([5, 5, 5], Verdict::Consistent);
        assert!(few.ends_with("a cleverer attack may find one"), "{few}");
        let said = say([50, 10, 6], Verdict::Consistent);
        let expected = "; 50 of 500 trials (10 %) have no release: the mechanism failed; 10 of 500 trials (2 %) were lost on the way: time-outs or a failing server; 6 of 500 trials (1 %) have no scores: the embedding attack failed";
        assert!(said.ends_with(expected), "{said}");
        let said = say([0, 0, 300], Verdict::Inconclusive);
        assert!(
            said.contains("its claim of 2 was not put to a test; 300 of 500"),
            "{said}"
        );
        assert!(!said.contains("no leak"), "{said}");
    }

    #[test]
    fn a_witness_is_quoted_and_harmless() {
        let say = |texts: &[&str]| {
            let cell = Cell {
                witness_texts: texts.iter().map(|text| (*text).to_owned()).collect(),
                ..cell(1.5, Some(2.0), Verdict::Consistent)
            };
            of(&cell)
        };
        assert!(
            say(&["play jazz", "was läuft"]).contains(" between \"play jazz\" and \"was läuft\", ")
        );
        assert!(say(&["a", "b", "c"]).contains(" between some pair of \"a\", \"b\" and \"c\", "));
        let hostile = "\u{1b}[31m\r\n\u{9b}2J\u{202e}\u{2028}\"";
        let said = say(&[hostile, "b"]);
        assert!(
            said.contains(r#"between "\u{1b}[31m\r\n\u{9b}2J\u{202e}\u{2028}\"" and"#),
            "{said}"
        );
        assert!(!said.chars().any(char::is_control));
        let long = say(&["é".repeat(61).as_str(), "é".repeat(60).as_str()]);
        assert!(
            long.contains(&format!("\"{0}…\" and \"{0}\"", "é".repeat(60))),
            "{long}"
        );
    }

    #[test]
    fn a_sentence_says_how_sure_its_estimator_is() {
        let say = |estimator: &str| {
            let cell = Cell {
                estimator: estimator.into(),
                ..cell(1.5, Some(2.0), Verdict::Consistent)
            };
            of(&cell)
        };
        assert!(say("abstain").starts_with("at 99 % confidence krr"));
        assert!(say("certificate").starts_with("for certain krr"));
        assert!(say("joint-beta").starts_with("with 99 % posterior probability"));
    }

    #[test]
    fn the_most_telling_cells_are_kept_in_order() {
        let cells = [
            cell(0.1, None, Verdict::NoClaim),
            cell(3.0, Some(2.0), Verdict::Violation),
            cell(0.2, None, Verdict::NoClaim),
        ];
        let kept: Vec<f64> = telling(&cells)
            .iter()
            .map(|c| c.empirical_epsilon)
            .collect();
        assert_eq!(kept, [0.2, 3.0]);
    }
}
