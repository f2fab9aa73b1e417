//! Attacks that a report applies to a stored run, and what they are built from there.
//!
//! Rows hold what was released and texts.parquet what it was released from: most attacks need nothing else. An attack
//! that judges with a language model loads it; one that needs likelihoods takes those of the rows, or rebuilds the
//! mechanism.

use std::sync::Arc;

use teda_attacks::{Choice, Context};
use teda_core::{Error, Result};
use teda_datasets::Limits;
use teda_results::{Cell, CellPlan, Manifest, ModelRecord, Writer, trials};

use crate::audit::attacks_on_rows::{self, Put};
use crate::audit::choices::{Attacks, EstimatorChoice};
use crate::audit::config::{Config, Keep};
use crate::audit::corpus::{Corpus, embed};
use crate::audit::counting::Counted;
use crate::audit::plan::refuse_ungaussian;
use crate::audit::run::Prepared;
use crate::audit::stopping::Until;
use crate::models::{Access, Models, OF_THE_PROGRAM, Wanted};
use crate::report::finish;
use crate::report::finished_run::FinishedRun;
use crate::report::judge::judge;

/// A cell of a report.
pub struct Asked {
    /// Its plan.
    pub plan: CellPlan,
    guesses: Guesses,
    /// The cell of the stored run that has its rows.
    rows: usize,
}

/// Whose guesses a cell of a report counts.
enum Guesses {
    /// Those of this cell of the stored run.
    Stored(usize),
    /// Those that this attack now makes.
    Now(Choice),
}

impl Asked {
    /// The attack that now judges the rows, if any.
    #[must_use]
    pub fn new_attack(&self) -> Option<&Choice> {
        match &self.guesses {
            Guesses::Stored(_) => None,
            Guesses::Now(attack) => Some(attack),
        }
    }

    fn stored(&self) -> Option<usize> {
        match self.guesses {
            Guesses::Stored(place) => Some(place),
            Guesses::Now(_) => None,
        }
    }
}

/// What a report asks of a stored run in addition to its own cells.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The attacks; the run's own if none are named.
    pub attacks: Option<Attacks>,
    /// The judge of the attack `llm`, if different from the run's.
    pub judge: Option<String>,
    /// The estimator of cells that the run does not have, if not the one that fits.
    pub estimator: Option<EstimatorChoice>,
}

impl Request {
    /// The cells of a report on `stored`.
    ///
    /// # Errors
    /// Usage, for attacks that cannot judge the stored rows, with the reason.
    pub fn cells(&self, stored: &FinishedRun) -> Result<Vec<Asked>> {
        let cells = &stored.manifest.cells;
        let own = |place: usize| Asked {
            plan: cells[place].clone(),
            guesses: Guesses::Stored(place),
            rows: finish::rows_of(cells, place),
        };
        let waits = |place: &usize| stored.manifest.shard.is_some() && cells[*place].is_deferred();
        let Some(attacks) = &self.attacks else {
            return Ok((0..cells.len())
                .filter(|place| !waits(place))
                .map(own)
                .collect());
        };
        refuse_unstored(stored)?;
        let mut asked = Vec::new();
        for first in 0..cells.len() {
            if first > 0 && cells[first - 1].series == cells[first].series {
                continue;
            }
            let of_series = |place: &usize| cells[*place].series == cells[first].series;
            let places: Vec<usize> = (first..cells.len()).take_while(of_series).collect();
            let own_attack = Choice::parse(&cells[first].attack);
            let is_of_latents = own_attack.is_ok_and(|attack| attack.sees_latent());
            for attack in spelled_out(attacks, stored, &places)? {
                // A latent is in no row, and a series of latents has no releases.
                if attack.sees_latent() != is_of_latents {
                    continue;
                }
                let name = attack.to_string();
                let known = places.iter().find(|place| cells[**place].attack == name);
                match known.filter(|place| !waits(place)) {
                    Some(place) => asked.push(own(*place)),
                    None => asked.push(Asked {
                        plan: self.planned(&cells[first], &attack, stored)?,
                        guesses: Guesses::Now(attack),
                        rows: finish::rows_of(cells, first),
                    }),
                }
            }
        }
        if asked.is_empty() {
            return Err(Error::usage(format!(
                "{}: none of these attacks can judge the rows of this run: latents are judged by 'internal-embedding' while they are made, and releases by the others",
                stored.directory.display()
            )));
        }
        Ok(asked)
    }

    /// A new cell beside one of the same series.
    fn planned(
        &self,
        beside: &CellPlan,
        attack: &Choice,
        stored: &FinishedRun,
    ) -> Result<CellPlan> {
        let config = Config {
            estimator: self.estimator.unwrap_or(EstimatorChoice::Auto),
            ..stored.config.clone()
        };
        let trained = config.learnable(attack)?;
        if trained > 0 && stored.manifest.shard.is_some() {
            return Err(Error::usage(format!(
                "{}: '{attack}' learns from a whole run, and this is a part of one: merge it first",
                stored.directory.display()
            )));
        }
        let estimator = config.estimator.of(config.until, attack.learns());
        refuse_ungaussian(&beside.mechanism, beside.gaussian, estimator)?;
        Ok(CellPlan {
            attack: attack.to_string(),
            estimator: estimator.to_owned(),
            trained,
            signs: Vec::new(),
            ..beside.clone()
        })
    }

    /// The results of `asked` cells of `stored`, which become the report's cells from `first` on; guesses made for the
    /// report go to `sink`.
    ///
    /// # Errors
    /// Failed, if rows, texts or models have changed, or an attack fails.
    pub fn judge(
        &self,
        stored: &FinishedRun,
        asked: &[Asked],
        choices: &[u64],
        first: usize,
        sink: Option<&mut Writer>,
        access: &Access,
    ) -> Result<Vec<Cell>> {
        let mut own_choices = vec![1; stored.manifest.cells.len()];
        for (asked, choices) in asked.iter().zip(choices) {
            if let Some(place) = asked.stored() {
                own_choices[place] = *choices;
            }
        }
        if stored.config.keep == Keep::Counts {
            return stored.judge(&own_choices);
        }
        let mut counted: Vec<Option<Counted>> = Vec::new();
        let mut own = stored.counted(&own_choices)?;
        for asked in asked {
            counted.push(asked.stored().and_then(|place| own[place].take()));
        }
        let new: Vec<(usize, &Choice)> = asked
            .iter()
            .enumerate()
            .filter_map(|(place, asked)| Some((place, asked.new_attack()?)))
            .collect();
        if !new.is_empty() {
            let ground = Ground::new(self, stored, &new, access)?;
            let puts: Vec<Put<'_>> = new
                .iter()
                .map(|(place, attack)| ground.put(first + place, &asked[*place], attack))
                .collect::<Result<_>>()?;
            let choices: Vec<u64> = new.iter().map(|(place, _)| choices[*place]).collect();
            let trials = stored.config.trial_range();
            let amount = trials.end - trials.start;
            let rows = trials::rows(&stored.directory)?;
            let judged = attacks_on_rows::put(rows, &puts, &choices, amount, sink, &access.watch)?;
            for ((place, _), judged) in new.into_iter().zip(judged) {
                counted[place] = Some(Counted {
                    plan: CellPlan {
                        signs: judged.signs,
                        ..asked[place].plan.clone()
                    },
                    count: judged.count,
                    seconds: None,
                });
            }
        }
        let counted: Vec<Counted> = counted.into_iter().flatten().collect();
        judge(&counted, stored.texts())
    }
}

/// The attacks asked for, with `auto` expanded: the default attacks of an audit, and the white-box attack if the run
/// had it.
fn spelled_out(attacks: &Attacks, stored: &FinishedRun, places: &[usize]) -> Result<Vec<Choice>> {
    if let Attacks::Named(attacks) = attacks {
        return Ok(attacks.clone());
    }
    let had = |name: &str| {
        let cells = &stored.manifest.cells;
        places.iter().any(|place| cells[*place].attack == name)
    };
    let learned = Choice::parse("learned").and_then(|c| stored.config.learnable(&c));
    [
        ("learned", learned.is_ok()),
        ("embedding", true),
        ("likelihood-ratio", had("likelihood-ratio")),
    ]
    .into_iter()
    .filter(|(_, wanted)| *wanted)
    .map(|(name, _)| Choice::parse(name))
    .collect()
}

fn refuse_unstored(stored: &FinishedRun) -> Result<()> {
    stored.needs_rows()?;
    if stored.config.until == Until::Trials {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{}: how many trials this run made depends on what its own attacks guessed (--until {}), so no other attack can be applied to them",
        stored.directory.display(),
        stored.config.until
    )))
}

/// What attacks on a stored run are built from.
struct Ground {
    contexts: Vec<Context>,
    /// The run's mechanisms, if an attack asks them how likely a release is.
    prepared: Option<Prepared>,
}

impl Ground {
    fn new(
        request: &Request,
        stored: &FinishedRun,
        asked: &[(usize, &Choice)],
        access: &Access,
    ) -> Result<Self> {
        let mut new: Vec<Choice> = Vec::new();
        for (_, attack) in asked {
            if !new.contains(attack) {
                new.push((*attack).clone());
            }
        }
        let is_own = |record: &&ModelRecord| record.source == OF_THE_PROGRAM;
        if let Some(own) = stored.manifest.models.iter().find(is_own) {
            return Err(Error::usage(format!(
                "{}: the {} of this run is part of the program that made it: only that program can apply other attacks to it",
                stored.directory.display(),
                own.name
            )));
        }
        let likelihoods = new.iter().any(Choice::needs_likelihoods);
        let config = Config {
            attacks: Attacks::Named(new),
            estimator: EstimatorChoice::Auto,
            judge: request.judge.clone().unwrap_or(stored.config.judge.clone()),
            ..stored.config.clone()
        };
        if !likelihoods {
            return Ok(Self {
                contexts: contexts_of(stored, &config, access)?,
                prepared: None,
            });
        }
        let prepared = Prepared::new(config, access)?;
        same_data(&stored.manifest, &prepared, stored)?;
        Ok(Self {
            contexts: prepared.contexts(),
            prepared: Some(prepared),
        })
    }

    fn put<'a>(&'a self, cell: usize, asked: &'a Asked, attack: &Choice) -> Result<Put<'a>> {
        let plan = &asked.plan;
        let context = self.contexts.get(plan.texts.unwrap_or(0) as usize);
        let context =
            context.ok_or_else(|| Error::failed("the run's texts do not fit its manifest"))?;
        let likelihoods = attack.needs_likelihoods();
        let series = self.prepared.as_ref().filter(|_| likelihoods);
        let series = series.and_then(|prepared| {
            let series = prepared.plan.series.get(plan.series? as usize)?;
            Some((series, &prepared.plan.corpora[series.corpus]))
        });
        Ok(Put {
            cell: cell as u32,
            plan,
            attack: attack.clone(),
            rows: asked.rows as u32,
            context,
            likelihoods: series,
        })
    }
}

/// What the learning attacks of a stored run are built from.
///
/// # Errors
/// Failed, if the texts or the encoder are not those of the run, or the encoder fails.
pub fn contexts(stored: &FinishedRun, access: &Access) -> Result<Vec<Context>> {
    contexts_of(stored, &stored.config, access)
}

/// What the attacks of `config` on each list of a stored run's texts are built from. Builds no mechanism.
///
/// # Errors
/// Failed, if the texts or the encoder are not those of the run, or the encoder fails.
fn contexts_of(stored: &FinishedRun, config: &Config, access: &Access) -> Result<Vec<Context>> {
    let judge = config.judge.clone();
    let wanted = Wanted {
        rewriters: Vec::new(),
        then: None,
        ..config.wanted()
    };
    let models = Models::load(&wanted, access)?;
    let known = |record| stored.manifest.models.contains(record);
    // The judge may differ from the run's; the encoder may not.
    if models.judge.is_none()
        && let Some(other) = models.records.iter().find(|record| !known(record))
    {
        return Err(Error::failed(format!(
            "{}: '{}' is not the model that the run had (judge {judge}): other weights",
            stored.directory.display(),
            other.name
        )));
    }
    lists(stored, access.limits)?
        .into_iter()
        .map(|texts| {
            Ok(Context {
                vectors: embed(&texts, &models.corpus_encoder())?,
                texts,
                encoder: models.encoder.clone(),
                tokens: models.tokens.clone(),
                judge: models.judge.clone(),
                writer: models.writer.clone(),
            })
        })
        .collect()
}

/// The lists of texts that candidates are indices of. Runs older than texts.parquet have them only in their data sets.
///
/// # Errors
/// Failed, if the texts are not those of the run or cannot be read.
pub fn lists(stored: &FinishedRun, limits: Limits) -> Result<Vec<Arc<[String]>>> {
    if stored.manifest.texts_sha256.is_some() {
        return stored.texts().read();
    }
    let config = &stored.config;
    if config.recorded().is_some() || config.neighbours == teda_core::Neighbours::OneToken {
        return Err(Error::usage(format!(
            "{}: this run is older than texts.parquet and its candidates are no texts of a data set: audit again",
            stored.directory.display()
        )));
    }
    let load = |(request, then): (_, &teda_results::DatasetRecord)| {
        let dataset = teda_datasets::load(request, limits, &mut std::io::stdin())?;
        if dataset.sha256 != then.sha256 {
            return Err(changed(stored, &then.name));
        }
        Ok(dataset.texts.into())
    };
    let requests = config.datasets.iter().zip(&stored.manifest.datasets);
    requests.map(load).collect()
}

fn changed(stored: &FinishedRun, name: &str) -> Error {
    Error::failed(format!(
        "{}: data set '{name}' changed since the run was made, so its rows cannot be judged again",
        stored.directory.display()
    ))
}

/// Refuses a plan on data other than the run's.
fn same_data(manifest: &Manifest, prepared: &Prepared, stored: &FinishedRun) -> Result<()> {
    let now = prepared
        .plan
        .corpora
        .iter()
        .map(|corpus: &Corpus| &corpus.dataset);
    for dataset in now {
        let same = |then: &teda_results::DatasetRecord| then.sha256 == dataset.sha256;
        if !manifest.datasets.iter().any(same) {
            return Err(changed(stored, &dataset.name));
        }
    }
    Ok(())
}
