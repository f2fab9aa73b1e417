//! The four leaks of DP-ST as published, each audited alone: with one switch open an audit refutes the claimed ε
//! between two texts that differ where it shows, and with all closed it does not.

use teda::Audit;
use teda_core::Verdict;

const EPSILON: f64 = 1.0;
const TRIALS: u64 = 2000;

/// Texts with one triple, of which two are of different clusters; with three; and with none.
const DOOR: &str = "He opened the old door.";
const DISEASE: &str = "The patient has a rare disease.";
const THREE: &str =
    "He opened the old door. A dog barked at the moon. The doctor closed the window.";
const NONE: &str = "Hello, hello!";
/// The same triple as [`DOOR`], in more words.
const LONGER: &str = "Well, well, well, oh, oh, well, so, so, so, so, oh: He opened the old door.";

/// One leak: the switch, the attack that sees it, two texts that differ in it.
const LEAKS: [(&str, &str, &str, [&str; 2]); 4] = [
    ("output_length", "as-original", "length", [DOOR, LONGER]),
    ("triples", "as-extracted", "likelihood-ratio", [DOOR, THREE]),
    ("cluster", "nearest", "likelihood-ratio", [DOOR, DISEASE]),
    (
        "without_triples",
        "original",
        "likelihood-ratio",
        [DOOR, NONE],
    ),
];

fn verdict(open: Option<(&str, &str)>, attack: &str, texts: [&str; 2]) -> (Verdict, f64) {
    let closed = [
        ("output_length", "fixed"),
        ("triples", "fixed"),
        ("cluster", "private"),
        ("without_triples", "public"),
    ];
    let audit = Audit::of("dp-st").epsilons([EPSILON]).texts(texts);
    let audit = closed
        .into_iter()
        .filter(|(name, _)| open.is_none_or(|(opened, _)| opened != *name))
        .chain(open)
        .fold(audit, |audit, (name, value)| audit.parameter(name, value));
    let audit = audit.attacks([attack]).lambda(0.0).trials(TRIALS).seed(5);
    let report = audit.run().unwrap();
    let cell = &report.cells()[0];
    assert_eq!(cell.claimed_epsilon, Some(EPSILON));
    (cell.verdict, cell.empirical_epsilon)
}

#[test]
fn every_open_switch_is_a_violation_and_closed_ones_are_not() {
    for (name, value, attack, texts) in LEAKS {
        let (open, bound) = verdict(Some((name, value)), attack, texts);
        assert_eq!(open, Verdict::Violation, "{name}: {bound}");
        let (closed, bound) = verdict(None, attack, texts);
        assert_eq!(closed, Verdict::Consistent, "{name}, closed: {bound}");
    }
}
