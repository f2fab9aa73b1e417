//! Do two attacks see the same?
//!
//! # Definition
//! Two attacks that judged the same trials of a series: trials in which both are right, only the first, only the second, or
//! neither; of those that both count, which leaves out what one of them learned from. If both were right equally often, a trial in
//! which exactly one is right would be either's with probability ½: p is the exact two-sided level of that (McNemar 1947).
//! An example of each kind of disagreement is the first trial that shows it.
//!
//! # Source
//! TeDA (arXiv 2603.22968), Table 2: complementary behaviour of LLM and embedding attacks.

use std::collections::HashMap;

use serde::Serialize;
use teda_core::stats::binomial::{self, Probability};
use teda_core::{Error, Result, Unit, plain_lines, shown};
use teda_results::{CellPlan, Row, guesses, trials};

use crate::report::columns::wrap;
use crate::report::finished_run::FinishedRun;
use crate::report::grid::{Grid, Role, comment};
use crate::report::mechanism::nominal;
use crate::report::rejudge::lists;

/// How two attacks on one series compare.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agreement {
    /// The dataset's name.
    pub dataset: String,
    /// The mechanism's name.
    pub mechanism: String,
    /// The nominal ε, if it has one.
    pub epsilon: Option<f64>,
    /// What one nominal ε is spent on.
    pub epsilon_unit: Option<Unit>,
    /// Candidates per trial.
    pub k: u32,
    /// Sampling temperature of the candidate sets.
    pub lambda: f64,
    /// The two attacks.
    pub attacks: [String; 2],
    /// Trials that both count.
    pub trials: u64,
    /// Trials in which both are right.
    pub both: u64,
    /// Trials in which only the first is right, and only the second.
    pub only: [u64; 2],
    /// Trials in which both are wrong.
    pub neither: u64,
    /// The level at which they are right equally often.
    pub p: f64,
    /// The first trial in which only the first is right, and only the second.
    pub examples: [Option<Example>; 2],
}

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Example {
    /// Its number.
    pub trial: u64,
    /// What was released.
    pub release: String,
    /// The text that was rewritten.
    pub source: String,
    /// The text that the wrong attack took it for.
    pub guess: String,
}

/// Each two attacks on each series of a stored run.
///
/// # Errors
/// Usage, for a run without rows, or with one attack alone; failed, if rows or texts cannot be read.
pub fn agreements(stored: &FinishedRun, limits: teda_datasets::Limits) -> Result<Vec<Agreement>> {
    stored.needs_rows()?;
    let cells = &stored.manifest.cells;
    let pairs: Vec<[usize; 2]> = (0..cells.len())
        .flat_map(|a| (a + 1..cells.len()).map(move |b| [a, b]))
        .filter(|[a, b]| cells[*a].series == cells[*b].series)
        .collect();
    if pairs.is_empty() {
        return Err(Error::usage(format!(
            "{}: its cells have one attack each, and it takes two to disagree: audit with --attack embedding,overlap or others",
            stored.directory.display()
        )));
    }
    let right = hits(stored)?;
    let mut found: Vec<Agreement> = pairs
        .iter()
        .map(|pair| compare(pair.map(|cell| (&cells[cell], &right[cell]))))
        .collect();
    examples(stored, &pairs, &right, &mut found, limits)?;
    Ok(found)
}

/// Whether an attack was right, by trial: 0 and 1, and 2 where there is no row.
type Hits = Vec<u8>;

/// No row.
const MISSING: u8 = 2;

/// The rows of a run, those of attacks that learned last.
fn rows(stored: &FinishedRun) -> Result<Box<dyn Iterator<Item = Result<Row>>>> {
    let cells = stored.manifest.cells.clone();
    let is_deferred = move |row: &Result<Row>| {
        let cell = row
            .as_ref()
            .ok()
            .and_then(|row| cells.get(row.cell as usize));
        cell.is_some_and(CellPlan::is_deferred)
    };
    let own = trials::rows(&stored.directory)?.filter(move |row| !is_deferred(row));
    Ok(match &stored.manifest.guesses_sha256 {
        Some(sha256) => Box::new(own.chain(guesses::rows(&stored.directory, sha256)?)),
        None => Box::new(own),
    })
}

fn hits(stored: &FinishedRun) -> Result<Vec<Hits>> {
    let range = stored.config.trial_range();
    let mut hits: Vec<Hits> = vec![Vec::new(); stored.manifest.cells.len()];
    for row in rows(stored)? {
        let row = row?;
        let place = row.trial.checked_sub(range.start);
        let (Some(cell), Some(place)) = (hits.get_mut(row.cell as usize), place) else {
            return Err(Error::failed("a row does not fit the run's manifest"));
        };
        if cell.len() <= place as usize {
            cell.resize(place as usize + 1, MISSING);
        }
        cell[place as usize] = u8::from(row.hit);
    }
    Ok(hits)
}

/// Trials of two attacks that both count.
fn counted<'a>(cells: [(&CellPlan, &'a Hits); 2]) -> impl Iterator<Item = (usize, [bool; 2])> + 'a {
    let [(a, first), (b, second)] = cells;
    let from = a.uncounted().max(b.uncounted()) as usize;
    let both = first.iter().zip(second).enumerate().skip(from);
    both.filter(|(_, (a, b))| **a != MISSING && **b != MISSING)
        .map(|(place, (a, b))| (place, [*a == 1, *b == 1]))
}

fn compare(cells: [(&CellPlan, &Hits); 2]) -> Agreement {
    let plan = cells[0].0;
    let mut agreement = Agreement {
        dataset: plan.dataset.clone(),
        mechanism: plan.mechanism.clone(),
        epsilon: plan.epsilon,
        epsilon_unit: plan.epsilon_unit,
        k: plan.k,
        lambda: plan.lambda,
        attacks: cells.map(|(plan, _)| plan.attack.clone()),
        trials: 0,
        both: 0,
        only: [0, 0],
        neither: 0,
        p: 1.0,
        examples: [None, None],
    };
    for (_, right) in counted(cells) {
        agreement.trials += 1;
        match right {
            [true, true] => agreement.both += 1,
            [true, false] => agreement.only[0] += 1,
            [false, true] => agreement.only[1] += 1,
            [false, false] => agreement.neither += 1,
        }
    }
    agreement.p = mcnemar(agreement.only);
    agreement
}

/// Twice the probability that of as many fair coins at least as many show the more frequent side.
fn mcnemar([a, b]: [u64; 2]) -> f64 {
    let half = Probability { p: 0.5, q: 0.5 };
    (2.0 * binomial::at_least(a.max(b), a + b, half)).min(1.0)
}

/// Fills in the first trial of each kind of disagreement.
fn examples(
    stored: &FinishedRun,
    pairs: &[[usize; 2]],
    right: &[Hits],
    found: &mut [Agreement],
    limits: teda_datasets::Limits,
) -> Result<()> {
    let cells = &stored.manifest.cells;
    let start = stored.config.trial_range().start;
    // The row of the attack that is wrong has its guess: (cell, trial) → which pairs ask for it.
    let mut asked: HashMap<(u32, u64), Vec<(usize, usize)>> = HashMap::new();
    for (pair, [a, b]) in pairs.iter().enumerate() {
        for side in 0..2 {
            let only = |(_, right): &(usize, [bool; 2])| right[side] && !right[1 - side];
            let both = [(&cells[*a], &right[*a]), (&cells[*b], &right[*b])];
            if let Some((place, _)) = counted(both).find(only) {
                let wrong = [*b, *a][side] as u32;
                let trial = (wrong, start + place as u64);
                asked.entry(trial).or_default().push((pair, side));
            }
        }
    }
    if asked.is_empty() {
        return Ok(());
    }
    let lists = lists(stored, limits)?;
    for row in rows(stored)? {
        let row = row?;
        let Some(places) = asked.get(&(row.cell, row.trial)) else {
            continue;
        };
        let list = cells[row.cell as usize].texts.unwrap_or(0) as usize;
        let text = |candidate: u32| {
            let text = row.candidates.get(candidate as usize);
            let text = text.and_then(|text| lists.get(list)?.get(*text as usize));
            text.cloned()
                .ok_or_else(|| Error::failed("a row's candidates do not fit the run's texts"))
        };
        let example = Example {
            trial: row.trial,
            release: row.release.clone(),
            source: text(row.secret)?,
            guess: text(row.guess)?,
        };
        for (pair, side) in places {
            found[*pair].examples[*side] = Some(example.clone());
        }
    }
    Ok(())
}

/// One line per pair of attacks, and the examples, in lines of at most `width` columns.
#[must_use]
pub fn render(agreements: &[Agreement], width: usize) -> String {
    let (grid, said) = parts(agreements);
    grid.render(width) + &wrap(&said, width)
}

/// The same as Markdown, without the examples.
#[must_use]
pub fn markdown(agreements: &[Agreement]) -> String {
    parts(agreements).0.markdown() + "\n" + LEVEL
}

/// The same as LaTeX, without the examples.
#[must_use]
pub fn latex(agreements: &[Agreement]) -> String {
    parts(agreements).0.latex() + &comment(LEVEL)
}

const LEVEL: &str = "p: the level at which both are right equally often (exact McNemar test).\n";

/// The table, and what stands below it.
fn parts(agreements: &[Agreement]) -> (Grid, String) {
    let mut grid = Grid::of_results()
        .words("attacks", Role::Key)
        .numbers("trials", Role::Detail(0))
        .numbers("both right", Role::Value)
        .numbers("only the first", Role::Value)
        .numbers("only the second", Role::Value)
        .numbers("neither", Role::Value)
        .numbers("p", Role::Value);
    let mut said = format!("\n{LEVEL}");
    for one in agreements {
        let epsilon = nominal(one.epsilon, one.epsilon_unit);
        grid.add([
            one.dataset.clone(),
            one.mechanism.clone(),
            epsilon.clone(),
            one.k.to_string(),
            one.lambda.to_string(),
            one.attacks.join(", "),
            one.trials.to_string(),
            one.both.to_string(),
            one.only[0].to_string(),
            one.only[1].to_string(),
            one.neither.to_string(),
            match one.p {
                p if p < 1e-4 => format!("{p:.1e}"),
                p => format!("{p:.4}"),
            },
        ]);
        for (side, example) in one.examples.iter().enumerate() {
            let Some(example) = example else { continue };
            let [right, wrong] = [&one.attacks[side], &one.attacks[1 - side]];
            said += &format!(
                "\n{} ({epsilon}), trial {}: {right} right, {wrong} wrong\n  released  {}\n  text      {}\n  taken for {}\n",
                one.mechanism,
                example.trial,
                shown(&example.release),
                shown(&example.source),
                shown(&example.guess),
            );
        }
    }
    (grid, plain_lines(&said).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Audit;
    use crate::report::finished_run;

    #[test]
    fn a_fair_coin_has_its_exact_level() {
        assert_eq!(mcnemar([0, 0]), 1.0);
        assert_eq!(mcnemar([3, 3]), 1.0);
        // 2 (1 + 10 + 45) / 2^10.
        assert!((mcnemar([2, 8]) - 0.109_375).abs() < 1e-12);
        assert!((mcnemar([8, 2]) - 0.109_375).abs() < 1e-12);
    }

    #[test]
    fn trials_are_counted_as_both_attacks_count_them() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let audit = Audit::of("em").dataset("snips").epsilons([40.0]);
        let audit = audit.trials(900).attacks(["overlap", "random", "learned"]);
        audit.out(&out).run().unwrap();
        let stored = finished_run::open(&out).unwrap();
        let found = agreements(&stored, teda_datasets::Limits::default()).unwrap();
        let names: Vec<_> = found.iter().map(|one| one.attacks.join(" ")).collect();
        assert_eq!(
            names,
            ["overlap random", "overlap learned", "random learned"]
        );
        // What `learned` learned from is left out.
        let trials: Vec<u64> = found.iter().map(|one| one.trials).collect();
        assert_eq!(trials, [900, 630, 630]);
        for one in &found {
            let all = one.both + one.only[0] + one.only[1] + one.neither;
            assert_eq!(all, one.trials);
            for (example, only) in one.examples.iter().zip(one.only) {
                assert_eq!(example.is_some(), only > 0);
                assert!(example.iter().all(|e| e.source != e.guess));
            }
        }
        let cells = stored.judge_as_it_was().unwrap();
        assert_eq!(found[0].both + found[0].only[0], cells[0].hits);
        assert!(found[0].p < 1e-6, "{}", found[0].p);
        let said = render(&found, 80);
        assert!(said.contains("overlap right, random wrong"), "{said}");
    }

    #[test]
    fn it_takes_two_to_disagree() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let audit = Audit::of("krr").dataset("categories:3").epsilons([2.0]);
        let audit = audit.lambda(0.0).trials(50).attacks(["overlap"]);
        audit.out(&out).run().unwrap();
        let stored = finished_run::open(&out).unwrap();
        let refused = agreements(&stored, teda_datasets::Limits::default()).unwrap_err();
        assert!(refused.to_string().contains("takes two"), "{refused}");
    }
}
