//! Measures the releases of a run.
//!
//! # Definition
//! A trial's source is the secret candidate of its row, and its release stands there, too. Every row of a series counts, those
//! that an attack learned from as well: what a release is good for does not depend on who looks at it. A trial without a release
//! has no score; such trials are counted and shown.
//!
//! # Guarantee
//! Rows are read in order, in blocks of a fixed size, and scores are summed in that order: the same figures for any number of
//! threads, and whether the rows were made in one piece or merged. Memory does not grow with the trials.

use std::sync::Arc;

use statrs::distribution::{ContinuousCDF, StudentsT};
use teda_attacks::Choice;
use teda_core::{Error, Result};
use teda_results::{CellPlan, Row, UtilityCell, trials};
use teda_utilities::{Context, Corpus, Entry, Needs, Pair, Utility, registry};

use crate::audit::attacks_on_rows::is_release;
use crate::models::{Access, Models, Wanted};
use crate::report::finish;
use crate::report::finished_run::FinishedRun;
use crate::report::rejudge::lists;

/// Rows read before they are measured.
const BLOCK: usize = 1 << 12;

/// What is measured, and with which models.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The utilities, by name.
    pub utilities: Vec<String>,
    /// The encoder, if different from the run's.
    pub encoder: Option<String>,
    /// The language model of the perplexity, if different from the run's.
    pub scorer: Option<String>,
}

impl Asked {
    /// The utilities built on their models.
    fn built(&self, stored: &FinishedRun, access: &Access) -> Result<Vec<Measure>> {
        let entries = registry::entries(&self.utilities)?;
        let encoder = self.encoder.as_ref().unwrap_or(&stored.config.encoder);
        let scorer = self.scorer.as_ref().unwrap_or(&stored.config.scorer);
        let needs = |need| entries.iter().any(|entry| entry.needs == need);
        let own = stored.config.wanted();
        let wanted = Wanted {
            encoder: match needs(Needs::Encoder) {
                true => encoder.clone(),
                false => "builtin".to_owned(),
            },
            scorer: scorer.clone(),
            scores: needs(Needs::Scorer),
            rewriters: Vec::new(),
            then: None,
            judges: false,
            ..own
        };
        let models = Models::load(&wanted, access)?;
        let context = Context {
            encoder: (models.encoder.clone(), encoder.clone()),
            scorer: models.scorer().map(|model| {
                let name = match &scorer[..] {
                    "auto" => "builtin",
                    name => name,
                };
                (model, name.to_owned())
            }),
        };
        let build = |entry: &'static Entry| {
            let utility = (entry.build)(&context)?;
            Ok(Measure { entry, utility })
        };
        entries.into_iter().map(build).collect()
    }
}

/// What is done, in words.
const MEASURING: &str = "measuring utilities";

/// A utility at work.
struct Measure {
    entry: &'static Entry,
    utility: Box<dyn Utility>,
}

/// Measures the releases of a stored run: for each series, each utility.
///
/// # Errors
/// Usage, for unknown utilities or a run without rows; failed, if rows or texts cannot be read or a model fails.
pub fn measure(stored: &FinishedRun, asked: &Asked, access: &Access) -> Result<Vec<UtilityCell>> {
    stored.needs_rows()?;
    let measures = asked.built(stored, access)?;
    let lists = lists(stored, access.limits)?;
    let cells = &stored.manifest.cells;
    let mut series: Vec<Series<'_>> = Vec::new();
    for first in first_cells(cells) {
        let texts = lists
            .get(cells[first].texts.unwrap_or(0) as usize)
            .ok_or_else(|| Error::failed("the run's texts do not fit its manifest"))?;
        series.push(Series {
            rows: finish::rows_of(cells, first) as u32,
            plan: &cells[first],
            texts,
            tallies: measures.iter().map(Tally::new).collect(),
        });
    }
    let total: u64 = series.iter().map(|series| series.plan.trials).sum();
    let mut done = 0;
    let mut block: Vec<Row> = Vec::new();
    let mut place = 0;
    for row in trials::rows(&stored.directory)? {
        let row = row?;
        let Some(of) = series.iter().position(|series| series.rows == row.cell) else {
            continue;
        };
        if of != place || block.len() == BLOCK {
            (access.watch)(MEASURING, done, total);
            done += block.len() as u64;
            series[place].add(&measures, &block)?;
            block.clear();
            place = of;
        }
        block.push(row);
    }
    if let Some(series) = series.get_mut(place) {
        series.add(&measures, &block)?;
    }
    (access.watch)(MEASURING, total, total);
    series
        .iter()
        .flat_map(|series| {
            let both = measures.iter().zip(&series.tallies);
            both.map(|(measure, tally)| tally.cell(series.plan, measure))
        })
        .collect()
}

/// The first cell of each series that has releases: latents are in no row.
fn first_cells(cells: &[CellPlan]) -> Vec<usize> {
    // A program's own attack, whose name is none of the registry, sees releases.
    let sees_latent = |name: &str| Choice::parse(name).is_ok_and(|attack| attack.sees_latent());
    let is_wanted = |place: &usize| {
        let is_first = *place == 0 || cells[place - 1].series != cells[*place].series;
        is_first && !sees_latent(&cells[*place].attack)
    };
    (0..cells.len()).filter(is_wanted).collect()
}

/// The releases of one mechanism at one setting.
struct Series<'a> {
    /// The cell that has the rows.
    rows: u32,
    plan: &'a CellPlan,
    texts: &'a Arc<[String]>,
    /// One for each utility.
    tallies: Vec<Tally>,
}

impl Series<'_> {
    fn add(&mut self, measures: &[Measure], rows: &[Row]) -> Result<()> {
        let source = |row: &Row| {
            let text = row.candidates.get(row.secret as usize);
            let text = text.and_then(|text| self.texts.get(*text as usize));
            text.ok_or_else(|| Error::failed("a row's candidates do not fit the run's texts"))
        };
        let released: Vec<&Row> = rows.iter().filter(|row| is_release(row)).collect();
        let pairs: Vec<Pair<'_>> = released
            .iter()
            .map(|row| {
                Ok(Pair {
                    source: source(row)?,
                    release: &row.release,
                })
            })
            .collect::<Result<_>>()?;
        for (measure, tally) in measures.iter().zip(&mut self.tallies) {
            let scores = measure
                .utility
                .scores(&pairs)
                .map_err(|e| e.context(measure.entry.name))?;
            tally.failed += (rows.len() - released.len()) as u64;
            scores.into_iter().for_each(|score| tally.add(score));
            if let Some(corpus) = &mut tally.corpus {
                corpus.add(&pairs);
            }
        }
        Ok(())
    }
}

/// Scores so far: their mean and the sum of their squared distances from it (Welford 1962).
struct Tally {
    count: u64,
    mean: f64,
    squares: f64,
    failed: u64,
    undefined: u64,
    corpus: Option<Box<dyn Corpus>>,
}

impl Tally {
    fn new(measure: &Measure) -> Self {
        Self {
            count: 0,
            mean: 0.0,
            squares: 0.0,
            failed: 0,
            undefined: 0,
            corpus: measure.utility.corpus(),
        }
    }

    fn add(&mut self, score: Option<f64>) {
        let Some(score) = score.filter(|score| score.is_finite()) else {
            self.undefined += 1;
            return;
        };
        self.count += 1;
        let distance = score - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (score - self.mean);
    }

    fn cell(&self, plan: &CellPlan, measure: &Measure) -> Result<UtilityCell> {
        let n = self.count as f64;
        let deviation = (self.count > 1).then(|| (self.squares / (n - 1.0)).sqrt());
        let half = deviation.map(|deviation| half_width(deviation, self.count, plan.alpha));
        let half = half.transpose()?;
        let corpus = self.corpus.as_ref().filter(|_| self.count > 0);
        Ok(UtilityCell {
            dataset: plan.dataset.clone(),
            mechanism: plan.mechanism.clone(),
            epsilon: plan.epsilon,
            epsilon_unit: plan.epsilon_unit,
            neighbours: plan.neighbours,
            k: plan.k,
            lambda: plan.lambda,
            utility: measure.entry.name.to_owned(),
            signature: measure.utility.signature(),
            trials: self.count + self.failed + self.undefined,
            failed: self.failed,
            undefined: self.undefined,
            mean: (self.count > 0).then_some(self.mean),
            mean_lower: half.map(|half| self.mean - half),
            mean_upper: half.map(|half| self.mean + half),
            deviation,
            alpha: plan.alpha,
            corpus: corpus.map(|corpus| corpus.score()),
            corpus_signature: corpus.map(|corpus| corpus.signature()),
        })
    }
}

/// Half of Student's interval for the mean of `count` scores: t · s / √n at 1 − alpha/2.
fn half_width(deviation: f64, count: u64, alpha: f64) -> Result<f64> {
    let n = count as f64;
    let t = StudentsT::new(0.0, 1.0, n - 1.0).map_err(|e| Error::failed(e.to_string()))?;
    Ok(t.inverse_cdf(1.0 - alpha / 2.0) * deviation / n.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Audit;
    use crate::report::finished_run;

    fn measured(mechanism: &str, epsilon: Option<f64>) -> Vec<UtilityCell> {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let audit = Audit::of(mechanism).dataset("snips");
        let audit = match epsilon {
            Some(epsilon) => audit.epsilons([epsilon]),
            None => audit,
        };
        let audit = audit.trials(300).attacks(["embedding", "overlap"]);
        audit.out(&out).run().unwrap();
        let stored = finished_run::open(&out).unwrap();
        let asked = Asked {
            utilities: vec!["all".to_owned()],
            ..Asked::default()
        };
        measure(&stored, &asked, &Access::default()).unwrap()
    }

    fn of<'a>(cells: &'a [UtilityCell], utility: &str) -> &'a UtilityCell {
        cells.iter().find(|cell| cell.utility == utility).unwrap()
    }

    #[test]
    fn a_mechanism_that_repeats_keeps_everything_and_a_constant_one_nothing() {
        let identity = measured("identity", None);
        for (utility, best) in [
            ("cosine", 1.0),
            ("bertscore", 1.0),
            ("rouge1", 1.0),
            ("rougeL", 1.0),
            ("bleu", 100.0),
            ("length", 1.0),
            ("copied", 1.0),
        ] {
            let cell = of(&identity, utility);
            let mean = cell.mean.unwrap();
            // Texts of fewer than four words have a BLEU of their own.
            assert!((mean - best).abs() < 1e-5, "{utility}: {mean}");
            assert_eq!((cell.trials, cell.failed, cell.undefined), (300, 0, 0));
        }
        let bleu = of(&identity, "bleu").corpus.unwrap();
        assert!((bleu - 100.0).abs() < 1e-9, "{bleu}");
        let constant = measured("constant", None);
        for utility in ["cosine", "bertscore", "rouge1", "copied", "bleu"] {
            let (one, other) = (of(&constant, utility), of(&identity, utility));
            assert!(one.mean < other.mean.map(|mean| 0.7 * mean), "{utility}");
        }
        // A natural text is more fluent than tokens drawn at random.
        let noise = measured("em", Some(0.25));
        let perplexity = |cells| of(cells, "perplexity").mean.unwrap();
        assert!(perplexity(&noise) > 3.0 * perplexity(&identity));
    }

    /// Student's interval as in a table: n = 5, 95 %: 2.776.
    #[test]
    fn an_interval_is_student_s() {
        let half = half_width(2.0, 5, 0.05).unwrap();
        assert!(
            (half - 2.776_445 * 2.0 / 5_f64.sqrt()).abs() < 1e-5,
            "{half}"
        );
        let mut tally = Tally {
            count: 0,
            mean: 0.0,
            squares: 0.0,
            failed: 0,
            undefined: 0,
            corpus: None,
        };
        for score in [Some(2.0), None, Some(4.0), Some(f64::INFINITY), Some(9.0)] {
            tally.add(score);
        }
        assert_eq!((tally.count, tally.mean, tally.undefined), (3, 5.0, 2));
        assert!((tally.squares - 26.0).abs() < 1e-12);
    }
}
