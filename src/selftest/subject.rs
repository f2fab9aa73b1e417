//! Mechanisms of known ε, audited in memory with the best attack there is.

use std::sync::Arc;

use teda_core::estimator::Observed;
use teda_core::{Mechanism, Query, Result, Role, Seed};
use teda_mechanisms::{Context, Memory, registry};
use teda_models::builtin;

use crate::trial::highest;

/// A mechanism over a few categories, two of which are told apart in each trial.
pub struct Subject {
    /// What the table calls it.
    pub name: String,
    mechanism: Box<dyn Mechanism>,
    texts: Arc<[String]>,
    /// What it claims.
    pub claim: f64,
    /// δ of the claim, at which it is audited.
    pub delta: f64,
    /// The true ε at that δ.
    pub truth: f64,
}

/// One trial of an audit.
pub struct Trial {
    candidates: [u32; 2],
    secret: usize,
    /// The attack's guess, the best there is; others can be put in its place.
    pub guess: usize,
    margin: f64,
    log_likelihoods: [f64; 2],
}

impl Trial {
    /// The trial as estimators see it.
    pub fn observed(&self) -> Observed<'_> {
        Observed {
            candidates: &self.candidates,
            secret: self.secret,
            guess: self.guess,
            margin: self.margin,
            failure: None,
            log_likelihoods: &self.log_likelihoods,
        }
    }
}

impl Subject {
    /// The mechanism `name` of the registry over `categories` at `claim`, whose true ε is `truth`.
    ///
    /// # Errors
    /// Where it cannot be built.
    pub fn new(name: &str, categories: usize, claim: f64, delta: f64, truth: f64) -> Result<Self> {
        let texts: Arc<[String]> = (1..=categories).map(|i| format!("category {i}")).collect();
        let encoder = Arc::new(builtin::encoder()?);
        let context = Context {
            texts: texts.clone(),
            tokens: encoder.clone(),
            encoder,
            generator: None,
            sampler: None,
            language_model: None,
            memory: Memory::default(),
        };
        let entry = registry::entry(name)?;
        let given = match delta > 0.0 {
            true => vec![("delta".to_owned(), delta.to_string())],
            false => Vec::new(),
        };
        let settings = entry.settings(None, &given)?;
        let epsilon = entry.unit.map(|_| claim);
        Ok(Self {
            name: match categories {
                2 => name.to_owned(),
                _ => format!("{name}, {categories} categories"),
            },
            mechanism: entry.instance(&context, epsilon, &settings)?,
            texts,
            claim,
            delta,
            truth,
        })
    }

    /// Whether it is declared Gaussian.
    pub fn is_gaussian(&self) -> bool {
        self.mechanism.is_gaussian()
    }

    /// An audit of `trials` trials: pairs and secrets uniform, guesses by the likelihood ratio, ties split.
    ///
    /// # Errors
    /// Where the mechanism fails.
    pub fn audit(&self, trials: u64, root: Seed) -> Result<Vec<Trial>> {
        let pair = |t: u64| {
            let mut stream = root.role(t, Role::Candidates).stream();
            let first = stream.below(self.texts.len());
            let second = stream.below(self.texts.len() - 1);
            [first, if second < first { second } else { second + 1 }]
        };
        let drawn: Vec<([usize; 2], usize)> = (0..trials)
            .map(|t| (pair(t), root.role(t, Role::Secret).stream().below(2)))
            .collect();
        let queries: Vec<Query<'_>> = drawn
            .iter()
            .zip(0..)
            .map(|((pair, secret), t)| Query {
                text: &self.texts[pair[*secret]],
                seed: root.role(t, Role::Mechanism),
            })
            .collect();
        let releases = self.mechanism.rewrite(&queries)?;
        let asked: Vec<(&str, &str)> = releases
            .iter()
            .zip(&drawn)
            .flat_map(|(release, (pair, _))| {
                pair.map(|text| (&release.text[..], &self.texts[text][..]))
            })
            .collect();
        let known = self
            .mechanism
            .likelihood()
            .expect("every subject knows its likelihoods");
        let likelihoods = known.log_likelihood(&asked)?;
        Ok(drawn
            .iter()
            .zip(likelihoods.chunks_exact(2))
            .zip(0..)
            .map(|(((pair, secret), pairs), t)| {
                let of = |place: usize| *pairs[place].as_ref().expect("a report of the domain");
                let log_likelihoods = [of(0), of(1)];
                let (guess, margin) = highest(&log_likelihoods, root.role(t, Role::Ties));
                Trial {
                    candidates: pair.map(|text| text as u32),
                    secret: *secret,
                    guess,
                    margin,
                    log_likelihoods,
                }
            })
            .collect())
    }

    /// What an attack guesses that tosses the mechanism's own coins: the candidate that they turn into the
    /// release. A planted bug.
    ///
    /// # Errors
    /// Where the mechanism fails.
    pub fn guesses_with_its_coins(&self, trials: &[Trial], root: Seed) -> Result<Vec<usize>> {
        trials
            .iter()
            .zip(0..)
            .map(|(trial, t)| {
                let seed = root.role(t, Role::Mechanism);
                let releases = |place: usize| {
                    let text = &self.texts[trial.candidates[place] as usize];
                    self.mechanism.rewrite(&[Query { text, seed }])
                };
                let seen = releases(trial.secret)?;
                Ok(usize::from(releases(0)? != seen))
            })
            .collect()
    }
}
