//! The judge by likelihood: how likely the release is as a paraphrase of each candidate.
//!
//! # Definition
//! score(v) = ln P(release | "Document : v↵Paraphrase of the document :") / max(1, tokens of the release). The prompt
//! is DP-Prompt's, with which rewriters of this kind are prompted themselves; an instruction-tuned judge reads it
//! inside its chat template. The number of tokens is the same for all candidates of a trial: dividing by it makes
//! margins of trials comparable and changes no guess. A release without tokens reveals nothing: all its scores are 0.

use std::sync::Arc;

use teda_core::{Answer, Attack, LogLikelihood, Observation, Prompt, Result, Scorer, grouped};

/// The frame for a candidate.
const PROMPT: &str = "Document : {}\nParaphrase of the document :";

pub(super) struct Likelihood {
    scorer: Arc<dyn Scorer>,
    texts: Arc<[String]>,
    prompt: Prompt,
}

impl Likelihood {
    pub(super) fn new(scorer: Arc<dyn Scorer>, texts: Arc<[String]>) -> Self {
        Self {
            scorer,
            texts,
            prompt: Prompt::new(PROMPT),
        }
    }
}

impl Attack for Likelihood {
    /// A trial has no scores if one of its candidates with the release exceeds the judge's window.
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>> {
        let pairs: Vec<(&str, &str)> = batch
            .iter()
            .flat_map(|observation| {
                let candidates = observation.candidates.iter();
                candidates.map(|text| (&self.texts[*text][..], observation.release))
            })
            .collect();
        let answers = self.scorer.log_likelihood(&self.prompt, &pairs)?;
        let scores = answers.into_iter().map(|answer| answer.map(per_token));
        Ok(grouped(scores.collect(), batch.len()))
    }
}

fn per_token(likelihood: LogLikelihood) -> f64 {
    likelihood.total / likelihood.tokens.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, observe, texts};
    use super::*;

    #[test]
    fn scores_are_log_likelihoods_per_token_in_the_candidates_order() {
        let toy = Toy::new(|before, continuation| {
            let candidate = before
                .strip_prefix("Document : ")
                .and_then(|rest| rest.strip_suffix("\nParaphrase of the document :"))
                .unwrap();
            if candidate == "much too long" {
                return Err("no room".into());
            }
            let total = -((candidate.len() * continuation.len()) as f64);
            let tokens = continuation.len();
            Ok(LogLikelihood { total, tokens })
        });
        let texts = texts(&["a", "bbb", "much too long"]);
        let attack = Likelihood::new(toy.clone(), texts);
        let batch = [
            observe("xy", &[1, 0], 0),
            observe("x", &[2, 0], 1),
            observe("", &[0, 1], 2),
            observe("xyz", &[0, 1], 3),
        ];
        let scores = attack.score(&batch).unwrap();
        let expected = [
            Ok(vec![-3.0, -1.0]),
            Err("no room".into()),
            Ok(vec![0.0, 0.0]),
            Ok(vec![-1.0, -3.0]),
        ];
        assert_eq!(scores, expected);
        // The same row by row as all at once, and all at once takes one call.
        assert_eq!(toy.calls(), 1);
        for (observation, expected) in batch.iter().zip(expected) {
            assert_eq!(attack.score(&[*observation]).unwrap(), [expected]);
        }
        assert!(attack.score(&[]).unwrap().is_empty());
    }
}
