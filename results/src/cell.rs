//! One line of a result: a cell of the audit with its bound.
//!
//! # Schema
//! The fields and their order are the JSON contract `teda.audit/1` and the columns of `cells.csv`, which does not have
//! `witness_texts`; scripts rely on both.

use crate::number;
use serde::{Deserialize, Serialize};
use teda_core::estimator::abstain::Guesses;
use teda_core::{Composition, Error, Neighbours, Result, Sign, Unit, Verdict};

/// The outcome of one cell: a (dataset, mechanism, ε, neighbours, k, λ, attack) with its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The dataset's name.
    pub dataset: String,
    /// The mechanism's name.
    pub mechanism: String,
    /// The nominal ε as published, in `epsilon_unit`; missing for a mechanism without ε.
    pub epsilon: Option<f64>,
    /// What one nominal ε is spent on: `token`, `triple` or `text`.
    pub epsilon_unit: Option<Unit>,
    /// Which pairs of texts the candidate sets hold: `any-texts` or `one-token`.
    pub neighbours: Neighbours,
    /// Candidates per trial.
    pub k: u32,
    /// Sampling temperature of the candidate sets.
    pub lambda: f64,
    /// The attack's name.
    pub attack: String,
    /// Trials run, including failed ones.
    pub trials: u64,
    /// Trials whose secret was guessed.
    pub hits: u64,
    /// Trials without a release, or without the attack's scores, decided by a random guess.
    pub failed: u64,
    /// Failed trials for which the mechanism made no release.
    #[serde(default)]
    pub failed_mechanism: u64,
    /// Failed trials whose release or scores were lost on the way: time-outs, dead servers.
    #[serde(default)]
    pub failed_transport: u64,
    /// Failed trials with a release for which the attack had no scores.
    #[serde(default)]
    pub failed_attack: u64,
    /// `hits` / `trials`.
    pub success_rate: f64,
    /// Lower confidence limit of the success rate.
    pub success_lower: f64,
    /// Two-sided level of the confidence interval; the lower limit spends half of it.
    pub alpha: f64,
    /// The δ of the (ε, δ) that the bound is about.
    pub delta: f64,
    /// The estimator's name.
    pub estimator: String,
    /// Lower bound on ε, natural logarithm; in JSON the string `inf` if a release was possible under only one text,
    /// which an estimator that sees probabilities can show.
    #[serde(with = "number")]
    pub empirical_epsilon: f64,
    /// The greatest `empirical_epsilon` that this many trials can show; also possibly `inf`.
    #[serde(with = "number")]
    pub ceiling: f64,
    /// What the mechanism claims between whole texts under `neighbours`; missing if it claims nothing.
    pub claimed_epsilon: Option<f64>,
    /// How bound and claim compare.
    pub verdict: Verdict,
    /// Wall-clock seconds spent on the cell; missing if not known (a resumed run).
    pub seconds: Option<f64>,
    /// Indices of the candidate texts that show the bound, if particular texts do, joined by `+`.
    #[serde(default)]
    pub witness: Option<String>,
    /// The texts of the witness, in the same order; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub witness_texts: Vec<String>,
    /// What the verdict means, in one sentence for people who are not statisticians.
    #[serde(default)]
    pub explanation: String,
    /// Trials that the attack learned from; they are not among `trials`.
    #[serde(default)]
    pub trained: u64,
    /// Whether the success rate is below chance, 1/k, at a tail of alpha/2: releases tell the candidates apart, and
    /// the attack reads them the wrong way.
    #[serde(default)]
    pub below_chance: bool,
    /// Number of cells of the same mechanism among which this one was shown; singling one out is a choice among them.
    #[serde(default = "one")]
    pub choices: u64,
    /// The bound at alpha / `choices`: what may be stated for the cell that shows most.
    #[serde(default, with = "number::option")]
    pub chosen_epsilon: Option<f64>,
    /// What an attack learned to go by; left out if it does not learn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<Sign>,
    /// How varied the candidate sets were; missing in older results, and in runs without rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
    /// What a claim that grows with the distance of two texts rests on; left out for other claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// The mean number of units (`epsilon_unit`) of a text of the audit; left out where ε is spent on a text, and in older
    /// results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_units: Option<f64>,
    /// What an attack that writes sources back read of them; left out for other attacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recall: Option<Recall>,
    /// In which trials the attack guessed, where the estimator lets it abstain; left out elsewhere and in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guesses: Option<Guesses>,
    /// The same of `chosen_epsilon`, whose estimator may choose another threshold; left out where `choices` is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_guesses: Option<Guesses>,
    /// What `claimed_epsilon` is the product of, where it is one; left out elsewhere and in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub composition: Option<Composition>,
}

impl Cell {
    /// Trials for which the attack gave no answer, so that a coin guessed. A missing release of the mechanism is information
    /// only for an attack that is shown it: one that learns.
    #[must_use]
    pub fn unanswered(&self) -> u64 {
        let unseen = if self.trained > 0 {
            0
        } else {
            self.failed_mechanism
        };
        unseen + self.failed_transport + self.failed_attack
    }
}

/// What an attack that writes sources back read of them: means over the counted trials in which it wrote something.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Recall {
    /// Trials in which it wrote something back, of a source with words.
    pub texts: u64,
    /// The share of a source's different words that what was written back has; missing if there are no such trials.
    pub tokens: Option<f64>,
    /// The same of the release.
    pub tokens_of_release: Option<f64>,
    /// Those of the trials whose source has rare words.
    pub rare_texts: u64,
    /// The share of the rare words that what was written back has; missing if there are no such trials.
    pub rare: Option<f64>,
    /// The same of the release.
    pub rare_of_release: Option<f64>,
}

/// A claim under metric privacy: `claimed_epsilon` is the nominal ε times the greatest distance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The greatest distance between two texts that one candidate set of the audit can hold.
    pub greatest_distance: f64,
    /// `empirical_epsilon` per unit of that distance: a lower bound on the nominal ε.
    #[serde(with = "number")]
    pub epsilon_per_distance: f64,
}

/// How varied the candidate sets of a cell were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidates {
    /// Number of trials that this is based on: at most the first 262,144.
    pub counted: u64,
    /// Distinct sets.
    pub sets: u64,
    /// exp of the entropy of the sets: the number of equally frequent sets with the same entropy.
    pub effective_sets: f64,
    /// Share of the sets that hold the most common text.
    pub commonest_text: f64,
    /// Distinct texts among the candidates drawn after the first.
    pub later_texts: u64,
    /// Share of the five most common texts among the candidates drawn after the first.
    pub five_commonest: f64,
}

fn one() -> u64 {
    1
}

impl Cell {
    /// Refuses numbers that JSON cannot hold, which would be read back as missing.
    ///
    /// # Errors
    /// Failed, with the cell and the field.
    pub(crate) fn check(&self) -> Result<()> {
        let numbers = [
            ("epsilon", self.epsilon),
            ("lambda", Some(self.lambda)),
            ("success_rate", Some(self.success_rate)),
            ("success_lower", Some(self.success_lower)),
            ("alpha", Some(self.alpha)),
            ("delta", Some(self.delta)),
            ("claimed_epsilon", self.claimed_epsilon),
            ("seconds", self.seconds),
        ];
        for (field, value) in numbers {
            if let Some(value) = value.filter(|v| !v.is_finite()) {
                return Err(Error::failed(format!(
                    "cell {} × {} × {}: {field} is {value}, which no result file can hold",
                    self.dataset, self.mechanism, self.attack
                )));
            }
        }
        Ok(())
    }

    /// The cell of the contract in DESIGN.md.
    #[cfg(test)]
    pub(crate) fn example() -> Self {
        Self {
            dataset: "snips".into(),
            mechanism: "privrewrite".into(),
            epsilon: Some(2.0),
            epsilon_unit: Some(Unit::Text),
            neighbours: Neighbours::OneToken,
            k: 2,
            lambda: -10000.0,
            attack: "embedding".into(),
            trials: 10000,
            hits: 6123,
            failed: 6,
            failed_mechanism: 3,
            failed_transport: 2,
            failed_attack: 1,
            success_rate: 0.6123,
            success_lower: 0.5996,
            alpha: 0.01,
            delta: 0.0,
            estimator: "clopper-pearson".into(),
            empirical_epsilon: 0.4,
            ceiling: 7.5427,
            claimed_epsilon: Some(2.0),
            verdict: Verdict::Consistent,
            witness: None,
            witness_texts: Vec::new(),
            explanation: "it holds".into(),
            trained: 0,
            below_chance: false,
            choices: 1,
            chosen_epsilon: Some(0.4),
            signs: Vec::new(),
            candidates: None,
            metric: None,
            mean_units: None,
            recall: None,
            guesses: None,
            chosen_guesses: None,
            composition: None,
            seconds: Some(41.2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_of_a_cell_is_the_contract() {
        let expected = concat!(
            r#"{"dataset":"snips","mechanism":"privrewrite","epsilon":2.0,"epsilon_unit":"text","#,
            r#""neighbours":"one-token","k":2,"lambda":-10000.0,"attack":"embedding","#,
            r#""trials":10000,"hits":6123,"failed":6,"failed_mechanism":3,"failed_transport":2,"failed_attack":1,"#,
            r#""success_rate":0.6123,"success_lower":0.5996,"#,
            r#""alpha":0.01,"delta":0.0,"estimator":"clopper-pearson","empirical_epsilon":0.4,"#,
            r#""ceiling":7.5427,"claimed_epsilon":2.0,"verdict":"consistent","seconds":41.2,"witness":null,"explanation":"it holds","#,
            r#""trained":0,"below_chance":false,"choices":1,"chosen_epsilon":0.4}"#
        );
        assert_eq!(serde_json::to_string(&Cell::example()).unwrap(), expected);
        let none = Cell {
            epsilon: None,
            epsilon_unit: None,
            claimed_epsilon: None,
            ..Cell::example()
        };
        let text = serde_json::to_string(&none).unwrap();
        for field in ["epsilon", "epsilon_unit", "claimed_epsilon"] {
            assert!(text.contains(&format!("\"{field}\":null")), "{text}");
        }
    }

    #[test]
    fn the_texts_of_a_witness_are_a_list() {
        let cell = Cell {
            witness: Some("0+2".into()),
            witness_texts: vec!["a \"b\"".into(), "c".into()],
            ..Cell::example()
        };
        let text = serde_json::to_string(&cell).unwrap();
        assert!(
            text.contains(r#""witness":"0+2","witness_texts":["a \"b\"","c"],"explanation""#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Cell>(&text).unwrap(), cell);
    }

    #[test]
    fn a_cell_without_causes_is_read() {
        let causes = r#""failed_mechanism":3,"failed_transport":2,"failed_attack":1,"#;
        let text = serde_json::to_string(&Cell::example()).unwrap();
        let old: Cell = serde_json::from_str(&text.replace(causes, "")).unwrap();
        let expected = Cell {
            failed_mechanism: 0,
            failed_transport: 0,
            failed_attack: 0,
            ..Cell::example()
        };
        assert_eq!(old, expected);
    }

    #[test]
    fn an_infinite_number_is_refused_with_its_field() {
        let cell = Cell {
            claimed_epsilon: Some(f64::INFINITY),
            ..Cell::example()
        };
        let error = cell.check().unwrap_err().to_string();
        assert!(error.contains("claimed_epsilon is inf"), "{error}");
    }
}
