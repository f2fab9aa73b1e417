//! The fast classifier: regularised logistic regression on words, runs of characters and sentence vectors.
//!
//! # The strength of the penalty
//! Every tenth training text is held out, and models are fitted to the others under ever smaller [`PENALTIES`]; the one
//! under which the classes of the texts held out are likeliest is taken, and the model is fitted to all training texts
//! under it. The search ends where two penalties in succession were worse than the best. Where there are less than
//! [`FEW`] training texts, the penalty is [`USUAL`]. Test texts have no part in it. Nothing is random.

use teda_core::{Encoder, Result};

use super::features::Features;
use super::lbfgs::End;
use super::regression::{Examples, log_probabilities};

/// The penalties that are tried, largest first.
const PENALTIES: [f64; 12] = [
    1e4, 1e3, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003,
];
/// The penalty where there is too little to choose one by.
const USUAL: f64 = 1.0;
/// Training texts from which a penalty is chosen.
const FEW: usize = 50;
/// One training text in this many is held out to choose it.
const ONE_IN: usize = 10;
/// The gradient's norm, per √examples, at which a fit ends: far below its random variation.
const FLAT: f64 = 1e-2;
/// Most steps of a fit.
const STEPS: usize = 300;

/// A classifier of texts, trained.
pub struct Classifier {
    features: Features,
    weights: Vec<f64>,
    k: usize,
    penalty: f64,
}

impl Classifier {
    /// Learns to tell `k` classes apart from `texts`, one class below `k` for each.
    ///
    /// # Errors
    /// If the encoder fails.
    pub fn train(
        texts: &[&str],
        classes: &[usize],
        k: usize,
        encoder: &dyn Encoder,
    ) -> Result<Self> {
        let (features, rows) = Features::learn(texts, encoder)?;
        let examples = Examples::new(rows, classes.to_vec(), k);
        let (penalty, start) = match texts.len() {
            few if few < FEW => (USUAL, vec![0.0; examples.width()]),
            many => choose(&examples, many),
        };
        Ok(Self {
            features,
            weights: examples.fit(|_| true, penalty, start, end(texts.len())),
            k,
            penalty,
        })
    }

    /// The likeliest class of each text; of equally likely ones the first.
    ///
    /// # Errors
    /// If the encoder fails.
    pub fn predict(&self, texts: &[&str], encoder: &dyn Encoder) -> Result<Vec<usize>> {
        let rows = self.features.of(texts, encoder)?;
        let logs = log_probabilities(&rows, &self.weights, self.k);
        let best = |row: &[f64]| (1..row.len()).fold(0, |b, c| if row[c] > row[b] { c } else { b });
        Ok(logs.chunks_exact(self.k).map(best).collect())
    }

    /// The penalty λ under which it was fitted.
    #[must_use]
    pub fn penalty(&self) -> f64 {
        self.penalty
    }
}

fn end(examples: usize) -> End {
    End {
        flat: FLAT * (examples as f64).sqrt(),
        steps: STEPS,
    }
}

fn is_held(example: usize) -> bool {
    example % ONE_IN == ONE_IN - 1
}

/// The penalty under which the examples that are held out are likeliest, and the weights without them.
fn choose(examples: &Examples, count: usize) -> (f64, Vec<f64>) {
    let mut weights = vec![0.0; examples.width()];
    let mut best = (f64::INFINITY, USUAL, weights.clone());
    let mut worse = 0;
    for penalty in PENALTIES {
        weights = examples.fit(|example| !is_held(example), penalty, weights, end(count));
        let loss = examples.loss(is_held, &weights);
        if loss < best.0 {
            best = (loss, penalty, weights.clone());
            worse = 0;
        } else {
            worse += 1;
        }
        if worse == 2 {
            break;
        }
    }
    (best.1, best.2)
}

#[cfg(test)]
mod tests {
    use teda_core::Seed;
    use teda_models::builtin;

    use super::*;

    /// Texts on two subjects, with words that say nothing.
    fn texts(n: usize) -> (Vec<String>, Vec<usize>) {
        const SUBJECTS: [[&str; 4]; 2] = [
            ["play", "song", "album", "listen"],
            ["rain", "weather", "snow", "forecast"],
        ];
        const OTHERS: [&str; 6] = ["the", "please", "now", "a", "for", "me"];
        let mut stream = Seed::root(3).stream();
        let made = (0..n).map(|_| {
            let class = stream.below(2);
            let mut words: Vec<&str> = (0..6).map(|_| OTHERS[stream.below(6)]).collect();
            words[stream.below(6)] = SUBJECTS[class][stream.below(4)];
            (words.join(" "), class)
        });
        made.unzip()
    }

    fn views(texts: &[String]) -> Vec<&str> {
        texts.iter().map(String::as_str).collect()
    }

    fn right(classifier: &Classifier, texts: &[String], classes: &[usize]) -> f64 {
        let encoder = builtin::encoder().unwrap();
        let found = classifier.predict(&views(texts), &encoder).unwrap();
        let right = found.iter().zip(classes).filter(|(a, b)| a == b).count();
        right as f64 / classes.len() as f64
    }

    #[test]
    fn subjects_are_learned_from_many_texts_and_from_few() {
        let encoder = builtin::encoder().unwrap();
        let (all, classes) = texts(600);
        for n in [20, 400] {
            let (train, own) = (&all[..n], &classes[..n]);
            let classifier = Classifier::train(&views(train), own, 2, &encoder).unwrap();
            let rate = right(&classifier, &all[400..], &classes[400..]);
            assert!(rate > if n == 20 { 0.85 } else { 0.98 }, "{n}: {rate}");
        }
    }

    #[test]
    fn threads_change_no_bit() {
        let encoder = builtin::encoder().unwrap();
        let (all, classes) = texts(300);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            pool.install(|| Classifier::train(&views(&all), &classes, 2, &encoder).unwrap())
        };
        let (one, three) = (on(1), on(3));
        assert_eq!(one.penalty(), three.penalty());
        assert_eq!(one.weights, three.weights);
    }

    #[test]
    fn a_label_that_is_noise_gives_the_majority_class() {
        let encoder = builtin::encoder().unwrap();
        let (all, _) = texts(1_200);
        let mut stream = Seed::root(4).stream();
        // Seven in ten are of class 0, whatever the text.
        let noise: Vec<usize> = (0..1_200)
            .map(|_| usize::from(stream.below(10) >= 7))
            .collect();
        let classifier =
            Classifier::train(&views(&all[..600]), &noise[..600], 2, &encoder).unwrap();
        let rate = right(&classifier, &all[600..], &noise[600..]);
        let majority = noise[600..].iter().filter(|c| **c == 0).count() as f64 / 600.0;
        // Three standard errors of a share of 600.
        assert!((rate - majority).abs() < 0.056, "{rate}, not {majority}");
    }

    #[test]
    fn odd_and_empty_texts_are_classified_like_others() {
        let encoder = builtin::encoder().unwrap();
        let odd = [
            "",
            " \t\n",
            "\u{200d}",
            "…",
            "🙂🙂🙂",
            "a",
            "\u{feff}",
            "()",
        ];
        let classes = [0, 0, 1, 1, 0, 1, 0, 1];
        let classifier = Classifier::train(&odd, &classes, 2, &encoder).unwrap();
        assert_eq!(classifier.predict(&odd, &encoder).unwrap().len(), odd.len());
        assert!(classifier.predict(&[], &encoder).unwrap().is_empty());
        // Texts that failed, where failing goes with the class.
        let mut texts: Vec<&str> = vec![""; 40];
        texts.extend(["play a song"; 40]);
        let classes: Vec<usize> = (0..80).map(|i| usize::from(i >= 40)).collect();
        let classifier = Classifier::train(&texts, &classes, 2, &encoder).unwrap();
        let found = classifier.predict(&["", "play a song"], &encoder).unwrap();
        assert_eq!(found, [0, 1]);
        // A class that no training text has is never said.
        let classifier = Classifier::train(&texts, &classes, 3, &encoder).unwrap();
        assert!(
            classifier
                .predict(&["x", ""], &encoder)
                .unwrap()
                .iter()
                .all(|c| *c < 2)
        );
    }
}
