//! `dp-st`: the text's triples (subject, relation, object), each replaced by a public one, and a text written of these.
//!
//! # Definition
//! 1. The triples of the text, in its order ([`triples`]); of near-duplicates one stays ([`merged`]), and with
//!    `lone_triples=dropped` only those that had some. There are n of them.
//! 2. Each is replaced by a public triple y, Pr(y) ∝ exp(ε/n · u(y) / 2), among those of the cluster whose centroid is
//!    nearest (`cluster=nearest`) or among all (`cluster=all`). u(y) = max(1 − d, 0) with the cosine distance d of sentence
//!    vectors, so that 0 ≤ u ≤ 1. With `cluster=private` the cluster c is drawn too: Pr(c) ∝ exp(s · ε/n · u(c) / 2) by
//!    the distance to its centroid, and y in it at (1 − s) · ε/n, s = `cluster_share`.
//! 3. A text is written of the public triples alone: by a language model that follows instructions, asked by the
//!    published prompt at temperature 0, or if there is none by a template: "Subject relation object." for each.
//!
//! Four switches, each a leak as published. `output_length=as-original`: the text is cut after as many words as the
//! original has; `fixed`: it is not cut. `triples=as-extracted`: n is the number found; `fixed`: n = `triple_count`, of
//! more the first n are used, and fewer are filled up with empty triples, for which u = 0. `cluster`: as above.
//! `without_triples=original`: a text without triples is released as it is; `abstain`: nothing is released; `public`: it
//! counts as one empty triple. An empty triple has no nearest cluster, and is drawn from all.
//!
//! # Guarantee
//! The paper claims ε between any two texts; that is **claimed** by default. It does not hold: the original is
//! released with probability 1 where there are no triples; the cluster, n and the length of the text are shown as they
//! are.
//!
//! With all switches closed (`--preset closed`; `cluster=private` or `all`) it is ε-LDP between any two texts, proven.
//! For any text there are n = `triple_count` draws, whose support is public. u lies in [0, 1] whatever the text is, so
//! that between two texts it moves by Δ = 1 at most, and a draw at ε′ costs ε′: e^{ε′(u − u′)/2} bounds the ratio of two
//! weights by e^{ε′/2}, and that of two normalisers, too. With `private` a draw costs sε/n + (1 − s)ε/n, by
//! composition; n draws cost ε. The text is made of what was drawn, and of nothing else: post-processing. What double precision
//! leaves of this: "Numerical ends" in [`TokenExponential`](crate::tokens::token_exponential).
//!
//! # Source
//! DP-ST: Meisenbacher, Chevli & Matthes, *Leveraging Semantic Triples for Private Document Generation with Local
//! Differential Privacy Guarantees* (EMNLP 2025), and its code (sjmeis/DPST, `DPST.py`). The grid is what the code gives
//! other mechanisms on the novels: 0.1, 0.5 and 1 for each of a text's 30 words; its own default is 10.
//!
//! # Deviations
//! The paper's triples are Stanford OpenIE's, 15 million of FineWeb in 50,000 to 200,000 clusters, its vectors
//! jina-embeddings-v3 in 32 dimensions. Here triples are found by patterns over parts of speech, the public ones are of
//! the novels and of MedQuAD, and vectors are those of `--encoder`: clusters are those of the encoder in the binary,
//! their centroids the encoder's. So a text of these two data sets finds its own triples among the public ones.
//! OpenIE finds many variants of one triple, and the code drops a triple that has none; here there are few, so that
//! dropping would drop nearly all: by default they are kept. Of near-duplicates the shortest stays (the code: that of the lowest
//! perplexity under GPT-2), by exact Jaccard similarity (the code estimates it). A command has the subject "you"; OpenIE
//! finds no triple in it. The text is cut by words (the code: by tokens). The
//! code draws at the model's own temperature, and hands it subject and object in each other's place; here they are in
//! their own. A chat is written as one prompt. Paths to other public triples cannot be given.
//!
//! # Likelihood
//! Exact, if the template writes and nothing is cut (`output_length=fixed`): no two public triples write the same
//! sentence, so that a release is the product of its draws. Otherwise it is not stated.

use std::sync::Arc;

use rayon::prelude::*;
use teda_core::{
    Answer, Basis, Encoder, Guarantee, Likelihood, Mechanism, Neighbours, Parameter, Query,
    Release, Result, Settings, Stream, Unit, ln_softmax_over,
};

use super::corpus::{Corpus, public};
use super::near_duplicates::merged;
use super::triples::{Triple, triples};
use super::writing::{Drawn, Writing, template};
use crate::by_text::ByText;
use crate::entry::{Context, Entry, Preset, Rewriter};

pub const ENTRY: Entry = Entry {
    name: "dp-st",
    summary: "replaces the text's triples by public ones, and writes a text of these",
    source: "DP-ST (Meisenbacher et al., EMNLP 2025)",
    grid: &[3.0, 15.0, 30.0],
    parameters: PARAMETERS,
    presets: PRESETS,
    rewriter: Rewriter::Sampler,
    build: &|context, epsilon, settings| {
        Ok(Box::new(DpSt::new(context, public(), epsilon, settings)?))
    },
    ..Entry::PUBLISHED
};

const PARAMETERS: &[Parameter] = &[
    Parameter::choice(
        "output_length",
        &["as-original", "fixed"],
        "whether the text is cut after as many words as the original has",
    ),
    Parameter::choice(
        "triples",
        &["as-extracted", "fixed"],
        "how many triples are drawn: as many as the text has, or triple_count",
    ),
    Parameter::choice(
        "cluster",
        &["nearest", "private", "all"],
        "what a triple is drawn from: the nearest cluster, one that is drawn, or all",
    ),
    Parameter::choice(
        "without_triples",
        &["original", "abstain", "public"],
        "what is released of a text without triples: itself, nothing, or public triples",
    ),
    Parameter::whole(
        "triple_count",
        3,
        [1, 1000],
        "triples that are drawn with triples=fixed",
    ),
    Parameter::number(
        "cluster_share",
        0.5,
        [0.01, 0.99],
        "share of a triple's epsilon that draws its cluster with cluster=private",
    ),
    Parameter::choice(
        "lone_triples",
        &["kept", "dropped"],
        "triples without a near-duplicate in the text; dropped: as published",
    ),
    Parameter::whole(
        "sentence_tokens",
        100,
        [1, 100_000],
        "tokens that a language model writes at most",
    ),
];

const PRESETS: &[Preset] = &[(
    "closed",
    &[
        ("output_length", "fixed"),
        ("triples", "fixed"),
        ("cluster", "private"),
        ("without_triples", "public"),
    ],
)];

/// Δ: u lies in [0, 1] for every text.
const SENSITIVITY: f64 = 1.0;

/// What a triple is drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Nearest,
    Private,
    All,
}

/// What is released of a text without triples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Without {
    Original,
    Abstain,
    Public,
}

/// A triple to be replaced: all that its draw depends on but ε.
struct Slot {
    /// u of each cluster; none if no cluster is drawn.
    clusters: Vec<f32>,
    /// The first public triple that it is drawn from.
    first: usize,
    /// u of these triples.
    utilities: Vec<f32>,
}

impl Slot {
    fn bytes(&self) -> usize {
        size_of::<Self>() + 4 * (self.clusters.len() + self.utilities.len())
    }
}

/// DP-ST at one ε.
struct DpSt {
    corpus: Corpus,
    encoder: Arc<dyn Encoder>,
    writing: Writing,
    epsilon: f64,
    cuts: bool,
    /// n, if it is fixed.
    count: Option<usize>,
    from: From,
    share: f64,
    without: Without,
    keeps_lone: bool,
    /// The triples of a text; none if what is released of it is not drawn.
    texts: ByText<Vec<Slot>>,
}

impl DpSt {
    fn new(
        context: &Context,
        clusters: &[Vec<Triple>],
        epsilon: f64,
        settings: &Settings,
    ) -> Result<Self> {
        let sentence_tokens = settings.get("sentence_tokens") as usize;
        let fixed = settings.chosen("triples") == "fixed";
        Ok(Self {
            corpus: Corpus::new(clusters, &*context.encoder)?,
            encoder: context.encoder.clone(),
            writing: Writing::of(context, ENTRY.name, sentence_tokens)?,
            epsilon,
            cuts: settings.chosen("output_length") == "as-original",
            count: fixed.then(|| settings.get("triple_count") as usize),
            from: match settings.chosen("cluster") {
                "nearest" => From::Nearest,
                "private" => From::Private,
                _ => From::All,
            },
            share: settings.get("cluster_share"),
            without: match settings.chosen("without_triples") {
                "original" => Without::Original,
                "abstain" => Without::Abstain,
                _ => Without::Public,
            },
            keeps_lone: settings.chosen("lone_triples") == "kept",
            texts: ByText::new(context.memory.clone(), |slots: &Vec<Slot>| {
                slots.iter().map(Slot::bytes).sum()
            }),
        })
    }

    /// Whether nothing but what is drawn reaches the release.
    fn is_closed(&self) -> bool {
        !self.cuts
            && self.count.is_some()
            && self.from != From::Nearest
            && self.without == Without::Public
    }

    /// The phrases of the triples to be replaced, the empty ones as empty phrases; none if nothing is drawn.
    fn phrases(&self, text: &str) -> Vec<String> {
        let found = merged(triples(text), self.keeps_lone);
        let mut phrases: Vec<String> = found.iter().map(Triple::phrase).collect();
        match self.count {
            _ if phrases.is_empty() && self.without != Without::Public => return phrases,
            Some(count) => phrases.resize(count, String::new()),
            None if phrases.is_empty() => phrases.push(String::new()),
            None => {}
        }
        phrases
    }

    /// The texts' triples, ready to be drawn.
    fn prepare(&self, texts: &[&str]) -> Result<Vec<Vec<Slot>>> {
        let phrases: Vec<Vec<String>> = texts.par_iter().map(|text| self.phrases(text)).collect();
        let all: Vec<&str> = phrases.iter().flatten().map(String::as_str).collect();
        let vectors = self.encoder.encode(&all)?;
        let slots: Vec<Slot> = (0..all.len())
            .into_par_iter()
            .map(|row| self.slot(vectors.row(row)))
            .collect();
        let mut slots = slots.into_iter();
        Ok(phrases
            .iter()
            .map(|phrases| slots.by_ref().take(phrases.len()).collect())
            .collect())
    }

    /// A triple by its vector, which is 0 for an empty one.
    fn slot(&self, vector: ndarray::ArrayView1<'_, f32>) -> Slot {
        // u = max(1 − d, 0) with d = 1 − cosine, and at most 1 whatever the rounding.
        let utility = |cosine: f32| cosine.clamp(0.0, 1.0);
        let all = 0..self.corpus.triples.len();
        let is_empty = vector.iter().all(|number| *number == 0.0);
        let (clusters, places) =
            match self.from {
                From::Nearest if !is_empty => {
                    let cosines = self.corpus.cosines_of_clusters(vector);
                    let nearest = (1..cosines.len()).fold(0, |best, i| {
                        if cosines[i] > cosines[best] { i } else { best }
                    });
                    (Vec::new(), self.corpus.clusters[nearest].clone())
                }
                From::Private => (self.corpus.cosines_of_clusters(vector), all),
                From::Nearest | From::All => (Vec::new(), all),
            };
        let cosines = self.corpus.cosines(vector, places.clone());
        Slot {
            clusters: clusters.into_iter().map(utility).collect(),
            first: places.start,
            utilities: cosines.into_iter().map(utility).collect(),
        }
    }

    /// What a cluster and a triple cost, of n.
    fn epsilons(&self, n: usize) -> (f64, f64) {
        let each = self.epsilon / n as f64;
        match self.from {
            From::Private => (self.share * each, each - self.share * each),
            From::Nearest | From::All => (0.0, each),
        }
    }

    /// The public triple in place of one of n.
    fn draw(&self, slot: &Slot, n: usize, stream: &mut Stream) -> usize {
        let (for_cluster, for_triple) = self.epsilons(n);
        let weight = exponential(for_triple);
        if slot.clusters.is_empty() {
            return slot.first + stream.softmax_over(&slot.utilities, weight);
        }
        let cluster = stream.softmax_over(&slot.clusters, exponential(for_cluster));
        let places = self.corpus.clusters[cluster].clone();
        places.start + stream.softmax_over(&slot.utilities[places], weight)
    }

    /// ln of the probability that [`Self::draw`] is `place`.
    fn ln_probability(&self, slot: &Slot, n: usize, place: usize) -> f64 {
        let (for_cluster, for_triple) = self.epsilons(n);
        let weight = exponential(for_triple);
        if slot.clusters.is_empty() {
            return match place.checked_sub(slot.first) {
                Some(own) if own < slot.utilities.len() => {
                    ln_softmax_over(&slot.utilities, &[own as u32], weight)
                }
                _ => f64::NEG_INFINITY,
            };
        }
        let of = |places: &std::ops::Range<usize>| places.contains(&place);
        let cluster = self.corpus.clusters.iter().position(of);
        let cluster = cluster.expect("every triple is in a cluster");
        let places = self.corpus.clusters[cluster].clone();
        let own = (place - places.start) as u32;
        ln_softmax_over(&slot.clusters, &[cluster as u32], exponential(for_cluster))
            + ln_softmax_over(&slot.utilities[places], &[own], weight)
    }

    /// The triples in these places.
    fn triples(&self, places: &[usize]) -> Vec<&Triple> {
        let triples = &self.corpus.triples;
        places.iter().map(|place| &triples[*place]).collect()
    }

    /// What is released of a text of which nothing is drawn.
    fn undrawn<'a>(&self, text: &'a str) -> &'a str {
        match self.without {
            Without::Original => text,
            Without::Abstain | Without::Public => "",
        }
    }
}

/// The exponential mechanism: ln of a weight, by u.
fn exponential(epsilon: f64) -> impl Fn(f32) -> f64 {
    move |utility| epsilon * f64::from(utility) / (2.0 * SENSITIVITY)
}

/// A text up to its `words`-th word.
fn cut(text: &str, words: usize) -> String {
    let kept: Vec<&str> = text.split_whitespace().take(words).collect();
    kept.join(" ")
}

impl Mechanism for DpSt {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(Guarantee {
            epsilon: self.epsilon,
            delta: 0.0,
            unit: Unit::Text,
            neighbours: Neighbours::AnyTexts,
            basis: match self.is_closed() {
                true => Basis::Proven,
                false => Basis::Claimed,
            },
        })
    }

    fn likelihood(&self) -> Option<&dyn Likelihood> {
        (matches!(self.writing, Writing::Template) && !self.cuts).then_some(self)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let texts = batch.iter().map(|query| query.text);
        let prepared = self.texts.of(texts, |texts| self.prepare(texts))?;
        let mut releases: Vec<Release> = batch
            .iter()
            .map(|query| Release::of(self.undrawn(query.text)))
            .collect();
        let is_drawn = |row: &usize| !prepared[batch[*row].text].is_empty();
        let rows: Vec<usize> = (0..batch.len()).filter(is_drawn).collect();
        let drawn: Vec<Drawn<'_>> = rows
            .iter()
            .map(|row| {
                let Query { text, seed } = batch[*row];
                let slots = &prepared[text];
                let mut stream = seed.named("triples").stream();
                let draw = |slot| self.draw(slot, slots.len(), &mut stream);
                let places: Vec<usize> = slots.iter().map(draw).collect();
                Drawn {
                    triples: self.triples(&places),
                    seed: seed.named("answer"),
                }
            })
            .collect();
        for (row, answer) in rows.iter().zip(self.writing.write(&drawn)?) {
            releases[*row] = match answer {
                Ok(text) if self.cuts => {
                    Release::of(cut(&text, batch[*row].text.split_whitespace().count()))
                }
                Ok(text) => Release::of(text),
                Err(failure) => Release::failed(failure),
            };
        }
        Ok(releases)
    }
}

impl Likelihood for DpSt {
    fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>> {
        let texts = pairs.iter().map(|(_, text)| *text);
        let prepared = self.texts.of(texts, |texts| self.prepare(texts))?;
        let of = |(release, text): &(&str, &str)| {
            let slots = &prepared[text];
            if slots.is_empty() {
                return match *release == self.undrawn(text) {
                    true => 0.0,
                    false => f64::NEG_INFINITY,
                };
            }
            // A sentence ends at its only full stop.
            let sentences: Vec<&str> = release.split_inclusive(". ").map(str::trim_end).collect();
            let places = sentences
                .iter()
                .map(|sentence| self.corpus.places.get(*sentence).copied());
            match places.collect::<Option<Vec<usize>>>() {
                Some(places)
                    if places.len() == slots.len()
                        && template(&self.triples(&places)) == *release =>
                {
                    let each = slots.iter().zip(places);
                    each.map(|(slot, place)| self.ln_probability(slot, slots.len(), place))
                        .sum()
                }
                _ => f64::NEG_INFINITY,
            }
        };
        Ok(pairs.par_iter().map(|pair| Ok(of(pair))).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ndarray::Array2;
    use proptest::prelude::*;
    use teda_core::Seed;

    use super::*;
    use crate::memory::Memory;
    use crate::testing::statistics::{assert_sampled, greatest_loss, probabilities, releases};
    use crate::testing::toy;

    /// A vector in general position for every text, and 0 for the empty one.
    struct Vectors;

    impl Encoder for Vectors {
        fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
            let mut rows = Array2::zeros((texts.len(), self.dimension()));
            for (text, mut row) in texts.iter().zip(rows.rows_mut()) {
                let mut stream = Seed::root(4).named(text).stream();
                if !text.is_empty() {
                    row.map_inplace(|number| *number = (stream.uniform() - 0.3) as f32);
                    let norm = row.dot(&row).sqrt();
                    row /= norm;
                }
            }
            Ok(rows)
        }

        fn dimension(&self) -> usize {
            3
        }
    }

    /// Two clusters of public triples.
    fn clusters() -> Vec<Vec<Triple>> {
        [["a", "b", "c"].as_slice(), &["d", "e"]]
            .map(|subjects| {
                let triple = |subject: &&str| Triple {
                    subject: (*subject).to_owned(),
                    relation: "is".to_owned(),
                    object: "it".to_owned(),
                };
                subjects.iter().map(triple).collect()
            })
            .into()
    }

    /// Texts with one triple, with two, and with none.
    const ONE: &str = "He opened the door.";
    const TWO: &str = "He opened the door. A dog barked at the moon.";
    const NONE: &str = "Hello, hello!";

    const CLOSED: [(&str, &str); 5] = [
        ("output_length", "fixed"),
        ("triples", "fixed"),
        ("cluster", "private"),
        ("without_triples", "public"),
        ("triple_count", "2"),
    ];

    fn instance(epsilon: f64, given: &[(&str, &str)], memory: usize) -> DpSt {
        let context = Context {
            encoder: Arc::new(Vectors),
            language_model: None,
            sampler: None,
            memory: Memory::new(memory),
            ..toy::context()
        };
        let settings = ENTRY.settings(None, &toy::given(given)).unwrap();
        DpSt::new(&context, &clusters(), epsilon, &settings).unwrap()
    }

    /// All closed, but for what is given.
    fn closed_but(epsilon: f64, open: &[(&str, &str)]) -> DpSt {
        instance(epsilon, &[&CLOSED[..], open].concat(), 1 << 20)
    }

    /// The texts that the template writes of `n` triples.
    fn texts(mechanism: &DpSt, n: usize) -> Vec<String> {
        let mut all: Vec<Vec<usize>> = vec![Vec::new()];
        for _ in 0..n {
            let longer = |drawn: &Vec<usize>| {
                let drawn = drawn.clone();
                (0..5).map(move |place| [&drawn[..], &[place]].concat())
            };
            all = all.iter().flat_map(longer).collect();
        }
        all.iter()
            .map(|places| template(&mechanism.triples(places)))
            .collect()
    }

    /// The probabilities of the public triples in place of `phrase` at ε′, directly from the definition.
    fn exact(phrase: &str, cluster: &str, epsilon: f64) -> Vec<f64> {
        let clusters = clusters();
        let vector = |phrase: &str| {
            let row = Vectors.encode(&[phrase]).unwrap();
            row.row(0).mapv(f64::from)
        };
        let own = vector(phrase);
        let utility = |cosine: f64| (1.0 - (1.0 - cosine)).max(0.0);
        let share = |weights: Vec<f64>| -> Vec<f64> {
            let total: f64 = weights.iter().sum();
            weights.into_iter().map(|weight| weight / total).collect()
        };
        let inside = |triples: &[Triple], epsilon: f64| {
            let cosine = |triple: &Triple| vector(&triple.phrase()).dot(&own);
            let weight = |triple: &Triple| (epsilon * utility(cosine(triple)) / 2.0).exp();
            share(triples.iter().map(weight).collect())
        };
        let cosines: Vec<f64> = clusters
            .iter()
            .map(|triples| {
                let sum = triples.iter().map(|triple| vector(&triple.phrase()));
                let sum = sum.reduce(|a, b| a + b).unwrap();
                sum.dot(&own) / sum.dot(&sum).sqrt()
            })
            .collect();
        let first_is_nearest = cosines[0] > cosines[1];
        match cluster {
            "all" => inside(&clusters.concat(), epsilon),
            "nearest" if phrase.is_empty() => inside(&clusters.concat(), epsilon),
            "nearest" => {
                let chosen = [first_is_nearest, !first_is_nearest];
                let of = |(triples, chosen): (&Vec<Triple>, bool)| match chosen {
                    true => inside(triples, epsilon),
                    false => vec![0.0; triples.len()],
                };
                clusters.iter().zip(chosen).flat_map(of).collect()
            }
            _ => {
                let weights = cosines
                    .iter()
                    .map(|c| (epsilon / 2.0 * utility(*c) / 2.0).exp());
                let own = share(weights.collect());
                let of = |(triples, own): (&Vec<Triple>, f64)| -> Vec<f64> {
                    let inside = inside(triples, epsilon / 2.0);
                    inside.into_iter().map(|p| p * own).collect()
                };
                clusters.iter().zip(own).flat_map(of).collect()
            }
        }
    }

    #[test]
    fn releases_and_likelihoods_are_those_of_the_definition() {
        let phrases = ["He opened the door", "A dog barked at the moon"];
        let cases = [(TWO, phrases), (ONE, [phrases[0], ""]), (NONE, ["", ""])];
        for cluster in ["private", "all", "nearest"] {
            let mechanism = closed_but(9.0, &[("cluster", cluster)]);
            for (text, phrases) in cases {
                let [first, second] = phrases.map(|phrase| exact(phrase, cluster, 4.5));
                let both = first.iter().flat_map(|p| second.iter().map(move |q| p * q));
                let all = texts(&mechanism, 2);
                let expected: BTreeMap<String, f64> = all.iter().cloned().zip(both).collect();
                let what = format!("{cluster}: {text}");
                assert_sampled(&releases(&mechanism, text, 20_000), &expected, &what);
                for (release, p) in probabilities(&mechanism, &all, text) {
                    let right = expected[&release];
                    assert!(
                        (p - right).abs() < 1e-6 * right + 1e-12,
                        "{what}: {p}, not {right}"
                    );
                }
                for impossible in [
                    "",
                    "A is it.",
                    "A is it.  B is it.",
                    "A is it. X is it.",
                    text,
                ] {
                    let stated = mechanism.log_likelihood(&[(impossible, text)]).unwrap();
                    assert_eq!(stated, [Ok(f64::NEG_INFINITY)], "{what}: {impossible}");
                }
            }
        }
    }

    /// What each open switch shows of two texts, all others closed: a release that one of them alone can have.
    #[test]
    fn every_switch_that_is_open_leaks_without_bound() {
        let nearest = |text: &str| {
            let mechanism = closed_but(1.0, &[("cluster", "nearest")]);
            mechanism.prepare(&[text]).unwrap()[0][0].first
        };
        let mut others = ["The doctor closed it.", "She left the house.", "I saw her."].into_iter();
        let far = others.find(|text| nearest(text) != nearest(ONE)).unwrap();
        for (open, one, other) in [
            (("triples", "as-extracted"), ONE, TWO),
            (("cluster", "nearest"), ONE, far),
            (("without_triples", "original"), ONE, NONE),
            (("without_triples", "abstain"), ONE, NONE),
        ] {
            let mechanism = closed_but(1.0, &[open]);
            let mut all = [texts(&mechanism, 1), texts(&mechanism, 2)].concat();
            all.extend(["".to_owned(), NONE.to_owned()]);
            let [p, q] = [one, other].map(|text| probabilities(&mechanism, &all, text));
            assert_eq!(greatest_loss(&p, &q), f64::INFINITY, "{open:?}");
            assert_eq!(mechanism.guarantee().unwrap().basis, Basis::Claimed);
        }
        // The length of the original is that of the release.
        let mechanism = closed_but(1.0, &[("output_length", "as-original")]);
        assert!(mechanism.likelihood().is_none());
        for (text, words) in [(NONE, 2), (ONE, 4), (TWO, 6)] {
            for release in releases(&mechanism, text, 50).keys() {
                assert_eq!(release.split(' ').count(), words, "{release}");
            }
        }
        assert_eq!(
            closed_but(1.0, &[]).guarantee().unwrap().basis,
            Basis::Proven
        );
    }

    #[test]
    fn published_texts_without_triples_are_released() {
        let mechanism = instance(3.0, &[], 1 << 20);
        for text in [NONE, "", "😀", "  \n"] {
            assert_eq!(releases(&mechanism, text, 3).keys().next().unwrap(), text);
        }
        // Every triple of this text is alone.
        let dropped = instance(3.0, &[("lone_triples", "dropped")], 1 << 20);
        assert_eq!(releases(&dropped, TWO, 3).keys().next().unwrap(), TWO);
    }

    #[test]
    fn memory_and_batches_change_nothing() {
        let of = |memory| {
            let mechanism = instance(3.0, &[], memory);
            let queries: Vec<Query<'_>> = (0..60)
                .map(|i| Query {
                    text: [ONE, TWO, NONE, ""][i as usize % 4],
                    seed: Seed::root(3).at(i),
                })
                .collect();
            let alone = queries
                .iter()
                .map(|q| mechanism.rewrite(&[*q]).unwrap().remove(0));
            let alone: Vec<Release> = alone.collect();
            assert_eq!(mechanism.rewrite(&queries).unwrap(), alone);
            alone
        };
        assert_eq!(of(0), of(1 << 20));
    }

    /// The toy model answers by what it is shown: public triples, and never more tokens than it may.
    #[test]
    fn a_language_model_sees_what_was_drawn_alone() {
        let settings = [&CLOSED[..], &[("sentence_tokens", "3")]].concat();
        let settings = ENTRY.settings(None, &toy::given(&settings)).unwrap();
        let context = Context {
            encoder: Arc::new(Vectors),
            ..toy::context()
        };
        let mechanism = DpSt::new(&context, &clusters(), 2.0, &settings).unwrap();
        assert!(mechanism.likelihood().is_none());
        // One text for each pair of triples at most: the private text itself reaches nothing.
        let made: Vec<_> = [ONE, NONE]
            .map(|text| releases(&mechanism, text, 500))
            .into();
        assert!(made.iter().all(|made| made.len() <= 25));
        assert!(made[0].keys().all(|text| text.split(' ').count() == 3));
    }

    proptest! {
        /// Privacy itself: with all switches closed no release's probability changes by more than a factor of e^ε.
        #[test]
        fn closed_the_ratio_of_probabilities_is_within_the_claim(
            one in "(He|A dog|The man) (opened|saw) (the door|the moon)(\\. She left the house)?|",
            other in "(He|A dog|The man) (opened|saw) (the door|the moon)(\\. She left the house)?|",
            private in any::<bool>(),
            epsilon in 0.01_f64..20.0
        ) {
            let cluster = if private { "private" } else { "all" };
            let mechanism = closed_but(epsilon, &[("cluster", cluster)]);
            let all = texts(&mechanism, 2);
            let [p, q] = [&one, &other].map(|text| probabilities(&mechanism, &all, text));
            prop_assert!((p.values().sum::<f64>() - 1.0).abs() < 1e-6);
            prop_assert!(greatest_loss(&p, &q) <= epsilon * (1.0 + 1e-6));
        }
    }
}
