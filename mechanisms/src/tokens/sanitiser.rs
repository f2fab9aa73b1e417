//! Phase 1 of PrivRewrite on a whole text: which tokens are replaced, and by what.
//!
//! # Definition
//! As printed, every token is replaced independently by [`TokenExponential`]. As the paper's printed examples show it
//! (`keep_stopwords`, `keep_unknown`, `neighbours`), some tokens stay as they are, and the others are drawn from a list
//! of the tokens nearest to them:
//! - `keep_stopwords`: words that are stopwords, and tokens without letters and digits;
//! - `keep_unknown`: words that the vocabulary does not hold whole, so that they are written in several pieces;
//! - `neighbours` = n > 0: Pr[t | x] ∝ exp((ε/2)·u(t; x)) over the n released tokens nearest to x.
//!
//! # Guarantee
//! As printed: ε between texts with the same number of tokens that differ in one ([`TokenExponential`]). With any of
//! the three there is no finite ε: a kept word is released with certainty and, from a text without it, cannot come at
//! that place, and two lists do not hold the same tokens. Then ε is **claimed** by the paper, whose examples came
//! about that way.
//!
//! # Source
//! PrivRewrite, Applied Sciences 15(22):11930: Section 4.1.1; Table 2, whose two EM releases keep 29 of 48 and 27 of 54
//! tokens in their places (stopwords, punctuation, unknown words) and replace the others by related ones. The printed
//! formula keeps one token in ten thousand over 30,000.
//!
//! # Deviations
//! The paper says nothing of lists or kept words, so neither their length nor their rule is known. A character that no
//! token writes is drawn like any other token, since it cannot be released.

use std::sync::Arc;

use teda_core::{Answer, Basis, Parameter, Result, Settings, Stream, TokenMap};

use super::token_exponential::TokenExponential;
use super::token_wise::{TokenWise, Weights};
use crate::entry::Context;
use crate::text::stopwords::is_stopword;

/// Whether stopwords and punctuation stay.
pub const KEEP_STOPWORDS: Parameter = Parameter::whole(
    "keep_stopwords",
    0,
    [0, 1],
    "1: stopwords and punctuation stay as they are, as in the paper's examples; then no epsilon holds",
);

/// Whether unknown words stay.
pub const KEEP_UNKNOWN: Parameter = Parameter::whole(
    "keep_unknown",
    0,
    [0, 1],
    "1: words that are no single token stay as they are, as in the paper's examples; then no epsilon holds",
);

/// n.
pub const NEIGHBOURS: Parameter = Parameter::whole(
    "neighbours",
    0,
    [0, 200],
    "tokens nearest to a token that one is drawn from; 0: the whole vocabulary, as printed",
);

/// Which tokens are replaced, and by which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    keep_stopwords: bool,
    keep_unknown: bool,
    /// 0 for the whole vocabulary.
    neighbours: usize,
}

impl Rule {
    /// Every token, by any token of the vocabulary.
    pub const PRINTED: Self = Self {
        keep_stopwords: false,
        keep_unknown: false,
        neighbours: 0,
    };

    /// The rule that the three parameters set.
    pub fn of(settings: &Settings) -> Self {
        let is_on = |parameter: Parameter| settings.get(parameter.name) == 1.0;
        Self {
            keep_stopwords: is_on(KEEP_STOPWORDS),
            keep_unknown: is_on(KEEP_UNKNOWN),
            neighbours: settings.get(NEIGHBOURS.name) as usize,
        }
    }
}

/// What a token is in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A stopword, or no letter or digit, where it stands alone.
    Stop,
    /// A further piece of the word before it.
    Continues,
    /// Any other, or one that is never released.
    Other,
}

/// The mechanism at one ε a token.
pub struct Sanitiser {
    tokens: Arc<dyn TokenMap>,
    draw: TokenExponential,
    rule: Rule,
    /// By token; empty if nothing is kept.
    kinds: Vec<Kind>,
    likelihood: TokenWise,
}

impl Sanitiser {
    /// The mechanism with `epsilon` a token.
    pub fn new(context: &Context, epsilon: f64, rule: Rule) -> Self {
        let tokens = context.tokens.clone();
        let draw = match rule.neighbours {
            0 => TokenExponential::new(context, epsilon),
            count => TokenExponential::among(context, epsilon, count),
        };
        let kinds = match rule.keep_stopwords || rule.keep_unknown {
            true => kinds(&*tokens),
            false => Vec::new(),
        };
        Self {
            likelihood: TokenWise::new(tokens.clone()),
            tokens,
            draw,
            rule,
            kinds,
        }
    }

    /// Whether ε follows from what is done, or is the paper's claim alone.
    pub fn basis(&self) -> Basis {
        match self.rule == Rule::PRINTED {
            true => Basis::Proven,
            false => Basis::Claimed,
        }
    }

    /// Computes what drawing in place of these texts' tokens will need, side by side: releases are the same without.
    pub fn prepare(&self, texts: &[Vec<u32>]) {
        let drawn = texts.iter().flat_map(|text| {
            let pairs = text.iter().zip(self.kept(text));
            pairs.filter_map(|(token, is_kept)| (!is_kept).then_some(*token))
        });
        self.draw.prepare(drawn);
    }

    /// The text of what is released in place of `tokens`.
    pub fn sanitise(&self, tokens: &[u32], stream: &mut Stream) -> String {
        let released: Vec<u32> = tokens
            .iter()
            .zip(self.kept(tokens))
            .map(|(token, is_kept)| match is_kept {
                true => *token,
                false => self.draw.draw(*token, stream),
            })
            .collect();
        self.tokens.detokenize(&released)
    }

    /// ln P(release | text) of each pair, exactly; a release shows a text and not its tokens, so this sums over all
    /// token sequences that write it.
    ///
    /// # Errors
    /// Same as [`TokenWise::log_likelihood`].
    pub fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>> {
        self.likelihood.log_likelihood(pairs, self)
    }
}

impl Weights for Sanitiser {
    fn ln_weight(&self, t: u32, x: u32) -> f64 {
        self.draw.ln_weight(t, x)
    }

    fn ln_sums(&self, released: &[u32], xs: &[u32]) -> Vec<f64> {
        self.draw.ln_sums(released, xs)
    }

    fn kept(&self, tokens: &[u32]) -> Vec<bool> {
        let mut kept = vec![false; tokens.len()];
        if self.kinds.is_empty() {
            return kept;
        }
        let kind = |place: usize| self.kinds[tokens[place] as usize];
        let released = self.tokens.released();
        let is_released = |token: &u32| released.binary_search(token).is_ok();
        let mut start = 0;
        while start < tokens.len() {
            let further = (start + 1..tokens.len()).take_while(|p| kind(*p) == Kind::Continues);
            let end = start + 1 + further.count();
            let keeps = match end - start {
                1 => self.rule.keep_stopwords && kind(start) == Kind::Stop,
                _ => self.rule.keep_unknown && tokens[start..end].iter().all(is_released),
            };
            kept[start..end].fill(keeps);
            start = end;
        }
        kept
    }
}

/// The kind of every token.
fn kinds(tokens: &dyn TokenMap) -> Vec<Kind> {
    let released = tokens.released();
    let mut kinds = vec![Kind::Other; tokens.vectors().nrows()];
    // A whole word, behind which a piece is written without a space.
    let is_word = |token: &u32| {
        let text = tokens.detokenize(&[*token]);
        text.chars().all(char::is_alphabetic) && tokens.tokenize(&text) == [*token]
    };
    let Some(word) = released.iter().copied().find(is_word) else {
        return kinds;
    };
    let before = tokens.detokenize(&[word]);
    for token in released {
        let pair = tokens.detokenize(&[word, *token]);
        let behind = pair.strip_prefix(&before).unwrap_or_default();
        kinds[*token as usize] = match behind.strip_prefix(char::is_whitespace) {
            Some(text) if is_stopword(text) || !text.contains(char::is_alphanumeric) => Kind::Stop,
            None if behind.starts_with(char::is_alphanumeric) => Kind::Continues,
            _ => Kind::Other,
        };
    }
    kinds
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ndarray::{Array2, ArrayView2};
    use teda_core::Seed;

    use super::*;
    use crate::testing::{statistics, toy};

    /// Words, a stopword, punctuation, and pieces of words that are marked as such.
    struct Pieces(Array2<f32>);

    const NAMES: [&str; 7] = ["play", "jazz", "the", "?", "pil", "##oma", "[UNK]"];

    impl Pieces {
        fn new() -> Arc<Self> {
            let places = [
                [1.0, 0.0],
                [0.8, 0.6],
                [0.0, 1.0],
                [-0.6, 0.8],
                [-1.0, 0.0],
                [0.6, -0.8],
            ];
            let place = |(row, axis): (usize, usize)| places.get(row).map_or(0.0, |row| row[axis]);
            Arc::new(Self(Array2::from_shape_fn((7, 2), place)))
        }
    }

    impl TokenMap for Pieces {
        fn tokenize(&self, text: &str) -> Vec<u32> {
            let of = |name: &str| NAMES.iter().position(|n| *n == name).unwrap_or(6) as u32;
            let word = |word: &str| match word.strip_suffix("oma") {
                Some(stem) if !stem.is_empty() => vec![of(stem), of("##oma")],
                _ => vec![of(word)],
            };
            text.split_whitespace().flat_map(word).collect()
        }

        fn detokenize(&self, tokens: &[u32]) -> String {
            let mut text = String::new();
            for token in tokens {
                match NAMES[*token as usize].strip_prefix("##") {
                    Some(piece) => text += piece,
                    None if text.is_empty() => text += NAMES[*token as usize],
                    None => text += &[" ", NAMES[*token as usize]].concat(),
                }
            }
            text
        }

        fn vectors(&self) -> ArrayView2<'_, f32> {
            self.0.view()
        }

        fn released(&self) -> &[u32] {
            &[0, 1, 2, 3, 4, 5]
        }
    }

    fn sanitiser(epsilon: f64, rule: Rule) -> Sanitiser {
        let context = Context {
            tokens: Pieces::new(),
            ..toy::context()
        };
        Sanitiser::new(&context, epsilon, rule)
    }

    #[test]
    fn what_is_kept_are_stopwords_punctuation_and_words_in_pieces() {
        let rule = Rule {
            keep_stopwords: true,
            keep_unknown: true,
            neighbours: 0,
        };
        let kept = |rule: Rule, text: &str| {
            let sanitiser = sanitiser(1.0, rule);
            sanitiser.kept(&sanitiser.tokens.tokenize(text))
        };
        let text = "play the jazz piloma ? café";
        let (yes, no) = (true, false);
        assert_eq!(kept(rule, text), [no, yes, no, yes, yes, yes, no]);
        let stop = Rule {
            keep_unknown: false,
            ..rule
        };
        assert_eq!(kept(stop, text), [no, yes, no, no, no, yes, no]);
        let unknown = Rule {
            keep_stopwords: false,
            ..rule
        };
        assert_eq!(kept(unknown, text), [no, no, no, yes, yes, no, no]);
        assert_eq!(kept(Rule::PRINTED, text), [false; 7]);
        // A piece of a word is no stopword, and a piece that no token writes is not kept.
        assert_eq!(kept(rule, "theoma"), [yes, yes]);
        assert_eq!(kept(rule, "caféoma"), [no, no]);
    }

    /// Releases, and the stated likelihoods, against the definition, for every text of as many tokens.
    #[test]
    fn releases_and_likelihoods_follow_the_definition() {
        for (rule, text) in [
            (Rule::PRINTED, "play the"),
            (
                Rule {
                    keep_stopwords: true,
                    ..Rule::PRINTED
                },
                "play the",
            ),
            (
                Rule {
                    neighbours: 3,
                    ..Rule::PRINTED
                },
                "play the",
            ),
            (
                Rule {
                    neighbours: 2,
                    ..Rule::PRINTED
                },
                "play café",
            ),
            (
                Rule {
                    keep_stopwords: true,
                    keep_unknown: true,
                    neighbours: 2,
                },
                "jazz ? piloma",
            ),
        ] {
            for epsilon in [1.0, 20.0] {
                let sanitiser = sanitiser(epsilon, rule);
                let source = sanitiser.tokens.tokenize(text);
                let exact = exact(
                    &*sanitiser.tokens,
                    &source,
                    &sanitiser.kept(&source),
                    epsilon,
                    rule,
                );
                let mut counts: BTreeMap<String, f64> = BTreeMap::new();
                for i in 0..30_000 {
                    let mut stream = Seed::root(6).at(i).stream();
                    *counts
                        .entry(sanitiser.sanitise(&source, &mut stream))
                        .or_default() += 1.0;
                }
                let what = format!("{rule:?} at {epsilon}");
                statistics::assert_sampled(&counts, &exact, &what);
                let pairs: Vec<(&str, &str)> = exact.keys().map(|r| (&r[..], text)).collect();
                let stated = sanitiser.log_likelihood(&pairs).unwrap();
                for (expected, stated) in exact.values().zip(stated) {
                    let found = stated.unwrap().exp();
                    assert!(
                        (found - expected).abs() < 1e-6,
                        "{what}: {found}, not {expected}"
                    );
                }
            }
        }
    }

    fn exact(
        tokens: &dyn TokenMap,
        source: &[u32],
        kept: &[bool],
        epsilon: f64,
        rule: Rule,
    ) -> BTreeMap<String, f64> {
        let cosine = |t: u32, x: u32| {
            let row = |token: u32| tokens.vectors().row(token as usize).mapv(f64::from);
            row(t).dot(&row(x))
        };
        let mut rows: Vec<(Vec<u32>, f64)> = vec![(Vec::new(), 1.0)];
        for (x, is_kept) in source.iter().zip(kept) {
            let mut among: Vec<u32> = tokens.released().to_vec();
            if rule.neighbours > 0 && *x != 6 {
                among.sort_by(|a, b| cosine(*b, *x).total_cmp(&cosine(*a, *x)));
                among.truncate(rule.neighbours);
            }
            let weight = |t: u32| (epsilon / 2.0 * cosine(t, *x).clamp(0.0, 1.0)).exp();
            let total: f64 = among.iter().map(|t| weight(*t)).sum();
            let drawn: Vec<(u32, f64)> = match is_kept {
                true => vec![(*x, 1.0)],
                false => among.iter().map(|t| (*t, weight(*t) / total)).collect(),
            };
            let mut longer = Vec::new();
            for (row, p) in &rows {
                for (t, q) in &drawn {
                    longer.push(([&row[..], &[*t]].concat(), p * q));
                }
            }
            rows = longer;
        }
        let mut exact = BTreeMap::new();
        for (row, p) in rows {
            *exact.entry(tokens.detokenize(&row)).or_default() += p;
        }
        exact
    }

    /// What the claim would have to hold between, and does not: a text that keeps a word, and one that has none.
    #[test]
    fn a_kept_word_or_a_list_leaves_no_finite_epsilon() {
        for rule in [
            Rule {
                keep_stopwords: true,
                ..Rule::PRINTED
            },
            Rule {
                neighbours: 3,
                ..Rule::PRINTED
            },
        ] {
            let sanitiser = sanitiser(1.0, rule);
            let of = |text: &str| {
                let source = sanitiser.tokens.tokenize(text);
                exact(
                    &*sanitiser.tokens,
                    &source,
                    &sanitiser.kept(&source),
                    1.0,
                    rule,
                )
            };
            let loss = statistics::greatest_loss(&of("play the"), &of("play pil"));
            assert_eq!((loss, sanitiser.basis()), (f64::INFINITY, Basis::Claimed));
        }
        assert_eq!(sanitiser(1.0, Rule::PRINTED).basis(), Basis::Proven);
    }
}
