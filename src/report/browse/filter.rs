//! Which trials are shown.

use teda_core::plain;

use super::texts::{Texts, list};
use super::{Guess, Trial};
use crate::report::finished_run::FinishedRun;

/// What a trial must be like; all of it.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// An attack that is asked for was right.
    pub hits: bool,
    /// An attack that is asked for was wrong.
    pub misses: bool,
    /// The mechanism released nothing, or an attack has no score.
    pub failed: bool,
    /// Its number.
    pub trial: Option<u64>,
    /// A candidate, the release, or what an attack wrote back contains this, whatever its case.
    pub text: Option<String>,
}

/// A filter for the trials of one run.
pub struct Matcher<'a> {
    run: &'a FinishedRun,
    filter: &'a Filter,
    /// The text looked for, in lower case.
    words: Option<String>,
    /// Whether a text has these words, by list and number.
    texts: Vec<Vec<bool>>,
}

impl<'a> Matcher<'a> {
    /// The filter with what depends on the run's texts, which are read once.
    #[must_use]
    pub fn new(run: &'a FinishedRun, filter: &'a Filter, texts: &Texts) -> Self {
        let words = filter.text.as_ref().map(|words| words.to_lowercase());
        let texts = match &words {
            Some(words) => texts.all(|text| has(text, words)),
            None => Vec::new(),
        };
        Self {
            run,
            filter,
            words,
            texts,
        }
    }

    /// Whether a trial is shown.
    #[must_use]
    pub fn fits(&self, trial: &Trial) -> bool {
        let filter = self.filter;
        let any = |is: fn(&Guess) -> bool| trial.guesses.iter().any(is);
        filter.trial.is_none_or(|number| number == trial.number)
            && (!filter.hits || any(|guess| guess.hit))
            && (!filter.misses || any(|guess| !guess.hit))
            && (!filter.failed || trial.release.is_err() || any(|guess| guess.failure.is_some()))
            && self
                .words
                .as_ref()
                .is_none_or(|words| self.says(trial, words))
    }

    fn says(&self, trial: &Trial, words: &str) -> bool {
        let texts = self.texts.get(list(self.run, trial.cell));
        let in_candidate = |number: &u32| {
            texts.and_then(|texts| texts.get(*number as usize)).copied() == Some(true)
        };
        let written = |guess: &Guess| {
            guess
                .reading
                .as_ref()
                .is_some_and(|back| has(&back.text, words))
        };
        trial.candidates.iter().any(in_candidate)
            || trial
                .release
                .as_ref()
                .is_ok_and(|release| has(release, words))
            || trial.guesses.iter().any(written)
    }
}

/// Whether a text contains `words` (in lower case), as it is or as it is shown.
fn has(text: &str, words: &str) -> bool {
    let text = text.to_lowercase();
    text.contains(words) || plain(&text).contains(words)
}
