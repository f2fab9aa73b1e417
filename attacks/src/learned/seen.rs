//! Releases seen for each text that is often the secret.
//!
//! # Definition
//! A release is a list of outcomes o in contexts x: the whole of it, its first and last word, its length in words,
//! whether there is one, each of its words and pairs of words, and the character at each position of a short one. With
//! n(o) the count of o among the outcomes seen for text t in x, n their sum and u the number of different ones, P(o |
//! t) = (n(o) + u·P(o)) / (n + u) with P(o) the share of o in x over all texts together; an outcome that was never
//! seen for any text is ignored. A number of a candidate is Σ ln P(o | t)/P(o) over the outcomes of one kind; for
//! words and characters there is a second sum over only those that are 3 standard deviations from the expectation over
//! all texts. A text that was never seen has 0.
//!
//! # Source
//! The share u/(n + u) of the unseen: Witten & Bell (1991), method C.

use teda_core::Example;

use super::features::is_none;
use super::folds::{FOLDS, Without, fold};
use super::sheet::{Name, Sheet};
use super::wording::ratio;
use crate::text::{Table, bigrams, hash, words};

/// A text must have been the secret at least this often. The example's own fold does not count here either: otherwise,
/// of two candidates only the secret might count as known, because of this very example.
const LEAST: u32 = 4;
/// Most words and characters of a release that are examined.
const MOST: usize = 64;
/// Standard deviations from the expectation that make an outcome stand out.
const APART: f64 = 3.0;

/// The kinds of outcomes, by name.
const KINDS: [&str; 8] = [
    "whole releases",
    "first words",
    "last words",
    "lengths",
    "failures",
    "words",
    "pairs of words",
    "characters at each place",
];
const FAILURE: usize = 4;
/// The kinds with a second sum over the outcomes that stand out.
const MARKED: [usize; 2] = [5, 7];

/// One outcome of a release: its kind, its context and its value.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Outcome {
    kind: usize,
    context: u64,
    outcome: u64,
}

/// Number of numbers per candidate.
pub(super) const WIDTH: usize = KINDS.len() + MARKED.len();

/// Counts of what was seen, by text and by fold.
pub(super) struct Seen {
    /// How often each text was the secret; texts that were the secret too rarely are left out.
    secrets: Table<[u32; FOLDS]>,
    /// By text, context and outcome.
    outcomes: Table<[u32; FOLDS]>,
    /// By text and context; [`ALL`] stands for all texts together.
    contexts: Table<Context>,
}

/// Represents all texts together.
const ALL: u64 = u64::MAX;

struct Context {
    counts: [u32; FOLDS],
    /// Number of different outcomes, by set of folds left out.
    different: [u32; Without::ALL],
}

fn key(parts: [u64; 3]) -> u64 {
    hash(parts.into_iter().flat_map(u64::to_le_bytes))
}

/// The outcomes that make up a release.
fn outcomes(release: &str) -> Vec<Outcome> {
    let none = is_none(release);
    let at = |kind: usize, place: usize, outcome| Outcome {
        kind,
        context: (kind + KINDS.len() * place) as u64,
        outcome,
    };
    let mut all = vec![at(FAILURE, 0, u64::from(none))];
    if none {
        return all;
    }
    let mut words = words(release);
    all.push(at(0, 0, hash(release.bytes())));
    all.extend(words.first().map(|word| at(1, 0, *word)));
    all.extend(words.last().map(|word| at(2, 0, *word)));
    all.push(at(3, 0, words.len() as u64));
    words.truncate(MOST);
    all.extend(words.iter().map(|word| at(5, 0, *word)));
    all.extend(bigrams(&words).into_iter().map(|pair| at(6, 0, pair)));
    if release.chars().nth(MOST).is_none() {
        let places = release.chars().enumerate();
        all.extend(places.map(|(place, c)| at(7, place, u64::from(u32::from(c)))));
    }
    all
}

impl Seen {
    /// Counts on examples.
    pub(super) fn of(examples: &[Example<'_>]) -> Self {
        let secret = |example: &Example<'_>| example.observation.candidates[example.secret] as u64;
        let mut secrets: Table<[u32; FOLDS]> = Table::default();
        for (place, example) in examples.iter().enumerate() {
            secrets.entry(key([secret(example), 0, 0])).or_default()[fold(place)] += 1;
        }
        secrets.retain(|_, counts| counts.iter().sum::<u32>() >= LEAST);
        let mut seen = Self {
            outcomes: Table::default(),
            contexts: Table::default(),
            secrets,
        };
        if seen.secrets.is_empty() {
            return seen;
        }
        // The context of each outcome, for counting the different ones.
        let mut belongs: Table<u64> = Table::default();
        for (place, example) in examples.iter().enumerate() {
            let text = secret(example);
            let often = seen.secrets.contains_key(&key([text, 0, 0]));
            for outcome in outcomes(example.observation.release) {
                for text in [Some(ALL), often.then_some(text)].into_iter().flatten() {
                    let context = key([text, outcome.context, 0]);
                    let own = key([text, outcome.context, outcome.outcome ^ 1]);
                    seen.outcomes.entry(own).or_default()[fold(place)] += 1;
                    belongs.insert(own, context);
                    let empty = || Context {
                        counts: [0; FOLDS],
                        different: [0; Without::ALL],
                    };
                    seen.contexts.entry(context).or_insert_with(empty).counts[fold(place)] += 1;
                }
            }
        }
        for (own, counts) in &seen.outcomes {
            let context = belongs[own];
            let context = seen.contexts.get_mut(&context).expect("counted together");
            for without in Without::used() {
                let is = u32::from(without.sum(counts) > 0);
                context.different[without.place()] += is;
            }
        }
        seen
    }

    /// Whether any text was the secret often enough.
    pub(super) fn any(&self) -> bool {
        !self.secrets.is_empty()
    }

    /// The numbers of each candidate, `[k][WIDTH]`, from the examples outside some folds.
    pub(super) fn values(
        &self,
        candidates: &[usize],
        release: &str,
        without: Without,
    ) -> Vec<[f32; WIDTH]> {
        let known: Vec<bool> = candidates
            .iter()
            .map(|text| {
                let counts = self.secrets.get(&key([*text as u64, 0, 0]));
                counts.is_some_and(|counts| without.sum(counts) >= LEAST)
            })
            .collect();
        if !known.contains(&true) {
            return vec![[0.0; WIDTH]; candidates.len()];
        }
        let outcomes = outcomes(release);
        let pooled: Vec<f64> = outcomes.iter().map(|o| self.pooled(o, without)).collect();
        let each = |(text, known): (&usize, &bool)| {
            let mut values = [0.0_f64; WIDTH];
            if *known {
                for (outcome, p) in outcomes.iter().zip(&pooled) {
                    self.add(*text as u64, outcome, *p, without, &mut values);
                }
            }
            values.map(|value| value as f32)
        };
        candidates.iter().zip(&known).map(each).collect()
    }

    /// For a text: how many outcomes equal this one, how many outcomes its context has, and how many different ones.
    fn counts(&self, text: u64, outcome: &Outcome, without: Without) -> [f64; 3] {
        let Some(context) = self.contexts.get(&key([text, outcome.context, 0])) else {
            return [0.0; 3];
        };
        let own = self
            .outcomes
            .get(&key([text, outcome.context, outcome.outcome ^ 1]));
        let own = own.map_or(0, |counts| without.sum(counts));
        let all = without.sum(&context.counts);
        [own, all, context.different[without.place()]].map(f64::from)
    }

    /// P(o) over all texts together; 0 if it was never seen.
    fn pooled(&self, outcome: &Outcome, without: Without) -> f64 {
        let [own, all, _] = self.counts(ALL, outcome, without);
        ratio(own, all)
    }

    /// Adds ln P(o | t)/P(o).
    fn add(
        &self,
        text: u64,
        outcome: &Outcome,
        p: f64,
        without: Without,
        values: &mut [f64; WIDTH],
    ) {
        let [own, all, different] = self.counts(text, outcome, without);
        if all == 0.0 || p == 0.0 {
            return;
        }
        let ln_ratio = ((own + different * p) / (all + different) / p).ln();
        values[outcome.kind] += ln_ratio;
        let deviation = (all * p * (1.0 - p)).sqrt();
        if let Some(place) = MARKED.iter().position(|kind| *kind == outcome.kind)
            && (own - all * p).abs() > APART * deviation
        {
            values[KINDS.len() + place] += ln_ratio;
        }
    }
}

/// The meanings of the numbers.
pub(super) fn names() -> Vec<Name> {
    let mut sheet = Sheet::named();
    for what in KINDS {
        sheet.put(
            "the release is like those seen of the candidate by their {}",
            what,
            0.0,
        );
    }
    for kind in MARKED {
        sheet.put(
            "the release is like those seen of the candidate by the most telling of their {}",
            KINDS[kind],
            0.0,
        );
    }
    sheet.names()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;

    #[test]
    fn what_a_text_released_before_speaks_for_it() {
        let releases = ["alpha one", "beta two"];
        let examples: Vec<Example<'_>> = (0..40)
            .map(|i| Example {
                observation: toy::observation(&[0, 1, 2], releases[i % 2]),
                secret: i % 2,
            })
            .collect();
        let seen = Seen::of(&examples);
        let values = seen.values(&[0, 1, 2], "alpha one", Without::NOTHING);
        for kind in [0, 1, 2, 5, 6, 7, 8, 9] {
            assert!(
                values[0][kind] > 0.3 && values[1][kind] < -0.3,
                "{kind}: {values:?}"
            );
        }
        assert_eq!(values[2], [0.0; WIDTH]);
        assert_eq!(values[0][FAILURE], 0.0);
        // Examples 0, 5, 10, … are left out, and then the others of text 0.
        let mut without = Without::NOTHING;
        for fold in 0..FOLDS {
            without = without.and(fold);
        }
        assert_eq!(seen.values(&[0], "alpha one", without), [[0.0; WIDTH]]);
    }

    #[test]
    fn a_seldom_secret_says_nothing() {
        let example = Example {
            observation: toy::observation(&[0, 1], "a"),
            secret: 0,
        };
        let seen = Seen::of(&[example; 3]);
        assert_eq!(
            seen.values(&[0, 1], "a", Without::NOTHING),
            [[0.0; WIDTH]; 2]
        );
    }
}
