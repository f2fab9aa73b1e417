//! `dp-mlm`: every word is drawn anew from a masked language model, by the exponential mechanism.
//!
//! # Definition
//! The text is split into words. Some are copied (`keep`); in place of each other word i the model reads the whole
//! text and then the text with a mask for the word, and gives logits l over its whole vocabulary. Clipped to [b₁, b₂],
//! with Δ = b₂ − b₁ and T = 2Δ/ε, a token is drawn with
//! Pr(v) ∝ exp(clip(l_v) / T) = exp(ε clip(l_v) / (2Δ)).
//! It is written without white space around it, with a capital if the word had one, otherwise in lower case; the words
//! are joined to a text.
//!
//! # Guarantee
//! ε per drawn word, as the paper **claims**: whatever two texts the model reads, a token's clipped logit differs by at
//! most Δ between them, so each draw is the exponential mechanism with utility clip(l_v) and sensitivity Δ, and n draws
//! compose to nε. That covers the words that are drawn, and nothing else:
//! - with `keep=stopwords` (as published) and `keep=punctuation` the copied words are released as they are, and which
//!   words had a capital; between texts that differ in these no finite ε holds;
//! - with `keep=nothing` all words are drawn and written as drawn. Between texts with the same number n of words nε
//!   follows from the above. The number of words itself is released, so no finite ε holds between texts that differ
//!   in it.
//!
//! # Source
//! Meisenbacher, Chevli, Vladika and Matthes, *DP-MLM: Differentially Private Text Rewriting Using Masked Language
//! Models* (Findings of ACL 2024); copied words, pair of texts, bounds, window and case as in its authors' package
//! (`dpmlm` 1.3.0), which TeDA (arXiv 2603.22968) audited with these defaults. `replace=yes` is its `REPLACE=True`:
//! words drawn before a place take their places in what the model reads there.
//!
//! # Likelihood
//! Exact without `replace`: the draws are independent given the text, and the sum runs over all draws that write a
//! release ([`Writings`]). With `replace=yes` a draw depends on those before it, and there is none.
//!
//! # Work
//! Logits depend on neither ε nor the seed: each place of each text is read by the model once, for all trials and all
//! ε. What is kept is the input of the model's last layer; a draw computes logits for 64 tokens, not for all.
//!
//! # Deviations
//! - Bounds: those of `--preset roberta-base` are published, and are the defaults of that model; for any other model
//!   they are (μ, μ + 4σ) of its own logits (`teda models calibrate`).
//! - Words are split and joined by own rules after NLTK's ([`treebank`](crate::text::treebank)).
//! - A draw compares one number of 53 bits with the sums of the weights: tokens that together have a probability below
//!   2⁻⁵³ may never be drawn. Their likelihoods are stated as if they could be.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use teda_core::{
    Answer, Basis, Error, Gap, Guarantee, Inversion, Keep, Likelihood, MaskedLanguageModel,
    Mechanism, Neighbours, Parameter, Query, Release, Result, Settings, State, Stream, Unit,
};

use super::places::{Gapped, Kept, Place, places};
use super::prepared::{Distribution, Prepared};
use super::writing::Writings;
use crate::by_text::ByText;
use crate::dp_prompt::dp_prompt::{CLIP_HIGH, CLIP_LOW, clip_bounds};
use crate::entry::{Context, Entry, Preset, Rewriter};
use crate::text::treebank::join;
use crate::tokens::token_wise::ln_sum;

pub const ENTRY: Entry = Entry {
    name: "dp-mlm",
    summary: "a masked language model draws every word anew by the exponential mechanism on clipped logits",
    source: "DP-MLM (Findings of ACL 2024)",
    unit: Some(Unit::Token),
    grid: &[1.0, 10.0, 50.0, 100.0, 250.0],
    parameters: &[KEEP, REPLACE, CLIP_LOW, CLIP_HIGH],
    presets: PRESETS,
    rewriter: Rewriter::Masked,
    build: &|context, epsilon, settings| Ok(Box::new(DpMlm::new(context, epsilon, settings)?)),
    ..Entry::PUBLISHED
};

const KEEP: Parameter = Parameter::choice(
    "keep",
    &["stopwords", "punctuation", "nothing"],
    "what is copied: stopwords and punctuation as published, punctuation, or nothing, not even capitals",
);

const REPLACE: Parameter = Parameter::choice(
    "replace",
    &["no", "yes"],
    "whether the model reads the words drawn so far (slow: nothing can be kept) or the original ones, as published",
);

const PRESETS: &[Preset] = &[(
    "roberta-base",
    &[
        ("clip_low", "-3.2093127"),
        ("clip_high", "16.304797887802124"),
    ],
)];

/// States whose logits are computed in one task: the weights are read once for all of them.
const STATES: usize = 32;

/// DP-MLM at one ε per word.
pub struct DpMlm {
    model: Arc<dyn MaskedLanguageModel>,
    epsilon: f64,
    clip: (f64, f64),
    kept: Kept,
    replace: bool,
    texts: ByText<Prepared>,
    /// Built when a likelihood is first asked for.
    writings: OnceLock<Writings>,
}

impl DpMlm {
    fn new(context: &Context, epsilon: f64, settings: &Settings) -> Result<Self> {
        let model = context.masked_language_model.clone().ok_or_else(|| {
            Error::usage("'dp-mlm' needs a masked language model (--llm), such as roberta-base")
        })?;
        Ok(Self {
            clip: clip_bounds("dp-mlm", settings, model.logit_moments())?,
            texts: {
                let tokens = model.words().len();
                ByText::new(context.memory.clone(), move |text: &Prepared| {
                    text.bytes(tokens)
                })
            },
            model,
            epsilon,
            kept: match settings.chosen("keep") {
                "stopwords" => Kept::Stopwords,
                "punctuation" => Kept::Punctuation,
                _ => Kept::Nothing,
            },
            replace: settings.chosen("replace") == "yes",
            writings: OnceLock::new(),
        })
    }

    /// ln of the weight of a token with logit `l`: clip(l) / T with T = 2Δ/ε. It moves by at most Δ/T = ε/2 for any
    /// two texts, and so does the logarithm of the sum of all weights: ε in all.
    fn ln_weight(&self, logit: f32) -> f64 {
        let (low, high) = self.clip;
        let temperature = 2.0 * (high - low) / self.epsilon;
        f64::from(logit).clamp(low, high) / temperature
    }

    /// The log weights of `tokens` in one state.
    fn ln_weights(&self, state: &State, tokens: Range<usize>) -> Result<Vec<f64>> {
        let logits = self.model.logits(&[state], tokens)?;
        Ok(logits
            .into_iter()
            .map(|logit| self.ln_weight(logit))
            .collect())
    }

    /// The distribution in each state.
    fn distributions(&self, states: &[State]) -> Result<Vec<Distribution>> {
        let count = self.model.words().len();
        let some = |states: &[State]| {
            let asked: Vec<&State> = states.iter().collect();
            let logits = self.model.logits(&asked, 0..count)?;
            let distribution = |(logits, state): (&[f32], &State)| {
                let mut weights: Vec<f64> = logits.iter().map(|l| self.ln_weight(*l)).collect();
                Distribution {
                    state: state.clone(),
                    inversion: Inversion::new(&mut weights),
                }
            };
            Ok(logits
                .chunks_exact(count)
                .zip(states)
                .map(distribution)
                .collect())
        };
        let all: Vec<Vec<_>> = states.par_chunks(STATES).map(some).collect::<Result<_>>()?;
        Ok(all.into_iter().flatten().collect())
    }

    /// One token, drawn by inversion over the whole vocabulary.
    fn draw(&self, distribution: &Distribution, stream: &mut Stream) -> Result<usize> {
        let Distribution { state, inversion } = distribution;
        // The block of log weights computed last: a draw asks for those of one block, one after another.
        let block = RefCell::new(Ok((usize::MAX, Vec::new())));
        let drawn = inversion.draw(stream, |token| {
            let first = token / Inversion::BLOCK * Inversion::BLOCK;
            let mut block = block.borrow_mut();
            if !matches!(&*block, Ok((at, _)) if *at == first) {
                let last = self.model.words().len().min(first + Inversion::BLOCK);
                *block = self
                    .ln_weights(state, first..last)
                    .map(|weights| (first, weights));
            }
            block
                .as_ref()
                .map_or(f64::NEG_INFINITY, |(_, weights)| weights[token - first])
        });
        block.into_inner().map(|_| drawn)
    }

    /// Makes texts ready: their places, and what the model makes of each gap.
    fn prepare(&self, texts: &[&str]) -> Result<Vec<Prepared>> {
        let places: Vec<Vec<Place>> = texts
            .par_iter()
            .map(|text| places(text, self.kept))
            .collect();
        let gapped: Vec<(String, Vec<Gapped>)> = places
            .par_iter()
            .map(|places| {
                let words: Vec<&str> = places.iter().map(|place| &place.word[..]).collect();
                let drawn = (0..places.len()).filter(|place| places[*place].drawn.is_some());
                let gaps = drawn.map(|place| Gapped::new(&words, place)).collect();
                (join(words.iter().copied()), gaps)
            })
            .collect();
        let gaps: Vec<Gap<'_>> = gapped
            .iter()
            .flat_map(|(whole, gaps)| gaps.iter().map(|gap| gap.beside(whole)))
            .collect();
        let states = self.model.states(&gaps, Keep::Yes)?;
        let mut distributions = self.distributions(&states)?.into_iter();
        let ready = |(places, (_, gaps)): (Vec<Place>, &(String, Vec<Gapped>))| Prepared {
            places,
            distributions: distributions.by_ref().take(gaps.len()).collect(),
        };
        Ok(places.into_iter().zip(&gapped).map(ready).collect())
    }

    /// The batch, with draws that are independent of each other.
    fn rewrite_independently(&self, batch: &[Query<'_>]) -> Result<Vec<String>> {
        let texts = batch.iter().map(|query| query.text);
        let prepared = self.texts.of(texts, |missing| self.prepare(missing))?;
        let rewrite = |query: &Query<'_>| {
            let Prepared {
                places,
                distributions,
            } = &*prepared[query.text];
            let mut distributions = distributions.iter();
            let mut stream = query.seed.stream();
            let mut words: Vec<Cow<'_, str>> = Vec::with_capacity(places.len());
            for place in places {
                words.push(match place.drawn {
                    None => Cow::Borrowed(&place.word),
                    Some(case) => {
                        let distribution = distributions.next().expect("each drawn place has one");
                        case.of(&self.model.words()[self.draw(distribution, &mut stream)?])
                    }
                });
            }
            Ok(join(words.iter().map(|word| &**word)))
        };
        batch.par_iter().map(rewrite).collect()
    }

    /// The batch, with draws that the model reads at the places after them: the n-th draw of all texts, then the next.
    fn rewrite_progressively(&self, batch: &[Query<'_>]) -> Result<Vec<String>> {
        let mut drafts: Vec<Draft> = batch
            .iter()
            .map(|query| Draft::new(query, self.kept))
            .collect();
        loop {
            let mut open: Vec<(&mut Draft, usize)> = drafts
                .iter_mut()
                .filter_map(|draft| draft.left.next().map(|place| (draft, place)))
                .collect();
            if open.is_empty() {
                return Ok(drafts.iter().map(Draft::text).collect());
            }
            let shown: Vec<(String, Gapped)> = open
                .par_iter()
                .map(|(draft, place)| {
                    let words: Vec<&str> = draft.read.iter().map(|word| &word[..]).collect();
                    (join(words.iter().copied()), Gapped::new(&words, *place))
                })
                .collect();
            let gaps: Vec<Gap<'_>> = shown.iter().map(|(whole, gap)| gap.beside(whole)).collect();
            let distributions = self.distributions(&self.model.states(&gaps, Keep::No)?)?;
            for ((draft, place), distribution) in open.iter_mut().zip(&distributions) {
                let token = self.draw(distribution, &mut draft.stream)?;
                draft.read[*place].clone_from(&self.model.words()[token]);
            }
        }
    }
}

/// A text that is being rewritten place by place.
struct Draft {
    places: Vec<Place>,
    /// Its words as the model reads them: those drawn so far as they were drawn.
    read: Vec<String>,
    /// The places that are still to be drawn.
    left: std::vec::IntoIter<usize>,
    stream: Stream,
}

impl Draft {
    fn new(query: &Query<'_>, kept: Kept) -> Self {
        let places = places(query.text, kept);
        let left: Vec<usize> = (0..places.len())
            .filter(|i| places[*i].drawn.is_some())
            .collect();
        Self {
            read: places.iter().map(|place| place.word.clone()).collect(),
            left: left.into_iter(),
            places,
            stream: query.seed.stream(),
        }
    }

    fn text(&self) -> String {
        let words: Vec<Cow<'_, str>> = self
            .places
            .iter()
            .zip(&self.read)
            .map(|(place, word)| match place.drawn {
                None => Cow::Borrowed(&word[..]),
                Some(case) => case.of(word),
            })
            .collect();
        join(words.iter().map(|word| &**word))
    }
}

impl Mechanism for DpMlm {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(Guarantee {
            epsilon: self.epsilon,
            delta: 0.0,
            unit: Unit::Token,
            neighbours: Neighbours::AnyTexts,
            basis: Basis::Claimed,
        })
    }

    /// The words that are drawn anew.
    fn units(&self, text: &str) -> Option<u64> {
        let drawn = places(text, self.kept)
            .into_iter()
            .filter(|place| place.drawn.is_some());
        Some(drawn.count() as u64)
    }

    fn likelihood(&self) -> Option<&dyn Likelihood> {
        (!self.replace).then_some(self as &dyn Likelihood)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let made = match self.replace {
            false => self.rewrite_independently(batch)?,
            true => self.rewrite_progressively(batch)?,
        };
        Ok(made.into_iter().map(Release::of).collect())
    }
}

impl Likelihood for DpMlm {
    fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>> {
        let writings = self
            .writings
            .get_or_init(|| Writings::new(self.model.words()));
        let texts = pairs.iter().map(|(_, text)| *text);
        let prepared = self.texts.of(texts, |missing| self.prepare(missing))?;
        let of = |(release, text): &(&str, &str)| {
            let Prepared {
                places,
                distributions,
            } = &*prepared[text];
            let failed = RefCell::new(Ok(()));
            let ln_probability = |drawn: usize, tokens: &[u32]| {
                let Distribution { state, inversion } = &distributions[drawn];
                let weight = |token: &u32| {
                    let token = *token as usize;
                    let weights = self.ln_weights(state, token..token + 1);
                    weights.map(|weights| weights[0])
                };
                match tokens.iter().map(weight).collect::<Result<Vec<f64>>>() {
                    Ok(weights) => ln_sum(weights) - inversion.ln_total(),
                    Err(error) => {
                        *failed.borrow_mut() = Err(error);
                        f64::NAN
                    }
                }
            };
            let ln = writings.ln_probability(release, places, ln_probability);
            failed.into_inner().map(|()| Ok(ln))
        };
        pairs.par_iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;
    use teda_core::Seed;

    use super::super::places::Case;
    use super::*;
    use crate::memory::Memory;
    use crate::testing::statistics::{assert_sampled, greatest_loss, probabilities, releases};
    use crate::testing::toy::{self, Gaps};

    const CLIP: (f64, f64) = (-1.0, 1.5);

    fn instance(epsilon: f64, set: &[(&str, &str)]) -> DpMlm {
        let (low, high) = (CLIP.0.to_string(), CLIP.1.to_string());
        let clip = [("clip_low", &low[..]), ("clip_high", &high[..])];
        let settings = ENTRY
            .settings(None, &toy::given(&[&clip, set].concat()))
            .unwrap();
        DpMlm::new(&toy::context(), epsilon, &settings).unwrap()
    }

    /// The probabilities of tokens at a gap, directly from the definition.
    fn at_gap(whole: &str, before: &str, after: &str, epsilon: f64) -> Vec<f64> {
        let gap = Gap {
            whole,
            before,
            after,
        };
        let state = Gaps::new().states(&[gap], Keep::No).unwrap().remove(0);
        let temperature = 2.0 * (CLIP.1 - CLIP.0) / epsilon;
        let weights = state
            .iter()
            .map(|l| (f64::from(*l).clamp(CLIP.0, CLIP.1) / temperature).exp());
        let weights: Vec<f64> = weights.collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / sum).collect()
    }

    /// All releases of a text whose drawn words are described by `draws`: the probabilities of a draw given those
    /// before it, and how it is written; `None` for a copied word.
    type Next<'a> = dyn Fn(&[usize]) -> Option<Vec<f64>> + 'a;

    fn enumerate(
        places: &[Option<Case>],
        words: &[&str],
        next: &Next<'_>,
    ) -> BTreeMap<String, f64> {
        fn go(
            places: &[Option<Case>],
            words: &[&str],
            next: &Next<'_>,
            drawn: &mut Vec<usize>,
            written: &mut Vec<String>,
            p: f64,
            all: &mut BTreeMap<String, f64>,
        ) {
            let place = written.len();
            if place == places.len() {
                *all.entry(join(written.iter().map(|word| &word[..])))
                    .or_default() += p;
                return;
            }
            let Some(case) = places[place] else {
                written.push(words[place].to_owned());
                go(places, words, next, drawn, written, p, all);
                written.pop();
                return;
            };
            for (token, own) in next(drawn).unwrap().into_iter().enumerate() {
                drawn.push(token);
                written.push(case.of(&Gaps::new().words()[token]).into_owned());
                go(places, words, next, drawn, written, p * own, all);
                drawn.pop();
                written.pop();
            }
        }
        let mut all = BTreeMap::new();
        go(
            places,
            words,
            next,
            &mut Vec::new(),
            &mut Vec::new(),
            1.0,
            &mut all,
        );
        all
    }

    const TEXT: &str = "The t0, is Odd";

    #[test]
    fn releases_and_likelihoods_are_those_of_the_definition() {
        let (lower, capital) = (Some(Case::Lower), Some(Case::Capital));
        let words = ["The", "t0", ",", "is", "Odd"];
        let gaps = [("", " t0, is Odd"), ("The", ", is Odd"), ("The t0, is", "")];
        for epsilon in [0.5, 4.0] {
            let mechanism = instance(epsilon, &[]);
            let steps = gaps.map(|(before, after)| at_gap(TEXT, before, after, epsilon));
            let next = |drawn: &[usize]| steps.get(drawn.len()).cloned();
            let exact = enumerate(&[capital, lower, None, None, capital], &words, &next);
            assert_sampled(&releases(&mechanism, TEXT, 40_000), &exact, "dp-mlm");
            let texts: Vec<String> = exact.keys().cloned().collect();
            for (text, p) in probabilities(&mechanism, &texts, TEXT) {
                assert!(
                    (p / exact[&text] - 1.0).abs() < 1e-12,
                    "'{text}': {p}, not {}",
                    exact[&text]
                );
            }
            for impossible in ["", "The t0, is Odd!", "T0 t0, IS T1"] {
                let stated = mechanism.log_likelihood(&[(impossible, TEXT)]).unwrap();
                assert_eq!(stated, [Ok(f64::NEG_INFINITY)], "{impossible}");
            }
        }
    }

    #[test]
    fn with_replace_a_draw_reads_those_before_it() {
        let mechanism = instance(4.0, &[("replace", "yes"), ("keep", "nothing")]);
        let text = "odd end";
        let next = |drawn: &[usize]| {
            let words = Gaps::new();
            Some(match drawn {
                [] => at_gap(text, "", " end", 4.0),
                [first] => {
                    let read = join([&words.words()[*first][..], "end"]);
                    at_gap(&read, &join([&words.words()[*first][..]]), "", 4.0)
                }
                _ => return None,
            })
        };
        let own = Some(Case::AsDrawn);
        let exact = enumerate(&[own, own], &["odd", "end"], &next);
        assert_sampled(
            &releases(&mechanism, text, 40_000),
            &exact,
            "dp-mlm with replace",
        );
        assert!(mechanism.likelihood().is_none());
    }

    #[test]
    fn what_is_copied_stays_and_the_rest_does_not() {
        let of = |keep: &str| {
            let mechanism = instance(1.0, &[("keep", keep)]);
            let made: BTreeSet<String> =
                releases(&mechanism, "the t0 .", 300).into_keys().collect();
            (mechanism.units("the t0 .").unwrap(), made)
        };
        let (units, made) = of("stopwords");
        assert_eq!(units, 1);
        assert!(
            made.iter()
                .all(|text| text.starts_with("the") && text.ends_with('.'))
        );
        let (units, made) = of("punctuation");
        assert_eq!(units, 2);
        assert!(
            made.iter().all(|text| text.ends_with('.'))
                && made.iter().any(|text| !text.starts_with("the"))
        );
        let (units, made) = of("nothing");
        assert_eq!(units, 3);
        assert!(made.iter().any(|text| !text.ends_with('.')));
    }

    #[test]
    fn memory_changes_nothing() {
        let of = |bytes| {
            let context = Context {
                memory: Memory::new(bytes),
                ..toy::context()
            };
            let mechanism = DpMlm::new(&context, 2.0, &ENTRY.settings(None, &[]).unwrap()).unwrap();
            let queries: Vec<Query<'_>> = (0..60)
                .map(|i| Query {
                    text: ["one two", "Three the four", ""][i as usize % 3],
                    seed: Seed::root(3).at(i),
                })
                .collect();
            let alone = queries
                .iter()
                .map(|query| mechanism.rewrite(&[*query]).unwrap().remove(0));
            let alone: Vec<Release> = alone.collect();
            assert_eq!(mechanism.rewrite(&queries).unwrap(), alone);
            alone
        };
        assert_eq!(of(0), of(1 << 20));
    }

    #[test]
    fn without_bounds_or_with_reversed_ones_it_is_not_built() {
        let entry = |set: &[(&str, &str)]| ENTRY.settings(None, &toy::given(set)).unwrap();
        let reversed = entry(&[("clip_low", "2"), ("clip_high", "1")]);
        let refused = DpMlm::new(&toy::context(), 1.0, &reversed).err().unwrap();
        assert!(refused.to_string().contains("must be below"), "{refused}");
        let context = Context {
            masked_language_model: None,
            ..toy::context()
        };
        let refused = DpMlm::new(&context, 1.0, &entry(&[])).err().unwrap();
        assert!(
            refused.to_string().contains("masked language model"),
            "{refused}"
        );
    }

    proptest! {
        /// Privacy itself: between texts with the same number of words, with nothing copied, no release's probability
        /// changes by more than a factor of e^{nε}; with stopwords copied, some release is possible for one text alone.
        #[test]
        fn the_ratio_of_probabilities_is_within_the_claim(
            one in "[a-z]{4} [a-z]{4}", other in "[a-z]{4} [a-z]{4}", epsilon in 0.01_f64..10.0
        ) {
            let mechanism = instance(epsilon, &[("keep", "nothing")]);
            let words = Gaps::new();
            let texts: BTreeSet<String> = words
                .words()
                .iter()
                .flat_map(|a| words.words().iter().map(move |b| join([&a[..], &b[..]])))
                .collect();
            let texts: Vec<String> = texts.into_iter().collect();
            let [p, q] = [&one, &other].map(|text| probabilities(&mechanism, &texts, text));
            prop_assert!((p.values().sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(greatest_loss(&p, &q) <= 2.0 * epsilon * (1.0 + 1e-9));
        }
    }

    #[test]
    fn a_copied_word_tells_everything() {
        let mechanism = instance(1.0, &[]);
        let made = releases(&mechanism, "the end", 20).into_keys();
        for release in made {
            let stated = mechanism
                .log_likelihood(&[(&release, "the end"), (&release, "a end")])
                .unwrap();
            assert!(stated[0].as_ref().unwrap().is_finite());
            assert_eq!(stated[1], Ok(f64::NEG_INFINITY));
        }
    }
}
