//! From a configuration to the cells of a run.
//!
//! A *series* is one (data set, mechanism, ε, k, λ): its releases are made once. Each attack turns a
//! series into a *cell*, the row of the result table.

pub mod hunt;
pub mod layout;
mod lineup;
mod one_token;
pub mod recorded;

use std::cell::OnceCell;
use std::ops::Range;

use rayon::prelude::*;
use teda_attacks::Choice;
use teda_core::estimator::{self, Needs};
use teda_core::sampling::TransitionSampler;
use teda_core::{
    Beyond, Error, Lengths, Likelihood, Mechanism, Neighbours, Privacy, Result, Seed, Settings,
    Unit,
};
use teda_results::Row;

use self::hunt::Hunt;
use self::lineup::Lineup;
use self::one_token::OneToken;
use crate::audit::choices::EstimatorChoice;
use crate::audit::config::Config;
use crate::audit::corpus::Corpus;
use crate::audit::pairs::Pairs;
use crate::audit::series::{Series, Sets, given, latent_of};
use crate::audit::source::Source;
use crate::models::Models;

/// Everything that a run computes, in order: the cells are the series' attacks, series by series.
pub struct Plan {
    /// Data sets.
    pub corpora: Vec<Corpus>,
    /// Series in the order in which they run.
    pub series: Vec<Series>,
    /// Further notes for the user, one line each.
    pub notes: Vec<String>,
}

impl Plan {
    /// Builds every mechanism of the grid and checks that every candidate set can be drawn, so that an invalid
    /// combination fails before the first trial.
    ///
    /// # Errors
    /// Usage, from the construction of a mechanism, or for an impossible k.
    pub fn new(config: &Config, datasets: Vec<Corpus>, models: &Models) -> Result<Self> {
        let stages = Stages::new(config, datasets, models)?;
        let mut series = Vec::new();
        let mut notes: Vec<String> = Vec::new();
        for dataset in stages.datasets() {
            for source in &config.mechanisms {
                let builds: Vec<Build<'_>> = dataset
                    .clone()
                    .map(|index| Build::new(config, source, &stages.corpora[index], index, models))
                    .collect::<Result<_>>()?;
                let first_of_all = series.len();
                for epsilon in source.grid(config.epsilons.as_deref())? {
                    for (k, lambda, stage) in stages.settings(config) {
                        let (built, note) = builds[stage].series(epsilon, k, lambda)?;
                        series.extend(built);
                        notes.extend(note.filter(|note| !notes.contains(note)));
                    }
                }
                // A model's window does not depend on ε.
                if let Some(first) = series.get(first_of_all) {
                    notes.extend(too_long(config, first, &stages.corpora[first.corpus])?);
                }
            }
        }
        if series.is_empty() {
            return Err(Error::usage("nothing to audit: no mechanism was named"));
        }
        Ok(Self {
            corpora: stages.corpora,
            series,
            notes,
        })
    }

    /// The cells of a series, one per attack.
    #[must_use]
    pub fn cells_of(&self, series: usize) -> Range<usize> {
        let cells = |series: &[Series]| series.iter().map(|s| s.attacks.len()).sum::<usize>();
        let first = cells(&self.series[..series]);
        first..first + self.series[series].attacks.len()
    }

    /// Shows a row to the hunt of its series, if it has one.
    pub fn observe(&self, row: &Row) {
        if let Some(Sets::Hunted(hunt)) = self.series_of(row).map(|series| &series.sets) {
            hunt.observe(row);
        }
    }

    /// The series of a row, if the plan has its cell.
    pub(super) fn series_of(&self, row: &Row) -> Option<&Series> {
        let mut first = 0;
        self.series.iter().find(|series| {
            first += series.attacks.len();
            (row.cell as usize) < first
        })
    }

    /// Number of cells.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.series.iter().map(|series| series.attacks.len()).sum()
    }
}

/// The corpora that trials run on: the data sets themselves, or for one-token neighbours the sets derived from each
/// for every k and λ.
struct Stages {
    corpora: Vec<Corpus>,
    /// Corpora of one data set.
    each: usize,
}

impl Stages {
    fn new(config: &Config, datasets: Vec<Corpus>, models: &Models) -> Result<Self> {
        if config.neighbours != Neighbours::OneToken {
            for corpus in &datasets {
                for k in &config.ks {
                    for lambda in &config.lambdas {
                        TransitionSampler::new(corpus.vectors.view(), *k, *lambda)
                            .map_err(|e| e.context(&corpus.dataset.name))?;
                    }
                }
            }
            return Ok(Self {
                corpora: datasets,
                each: 1,
            });
        }
        let one_token = OneToken::new(&*models.tokens);
        let mut corpora = Vec::new();
        for corpus in &datasets {
            for k in &config.ks {
                for lambda in &config.lambdas {
                    let seed = Seed::root(config.seed)
                        .named(&corpus.dataset.sha256)
                        .named("one-token")
                        .named(&format!("k={k},lambda={lambda}"));
                    corpora.push(one_token.corpus(
                        corpus,
                        *k,
                        *lambda,
                        seed,
                        &models.corpus_encoder(),
                    )?);
                }
            }
        }
        Ok(Self {
            corpora,
            each: config.ks.len() * config.lambdas.len(),
        })
    }

    /// The corpora of each data set.
    fn datasets(&self) -> impl Iterator<Item = Range<usize>> {
        let each = self.each;
        (0..self.corpora.len() / each).map(move |dataset| dataset * each..(dataset + 1) * each)
    }

    /// Every k and λ, with the index of its corpus among those of a data set.
    fn settings(&self, config: &Config) -> Vec<(usize, f64, usize)> {
        let pairs = config
            .ks
            .iter()
            .flat_map(|k| config.lambdas.iter().map(move |lambda| (*k, *lambda)));
        pairs
            .enumerate()
            .map(|(place, (k, lambda))| (k, lambda, if self.each == 1 { 0 } else { place }))
            .collect()
    }
}

/// What all series of one mechanism on one data set are built from.
struct Build<'a> {
    config: &'a Config,
    settings: Settings,
    context: teda_mechanisms::Context,
    corpus: &'a Corpus,
    index: usize,
    source: &'a Source,
    models: &'a Models,
    /// The texts' lengths in the mechanism's units: independent of ε, so counted once.
    units: OnceCell<Option<Units>>,
    /// The greatest distance between two texts of a candidate set, likewise.
    diameter: OnceCell<Option<f64>>,
}

impl<'a> Build<'a> {
    fn new(
        config: &'a Config,
        source: &'a Source,
        corpus: &'a Corpus,
        index: usize,
        models: &'a Models,
    ) -> Result<Self> {
        Ok(Self {
            config,
            settings: config.settings(source)?,
            context: models.context(corpus.texts.clone()),
            corpus,
            index,
            source,
            models,
            units: OnceCell::new(),
            diameter: OnceCell::new(),
        })
    }

    /// Where the candidate sets of the series at `seed` come from.
    fn sets(&self, k: usize, lambda: f64, seed: Seed) -> Result<Sets> {
        let drawn = match self.config.neighbours {
            Neighbours::OneToken => Sets::Given,
            _ => Sets::Sampled,
        };
        let Pairs::Hunt(sets) = self.config.pairs else {
            return Ok(drawn);
        };
        let trials = self.config.pairs.explores(self.config.trials)?;
        let seed = seed.named("hunt");
        Ok(Sets::Hunted(match drawn {
            Sets::Given => Hunt::new(k, sets, trials, seed, |seeds| {
                given(self.corpus.texts.len(), k, seeds)
            }),
            _ => {
                let vectors = self.corpus.vectors.view();
                let sampler = TransitionSampler::new(vectors, k, lambda)?;
                Hunt::new(k, sets, trials, seed, |seeds| sampler.draw(seeds))
            }
        }))
    }

    /// The series of releases and that of latents, as far as there are attacks on them, and notes for the user. Both are
    /// of the same trials: the latents of one are what the releases of the other are made of.
    fn series(
        &self,
        epsilon: Option<f64>,
        k: usize,
        lambda: f64,
    ) -> Result<(Vec<Series>, Option<String>)> {
        let name = self.config.name_of(self.source);
        let own = self.source.instance(
            &self.context,
            epsilon,
            &self.settings,
            self.config.claim.as_ref(),
            self.models.programs(),
        )?;
        let is_categorical = own.categorical().is_some();
        let mechanism = self.models.followed(own);
        let lineup = Lineup::new(self.config, self.source, &*mechanism)?;
        let count = || units_of(&*mechanism, &self.corpus.texts);
        let units = *self.units.get_or_init(count);
        let neighbours = self.config.neighbours;
        let diameter = *self.diameter.get_or_init(|| self.diameter(&*mechanism, k));
        let lengths = units.map(|units| units.range);
        let claim = between(self.config, &*mechanism, lengths, diameter);
        let guarantee = mechanism.guarantee();
        let composition = guarantee.and_then(|claim| claim.composition(neighbours, lengths));
        // The path names what is drawn and nothing else of the grid, so that a cell's numbers do not change when
        // another cell is added. It does not name what comes after the mechanism: what that rewrites is what the
        // mechanism releases without it.
        let values: Vec<String> = self
            .settings
            .changed()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        let seed = Seed::root(self.config.seed)
            .named(&self.corpus.dataset.sha256)
            .named(&self.source.seed_name())
            .named(&values.join(","))
            .named(&epsilon.map_or(String::new(), |e| e.to_string()))
            .named(neighbours.name())
            .named(&format!("k={k},lambda={lambda}"));
        // Where a trial is only a few draws, opening their generators would take most of its time.
        let seed = match is_categorical {
            true => seed.pooled(),
            false => seed,
        };
        let unit = self.source.unit_of(&*mechanism, epsilon.is_some());
        let mean_units = units.map(|units| units.mean);
        let [releases, latents] = lineup.parted();
        let mut series = Vec::new();
        for (attacks, latent) in [(releases, false), (latents, true)] {
            if attacks.is_empty() {
                continue;
            }
            let mut made = Series {
                corpus: self.index,
                name: match latent {
                    true => latent_of(&name),
                    false => name.clone(),
                },
                unit,
                mechanism: mechanism.clone(),
                epsilon,
                k,
                lambda,
                sets: self.sets(k, lambda, seed)?,
                attacks,
                latent,
                white_box: latent,
                claim,
                composition,
                diameter: diameter.filter(|_| claim.is_some()),
                mean_units: mean_units.filter(|_| unit != Some(Unit::Text)),
                delta: self.config.delta.unwrap_or(self.source.delta(claim)),
                seed,
            };
            made.white_box = white_box(self.config, &made)?;
            series.push(made);
        }
        Ok((series, lineup.note))
    }

    /// The greatest distance between two texts that one candidate set can hold, if the mechanism's claim grows with
    /// it: two texts of one set where the corpus holds whole sets, any two texts of the corpus otherwise.
    fn diameter(&self, mechanism: &dyn Mechanism, k: usize) -> Option<f64> {
        if mechanism.guarantee()?.neighbours != Neighbours::Metric {
            return None;
        }
        let texts: Vec<&str> = self.corpus.texts.iter().map(String::as_str).collect();
        let size = match self.config.neighbours {
            Neighbours::OneToken => k,
            _ => texts.len(),
        };
        let of_set = |set: &[&str]| mechanism.diameter(set);
        let diameters: Option<Vec<f64>> = texts.par_chunks(size).map(of_set).collect();
        Some(diameters?.into_iter().fold(0.0, f64::max))
    }
}

/// What a mechanism claims between the texts of this audit.
pub fn between(
    config: &Config,
    mechanism: &dyn Mechanism,
    lengths: Option<Lengths>,
    diameter: Option<f64>,
) -> Option<Privacy> {
    let claim = mechanism.guarantee()?;
    claim.between(config.neighbours, lengths, diameter)
}

/// Whether the trials of a series must record how likely what they show is under the mechanism.
///
/// # Errors
/// Usage, if the mechanism does not know what the attacks or the estimator need, with what to use instead.
pub fn white_box(config: &Config, series: &Series) -> Result<bool> {
    let (name, mechanism) = (&series.name, &*series.mechanism);
    if let EstimatorChoice::Named(estimator) = config.estimator {
        refuse_ungaussian(name, series.is_gaussian(), estimator.name)?;
    }
    if series.latent {
        return Ok(true);
    }
    let needs = config.estimator.needs();
    let asks = series.attacks.iter().any(Choice::needs_likelihoods);
    let white_box = needs == Needs::Likelihoods || asks;
    if white_box && mechanism.likelihood().is_none() {
        return Err(Error::usage(format!(
            "'{name}' cannot say how likely a release is, which the attack 'likelihood-ratio' and the white-box estimators need: take others for it"
        )));
    }
    let is_near = |likelihood: &dyn Likelihood| !likelihood.is_exact();
    if needs == Needs::Likelihoods && mechanism.likelihood().is_some_and(is_near) {
        return Err(Error::usage(format!(
            "'{name}' knows the likelihoods of its releases only nearly, and from such the estimator '{}' can claim more than is true: take one that counts guesses (teda, abstain), with the attack 'likelihood-ratio'",
            config.estimator.name()
        )));
    }
    Ok(white_box)
}

/// Refuses an estimator that assumes a Gaussian mechanism for any other mechanism.
///
/// # Errors
/// Usage.
pub fn refuse_ungaussian(mechanism: &str, is_gaussian: bool, estimator: &str) -> Result<()> {
    if estimator::named(estimator)?.needs == Needs::Gaussian && !is_gaussian {
        return Err(Error::usage(format!(
            "'{mechanism}' is not declared Gaussian, and on other mechanisms the estimator '{estimator}' claims more than is true: take another estimator for it"
        )));
    }
    Ok(())
}

/// How many texts of a series are too long for its mechanism's model, in words; `None` if all fit.
fn too_long(config: &Config, series: &Series, corpus: &Corpus) -> Result<Option<String>> {
    let texts: Vec<&str> = corpus.texts.iter().map(String::as_str).collect();
    let say = |beyond: Beyond| {
        format!(
            "{}: {} of {} texts of {} are longer than the window of the model '{}' ({} tokens): their releases will fail",
            series.name,
            beyond.texts,
            texts.len(),
            corpus.dataset.name,
            config.llm,
            beyond.window
        )
    };
    Ok(series.mechanism.beyond_window(&texts)?.map(say))
}

/// The texts' lengths in the units that a mechanism spends its ε on.
#[derive(Debug, Clone, Copy)]
struct Units {
    range: Lengths,
    mean: f64,
}

/// The texts' lengths in the mechanism's units, if it has any.
fn units_of(mechanism: &dyn Mechanism, texts: &[String]) -> Option<Units> {
    let units: Option<Vec<u64>> = texts.par_iter().map(|text| mechanism.units(text)).collect();
    let units = units?;
    let range = Lengths {
        shortest: *units.iter().min()?,
        longest: *units.iter().max()?,
    };
    let mean = units.iter().sum::<u64>() as f64 / units.len() as f64;
    Some(Units { range, mean })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Audit;

    fn krr() -> Audit {
        let audit = Audit::of("krr").dataset("categories:4").lambda(0.0);
        audit.attacks(["embedding", "likelihood-ratio"])
    }

    #[test]
    fn cells_are_the_attacks_of_a_series_after_those_of_the_one_before() {
        let prepared = krr().epsilons([1.0, 2.0]).prepare().unwrap();
        let plan = &prepared.plan;
        assert_eq!((plan.series.len(), plan.cells()), (2, 4));
        assert_eq!(plan.cells_of(1), 2..4);
        assert_eq!(plan.series[1].epsilon, Some(2.0));
        // Randomised response claims the ε that it is run at, between any two texts.
        assert_eq!(plan.series[1].claim.unwrap().epsilon, 2.0);
        assert!(plan.series.iter().all(|series| series.white_box));
        assert_ne!(plan.series[0].seed.to_text(), plan.series[1].seed.to_text());
    }

    #[test]
    fn a_series_seed_does_not_know_what_else_is_in_the_grid() {
        let alone = krr().epsilons([2.0]).prepare().unwrap();
        let beside = krr().epsilons([1.0, 2.0]).prepare().unwrap();
        let seed = |plan: &Plan, place: usize| plan.series[place].seed.to_text();
        assert_eq!(seed(&alone.plan, 0), seed(&beside.plan, 1));
    }

    #[test]
    fn what_cannot_be_drawn_or_judged_is_refused_before_the_first_trial() {
        let refused = |audit: Audit, reason: &str| {
            let error = audit.prepare().err().expect(reason).to_string();
            assert!(error.contains(reason), "{error}");
        };
        refused(krr().k(5), "4");
        refused(krr().estimator("gdp").delta(0.1), "not declared Gaussian");
        let of = |name| Audit::of(name).dataset("categories:4").lambda(0.0);
        let blind = of("privrewrite").epsilons([1.0]);
        refused(
            blind.attacks(["likelihood-ratio"]),
            "cannot say how likely a release is",
        );
        let near = of("word-perturb").epsilons([5.0]);
        refused(near.estimator("certificate"), "only nearly");
    }

    /// em spends its ε on a text, whatever its tokens; dp-prompt spends it on each of them.
    #[test]
    fn units_are_counted_where_epsilon_is_spent_on_them() {
        let mean = |name: &str| {
            let audit = Audit::of(name).epsilons([2.0]).texts(["a b", "a b c d"]);
            let prepared = audit.lambda(0.0).attacks(["overlap"]).prepare().unwrap();
            prepared.plan.series[0].mean_units
        };
        assert_eq!(mean("em"), None);
        assert!(mean("dp-prompt").is_some_and(|units| units > 2.0));
    }
}
