//! `likelihood-ratio`: guesses the candidate under which the mechanism is most likely to release the text.
//!
//! # Threat model
//! White box: the adversary knows the candidate set, sees the release, and knows the mechanism with all its
//! parameters, so that it can compute the probability of any release under any text. It does not know
//! the mechanism's coins.
//!
//! # Definition
//! score(v) = ln P(release | v), according to the mechanism itself (a probability, or a density with respect to one
//! measure for all candidates). The margin of a guess is then the logarithm of the likelihood ratio. The secret is
//! uniform over the candidates, so the highest score has the highest posterior probability: no other guess is right
//! more often. If the mechanism knows its likelihoods only approximately (`dp-prompt` with its twins, and
//! `word-perturb`; their files say how), the guess is only as good as they are, but what it proves is just as sound.
//!
//! # Source
//! Neyman & Pearson (1933) for two candidates; the rule of Bayes for more.
//!
//! # Errors
//! A trial has no scores if the mechanism knows no likelihood, or if it states an impossible one: a NaN, +∞, or a
//! release that was made and yet is impossible under every candidate, one of which was the secret. −∞ under some
//! candidates is a score like any other.

use teda_core::{Answer, Attack, Observation, Result};

use crate::entry::{Build, Entry};

pub const ENTRY: Entry = Entry {
    name: "likelihood-ratio",
    summary: "likeliest candidate under the mechanism itself: white-box, optimal where likelihoods are exact",
    source: "Neyman & Pearson (1933)",
    judge: false,
    likelihoods: true,
    latent: false,
    reads: false,
    build: Build::Scores(|_| Ok(Box::new(LikelihoodRatio))),
};

pub(crate) struct LikelihoodRatio;

impl Attack for LikelihoodRatio {
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>> {
        Ok(batch.iter().map(scores).collect())
    }
}

/// The log likelihoods, if they are valid.
fn scores(observation: &Observation<'_>) -> Answer<Vec<f64>> {
    let (scores, candidates) = (observation.log_likelihoods, observation.candidates.len());
    if scores.is_empty() {
        return Err("the mechanism does not know how likely its releases are".into());
    }
    if scores.len() != candidates {
        return Err(format!(
            "{} log likelihoods for {candidates} candidates",
            scores.len()
        )
        .into());
    }
    if let Some(bad) = scores.iter().find(|s| s.is_nan() || **s == f64::INFINITY) {
        return Err(
            format!("the mechanism states a log likelihood of {bad}, which none can be").into(),
        );
    }
    if scores.iter().all(|s| *s == f64::NEG_INFINITY) {
        return Err(
            "the mechanism states that its release is impossible under every candidate".into(),
        );
    }
    Ok(scores.to_vec())
}

#[cfg(test)]
mod tests {
    use teda_core::Seed;

    use super::*;

    fn score(log_likelihoods: &[f64]) -> Answer<Vec<f64>> {
        let observation = Observation {
            candidates: &[3, 8],
            release: "any",
            log_likelihoods,
            seed: Seed::root(0),
        };
        LikelihoodRatio.score(&[observation]).unwrap().remove(0)
    }

    #[test]
    fn scores_are_the_log_likelihoods() {
        const NONE: f64 = f64::NEG_INFINITY;
        for likelihoods in [[-1.0, -2.5], [NONE, -700.0], [4.0, NONE]] {
            assert_eq!(score(&likelihoods), Ok(likelihoods.to_vec()));
        }
    }

    #[test]
    fn what_no_likelihood_can_be_leaves_the_trial_without_scores() {
        const NONE: f64 = f64::NEG_INFINITY;
        for (likelihoods, reason) in [
            (&[][..], "does not know"),
            (&[-1.0], "1 log likelihoods for 2"),
            (&[NONE, NONE], "impossible under every candidate"),
            (&[-1.0, f64::NAN], "NaN"),
            (&[f64::INFINITY, -1.0], "inf"),
        ] {
            let refused = score(likelihoods).unwrap_err();
            assert!(refused.reason.contains(reason), "{refused}");
        }
    }
}
