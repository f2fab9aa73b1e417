//! The order in which cells are shown: the worst first.

use std::cmp::Ordering;

use teda_core::Verdict;
use teda_results::Cell;

use crate::report::explanation;

/// The place of the cell that shows most.
pub fn worst(cells: &[Cell]) -> Option<usize> {
    (0..cells.len()).min_by(|a, b| worst_first(&cells[*a], &cells[*b]))
}

/// The order in which cells are shown: a violation before others, then the greatest bound, then what was assured least. One cell
/// that could show nothing does not hide what another showed; of several that showed nothing, the first is the one that could
/// not have.
pub fn worst_first(a: &Cell, b: &Cell) -> Ordering {
    let violates = |cell: &Cell| cell.verdict == Verdict::Violation;
    let by_violation = violates(b).cmp(&violates(a));
    let by_bound = b.empirical_epsilon.total_cmp(&a.empirical_epsilon);
    let by_verdict = assured(a.verdict).cmp(&assured(b.verdict));
    by_violation.then(by_bound).then(by_verdict)
}

/// How much a verdict assures, the least first.
fn assured(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Violation => 0,
        Verdict::Inconclusive => 1,
        Verdict::NoClaim => 2,
        Verdict::Saturated => 3,
        Verdict::Consistent => 4,
    }
}

/// Cells with bounds and verdicts that pay for the choice among them ([`explanation::telling`]); the worst first.
#[must_use]
pub fn telling(cells: &[Cell]) -> Vec<Cell> {
    let mut telling = explanation::telling(cells);
    telling.sort_by(worst_first);
    telling
}

/// The cell that shows most of each mechanism, with a bound and a verdict that pay for this choice; the worst first.
#[must_use]
pub fn worst_of_each(cells: &[Cell]) -> Vec<Cell> {
    let mut kept: Vec<Cell> = Vec::new();
    for cell in telling(cells) {
        if kept.iter().all(|other| other.mechanism != cell.mechanism) {
            kept.push(cell);
        }
    }
    kept
}

/// The cells in groups of the same data set, mechanism, relation, k and λ, the group with the worst cell first; within a group
/// in the order in which they were given, which is that of a curve.
#[must_use]
pub fn by_group(cells: &[Cell]) -> Vec<&Cell> {
    let same = |a: &Cell, b: &Cell| {
        a.dataset == b.dataset
            && a.mechanism == b.mechanism
            && a.neighbours == b.neighbours
            && a.k == b.k
            && a.lambda == b.lambda
    };
    let mut groups: Vec<Vec<&Cell>> = Vec::new();
    for cell in cells {
        match groups.iter_mut().find(|group| same(group[0], cell)) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups.sort_by(|a, b| worst_first(most(a), most(b)));
    groups.concat()
}

/// The worst of a group.
fn most<'a>(group: &[&'a Cell]) -> &'a Cell {
    let others = group[1..].iter().copied();
    others.fold(group[0], |worst, cell| match worst_first(cell, worst) {
        Ordering::Less => cell,
        _ => worst,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Audit;

    #[test]
    fn a_violation_comes_first_and_a_mechanism_is_named_once() {
        let cells = |mechanism: &str| {
            let audit = Audit::of(mechanism).dataset("categories:2");
            let audit = audit.epsilons([1.0, 2.0]).lambda(0.0).trials(4000);
            let report = audit.attacks(["overlap"]).run().unwrap();
            report.cells().to_vec()
        };
        let cells = [cells("krr"), cells("krr-half-noise")].concat();
        let order: Vec<(&str, Option<f64>)> = by_group(&cells)
            .iter()
            .map(|cell| (&cell.mechanism[..], cell.epsilon))
            .collect();
        let (broken, sound) = ("krr-half-noise", "krr");
        let expected = [
            (broken, Some(1.0)),
            (broken, Some(2.0)),
            (sound, Some(1.0)),
            (sound, Some(2.0)),
        ];
        assert_eq!(order, expected);
        let named: Vec<String> = worst_of_each(&cells)
            .into_iter()
            .map(|cell| cell.mechanism)
            .collect();
        assert_eq!(named, [broken, sound]);
    }

    #[test]
    fn a_cell_that_could_show_nothing_does_not_hide_a_leak() {
        let audit = Audit::of("identity").dataset("categories:2").lambda(0.0);
        let report = audit.trials(400).attacks(["overlap"]).run().unwrap();
        let leak = report.cells()[0].clone();
        assert!(leak.empirical_epsilon > 3.0);
        let missing = Cell {
            attack: "llm".to_owned(),
            empirical_epsilon: 0.0,
            chosen_epsilon: Some(0.0),
            verdict: Verdict::Inconclusive,
            ..leak.clone()
        };
        for cells in [[leak.clone(), missing.clone()], [missing, leak]] {
            let [worst] = &worst_of_each(&cells)[..] else {
                panic!("one mechanism has one sentence");
            };
            assert_eq!(worst.attack, "overlap");
        }
    }

    #[test]
    fn a_sentence_of_no_leak_does_not_hide_that_most_answers_are_missing() {
        let audit = Audit::of("krr").dataset("categories:2").lambda(0.0);
        let report = audit.epsilons([0.01]).trials(400);
        let report = report.attacks(["random"]).run().unwrap();
        let nothing = Cell {
            empirical_epsilon: 0.0,
            chosen_epsilon: Some(0.0),
            verdict: Verdict::Consistent,
            ..report.cells()[0].clone()
        };
        let missing = Cell {
            attack: "llm".to_owned(),
            verdict: Verdict::Inconclusive,
            ..nothing.clone()
        };
        for cells in [[nothing.clone(), missing.clone()], [missing, nothing]] {
            assert_eq!(worst_of_each(&cells)[0].attack, "llm");
        }
    }
}
