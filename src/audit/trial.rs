//! One batch of trials of a series: candidates → secret → release → scores → guess.

use std::sync::Arc;

use teda_core::estimator::Observed;
use teda_core::sampling::TransitionSampler;
use teda_core::{
    Answer, Attack, Error, Failure, Likelihood, Observation, Query, Reading, Release, Result, Role,
    Seed, Stream, grouped,
};

use crate::audit::corpus::Corpus;
use crate::audit::reading;
use crate::audit::series::{Series, Sets, given};

/// An attack's guess in one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Guess {
    /// The guessed candidate's position in the set.
    pub candidate: usize,
    /// Best score minus second best, capped at the largest double (a score may be −∞); 0 if the best score is shared
    /// or the guess is random.
    pub margin: f64,
    /// Why the attack has no scores, if it was shown a release and gave none.
    pub failure: Option<Failure>,
    /// What the attack wrote back, and how much of the source it has, if it writes.
    pub reading: Option<Reading>,
}

/// One trial with all attacks' guesses.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Its number.
    pub number: u64,
    /// Text numbers of the candidates, in the order drawn.
    pub candidates: Vec<usize>,
    /// The secret's position in the set.
    pub secret: usize,
    /// The released text.
    pub release: String,
    /// Why there is no release.
    pub failure: Option<Failure>,
    /// ln P(release | candidate) under the mechanism, if the run asks for it, there is a release, and the
    /// mechanism knows it exactly: estimators read stored rows, and must not take approximate values for exact ones.
    pub log_likelihoods: Vec<f64>,
    /// One guess per attack.
    pub guesses: Vec<Guess>,
}

impl Trial {
    /// The trial as estimators see it, with the guess of one attack.
    #[must_use]
    pub fn observed<'a>(&'a self, candidates: &'a [u32], attack: usize) -> Observed<'a> {
        let guess = &self.guesses[attack];
        let failure = self.failure.as_ref().or(guess.failure.as_ref());
        Observed {
            candidates,
            secret: self.secret,
            guess: guess.candidate,
            margin: guess.margin,
            failure: failure.map(|failure| failure.cause),
            log_likelihoods: &self.log_likelihoods,
        }
    }

    /// The indices of its candidates as stored in rows.
    #[must_use]
    pub fn numbers(&self) -> Vec<u32> {
        self.candidates.iter().map(|text| *text as u32).collect()
    }
}

/// Runs the trials `numbers` of a series. Trial t depends on the series' seed and t alone.
///
/// # Errors
/// If the mechanism or an attack fails on the whole batch, breaks its contract, or scores NaN.
pub fn run(
    series: &Series,
    corpus: &Corpus,
    attacks: &[Arc<dyn Attack>],
    numbers: std::ops::Range<u64>,
) -> Result<Vec<Trial>> {
    run_from(series, corpus, attacks, series.seed, numbers)
}

/// Like [`run`], with a seed other than the series' own: for simulating many audits of one series.
///
/// # Errors
/// Same as [`run`].
pub fn run_from(
    series: &Series,
    corpus: &Corpus,
    attacks: &[Arc<dyn Attack>],
    seed: Seed,
    numbers: std::ops::Range<u64>,
) -> Result<Vec<Trial>> {
    let seeds = |role| -> Vec<Seed> { numbers.clone().map(|t| seed.role(t, role)).collect() };
    let sets = candidate_sets(series, corpus, &numbers, &seeds(Role::Candidates))?;
    let secrets: Vec<usize> = seeds(Role::Secret)
        .iter()
        .map(|seed| seed.stream().below(series.k))
        .collect();
    let (releases, likelihoods) = match &series.sets {
        Sets::Sampled | Sets::Given | Sets::Hunted(_) if series.latent => {
            latents(series, corpus, &sets, &secrets, &seeds(Role::Mechanism))?
        }
        from => {
            let releases = match from {
                Sets::Recorded(layout) => numbers
                    .clone()
                    .zip(&secrets)
                    .map(|(number, secret)| layout.release(number, *secret))
                    .collect(),
                Sets::Sampled | Sets::Given | Sets::Hunted(_) => {
                    rewrite(series, corpus, &sets, &secrets, &seeds(Role::Mechanism))?
                }
            };
            let likelihoods = log_likelihoods(series, corpus, &sets, &releases)?;
            (releases, likelihoods)
        }
    };
    let likelihood = series.mechanism.likelihood();
    let exact = series.latent || likelihood.is_some_and(Likelihood::is_exact);
    if exact {
        no_contradiction(&secrets, &likelihoods)?;
    }
    let batch = Batch {
        k: series.k,
        seed,
        first: numbers.start,
        sets: &sets,
        secrets: &secrets,
        releases: &releases,
        likelihoods: &likelihoods,
    };
    let guesses: Vec<Vec<Guess>> = attacks
        .iter()
        .map(|attack| batch.guesses(&**attack))
        .collect::<Result<_>>()?;
    Ok(releases
        .into_iter()
        .zip(likelihoods)
        .enumerate()
        .map(|(row, (release, log_likelihoods))| Trial {
            number: numbers.start + row as u64,
            candidates: sets[row * series.k..][..series.k].to_vec(),
            secret: secrets[row],
            failure: failure(&release),
            release: release.text,
            log_likelihoods: if exact { log_likelihoods } else { Vec::new() },
            guesses: guesses.iter().map(|attack| attack[row].clone()).collect(),
        })
        .collect())
}

/// The candidate set of each trial, `[trials × k]`, one seed per trial.
fn candidate_sets(
    series: &Series,
    corpus: &Corpus,
    numbers: &std::ops::Range<u64>,
    seeds: &[Seed],
) -> Result<Vec<usize>> {
    Ok(match &series.sets {
        Sets::Sampled => {
            let (vectors, lambda) = (corpus.vectors.view(), series.lambda);
            TransitionSampler::new(vectors, series.k, lambda)?.draw(seeds)
        }
        Sets::Given => given(corpus.texts.len(), series.k, seeds),
        Sets::Hunted(hunt) => numbers
            .clone()
            .flat_map(|number| hunt.candidates(number).to_vec())
            .collect(),
        Sets::Recorded(layout) => numbers
            .clone()
            .flat_map(|number| layout.candidates(number).iter().copied())
            .collect(),
    })
}

/// What the mechanism is asked in the trials `numbers` of a series.
///
/// # Errors
/// Usage, for candidate sets that cannot be drawn.
pub fn asked<'a>(
    series: &Series,
    corpus: &'a Corpus,
    numbers: std::ops::Range<u64>,
) -> Result<Vec<Query<'a>>> {
    let seeds = |role| -> Vec<Seed> {
        let seed = |t| series.seed.role(t, role);
        numbers.clone().map(seed).collect()
    };
    let sets = candidate_sets(series, corpus, &numbers, &seeds(Role::Candidates))?;
    let secret = |seed: &Seed| seed.stream().below(series.k);
    let secrets: Vec<usize> = seeds(Role::Secret).iter().map(secret).collect();
    let coins = seeds(Role::Mechanism);
    Ok(queries(series, corpus, &sets, &secrets, &coins))
}

/// What the mechanism is asked in every trial: its secret, with its coins.
fn queries<'a>(
    series: &Series,
    corpus: &'a Corpus,
    sets: &[usize],
    secrets: &[usize],
    seeds: &[Seed],
) -> Vec<Query<'a>> {
    sets.chunks(series.k)
        .zip(secrets)
        .zip(seeds)
        .map(|((set, secret), seed)| Query {
            text: &corpus.texts[set[*secret]],
            seed: *seed,
        })
        .collect()
}

/// What stands for a noisy latent where a release would stand: its numbers are too many to be kept.
const LATENT: &str = "(the noisy latent, which is not kept)";

/// The trials of noisy latents: something in place of each, and how likely it is under each candidate. Nothing is
/// released, so nothing is written of it.
fn latents(
    series: &Series,
    corpus: &Corpus,
    sets: &[usize],
    secrets: &[usize],
    seeds: &[Seed],
) -> Result<(Vec<Release>, Vec<Vec<f64>>)> {
    let latent = series
        .mechanism
        .latent()
        .ok_or_else(|| Error::failed(format!("'{}' makes no latent of a text", series.name)))?;
    let candidates: Vec<Vec<&str>> = sets
        .chunks(series.k)
        .map(|set| set.iter().map(|text| &corpus.texts[*text][..]).collect())
        .collect();
    let queries = queries(series, corpus, sets, secrets, seeds);
    let densities = latent.log_densities(&queries, &candidates)?;
    Ok((vec![Release::of(LATENT); queries.len()], densities))
}

/// How many releases of the first `trials` of a series differ when they are made again in reverse order.
///
/// # Errors
/// Any error from the mechanism.
pub fn varying(series: &Series, corpus: &Corpus, trials: u64) -> Result<usize> {
    let queries = asked(series, corpus, 0..trials)?;
    let backwards: Vec<Query<'_>> = queries.iter().rev().copied().collect();
    let once = releases(series, &queries)?;
    let again = releases(series, &backwards)?;
    let both = once.iter().zip(again.iter().rev());
    Ok(both.filter(|(once, again)| once != again).count())
}

/// The mechanism's release of every trial's secret.
fn rewrite(
    series: &Series,
    corpus: &Corpus,
    sets: &[usize],
    secrets: &[usize],
    seeds: &[Seed],
) -> Result<Vec<Release>> {
    releases(series, &queries(series, corpus, sets, secrets, seeds))
}

/// The mechanism's release of every query.
fn releases(series: &Series, queries: &[Query<'_>]) -> Result<Vec<Release>> {
    let releases = series.mechanism.rewrite(queries)?;
    if releases.len() != queries.len() {
        return Err(Error::failed(format!(
            "'{}' answered {} queries with {} releases",
            series.name,
            queries.len(),
            releases.len()
        )));
    }
    Ok(releases)
}

/// Why a release counts as missing: its own failure, or an empty text.
#[must_use]
pub fn failure(release: &Release) -> Option<Failure> {
    let empty = || {
        release
            .text
            .trim()
            .is_empty()
            .then(|| "empty release".into())
    };
    release.failure.clone().or_else(empty)
}

/// ln P(release | candidate) of every trial's candidates, if the run asks for it; empty for a trial without a release,
/// or for whose release the mechanism does not know it.
pub fn log_likelihoods(
    series: &Series,
    corpus: &Corpus,
    sets: &[usize],
    releases: &[Release],
) -> Result<Vec<Vec<f64>>> {
    let likelihood = series.mechanism.likelihood().filter(|_| series.white_box);
    let Some(likelihood) = likelihood else {
        return Ok(vec![Vec::new(); releases.len()]);
    };
    let made: Vec<bool> = releases.iter().map(|r| failure(r).is_none()).collect();
    let pairs: Vec<(&str, &str)> = sets
        .chunks(series.k)
        .zip(releases)
        .zip(&made)
        .filter(|(_, made)| **made)
        .flat_map(|((set, release), _)| {
            let texts = set.iter().map(|text| &corpus.texts[*text][..]);
            texts.map(|text| (&release.text[..], text))
        })
        .collect();
    let answers = likelihood.log_likelihood(&pairs)?;
    let mut answers = grouped(answers, pairs.len() / series.k).into_iter();
    let known = |made: bool| made.then(|| answers.next()?.ok()).flatten();
    Ok(made
        .into_iter()
        .map(known)
        .map(Option::unwrap_or_default)
        .collect())
}

/// Refuses exact likelihoods by which a release is impossible for the very text that it was made from: a certificate
/// would take them as a proof of ε = ∞.
fn no_contradiction(secrets: &[usize], log_likelihoods: &[Vec<f64>]) -> Result<()> {
    let mut own = secrets.iter().zip(log_likelihoods);
    if own.any(|(secret, values)| values.get(*secret) == Some(&f64::NEG_INFINITY)) {
        return Err(Error::failed(
            "the mechanism contradicts itself: it says that a release is impossible for the text that it was made from",
        ));
    }
    Ok(())
}

/// Trials that are to be guessed.
struct Batch<'a> {
    k: usize,
    seed: Seed,
    /// The number of the first.
    first: u64,
    sets: &'a [usize],
    secrets: &'a [usize],
    releases: &'a [Release],
    likelihoods: &'a [Vec<f64>],
}

impl Batch<'_> {
    /// One attack's guesses. Trials without a release are not shown to it.
    fn guesses(&self, attack: &dyn Attack) -> Result<Vec<Guess>> {
        let seed = |row: usize, role| self.seed.role(self.first + row as u64, role);
        let set = |row: usize| &self.sets[row * self.k..][..self.k];
        let shown: Vec<usize> = (0..self.releases.len())
            .filter(|row| failure(&self.releases[*row]).is_none())
            .collect();
        let observations: Vec<Observation<'_>> = shown
            .iter()
            .map(|row| Observation {
                candidates: set(*row),
                release: &self.releases[*row].text,
                log_likelihoods: &self.likelihoods[*row],
                seed: seed(*row, Role::Attack),
            })
            .collect();
        let sources: Vec<usize> = shown
            .iter()
            .map(|row| set(*row)[self.secrets[*row]])
            .collect();
        let answers = reading::answers(attack, &observations, &sources)?;
        let mut answered = shown.iter().zip(answers).peekable();
        (0..self.releases.len())
            .map(|row| {
                let answer = answered.next_if(|(shown, _)| **shown == row);
                let (scores, reading) = answer.map(|(_, answer)| answer).unzip();
                let guess = decide(scores, self.k, seed(row, Role::Ties))
                    .map_err(|e| e.context(format!("trial {}", self.first + row as u64)))?;
                Ok(Guess {
                    reading: reading.flatten(),
                    ..guess
                })
            })
            .collect()
    }
}

/// Sees nothing and guesses at random: a placeholder for attacks that guess once all trials are made.
pub struct Blind;

impl Attack for Blind {
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>> {
        let scores = |observation: &Observation<'_>| Ok(vec![0.0; observation.candidates.len()]);
        Ok(batch.iter().map(scores).collect())
    }
}

/// An attack's scores, one per observation.
pub fn scores(attack: &dyn Attack, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>> {
    reading::checked(attack.score(batch)?, batch)
}

/// The guess that follows from an attack's scores of `k` candidates: a random one if it has no scores, or was shown
/// nothing.
pub fn decide(scores: Option<Answer<Vec<f64>>>, k: usize, ties: Seed) -> Result<Guess> {
    let (scores, failure) = usable(scores, k)?;
    let (candidate, margin) = highest(&scores, ties);
    Ok(Guess {
        candidate,
        margin,
        failure,
        reading: None,
    })
}

/// The scores to decide on, all equal if the attack has none or was shown nothing, and why it has none.
///
/// # Errors
/// If there are not `k` scores, or one is NaN.
pub fn usable(scores: Option<Answer<Vec<f64>>>, k: usize) -> Result<(Vec<f64>, Option<Failure>)> {
    let (scores, failure) = match scores {
        Some(Ok(scores)) => (scores, None),
        Some(Err(failure)) => (vec![0.0; k], Some(failure.of_attack())),
        None => (vec![0.0; k], None),
    };
    if scores.len() != k || scores.iter().any(|s| s.is_nan()) {
        return Err(Error::failed(format!(
            "the attack scored {scores:?} for {k} candidates"
        )));
    }
    Ok((scores, failure))
}

/// The index of the highest score and its margin; ties are split fairly by the trial's own stream.
pub fn highest(scores: &[f64], ties: Seed) -> (usize, f64) {
    let best = Best::of(scores);
    (best.pick(|| ties.stream()), best.margin)
}

/// The indices of the highest score.
pub struct Best {
    places: Vec<usize>,
    /// The difference to the second best, capped at the largest double; 0 if the best is shared.
    pub margin: f64,
}

impl Best {
    /// The best of these scores.
    pub fn of(scores: &[f64]) -> Self {
        let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let places: Vec<usize> = (0..scores.len()).filter(|i| scores[*i] == best).collect();
        let others = scores.iter().copied().filter(|score| *score != best);
        let second = others.fold(f64::NEG_INFINITY, f64::max);
        let margin = match places.len() {
            1 => (best - second).min(f64::MAX),
            _ => 0.0,
        };
        Self { places, margin }
    }

    /// The only index, or a fair draw among several.
    pub fn pick(&self, ties: impl FnOnce() -> Stream) -> usize {
        self.only()
            .unwrap_or_else(|| self.places[ties().below(self.places.len())])
    }

    /// The index, if there is only one.
    pub fn only(&self) -> Option<usize> {
        match self.places[..] {
            [only] => Some(only),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use teda_core::Cause;

    use super::*;

    #[test]
    fn ties_are_split_fairly_and_a_clear_best_wins() {
        let series = Seed::root(1);
        let mut counts = [0_u32; 3];
        for t in 0..30_000 {
            let (guess, margin) = highest(&[0.5, 0.1, 0.5], series.role(t, Role::Ties));
            assert_eq!(margin, 0.0);
            counts[guess] += 1;
        }
        assert_eq!(counts[1], 0);
        // Four standard deviations of Bin(30 000, ½).
        assert!(counts[0].abs_diff(15_000) < 347, "{counts:?}");
        assert_eq!(highest(&[0.25, 1.0], series), (1, 0.75));
    }

    #[test]
    fn a_trial_without_scores_is_a_random_guess_that_says_why() {
        let series = Seed::root(2);
        let mut first = 0_u32;
        for t in 0..10_000 {
            let scores = Some(Err("unreadable".into()));
            let guess = decide(scores, 2, series.role(t, Role::Ties)).unwrap();
            let failure = guess.failure.unwrap();
            assert_eq!(failure.cause, Cause::Attack);
            assert_eq!(failure.reason, "unreadable");
            assert_eq!(guess.margin, 0.0);
            // The same guess as for a trial that was not shown: neither depends on the attack.
            let unseen = decide(None, 2, series.role(t, Role::Ties)).unwrap();
            assert_eq!((unseen.candidate, unseen.failure), (guess.candidate, None));
            first += u32::from(guess.candidate == 0);
        }
        // Four standard deviations of Bin(10 000, ½).
        assert!(first.abs_diff(5_000) < 200, "{first}");
        for wrong in [vec![0.5], vec![0.5, f64::NAN]] {
            assert!(decide(Some(Ok(wrong)), 2, series).is_err());
        }
        let best = decide(Some(Ok(vec![f64::NEG_INFINITY, 0.0])), 2, series).unwrap();
        assert_eq!((best.candidate, best.margin), (1, f64::MAX));
    }

    #[test]
    fn an_empty_text_is_a_failure_and_keeps_its_own_reason() {
        assert_eq!(failure(&Release::of("x")), None);
        assert_eq!(failure(&Release::of(" ")), Some("empty release".into()));
        let failed = Release {
            text: String::new(),
            failure: Some("timed out".into()),
        };
        assert_eq!(failure(&failed), Some("timed out".into()));
    }
}
