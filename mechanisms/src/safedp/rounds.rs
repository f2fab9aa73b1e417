//! Common code of `safedp-rewrite` and `safedp-rewrite-ns`; the former's file documents it.
//!
//! # How it runs
//! A round of a whole batch is one call of the rewriter and one of the encoder; texts whose candidates are dispersed
//! enough drop out.

use std::sync::Arc;

use ndarray::{Array2, ArrayView1};
use teda_core::{
    Answer, Basis, Beyond, Encoder, Error, Failure, Guarantee, Likelihood, Mechanism, Neighbours,
    Parameter, Prompt, Query, Release, Result, Sampling, Seed, Settings, TextGenerator, Unit,
};

use crate::entry::Context;
use crate::text::answer::sentence;
use crate::text::masking::{Always, Masked, bare};
use crate::text::similarity::similarity;
use crate::view::is_providers;

/// The paper's grid of ε.
pub const GRID: [f64; 4] = [0.5, 1.0, 2.0, 3.0];

/// The prompt for an instructed rewriter; our wording, as the paper's prompt is not published.
const PROMPT: &str = "Rewrite the following text as one natural, fluent sentence that keeps its meaning. Put fitting words in place of every [MASK]. Answer with the sentence alone.\n\nText: {}";

/// p.
pub const MASK_RATE: Parameter = Parameter::number(
    "mask_rate",
    0.2,
    [0.0, 1.0],
    "probability of a word to be masked, each round (paper: 0.1 to 0.4)",
);

/// Whether words with digits belong to E.
pub const MASK_NUMBERS: Parameter = Parameter::whole(
    "mask_numbers",
    1,
    [0, 1],
    "1: words with a digit are always masked",
);

/// Whether e-mail addresses belong to E.
pub const MASK_EMAILS: Parameter = Parameter::whole(
    "mask_emails",
    1,
    [0, 1],
    "1: e-mail addresses are always masked",
);

/// Words that the user adds to E.
pub const ALWAYS_MASK: Parameter = Parameter::words(
    "always_mask",
    "further words that are always masked, in any case",
);

/// n.
pub const CANDIDATES: Parameter = Parameter::whole(
    "candidates",
    10,
    [1, 1000],
    "rewrites a round; the paper does not say how many",
);

/// K.
pub const ROUNDS: Parameter = Parameter::whole("rounds", 5, [1, 100], "rounds at most");

/// δ.
pub const DISPERSION: Parameter = Parameter::number(
    "dispersion",
    0.35,
    [0.0, 1.0],
    "mean absolute deviation of the utilities that ends the rounds; above 0.5 never",
);

/// τ.
pub const TAU: Parameter = Parameter::number(
    "tau",
    0.8,
    [0.0, 1.0],
    "similarity from which rewrites are one group; the paper does not say which",
);

/// The rewriter's temperature.
pub const TEMPERATURE: Parameter = Parameter::number(
    "temperature",
    0.75,
    [0.01, 10.0],
    "sampling temperature of the rewriter",
);

/// Most tokens in a rewrite.
pub const LONGEST: Parameter = Parameter::whole(
    "max_new_tokens",
    48,
    [1, 4096],
    "tokens of a rewrite at most, where the rewriter generates tokens",
)
.formerly("longest");

/// Separates the masked texts of the rounds in the provider's view.
const BETWEEN_ROUNDS: &str = "\n";

/// SafeDP-Rewrite at one ε.
pub struct SafeDp {
    encoder: Arc<dyn Encoder>,
    generator: Arc<dyn TextGenerator>,
    epsilon: f64,
    always: Always,
    mask_rate: f64,
    candidates: usize,
    rounds: u64,
    dispersion: f64,
    /// STEM's threshold; `None` without STEM.
    tau: Option<f64>,
    prompt: Prompt,
    sampling: Sampling,
    /// Whether the masked texts are the release.
    shows_provider: bool,
}

/// A rewrite to choose among.
struct Candidate {
    text: String,
    /// ψ.
    vector: Vec<f32>,
    /// u.
    utility: f64,
}

/// One text of a batch.
struct Item<'a> {
    seed: Seed,
    source: ArrayView1<'a, f32>,
    masked: Masked<'a>,
    /// The masked texts so far.
    sent: Vec<String>,
    /// Y.
    candidates: Vec<Candidate>,
    failure: Option<Failure>,
}

impl SafeDp {
    /// An instance from its parameters, with STEM at `tau` or without.
    ///
    /// # Errors
    /// Usage, without a black-box rewriter.
    pub fn new(
        context: &Context,
        epsilon: f64,
        settings: &Settings,
        tau: Option<f64>,
    ) -> Result<Self> {
        let generator = context
            .generator
            .clone()
            .ok_or_else(|| Error::usage("'safedp-rewrite' needs a black-box rewriter (--llm)"))?;
        Ok(Self {
            encoder: context.encoder.clone(),
            generator,
            epsilon,
            always: Always {
                numbers: settings.get("mask_numbers") == 1.0,
                emails: settings.get("mask_emails") == 1.0,
                words: settings
                    .words("always_mask")
                    .iter()
                    .map(|w| bare(w))
                    .collect(),
            },
            mask_rate: settings.get("mask_rate"),
            candidates: settings.get("candidates") as usize,
            rounds: settings.get("rounds") as u64,
            dispersion: settings.get("dispersion"),
            tau,
            prompt: Prompt::new(PROMPT),
            sampling: Sampling {
                temperature: settings.get("temperature"),
                max_new_tokens: settings.get("max_new_tokens") as usize,
            },
            shows_provider: is_providers(settings),
        })
    }

    /// The number of rounds, if it is the same for all texts: D is at least 0 and, for utilities in [0, 1], at most ½.
    fn fixed_rounds(&self) -> Option<u64> {
        match self.dispersion {
            0.0 => Some(1),
            dispersion if dispersion > 0.5 || self.rounds == 1 => Some(self.rounds),
            _ => None,
        }
    }

    /// Masks more words of `items`, has them rewritten, and adds the rewrites to their candidates.
    fn round(&self, round: u64, items: &mut [&mut Item<'_>]) -> Result<()> {
        let texts: Vec<String> = items
            .iter_mut()
            .map(|item| {
                let mut stream = item.seed.named("mask").at(round).stream();
                item.masked.mask_more(self.mask_rate, &mut stream);
                item.masked.text()
            })
            .collect();
        if self.shows_provider {
            for (item, text) in items.iter_mut().zip(&texts) {
                item.sent.push(text.clone());
            }
            // The rewrites decide when to stop and nothing else.
            if self.fixed_rounds().is_some() {
                return Ok(());
            }
        }
        let queries: Vec<Query<'_>> = texts
            .iter()
            .zip(items.iter())
            .map(|(text, item)| Query {
                text,
                seed: item.seed.named("rewriter").at(round),
            })
            .collect();
        let answers =
            self.generator
                .complete(&self.prompt, &queries, self.candidates, self.sampling)?;
        let mut rewrites: Vec<(usize, &str)> = Vec::new();
        for (index, answer) in answers.iter().enumerate() {
            match answer {
                Ok(texts) => rewrites.extend(
                    texts
                        .iter()
                        .map(|text| (index, sentence(text)))
                        .filter(|(_, text)| !text.is_empty()),
                ),
                Err(failure) => {
                    let said = |reason| format!("the rewriter failed: {reason}");
                    items[index].failure = Some(failure.clone().map(said));
                }
            }
        }
        let texts: Vec<&str> = rewrites.iter().map(|(_, text)| *text).collect();
        let vectors = self.encoder.encode(&texts)?;
        for ((index, text), vector) in rewrites.into_iter().zip(vectors.rows()) {
            let item = &mut items[index];
            item.candidates.push(Candidate {
                text: text.to_owned(),
                vector: vector.to_vec(),
                utility: utility(item.source, vector),
            });
        }
        Ok(())
    }

    /// Whether a text continues to the next round.
    fn goes_on(&self, item: &Item<'_>) -> bool {
        item.failure.is_none() && dispersion(&item.candidates) < self.dispersion
    }

    /// Draws one of the candidates: Pr(y) ∝ exp(ε u(y) / (2Δu)). For a fixed set of candidates that is ε-DP, since u ∈
    /// [0, 1] moves by at most Δu = 1.
    fn select(&self, item: &Item<'_>) -> Release {
        if let Some(failure) = &item.failure {
            return Release::failed(failure.clone());
        }
        if self.shows_provider {
            return Release::of(item.sent.join(BETWEEN_ROUNDS));
        }
        let kept: Vec<&Candidate> = match self.tau {
            Some(tau) => stem(&item.candidates, tau),
            None => item.candidates.iter().collect(),
        };
        if kept.is_empty() {
            return Release::of("");
        }
        let mut log_weights: Vec<f64> = kept
            .iter()
            .map(|y| self.epsilon * y.utility / 2.0)
            .collect();
        let mut stream = item.seed.named("select").stream();
        Release::of(kept[stream.softmax(&mut log_weights)].text.as_str())
    }
}

impl Mechanism for SafeDp {
    fn guarantee(&self) -> Option<Guarantee> {
        if self.shows_provider {
            return None;
        }
        Some(Guarantee {
            epsilon: self.epsilon,
            delta: 0.0,
            unit: Unit::Text,
            neighbours: Neighbours::AnyTexts,
            basis: Basis::Claimed,
        })
    }

    fn likelihood(&self) -> Option<&dyn Likelihood> {
        self.shows_provider.then_some(self)
    }

    /// Checks the texts themselves: the rewriter is shown other words, but about as many tokens.
    fn beyond_window(&self, texts: &[&str]) -> Result<Option<Beyond>> {
        self.generator
            .beyond_window(&self.prompt, texts, self.sampling)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let texts: Vec<&str> = batch.iter().map(|query| query.text).collect();
        let sources: Array2<f32> = self.encoder.encode(&texts)?;
        let mut items: Vec<Item<'_>> = batch
            .iter()
            .zip(sources.rows())
            .map(|(query, source)| Item {
                seed: query.seed,
                source,
                masked: Masked::new(query.text, &self.always),
                sent: Vec::new(),
                candidates: Vec::new(),
                failure: None,
            })
            .collect();
        let mut going: Vec<&mut Item<'_>> = items.iter_mut().collect();
        for round in 0..self.rounds {
            if going.is_empty() {
                break;
            }
            self.round(round, &mut going)?;
            going.retain(|item| self.goes_on(item));
        }
        Ok(items.iter().map(|item| self.select(item)).collect())
    }
}

/// Of what the provider is sent.
impl Likelihood for SafeDp {
    /// If rewrites decide how many rounds there are, the number of rounds is taken as given.
    fn is_exact(&self) -> bool {
        self.fixed_rounds().is_some()
    }

    fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>> {
        let of = |(release, text): &(&str, &str)| {
            let sent: Vec<&str> = release.split(BETWEEN_ROUNDS).collect();
            let rounds = sent.len() as u64;
            let is_possible = match self.fixed_rounds() {
                Some(fixed) => rounds == fixed,
                None => rounds <= self.rounds,
            };
            Ok(match is_possible {
                true => Masked::new(text, &self.always).ln_probability(&sent, self.mask_rate),
                false => f64::NEG_INFINITY,
            })
        };
        Ok(pairs.iter().map(of).collect())
    }
}

/// u = clip₀₁⟨ψ(x), ψ(y)⟩.
fn utility(x: ArrayView1<'_, f32>, y: ArrayView1<'_, f32>) -> f64 {
    f64::from(x.dot(&y)).clamp(0.0, 1.0)
}

/// D: the mean absolute deviation of the utilities from their mean; 0 without candidates.
fn dispersion(candidates: &[Candidate]) -> f64 {
    let count = candidates.len().max(1) as f64;
    let mean = candidates.iter().map(|y| y.utility).sum::<f64>() / count;
    let deviations = candidates.iter().map(|y| (y.utility - mean).abs());
    deviations.sum::<f64>() / count
}

/// STEM: from each group of similar candidates the one with the highest utility, the first among equals.
fn stem(candidates: &[Candidate], tau: f64) -> Vec<&Candidate> {
    // Founder and best candidate of each group.
    let mut groups: Vec<(&Candidate, &Candidate)> = Vec::new();
    for candidate in candidates {
        let own = ArrayView1::from(&candidate.vector);
        let group = groups
            .iter_mut()
            .find(|(founder, _)| similarity(own, ArrayView1::from(&founder.vector)) >= tau);
        match group {
            Some((_, best)) if candidate.utility > best.utility => *best = candidate,
            Some(_) => {}
            None => groups.push((candidate, candidate)),
        }
    }
    groups.into_iter().map(|(_, best)| best).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use teda_core::MASK;

    use super::*;
    use crate::safedp::{safedp_rewrite, safedp_rewrite_ns};
    use crate::testing::{statistics, toy};

    fn instance(epsilon: f64, given: &[(&str, f64)], stem: bool) -> Box<dyn Mechanism> {
        let given: Vec<_> = given
            .iter()
            .map(|(n, v)| ((*n).to_owned(), v.to_string()))
            .collect();
        let entry = if stem {
            safedp_rewrite::ENTRY
        } else {
            safedp_rewrite_ns::ENTRY
        };
        let settings = entry.settings(None, &given).unwrap();
        entry
            .instance(&toy::context(), Some(epsilon), &settings)
            .unwrap()
    }

    /// Every way of masking words of `words` that are not masked yet, with its probability.
    fn maskings(words: &[String], rate: f64) -> Vec<(f64, Vec<String>)> {
        words.iter().fold(vec![(1.0, vec![])], |prefixes, word| {
            let ways = if word == MASK {
                vec![(1.0, word.clone())]
            } else {
                vec![(rate, MASK.to_owned()), (1.0 - rate, word.clone())]
            };
            prefixes
                .iter()
                .flat_map(|(p, prefix)| {
                    ways.iter().map(move |(q, word)| {
                        (p * q, [&prefix[..], std::slice::from_ref(word)].concat())
                    })
                })
                .collect()
        })
    }

    /// The releases' probabilities directly from the definition.
    struct Exact {
        text: &'static str,
        epsilon: f64,
        rate: f64,
        candidates: usize,
        rounds: usize,
        threshold: f64,
        tau: Option<f64>,
        released: BTreeMap<String, f64>,
    }

    impl Exact {
        fn cosine(a: &str, b: &str) -> f64 {
            let vectors = toy::tokens().encode(&[a, b]).unwrap();
            f64::from(vectors.row(0).dot(&vectors.row(1)))
        }

        fn utility(&self, y: &str) -> f64 {
            Self::cosine(self.text, y).clamp(0.0, 1.0)
        }

        /// The rounds from the `round`-th on, reached with probability `p`.
        fn explore(&mut self, round: usize, words: &[String], before: &[String], p: f64) {
            for (q, masked) in maskings(words, self.rate) {
                let text = masked.join(" ");
                let query = Query {
                    text: &text,
                    seed: Seed::root(0),
                };
                let sampling = Sampling {
                    temperature: 1.0,
                    max_new_tokens: 8,
                };
                let made = toy::tokens()
                    .complete(&Prompt::new("{}"), &[query], self.candidates, sampling)
                    .unwrap()
                    .remove(0)
                    .unwrap();
                let all = [before, &made[..]].concat();
                let u: Vec<f64> = all.iter().map(|y| self.utility(y)).collect();
                let mean = u.iter().sum::<f64>() / u.len() as f64;
                let d = u.iter().map(|u| (u - mean).abs()).sum::<f64>() / u.len() as f64;
                if d < self.threshold && round + 1 < self.rounds {
                    self.explore(round + 1, &masked, &all, p * q);
                } else {
                    self.select(&all, p * q);
                }
            }
        }

        fn select(&mut self, all: &[String], p: f64) {
            let mut groups: Vec<Vec<&String>> = Vec::new();
            for y in all {
                let alike = |group: &&mut Vec<&String>| {
                    self.tau
                        .is_some_and(|tau| 0.5 * (1.0 + Self::cosine(group[0], y)) >= tau)
                };
                match groups.iter_mut().find(alike) {
                    Some(group) => group.push(y),
                    None => groups.push(vec![y]),
                }
            }
            let best = |group: &Vec<&String>| {
                let mut best = group[0].clone();
                for y in group {
                    if self.utility(y) > self.utility(&best) {
                        best = (*y).clone();
                    }
                }
                best
            };
            let kept: Vec<String> = groups.iter().map(best).collect();
            let weight = |y: &String| (self.epsilon * self.utility(y) / 2.0).exp();
            let total: f64 = kept.iter().map(weight).sum();
            let drawn: Vec<f64> = kept.iter().map(|y| p * weight(y) / total).collect();
            for (y, p) in kept.into_iter().zip(drawn) {
                *self.released.entry(y).or_default() += p;
            }
        }
    }

    fn exact(text: &'static str, epsilon: f64, tau: Option<f64>) -> BTreeMap<String, f64> {
        let mut exact = Exact {
            text,
            epsilon,
            rate: 0.3,
            candidates: 3,
            rounds: 2,
            threshold: 0.1,
            tau,
            released: BTreeMap::new(),
        };
        let words: Vec<String> = text.split_whitespace().map(String::from).collect();
        exact.explore(0, &words, &[], 1.0);
        exact.released
    }

    /// An identical instance; every toy word has a digit, so those rules are off.
    fn twin(epsilon: f64, tau: Option<f64>) -> Box<dyn Mechanism> {
        let mut set = vec![
            ("mask_rate", 0.3),
            ("candidates", 3.0),
            ("rounds", 2.0),
            ("dispersion", 0.1),
            ("mask_numbers", 0.0),
        ];
        set.extend(tau.map(|tau| ("tau", tau)));
        instance(epsilon, &set, tau.is_some())
    }

    #[test]
    fn releases_follow_the_exact_probabilities_of_masks_rounds_and_selection() {
        let text = "t2 t5 t1";
        for tau in [None, Some(0.8), Some(0.95)] {
            for epsilon in [1.0, 20.0] {
                let counts = statistics::releases(&*twin(epsilon, tau), text, 40_000);
                let exact = exact(text, epsilon, tau);
                statistics::assert_sampled(&counts, &exact, &format!("ε={epsilon} τ={tau:?}"));
            }
        }
    }

    /// Why the claim is not proven: words that were never masked are possible under one text only.
    #[test]
    fn the_exact_ratio_between_texts_is_infinite() {
        let (p, q) = (exact("t2 t5 t1", 1.0, None), exact("t3 t4 t6", 1.0, None));
        assert_eq!(statistics::greatest_loss(&p, &q), f64::INFINITY);
        let claim = twin(1.0, None).guarantee().unwrap();
        assert_eq!((claim.epsilon, claim.basis), (1.0, Basis::Claimed));
    }

    /// What the provider is sent, against an enumeration of all masks of two rounds, and as it is stated.
    #[test]
    fn the_providers_view_follows_the_exact_probabilities_of_masks() {
        let text = "t2 t5 t1";
        let set = [
            ("mask_rate", "0.3"),
            ("rounds", "2"),
            ("mask_numbers", "0"),
            ("dispersion", "0.6"),
            ("view", "provider"),
        ];
        let settings = safedp_rewrite::ENTRY.settings(None, &toy::given(&set));
        let provider = safedp_rewrite::ENTRY
            .instance(&toy::context(), Some(1.0), &settings.unwrap())
            .unwrap();
        assert!(provider.guarantee().is_none());
        let words: Vec<String> = text.split(' ').map(String::from).collect();
        let mut exact: BTreeMap<String, f64> = BTreeMap::new();
        for (p, first) in maskings(&words, 0.3) {
            for (q, second) in maskings(&first, 0.3) {
                let sent = [first.join(" "), second.join(" ")].join("\n");
                *exact.entry(sent).or_default() += p * q;
            }
        }
        let counts = statistics::releases(&*provider, text, 40_000);
        statistics::assert_sampled(&counts, &exact, "view=provider");
        let shown: Vec<String> = exact.keys().cloned().collect();
        let stated = statistics::probabilities(&*provider, &shown, text);
        for (sent, p) in &exact {
            assert!((stated[sent] - p).abs() < 1e-12, "'{sent}'");
        }
        let likelihood = provider.likelihood().unwrap();
        let pairs = [("t2 t5 t1", text), ("t2 t5 t1\nt2 t5 t1", "t2 t5 t3")];
        let none = Ok(f64::NEG_INFINITY);
        assert_eq!(
            likelihood.log_likelihood(&pairs).unwrap(),
            [none.clone(), none]
        );
        assert!(likelihood.is_exact());
    }

    /// As published, the rewrites decide when the rounds end: the provider sees the masks of those that were made.
    #[test]
    fn the_provider_sees_the_masks_of_the_rounds_that_were_made() {
        let set = toy::given(&[("view", "provider"), ("dispersion", "0.01")]);
        let settings = safedp_rewrite::ENTRY.settings(None, &set).unwrap();
        let provider = safedp_rewrite::ENTRY.instance(&toy::context(), Some(1.0), &settings);
        let provider = provider.unwrap();
        let sent = statistics::releases(&*provider, "a b c", 300);
        let rounds: Vec<usize> = sent.keys().map(|sent| sent.split('\n').count()).collect();
        assert!(
            rounds.iter().all(|rounds| (1..=5).contains(rounds)),
            "{rounds:?}"
        );
        let likelihood = provider.likelihood().unwrap();
        assert!(!likelihood.is_exact());
        let pairs: Vec<(&str, &str)> = sent.keys().map(|sent| (&sent[..], "a b c")).collect();
        let stated = likelihood.log_likelihood(&pairs).unwrap();
        assert!(stated.into_iter().all(|ln| ln.unwrap().is_finite()));
    }

    #[test]
    fn stem_keeps_the_best_of_each_group() {
        let candidate = |text: &str, vector: [f32; 2], utility| Candidate {
            text: text.to_owned(),
            vector: vector.to_vec(),
            utility,
        };
        let candidates = [
            candidate("founder", [1.0, 0.0], 0.2),
            candidate("best", [0.8, 0.6], 0.9),
            candidate("equal", [0.8, -0.6], 0.9),
            candidate("opposite", [-1.0, 0.0], 0.1),
            candidate("across", [0.0, 1.0], 0.3),
        ];
        // Similarities to the founder: 0.9, 0.9, 0 and 0.5.
        let kept = |tau| -> Vec<String> {
            let kept = stem(&candidates, tau);
            kept.into_iter().map(|y| y.text.clone()).collect()
        };
        assert_eq!(kept(0.85), ["best", "opposite", "across"]);
        assert_eq!(kept(0.4), ["best", "opposite"]);
        assert_eq!(kept(0.0), ["best"]);
        assert_eq!(kept(1.0).len(), 5);
    }

    #[test]
    fn dispersion_is_the_mean_absolute_deviation() {
        let with = |utilities: &[f64]| -> Vec<Candidate> {
            utilities
                .iter()
                .map(|utility| Candidate {
                    text: String::new(),
                    vector: Vec::new(),
                    utility: *utility,
                })
                .collect()
        };
        assert_eq!(dispersion(&with(&[])), 0.0);
        assert_eq!(dispersion(&with(&[0.7])), 0.0);
        assert_eq!(dispersion(&with(&[0.0, 1.0, 0.0, 1.0])), 0.5);
        assert!((dispersion(&with(&[0.1, 0.2, 0.9])) - 1.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn a_text_without_words_is_released_empty() {
        let query = Query {
            text: " ",
            seed: Seed::root(0),
        };
        let releases = instance(1.0, &[], true).rewrite(&[query, query]).unwrap();
        assert_eq!(releases, [Release::of(""), Release::of("")]);
    }
}
