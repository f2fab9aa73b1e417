//! Trials by index, for a mechanism that releases one of few texts.
//!
//! # Definition
//! The trials of [`trial::run`], from the same streams: with N texts there are N^(k+1) observations (the candidates in
//! their order, and the release), and an attack that tosses no coins has one answer to each. All answers are computed
//! beforehand; a trial is then three draws and a table lookup. Tests hold both implementations to the same counts.
//!
//! # Rationale
//! A trial of randomised response costs less than its texts and its row do, and an ε of 4 takes millions of trials to
//! resolve to two digits.

use std::ops::Range;

use teda_core::estimator::Observed;
use teda_core::sampling::TransitionSampler;
use teda_core::seed::Pool;
use teda_core::{Attack, Categorical, Cause, Observation, Release, Result, Role};

use crate::audit::corpus::Corpus;
use crate::audit::series::{Series, Sets};
use crate::audit::trial::{self, Best};

/// Most observations in a table: it is computed at once and stays in the cache.
const MOST: usize = 1 << 14;

/// A series whose observations are all known.
pub struct Enumerated<'a> {
    series: &'a Series,
    sampler: TransitionSampler<'a>,
    mechanism: &'a dyn Categorical,
    texts: usize,
    /// Indexed by the digits of the candidates and of the release, in base N.
    seen: Vec<Seen>,
    /// The guess for each; `None` where it is left to chance.
    guesses: Vec<Option<u32>>,
    /// Whether the guess can be left to chance in some trial.
    has_ties: bool,
}

/// What an adversary may see, and what it makes of that.
struct Seen {
    candidates: Vec<u32>,
    log_likelihoods: Vec<f64>,
    best: Best,
    failure: Option<Cause>,
}

impl Seen {
    /// Whether a trial can have such a set: one with no candidate twice.
    fn can_be(&self) -> bool {
        let rest = |place: usize| &self.candidates[place + 1..];
        let mut places = 0..self.candidates.len();
        places.all(|place| !rest(place).contains(&self.candidates[place]))
    }
}

/// A trial by index: the observation, the secret and the guess, as digits of one number.
pub type Outcome = u32;

impl<'a> Enumerated<'a> {
    /// The table of a series under an attack that uses likelihoods, and so tosses no coins; `None` if its mechanism
    /// has no index-based view, its sets are not drawn uniformly, or there would be too many observations.
    ///
    /// # Errors
    /// If the attack fails or scores NaN.
    pub fn new(
        series: &'a Series,
        corpus: &'a Corpus,
        attack: &dyn Attack,
    ) -> Result<Option<Self>> {
        let texts = corpus.texts.len();
        let sampler = TransitionSampler::new(corpus.vectors.view(), series.k, series.lambda)?;
        let places = u32::try_from(series.k + 1)
            .ok()
            .and_then(|digits| texts.checked_pow(digits))
            .filter(|places| *places <= MOST && sampler.is_uniform())
            .filter(|_| matches!(series.sets, Sets::Sampled));
        let mechanism = series.mechanism.categorical();
        let (Some(mechanism), Some(places)) = (mechanism, places) else {
            return Ok(None);
        };
        let seen = all_seen(series, corpus, attack, places)?;
        let guess = |seen: &Seen| seen.best.only().map(|guess| guess as u32);
        Ok(Some(Self {
            guesses: seen.iter().map(guess).collect(),
            has_ties: seen
                .iter()
                .any(|seen| guess(seen).is_none() && seen.can_be()),
            series,
            sampler,
            mechanism,
            texts,
            seen,
        }))
    }

    /// The trials `numbers`, in order.
    pub fn trials(&self, numbers: Range<u64>) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity((numbers.end - numbers.start) as usize);
        self.each(numbers, |outcome| outcomes.push(outcome));
        outcomes
    }

    /// How often each outcome occurs in the trials `numbers`, `[outcomes]`.
    pub fn times(&self, numbers: Range<u64>) -> Vec<u64> {
        let mut times = vec![0; self.seen.len() * self.series.k * self.series.k];
        self.each(numbers, |outcome| times[outcome as usize] += 1);
        times
    }

    fn each(&self, numbers: Range<u64>, mut take: impl FnMut(Outcome)) {
        let k = self.series.k;
        let pool = |role| self.series.seed.pool(numbers.start, role);
        let mut candidates = pool(Role::Candidates);
        let mut secrets = pool(Role::Secret);
        let mut coins = pool(Role::Mechanism);
        let mut ties = self.has_ties.then(|| pool(Role::Ties));
        let mut set = vec![0; k];
        for _ in numbers {
            self.sampler
                .draw_uniformly(&mut set, &mut candidates.next());
            let secret = secrets.next().below(k);
            let release = self.mechanism.respond(set[secret], &mut coins.next());
            let digits = set.iter().chain([&release]);
            let place = digits.fold(0, |place, digit| place * self.texts + digit);
            let ties = ties.as_mut().map(Pool::next);
            let guess = match (self.guesses[place], ties) {
                (Some(guess), _) => guess,
                (None, Some(ties)) => self.seen[place].best.pick(|| ties) as u32,
                (None, None) => unreachable!("no trial has a candidate twice"),
            };
            take(((place * k + secret) * k) as u32 + guess);
        }
    }

    /// A trial as estimators see it.
    pub fn observed(&self, outcome: Outcome) -> Observed<'_> {
        let (outcome, k) = (outcome as usize, self.series.k);
        let seen = &self.seen[outcome / k / k];
        Observed {
            candidates: &seen.candidates,
            secret: outcome / k % k,
            guess: outcome % k,
            margin: seen.best.margin,
            failure: seen.failure,
            log_likelihoods: &seen.log_likelihoods,
        }
    }
}

/// Every observation at its index. Impossible ones, with a candidate twice, are included rather than leaving gaps.
fn all_seen(
    series: &Series,
    corpus: &Corpus,
    attack: &dyn Attack,
    places: usize,
) -> Result<Vec<Seen>> {
    let (texts, k) = (corpus.texts.len(), series.k);
    let digit = |place: usize, digit: usize| place / texts.pow(digit as u32) % texts;
    let sets: Vec<usize> = (0..places)
        .flat_map(|place| (0..k).map(move |candidate| digit(place, k - candidate)))
        .collect();
    let releases: Vec<Release> = (0..places)
        .map(|place| Release::of(&corpus.texts[digit(place, 0)][..]))
        .collect();
    let likelihoods = trial::log_likelihoods(series, corpus, &sets, &releases)?;
    let observations: Vec<Observation<'_>> = sets
        .chunks(k)
        .zip(&releases)
        .zip(&likelihoods)
        .map(|((candidates, release), log_likelihoods)| Observation {
            candidates,
            release: &release.text,
            log_likelihoods,
            seed: series.seed,
        })
        .collect();
    let scores = trial::scores(attack, &observations)?;
    sets.chunks(k)
        .zip(likelihoods.iter().cloned())
        .zip(scores)
        .map(|((set, log_likelihoods), scores)| {
            let (scores, failure) = trial::usable(Some(scores), k)?;
            Ok(Seen {
                candidates: set.iter().map(|text| *text as u32).collect(),
                log_likelihoods,
                best: Best::of(&scores),
                failure: failure.map(|failure| failure.cause),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Audit;

    fn audit(categories: usize, k: usize) -> Audit {
        let audit = Audit::of("krr").dataset(&format!("categories:{categories}"));
        let audit = audit.epsilons([1.0]).lambda(0.0).k(k);
        audit.attacks(["likelihood-ratio"])
    }

    #[test]
    fn trials_by_numbers_are_the_trials_with_their_texts() {
        for (categories, k) in [(2, 2), (5, 3)] {
            let prepared = audit(categories, k).prepare().unwrap();
            let (series, corpus) = (&prepared.plan.series[0], &prepared.plan.corpora[0]);
            let attacks = &prepared.attacks().unwrap()[0];
            let table = Enumerated::new(series, corpus, &*attacks[0])
                .unwrap()
                .unwrap();
            let trials = trial::run(series, corpus, attacks, 0..700).unwrap();
            let mut times = vec![0; table.times(0..0).len()];
            for (outcome, trial) in table.trials(0..700).into_iter().zip(&trials) {
                let (numbers, seen) = (trial.numbers(), table.observed(outcome));
                let same = trial.observed(&numbers, 0);
                assert_eq!(seen.candidates, same.candidates);
                assert_eq!((seen.secret, seen.guess), (same.secret, same.guess));
                assert_eq!(seen.margin, same.margin);
                times[outcome as usize] += 1;
            }
            assert_eq!(table.times(0..700), times);
        }
    }

    #[test]
    fn too_much_to_see_makes_no_table() {
        let prepared = audit(200, 2).prepare().unwrap();
        let (series, corpus) = (&prepared.plan.series[0], &prepared.plan.corpora[0]);
        let attacks = &prepared.attacks().unwrap()[0];
        assert!(
            Enumerated::new(series, corpus, &*attacks[0])
                .unwrap()
                .is_none()
        );
    }
}
