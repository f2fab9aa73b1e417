//! From a data set, mechanisms and a classifier to the scores of every mode.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;
use teda_core::{Error, Mechanism, Result, Seed, Unit, plain};
use teda_datasets::{Labelled, LabelledText, labelled};
use teda_models::fine_tune::Examples;

use super::document::{Class, Data, Document, Line, Mode};
use super::learner::{Learner, Lesson, Loaded, Trained};
use super::privatise::{Privatised, privatise};
use super::score::{Score, Spread};
use crate::audit::config::Config;
use crate::audit::run::Control;
use crate::models::{Access, Models};

/// The schema of [`Document`].
const SCHEMA: &str = "teda.task/1";

/// What is to be computed.
#[derive(Debug, Clone)]
pub struct Task {
    /// Mechanisms, with their ε and parameters; models; the root of all coins; and, as the first data set, the texts.
    /// What only audits use (attacks, k, trials, …) is ignored. Without a mechanism the clean line is computed alone.
    pub config: Config,
    /// The column of the labels.
    pub label: String,
    /// Repetitions of every mechanism at every ε, each with other coins.
    pub seeds: u32,
    /// The classifier that is trained.
    pub classifier: Learner,
}

/// A mechanism at one ε.
struct Cell {
    name: String,
    unit: Option<Unit>,
    epsilon: Option<f64>,
    mechanism: Arc<dyn Mechanism>,
    /// The node whose children are the repetitions.
    seed: Seed,
}

/// One text before and after a mechanism, as a file of releases has it.
#[derive(Debug, Clone, Serialize)]
pub struct Record<'a> {
    /// The mechanism's name.
    pub mechanism: &'a str,
    /// Its nominal ε.
    pub epsilon: Option<f64>,
    /// The repetition, from 0 on.
    pub seed: u32,
    /// `train` or `test`.
    pub split: &'static str,
    /// The text's label.
    pub label: &'a str,
    /// The private text.
    pub source: &'a str,
    /// The release; empty if there is none.
    pub release: &'a str,
    /// Why there is no release.
    pub error: Option<&'a str>,
}

/// Receives every text that was rewritten.
pub type Keep<'a> = &'a mut dyn FnMut(&Record<'_>) -> Result<()>;

/// A task whose data and models are loaded and whose mechanisms are built.
pub struct Prepared {
    task: Task,
    models: Models,
    classifier: Loaded,
    data: Labelled,
    cells: Vec<Cell>,
}

/// The texts of one part, and their classes.
struct Part<'a> {
    texts: Vec<&'a str>,
    classes: Vec<usize>,
}

impl<'a> Part<'a> {
    fn of(texts: &'a [LabelledText]) -> Self {
        Self {
            texts: texts.iter().map(|text| &text.text[..]).collect(),
            classes: texts.iter().map(|text| text.class).collect(),
        }
    }
}

/// The scores and the rest of one repetition.
struct Repetition {
    /// Of utility, the static and the adaptive attacker.
    scores: [Score; 3],
    penalty: Option<f64>,
    train: Privatised,
    test: Privatised,
}

impl Prepared {
    /// Loads data and models, and builds the mechanisms.
    ///
    /// # Errors
    /// Usage, for anything in the task that cannot be satisfied.
    pub fn new(task: Task, access: &Access) -> Result<Self> {
        let config = &task.config;
        config.validate()?;
        let ([request], 1..) = (&config.datasets[..], task.seeds) else {
            return Err(Error::usage(format!(
                "a task has one data set and at least one seed, not {} and {}",
                config.datasets.len(),
                task.seeds
            )));
        };
        let data = labelled(request, &task.label, access.limits)?;
        let mut models = Models::load(&config.wanted(), access)?;
        let classifier = task.classifier.load(&mut models, access)?;
        let cells = cells(config, &models, &data)?;
        Ok(Self {
            task,
            models,
            classifier,
            data,
            cells,
        })
    }

    /// A one-line summary of the data: every row that is not used is accounted for.
    #[must_use]
    pub fn summary(&self) -> String {
        let data = &self.data;
        let mut line = format!(
            "{}: {} texts to train on and {} to test on, of {} rows",
            plain(&data.name),
            data.train.len(),
            data.test.len(),
            data.rows
        );
        for (count, what) in [
            (data.empty, "empty"),
            (data.outside_length, "too short or too long"),
            (data.other_splits, "of other splits"),
            (data.beyond_limit, "beyond --limit"),
        ] {
            if count > 0 {
                line += &format!(", {count} {what}");
            }
        }
        line
    }

    /// Rewrites, trains and tests; `keep` receives what was rewritten. `None` after an interrupt.
    ///
    /// # Errors
    /// Failed, if a mechanism or the encoder fails.
    pub fn run(&self, control: &Control<'_>, keep: Keep<'_>) -> Result<Option<Document>> {
        let (train, test) = (Part::of(&self.data.train), Part::of(&self.data.test));
        let seeds = u64::from(self.task.seeds);
        let cells = self.cells.len() as u64;
        let rewritten = (train.texts.len() + test.texts.len()) as u64 * cells;
        let trained = self.classifier.work(train.texts.len()) * (1 + cells);
        if rewritten + trained > 0 {
            control.progress.begin((rewritten + trained) * seeds, 0);
        }
        let results = self.results(&train, &test, control, keep);
        control.progress.end();
        Ok(results?.map(|results| self.document(results)))
    }

    /// The lines of the table; `None` after an interrupt.
    fn results(
        &self,
        train: &Part<'_>,
        test: &Part<'_>,
        control: &Control<'_>,
        keep: Keep<'_>,
    ) -> Result<Option<Vec<Line>>> {
        control.progress.describe("clean".to_owned());
        let (mut clean, mut scores) = (Vec::new(), Vec::new());
        for number in 0..self.classifier.trainings(self.task.seeds) {
            let Some(trained) = self.trained(&train.texts, &train.classes, number, control)? else {
                return Ok(None);
            };
            let Some(score) = self.score(&trained, &test.texts, test, control)? else {
                return Ok(None);
            };
            scores.push(score);
            clean.push(trained);
        }
        let mut results = vec![
            self.majority(train, test),
            Line {
                penalties: clean.iter().filter_map(Trained::penalty).collect(),
                ..line(Mode::Clean, scores)
            },
        ];
        for cell in &self.cells {
            control.progress.describe(cell.describe());
            let mut made = Vec::new();
            for number in 0..self.task.seeds {
                let of_seed = clean.get(number as usize).unwrap_or(&clean[0]);
                let repetition = self.repeat(cell, number, of_seed, [train, test], control)?;
                let Some(repetition) = repetition else {
                    return Ok(None);
                };
                self.hand_over(cell, number, &repetition, keep)?;
                made.push(repetition);
            }
            results.extend(lines(cell, &made));
        }
        Ok(Some(results))
    }

    /// A classifier with the coins of repetition `number`; `None` after an interrupt. Clean and privatised texts are
    /// learned with the same coins, so what changes no text changes no score.
    fn trained(
        &self,
        texts: &[&str],
        classes: &[usize],
        number: u32,
        control: &Control<'_>,
    ) -> Result<Option<Trained>> {
        let k = self.data.classes.len();
        let lesson = Lesson {
            examples: Examples { texts, classes, k },
            encoder: &*self.models.encoder,
            seed: Seed::root(self.task.config.seed)
                .named("task")
                .named(&self.data.sha256)
                .named("fine-tune")
                .at(number.into()),
        };
        self.classifier.train(&lesson, control)
    }

    /// The score of a classifier on what became of the texts of `part`; `None` after an interrupt.
    fn score(
        &self,
        by: &Trained,
        texts: &[&str],
        part: &Part<'_>,
        control: &Control<'_>,
    ) -> Result<Option<Score>> {
        let k = self.data.classes.len();
        let predicted = by.predict(texts, &*self.models.encoder, control)?;
        Ok(predicted.map(|predicted| Score::of(&part.classes, &predicted, k)))
    }

    /// The score of always saying the class that most training texts have; of equally frequent ones the first.
    fn majority(&self, train: &Part<'_>, test: &Part<'_>) -> Line {
        let k = self.data.classes.len();
        let mut counts = vec![0_usize; k];
        train.classes.iter().for_each(|class| counts[*class] += 1);
        let most = (1..k).fold(0, |b, c| if counts[c] > counts[b] { c } else { b });
        let predicted = vec![most; test.classes.len()];
        line(
            Mode::Majority,
            vec![Score::of(&test.classes, &predicted, k)],
        )
    }

    /// One privatised training set and one privatised test set, which serve all three modes.
    fn repeat(
        &self,
        cell: &Cell,
        number: u32,
        clean: &Trained,
        [train, test]: [&Part<'_>; 2],
        control: &Control<'_>,
    ) -> Result<Option<Repetition>> {
        let seed = cell.seed.at(number.into());
        let of = |part: &Part<'_>, name| {
            let seed = seed.named(name);
            privatise(&cell.name, &*cell.mechanism, &part.texts, seed, control)
        };
        let (Some(rewritten), Some(shown)) = (of(train, "train")?, of(test, "test")?) else {
            return Ok(None);
        };
        let private = self.trained(&rewritten.texts(), &train.classes, number, control)?;
        let Some(private) = private else {
            return Ok(None);
        };
        let score = |by, texts: &[&str]| self.score(by, texts, test, control);
        let (Some(utility), Some(fixed), Some(adaptive)) = (
            score(&private, &test.texts)?,
            score(clean, &shown.texts())?,
            score(&private, &shown.texts())?,
        ) else {
            return Ok(None);
        };
        Ok(Some(Repetition {
            scores: [utility, fixed, adaptive],
            penalty: private.penalty(),
            train: rewritten,
            test: shown,
        }))
    }

    fn hand_over(
        &self,
        cell: &Cell,
        seed: u32,
        made: &Repetition,
        keep: &mut dyn FnMut(&Record<'_>) -> Result<()>,
    ) -> Result<()> {
        let parts = [
            ("train", &self.data.train, &made.train),
            ("test", &self.data.test, &made.test),
        ];
        for (split, texts, releases) in parts {
            let outcomes = releases.texts.iter().zip(&releases.failures);
            for (text, (release, failure)) in texts.iter().zip(outcomes) {
                keep(&Record {
                    mechanism: &cell.name,
                    epsilon: cell.epsilon,
                    seed,
                    split,
                    label: &self.data.classes[text.class],
                    source: &text.text,
                    release,
                    error: failure.as_deref(),
                })?;
            }
        }
        Ok(())
    }

    fn document(&self, results: Vec<Line>) -> Document {
        let (task, data) = (&self.task, &self.data);
        let count = |texts: &[LabelledText], class: usize| {
            texts.iter().filter(|text| text.class == class).count()
        };
        let classes = data.classes.iter().enumerate().map(|(class, name)| Class {
            name: name.clone(),
            train: count(&data.train, class),
            test: count(&data.test, class),
        });
        Document {
            schema: SCHEMA,
            teda: env!("CARGO_PKG_VERSION"),
            data: Data {
                name: data.name.clone(),
                label: task.label.clone(),
                sha256: data.sha256.clone(),
                divided_by: if data.own_splits { "splits" } else { "digests" },
                train: data.train.len(),
                test: data.test.len(),
                classes: classes.collect(),
            },
            classifier: self.classifier.name(),
            fine_tuning: self.classifier.tuning().cloned(),
            encoder: task.config.encoder.clone(),
            seed: task.config.seed,
            seeds: task.seeds,
            models: self.models.records.clone(),
            reproducible: self.models.reproducible(),
            servers: self.models.usage(),
            results,
        }
    }
}

/// Every mechanism at every ε.
fn cells(config: &Config, models: &Models, data: &Labelled) -> Result<Vec<Cell>> {
    let mut seen = HashSet::new();
    let both = data.train.iter().chain(&data.test);
    let texts: Arc<[String]> = both
        .filter(|text| seen.insert(&text.text[..]))
        .map(|text| text.text.clone())
        .collect();
    let context = models.context(texts);
    let mut cells = Vec::new();
    for source in &config.mechanisms {
        let settings = config.settings(source)?;
        let values: Vec<String> = settings
            .changed()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        for epsilon in source.grid(config.epsilons.as_deref())? {
            let claim = config.claim.as_ref();
            let own = source.instance(&context, epsilon, &settings, claim, models.programs())?;
            // As in an audit, the path names what is drawn and nothing else of the grid.
            let seed = Seed::root(config.seed)
                .named("task")
                .named(&data.sha256)
                .named(&source.name())
                .named(&values.join(","))
                .named(&epsilon.map_or(String::new(), |e| e.to_string()));
            cells.push(Cell {
                name: config.name_of(source),
                unit: source.unit(epsilon.is_some()),
                epsilon,
                mechanism: models.followed(own),
                seed,
            });
        }
    }
    Ok(cells)
}

impl Cell {
    fn describe(&self) -> String {
        let epsilon = self.epsilon.map_or(String::new(), |e| format!(" ε={e}"));
        format!("{}{epsilon}", self.name)
    }
}

/// A line without a mechanism.
fn line(mode: Mode, scores: Vec<Score>) -> Line {
    Line {
        mechanism: None,
        epsilon: None,
        epsilon_unit: None,
        mode,
        accuracy: Spread::of(scores.iter().map(|score| score.accuracy).collect()),
        macro_f1: Spread::of(scores.iter().map(|score| score.macro_f1).collect()),
        penalties: Vec::new(),
        missing: 0,
        lost: 0,
    }
}

/// The three lines of a mechanism.
fn lines(cell: &Cell, made: &[Repetition]) -> Vec<Line> {
    let modes = [
        (Mode::Utility, true, false),
        (Mode::Static, false, true),
        (Mode::Adaptive, true, true),
    ];
    let of = |(place, (mode, trains, tests)): (usize, (Mode, bool, bool))| {
        let sum = |of: fn(&Privatised) -> u64| -> u64 {
            let parts =
                |m: &Repetition| u64::from(trains) * of(&m.train) + u64::from(tests) * of(&m.test);
            made.iter().map(parts).sum()
        };
        let private = made.iter().filter(|_| trains);
        Line {
            mechanism: Some(cell.name.clone()),
            epsilon: cell.epsilon,
            epsilon_unit: cell.unit,
            penalties: private.filter_map(|made| made.penalty).collect(),
            missing: sum(Privatised::missing),
            lost: sum(|privatised| privatised.lost),
            ..line(mode, made.iter().map(|made| made.scores[place]).collect())
        }
    };
    modes.into_iter().enumerate().map(of).collect()
}
