//! Lets the model write, each release once.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use teda_core::{Answer, Error, Prompt, Query, Result, Sampling, Seed, TextGenerator, TokenMap};

use super::prompt::request;

/// Tokens of what is written back, at most, of a release that is not longer: the model in the binary has room for 127.
const TOKENS: usize = 100;
/// Longer releases are given room in steps of this many tokens, so that few different limits are asked for.
const STEP: usize = 256;
/// Bytes of releases, and of what was written back from them, that are kept.
const KEPT: usize = 64 << 20;

pub(super) struct Writer {
    model: Arc<dyn TextGenerator>,
    tokens: Arc<dyn TokenMap>,
    prompt: Prompt,
    kept: Mutex<Kept>,
}

/// What was written back so far. Two threads that meet a release at once both ask, and keep the same.
#[derive(Default)]
struct Kept {
    texts: HashMap<String, String>,
    bytes: usize,
}

impl Writer {
    pub(super) fn new(model: Arc<dyn TextGenerator>, tokens: Arc<dyn TokenMap>) -> Self {
        Self {
            model,
            tokens,
            prompt: request(),
            kept: Mutex::default(),
        }
    }

    /// What the model writes back from each release; entry i depends on release i alone.
    ///
    /// # Errors
    /// If the model can answer nothing.
    pub(super) fn write(&self, releases: &[&str]) -> Result<Vec<Answer<String>>> {
        let mut known: HashMap<&str, Answer<String>> = HashMap::new();
        let mut by_room: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for release in releases {
            if known.contains_key(release) {
                continue;
            }
            let kept = self.kept().texts.get(*release).cloned();
            if kept.is_none() {
                by_room
                    .entry(self.room(release)?)
                    .or_default()
                    .push(release);
            }
            // In place of an answer that is to come.
            known.insert(release, Ok(kept.unwrap_or_default()));
        }
        for (room, releases) in by_room {
            for (release, answer) in releases.iter().zip(self.ask(&releases, room)?) {
                if let Ok(text) = &answer {
                    self.keep(release, text);
                }
                known.insert(release, answer);
            }
        }
        Ok(releases
            .iter()
            .map(|release| known[release].clone())
            .collect())
    }

    /// Tokens of the answer at most: some more than the release has, if the model has the room.
    fn room(&self, release: &str) -> Result<usize> {
        let tokens = self.tokens.tokenize(release).len() * 5 / 4;
        if tokens <= TOKENS {
            return Ok(TOKENS);
        }
        let more = tokens.next_multiple_of(STEP);
        let beyond = self
            .model
            .beyond_window(&self.prompt, &[release], greedy(more))?;
        Ok(match beyond {
            None => more,
            Some(_) => TOKENS,
        })
    }

    fn ask(&self, releases: &[&str], room: usize) -> Result<Vec<Answer<String>>> {
        let queries: Vec<Query<'_>> = releases
            .iter()
            .map(|text| Query {
                text,
                // A server may want a seed even where nothing is drawn: it is the release's own.
                seed: Seed::root(0).named("reconstruct").named(text),
            })
            .collect();
        let answers = self
            .model
            .complete(&self.prompt, &queries, 1, greedy(room))?;
        if answers.len() != queries.len() {
            return Err(Error::failed(format!(
                "the model was shown {} releases and wrote back {}",
                queries.len(),
                answers.len()
            )));
        }
        let text = |answer: Answer<Vec<String>>| answer.map(|said| said.concat().trim().to_owned());
        Ok(answers.into_iter().map(text).collect())
    }

    fn keep(&self, release: &str, text: &str) {
        let mut kept = self.kept();
        let bytes = release.len() + text.len();
        if kept.bytes + bytes <= KEPT {
            kept.bytes += bytes;
            kept.texts.insert(release.to_owned(), text.to_owned());
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        // A thread that panicked left whole entries.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn greedy(max_new_tokens: usize) -> Sampling {
    Sampling {
        temperature: 0.0,
        max_new_tokens,
    }
}

#[cfg(test)]
mod tests {
    use teda_core::Beyond;

    use super::*;
    use crate::toy;

    /// Says how much room it was given, of which it has 300 tokens.
    struct Says;

    impl TextGenerator for Says {
        fn complete(
            &self,
            prompt: &Prompt,
            queries: &[Query<'_>],
            n: usize,
            sampling: Sampling,
        ) -> Result<Vec<Answer<Vec<String>>>> {
            let asked = prompt.fill("RELEASE");
            assert!(asked.contains("Reconstruct the original text") && asked.contains("RELEASE"));
            assert_eq!(n, 1);
            let room = sampling.max_new_tokens.to_string();
            Ok(queries.iter().map(|_| Ok(vec![room.clone()])).collect())
        }

        fn beyond_window(
            &self,
            _: &Prompt,
            texts: &[&str],
            sampling: Sampling,
        ) -> Result<Option<Beyond>> {
            Ok((sampling.max_new_tokens > 300).then_some(Beyond {
                texts: texts.len(),
                window: 300,
            }))
        }
    }

    /// Each in its place, whatever is written together.
    #[test]
    fn long_releases_get_more_room_where_there_is_some() {
        let writer = Writer::new(Arc::new(Says), toy::context(&["a"]).tokens);
        let [short, long, endless] = [20, 150, 900].map(|n| "word ".repeat(n));
        let written = writer.write(&[&long, &short, &endless, &long]).unwrap();
        let written: Vec<String> = written.into_iter().map(|text| text.unwrap()).collect();
        assert_eq!(written, ["256", "100", "100", "256"]);
    }
}
