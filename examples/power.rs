//! The bounds of a run's attacks as shares of what the best attack there is shows on the same trials.
//!
//! ```text
//! teda audit --mech krr --limit 2 --lambda 0 --epsilon 5 --attack learned,embedding,likelihood-ratio --out run
//! cargo run --release --example power -- run
//! ```
//!
//! An attack that learns is not counted on the trials that it learned from, and an audit's own table counts the other
//! attacks on all trials. Here no attack is counted on them: one estimator, the same counted trials for all, as a table in
//! Markdown for each estimator. An estimator that chooses a threshold chooses it by the trials that are not counted.
//! The best attack is `likelihood-ratio`; what it lacks nobody can show.

use std::error::Error;
use std::path::Path;

use teda_core::estimator::{Bound, Design, Evidence, Level, Observed, named};
use teda_results::{CellPlan, Manifest, Row, Status, guesses, trials};

/// The attack that the others are shares of.
const OPTIMUM: &str = "likelihood-ratio";
/// What the bounds rest on, a table each.
const ESTIMATORS: [&str; 2] = ["teda", "abstain"];
/// Where an optimum lies that tells attacks apart: below, there is little to find, and above, the number of trials hides
/// what is missed.
const TELLING: (f64, f64) = (0.5, 0.9);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let runs: Vec<String> = std::env::args().skip(1).collect();
    if runs.is_empty() {
        return Err("name one or more run directories of teda audit".into());
    }
    let mut all = Vec::new();
    for run in &runs {
        all.extend(games(Path::new(run)).map_err(|e| format!("{run}: {e}"))?);
    }
    let mut attacks: Vec<&str> = Vec::new();
    for attack in all.iter().flat_map(Game::attacks) {
        if attack != OPTIMUM && !attacks.contains(&attack) {
            attacks.push(attack);
        }
    }
    for (place, estimator) in ESTIMATORS.iter().enumerate() {
        println!("{}", table(&all, &attacks, place, estimator));
    }
    Ok(())
}

/// The cells that judged the same releases.
struct Game {
    /// Mechanism, texts, neighbours and nominal ε, as they stand in the table.
    names: [String; 4],
    /// Trials that no attack is counted on.
    uncounted: u64,
    cells: Vec<Judged>,
}

/// What an attack showed.
struct Judged {
    /// The cell's place in the manifest.
    place: usize,
    attack: String,
    k: usize,
    /// Trials that were read.
    read: u64,
    trials: u64,
    /// By estimator.
    evidence: Vec<Box<dyn Evidence>>,
}

impl Game {
    fn attacks(&self) -> impl Iterator<Item = &str> {
        self.cells.iter().map(|cell| &cell.attack[..])
    }

    /// What an attack's counted trials show by the estimator at `place`.
    fn bound(&self, attack: &str, place: usize) -> Option<Bound> {
        let cell = self.cells.iter().find(|cell| cell.attack == attack)?;
        Some(cell.evidence[place].bound())
    }
}

impl Judged {
    /// Takes the next trial.
    fn take(&mut self, row: &Row, uncounted: u64) -> Result<()> {
        let (secret, guess) = (row.secret as usize, row.guess as usize);
        if row.trial != self.read || secret >= self.k || guess >= self.k {
            return Err(format!(
                "the row of cell {}, trial {} is not the one expected, trial {} of {} candidates",
                row.cell, row.trial, self.read, self.k
            )
            .into());
        }
        self.read += 1;
        let seen = Observed {
            candidates: &row.candidates,
            secret,
            guess,
            margin: row.margin,
            failure: row.cause,
            log_likelihoods: &row.log_likelihoods,
        };
        for evidence in &mut self.evidence {
            match row.trial < uncounted {
                true => evidence.tune(&seen)?,
                false => evidence.record(&seen)?,
            }
        }
        Ok(())
    }
}

/// The games of a run, with all their trials.
fn games(directory: &Path) -> Result<Vec<Game>> {
    let manifest = Manifest::load(directory)?;
    if manifest.status != Status::Complete || manifest.shard.is_some() {
        return Err("not complete, or a part of a run: resume or merge it first".into());
    }
    let mut games = begin(&manifest)?;
    let deferred = |row: &Row| {
        let cell = manifest.cells.get(row.cell as usize);
        cell.is_some_and(CellPlan::is_deferred)
    };
    for row in trials::rows(directory)? {
        let row = row?;
        // Where an attack that learns has rows here, its guesses in them are by chance.
        if !deferred(&row) {
            add(&mut games, &row)?;
        }
    }
    if let Some(sha256) = &manifest.guesses_sha256 {
        guesses::rows(directory, sha256)?.try_for_each(|row| add(&mut games, &row?))?;
    }
    let mut cells = games.iter().flat_map(|game| &game.cells);
    match cells.find(|cell| cell.read != cell.trials) {
        Some(cell) => Err(format!(
            "{} has {} of {} trials: audit with --keep rows and without --until",
            cell.attack, cell.read, cell.trials
        )
        .into()),
        None => Ok(games),
    }
}

fn add(games: &mut [Game], row: &Row) -> Result<()> {
    let place = row.cell as usize;
    let found = games.iter_mut().find_map(|game| {
        let cell = game.cells.iter_mut().find(|cell| cell.place == place)?;
        Some((cell, game.uncounted))
    });
    let (cell, uncounted) =
        found.ok_or_else(|| format!("a row of cell {place}, which there is not"))?;
    cell.take(row, uncounted)
}

/// The games of a run without a trial.
fn begin(manifest: &Manifest) -> Result<Vec<Game>> {
    let mut series: Vec<Option<u32>> = manifest.cells.iter().map(|cell| cell.series).collect();
    series.dedup();
    series
        .into_iter()
        .map(|series| {
            let cells = manifest.cells.iter().enumerate();
            let cells: Vec<(usize, &CellPlan)> =
                cells.filter(|(_, cell)| cell.series == series).collect();
            let uncounted = cells.iter().map(|(_, cell)| cell.uncounted()).max();
            let uncounted = uncounted.unwrap_or(0);
            let (_, first) = cells[0];
            let data = manifest.datasets.iter().find(|d| d.name == first.dataset);
            let texts = data.map_or(0, |data| data.texts);
            let epsilon = first
                .epsilon
                .map_or("-".into(), |epsilon| epsilon.to_string());
            Ok(Game {
                names: [
                    first.mechanism.clone(),
                    format!("{texts} of {}", first.dataset),
                    first.neighbours.to_string(),
                    epsilon,
                ],
                uncounted,
                cells: cells
                    .into_iter()
                    .map(|(place, cell)| judged(place, cell, uncounted))
                    .collect::<Result<_>>()?,
            })
        })
        .collect()
}

fn judged(place: usize, cell: &CellPlan, uncounted: u64) -> Result<Judged> {
    let design = Design {
        k: cell.k as usize,
        trials: cell.trials.saturating_sub(uncounted),
        tuning: uncounted,
        level: Level::new(cell.alpha)?,
        delta: cell.delta,
    };
    let begin = |name: &&str| Ok((named(name)?.begin)(design));
    Ok(Judged {
        place,
        attack: cell.attack.clone(),
        k: design.k,
        read: 0,
        trials: cell.trials,
        evidence: ESTIMATORS.iter().map(begin).collect::<Result<_>>()?,
    })
}

/// The bounds by the estimator at `place`, in Markdown.
fn table(games: &[Game], attacks: &[&str], place: usize, estimator: &str) -> String {
    let mut lines = vec![format!("### `--estimator {estimator}`\n")];
    let head = [
        "mechanism",
        "texts",
        "neighbours",
        "ε",
        "ceiling",
        "optimum",
    ];
    let heads: Vec<&str> = head.into_iter().chain(attacks.iter().copied()).collect();
    lines.push(format!("| {} | best share |", heads.join(" | ")));
    lines.push(format!("|---|---|---|{}", "---:|".repeat(heads.len() - 2)));
    for game in games {
        let Some(optimum) = game.bound(OPTIMUM, place) else {
            continue;
        };
        let reached = optimum.epsilon / ceiling(game, place);
        // The others are not as telling.
        let mark = match reached >= TELLING.0 && reached <= TELLING.1 {
            true => "",
            false => " *",
        };
        let mut row = game.names.to_vec();
        row.push(format!("{:.2}", ceiling(game, place)));
        row.push(format!("{:.2}{mark}", optimum.epsilon));
        let mut best: Option<f64> = None;
        for attack in attacks {
            let bound = game.bound(attack, place);
            let share = bound.and_then(|bound| share(bound.epsilon, optimum.epsilon));
            best = share.into_iter().chain(best).reduce(f64::max);
            row.push(match (bound, share) {
                (None, _) => "-".into(),
                (Some(bound), None) => format!("{:.2}", bound.epsilon),
                (Some(bound), Some(share)) => {
                    format!("{:.2} ({:.0} %)", bound.epsilon, 100.0 * share)
                }
            });
        }
        row.push(best.map_or("-".into(), |best| format!("{:.0} %", 100.0 * best)));
        lines.push(format!("| {} |", row.join(" | ")));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The most that the trials can show, whatever the attack.
fn ceiling(game: &Game, place: usize) -> f64 {
    let bounds = game.cells.iter().map(|cell| cell.evidence[place].bound());
    bounds.map(|bound| bound.ceiling).fold(0.0, f64::max)
}

/// A bound's share of the optimum's; none where that shows nothing.
fn share(bound: f64, optimum: f64) -> Option<f64> {
    (optimum > 0.0).then(|| bound / optimum)
}
