//! What an attack that writes sources back read of them: of one trial, and the mean over many.
//!
//! # Definition
//! Of a trial with a source of w different words, of which r come back, the recall is r / w; a trial in which nothing was
//! written back, or whose source has no words, has none. The mean is over trials, as the field averages over texts, and
//! not over words: long texts count no more than short ones.

use teda_core::{Answer, Attack, Error, Observation, Reading, Recalled, Result};
use teda_results::Recall;

/// The scores of one trial, and what was read of its source.
pub type Answered = (Answer<Vec<f64>>, Option<Reading>);

/// An attack's answers, one per observation; `sources` are the texts' numbers.
///
/// # Errors
/// Any error of the attack; failed, if it does not answer once per observation.
pub fn answers(
    attack: &dyn Attack,
    batch: &[Observation<'_>],
    sources: &[usize],
) -> Result<Vec<Answered>> {
    let Some(reconstructor) = attack.reconstructor() else {
        let scores = checked(attack.score(batch)?, batch)?;
        return Ok(scores.into_iter().map(|scores| (scores, None)).collect());
    };
    let written = checked(reconstructor.reconstruct(batch)?, batch)?;
    let read = |((answer, seen), source): ((Answer<_>, &Observation<'_>), &usize)| match answer {
        Ok(teda_core::Reconstruction { text, scores }) => {
            let reading = reconstructor.read(*source, seen.release, text);
            (Ok(scores), Some(reading))
        }
        Err(failure) => (Err(failure), None),
    };
    let both = written.into_iter().zip(batch).zip(sources);
    Ok(both.map(read).collect())
}

/// Answers, if there is one per observation.
///
/// # Errors
/// Failed, if there is not.
pub fn checked<T>(answers: Vec<T>, batch: &[Observation<'_>]) -> Result<Vec<T>> {
    if answers.len() != batch.len() {
        return Err(Error::failed(format!(
            "the attack was shown {} trials and scored {}",
            batch.len(),
            answers.len()
        )));
    }
    Ok(answers)
}

/// What was read in the trials so far, which are added in their order.
#[derive(Debug, Clone, Default)]
pub struct Readings {
    any: bool,
    words: Shares,
    rare: Shares,
}

/// Sums of shares over trials.
#[derive(Debug, Clone, Copy, Default)]
struct Shares {
    texts: u64,
    release: f64,
    text: f64,
}

impl Shares {
    fn add(&mut self, found: Recalled) {
        if found.source > 0 {
            let share = |found: u32, of: u32| f64::from(found) / f64::from(of);
            self.texts += 1;
            self.release += share(found.release, found.source);
            self.text += share(found.text, found.source);
        }
    }

    fn mean(self, sum: f64) -> Option<f64> {
        (self.texts > 0).then(|| sum / self.texts as f64)
    }
}

impl Readings {
    /// Takes a trial into account.
    pub fn add(&mut self, reading: &Reading) {
        self.any = true;
        self.words.add(reading.words);
        self.rare.add(reading.rare);
    }

    /// The means, if anything was written back.
    #[must_use]
    pub fn recall(&self) -> Option<Recall> {
        let Self { words, rare, .. } = *self;
        self.any.then(|| Recall {
            texts: words.texts,
            tokens: words.mean(words.text),
            tokens_of_release: words.mean(words.release),
            rare_texts: rare.texts,
            rare: rare.mean(rare.text),
            rare_of_release: rare.mean(rare.release),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(words: [u32; 3], rare: [u32; 3]) -> Reading {
        let recalled = |[source, release, text]: [u32; 3]| Recalled {
            source,
            release,
            text,
        };
        Reading {
            text: String::new(),
            words: recalled(words),
            rare: recalled(rare),
        }
    }

    #[test]
    fn every_text_counts_alike_and_those_without_words_not_at_all() {
        let mut readings = Readings::default();
        assert_eq!(readings.recall(), None);
        readings.add(&reading([0, 0, 0], [0, 0, 0]));
        let recall = readings.recall().unwrap();
        assert_eq!((recall.texts, recall.tokens, recall.rare), (0, None, None));
        readings.add(&reading([2, 1, 2], [0, 0, 0]));
        readings.add(&reading([100, 0, 25], [4, 1, 2]));
        let recall = readings.recall().unwrap();
        assert_eq!((recall.texts, recall.rare_texts), (2, 1));
        assert_eq!(recall.tokens, Some((1.0 + 0.25) / 2.0));
        assert_eq!(recall.tokens_of_release, Some(0.25));
        assert_eq!(
            (recall.rare, recall.rare_of_release),
            (Some(0.5), Some(0.25))
        );
    }
}
