//! The judge by prompt: asked in several orders; scores by the probability of its answers or by what it writes.

use std::sync::Arc;

use teda_core::{
    Answer, Attack, Error, Observation, Prompt, Query, Result, Sampling, Scorer, TextGenerator,
    grouped,
};

use super::prompt::{ORDERS, answer, orders, question, read, shown};

/// How a judge that exposes only its text is sampled: almost greedily, as servers differ in how they treat a
/// temperature of 0, and long enough for the answer in any tokenizer.
const SAMPLING: Sampling = Sampling {
    temperature: 0.01,
    max_new_tokens: 16,
};

/// What is visible of a judge's answer.
pub(super) enum Seen {
    Probabilities(Arc<dyn Scorer>),
    Words(Arc<dyn TextGenerator>),
}

pub(super) struct Ask {
    judge: Seen,
    texts: Arc<[String]>,
}

impl Ask {
    pub(super) fn new(judge: Seen, texts: Arc<[String]>) -> Self {
        Self { judge, texts }
    }
}

impl Attack for Ask {
    /// A trial has no scores if any of its questions has no readable answer.
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>> {
        let Some(first) = batch.first() else {
            return Ok(Vec::new());
        };
        let k = first.candidates.len();
        let orders: Vec<[Vec<usize>; ORDERS]> = batch
            .iter()
            .map(|observation| orders(observation.seed, k))
            .collect();
        let mut texts = Vec::with_capacity(batch.len() * ORDERS);
        for (observation, orders) in batch.iter().zip(&orders) {
            for order in orders {
                let candidates = order.iter().map(|place| observation.candidates[*place]);
                let candidates = candidates.map(|text| &self.texts[text][..]);
                texts.push(shown(observation.release, candidates));
            }
        }
        let questions: Vec<Query<'_>> = texts
            .iter()
            .enumerate()
            .map(|(index, text)| Query {
                text,
                seed: batch[index / ORDERS].seed.at((index % ORDERS) as u64),
            })
            .collect();
        let prompt = question(k);
        let by_number = match &self.judge {
            Seen::Probabilities(scorer) => probabilities(&**scorer, &prompt, &questions, k),
            Seen::Words(generator) => votes(&**generator, &prompt, &questions, k),
        }?;
        if by_number.len() != questions.len() {
            return Err(Error::failed(format!(
                "the judge answered {} of {} questions",
                by_number.len(),
                questions.len()
            )));
        }
        let asked = grouped(by_number, batch.len());
        Ok(asked
            .into_iter()
            .zip(&orders)
            .map(|(answers, orders)| answers.map(|answers| mean(&answers, orders)))
            .collect())
    }
}

/// ln P(answer N | question) for every number N from 1 to k, one row per question.
fn probabilities(
    scorer: &dyn Scorer,
    prompt: &Prompt,
    questions: &[Query<'_>],
    k: usize,
) -> Result<Vec<Answer<Vec<f64>>>> {
    let answers: Vec<String> = (1..=k).map(answer).collect();
    let pairs: Vec<(&str, &str)> = questions
        .iter()
        .flat_map(|question| answers.iter().map(|answer| (question.text, &answer[..])))
        .collect();
    let scored = scorer.log_likelihood(prompt, &pairs)?;
    let totals = scored.into_iter().map(|answer| answer.map(|one| one.total));
    Ok(grouped(totals.collect(), questions.len()))
}

/// 1 for the number that the judge names and 0 for all others, one row per question.
fn votes(
    generator: &dyn TextGenerator,
    prompt: &Prompt,
    questions: &[Query<'_>],
    k: usize,
) -> Result<Vec<Answer<Vec<f64>>>> {
    let answers = generator.complete(prompt, questions, 1, SAMPLING)?;
    Ok(answers
        .into_iter()
        .map(|said| -> Answer<Vec<f64>> {
            let named = read(&said?.concat(), k)?;
            Ok((1..=k)
                .map(|number| f64::from(u8::from(number == named)))
                .collect())
        })
        .collect())
}

/// The scores of the candidates in their own order: the mean of the scores of their numbers over the orders.
fn mean(by_number: &[Vec<f64>], orders: &[Vec<usize>]) -> Vec<f64> {
    let mut scores = vec![0.0; orders[0].len()];
    for (by_number, order) in by_number.iter().zip(orders) {
        for (score, place) in by_number.iter().zip(order) {
            scores[*place] += score / ORDERS as f64;
        }
    }
    scores
}

#[cfg(test)]
mod tests {
    use teda_core::LogLikelihood;

    use super::super::toy::{Toy, observe, texts};
    use super::*;

    /// The numbered candidates and the release in a filled question.
    fn parts(question: &str) -> (Vec<&str>, &str) {
        let (_, rest) = question.split_once("Rewritten text Y:\n").unwrap();
        let (release, rest) = rest.split_once("\nCandidate original texts:\n").unwrap();
        let lines = rest.lines().filter_map(|line| line.split_once(". "));
        (lines.map(|(_, text)| text).collect(), release)
    }

    fn likely(total: f64) -> Answer<LogLikelihood> {
        Ok(LogLikelihood { total, tokens: 5 })
    }

    /// Prefers the first position by 8, and the candidate that equals the release by 1.
    fn biased() -> Arc<Toy> {
        Toy::new(|question, answer| {
            let (candidates, release) = parts(question);
            let number: usize = answer
                .strip_prefix("answer: [[")
                .and_then(|rest| rest.strip_suffix("]]"))
                .unwrap()
                .parse()
                .unwrap();
            if release == "much too long" {
                return Err("no room".into());
            }
            let bias = if number == 1 { 8.0 } else { 0.0 };
            let knows = f64::from(u8::from(candidates[number - 1] == release));
            likely(bias + knows - 16.0)
        })
    }

    #[test]
    fn both_orders_cancel_a_preference_for_places_exactly() {
        let toy = biased();
        let judge = Seen::Probabilities(toy.clone());
        let attack = Ask::new(judge, texts(&["sun", "rain", "snow"]));
        for trial in 0..50 {
            let batch = [
                observe("rain", &[0, 1], 3 * trial),
                observe("much too long", &[0, 1], 3 * trial + 1),
                observe("snow", &[2, 1], 3 * trial + 2),
            ];
            let scores = attack.score(&batch).unwrap();
            let expected = [
                Ok(vec![-12.0, -11.0]),
                Err("no room".into()),
                Ok(vec![-11.0, -12.0]),
            ];
            assert_eq!(scores, expected);
            // The scores do not depend on what else is in the batch.
            assert_eq!(attack.score(&batch[2..]).unwrap(), expected[2..]);
        }
        assert_eq!(toy.calls(), 100);
    }

    #[test]
    fn more_candidates_are_asked_about_in_two_orders() {
        let attack = Ask::new(
            Seen::Probabilities(biased()),
            texts(&["a", "b", "c", "d", "e"]),
        );
        let scores = attack.score(&[observe("c", &[4, 3, 2, 1, 0], 0)]).unwrap();
        let mut scores = scores[0].clone().unwrap();
        // Two of them were first once, and one is the release.
        scores[2] -= 1.0;
        scores.sort_by(f64::total_cmp);
        assert_eq!(scores, [-16.0, -16.0, -16.0, -12.0, -12.0]);
    }

    #[test]
    fn votes_are_averaged_and_unreadable_ones_leave_no_scores() {
        let judge = |says: fn(&str) -> Answer<String>| {
            let toy = Toy::speaking(says);
            Ask::new(Seen::Words(toy), texts(&["sun", "rain"]))
        };
        let batch = [observe("rain", &[0, 1], 0), observe("sun", &[0, 1], 1)];
        let knowing = judge(|question| {
            let (candidates, release) = parts(question);
            let place = candidates.iter().position(|text| *text == release);
            Ok(format!("answer: [[{}]]\n", place.unwrap() + 1))
        });
        let scores = knowing.score(&batch).unwrap();
        assert_eq!(scores, [Ok(vec![0.0, 1.0]), Ok(vec![1.0, 0.0])]);
        let stubborn = judge(|_| Ok("answer: [[1]]".to_owned()));
        let scores = stubborn.score(&batch).unwrap();
        assert_eq!(scores, [Ok(vec![0.5, 0.5]), Ok(vec![0.5, 0.5])]);
        let chatty = judge(|question| {
            let rain = parts(question).1 == "rain";
            Ok(if rain { "I think 1" } else { "answer: [[2]]" }.to_owned())
        });
        let scores = chatty.score(&batch).unwrap();
        assert!(scores[0].as_ref().unwrap_err().reason.contains("I think 1"));
        assert_eq!(scores[1], Ok(vec![0.5, 0.5]));
        let refusing = judge(|_| Err("HTTP 400".into()));
        assert_eq!(
            refusing.score(&batch[..1]).unwrap(),
            [Err("HTTP 400".into())]
        );
        assert!(refusing.score(&[]).unwrap().is_empty());
    }
}
