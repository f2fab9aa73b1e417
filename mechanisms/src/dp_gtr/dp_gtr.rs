//! `dp-gtr`: a group of private paraphrases, their common words, and one new text that avoids these words.
//!
//! # Definition
//! 1. m paraphrases of the text by a private mechanism at ε₁ each, by default `dp-prompt`. Its own parameters apply
//!    unless this mechanism has one of the same name. With `spread` the i-th runs at s_i times its temperature, so at
//!    ε₁/s_i, s from ½ to 1½ in equal steps. A paraphrase ends where its model ends it, or at a line break or before a
//!    question mark (`paraphrase_ends`).
//! 2. The exemplar is the paraphrase with the lowest perplexity under a language model (`--scorer`). The K keywords are
//!    the words with the highest document frequency among the paraphrases, by counting (NDP) or by the joint
//!    exponential mechanism at ε₂ (JEM) ([`Keywords`]).
//! 3. The language model writes a new text based on the exemplar, asked to avoid the keywords, at temperature 0. If it
//!    does not follow instructions (or with `avoid=decoding`) nothing is asked: no token is chosen that would complete
//!    a keyword. The first line is used, or what is before a question mark (`ends`).
//!
//! A model on a server serves for stages 1 and 3 if the paraphraser needs no logits (`paraphraser=dp-prompt-black-box`);
//! then the exemplar is found by the language model in the binary, unless `--scorer` names another.
//!
//! # Guarantee
//! Σ_i nε₁/s_i for paraphrases of n tokens, which is m·n·ε₁ without `spread`: the m paraphrases compose, and
//! everything after them is post-processing. For NDP that is the paper's claim. For JEM the paper adds ε₂, which is
//! not necessary, as the words counted are private already: the claim here is the smaller one, and implies the
//! paper's. `units` counts n Σ 1/s_i tokens of ε₁, rounded up. Neighbours and basis are the paraphraser's: with
//! `dp-prompt` any texts, proven for a fixed `length` and **claimed** for the published rule. A paraphraser whose ε is
//! per text costs Σ_i ε₁/s_i, between the texts that its claim is about; with one that claims nothing, nothing is
//! claimed.
//!
//! # Source
//! DP-GTR: *Differentially private prompt protection via group text rewriting* (2025), Section 4,
//! Algorithm 1; prompts and values as in its code. The presets `gpt-3.5-csqa`, `gpt-3.5-vqa` and `llama-3.1-8b-as-run`
//! are what its experiments ran, by the scripts that its repository held until February 2025.
//!
//! # Deviations
//! Perplexity is that of the rewriting model (GPT-2 in the code; `--scorer gpt2`), after a line that says "Text:". By
//! default words are divided by white space, in lower case and without punctuation at their ends, and named in the
//! order of their frequency; 48 tokens are written, and the first line is used. The code divides by NLTK's rules and
//! keeps case, shuffles, writes 100 tokens and ends at "?": the three presets do. The list of stopwords is our own; it
//! is compared as written, as in the code, where case is kept. The paper's ten
//! temperatures 0.5, 0.6, …, 1.5 are eleven; here there are m equal steps. The
//! reference lets JEM choose among the words seen (`domain=seen`), so that its choice reveals which words these are:
//! no ε₂ follows from it. A keyword is banned in decoding as the model's tokenizer spells it, in lower case and
//! capitalised; other ways to compose the same letters are not banned. Quotation marks around an answer are dropped.
//! The prompt of stage 1 is that of the README; `prompt=question` is that of the experiments, where the one on
//! DocVQA has no space before its first colon.
//!
//! Of `llama-3.1-8b-as-run`: the Llama scripts leave the library's top-k 50 on, so that no ε holds: the paraphraser is
//! `dp-prompt-topk`, which claims ε all the same. They list eleven temperatures and use one for all, which is what is
//! done here. Their stage 3 draws with temperature 0.001 from the 50 likeliest tokens, up to 20 more than the exemplar
//! has; here it is the likeliest, up to 100. What ends a text there is the token "?" or a line break, and "?" is kept;
//! here it is dropped. They run in bfloat16.

use std::sync::Arc;

use teda_core::{
    Beyond, Error, Guarantee, Mechanism, Parameter, Prompt, Query, Release, Result, Scorer, Seed,
    Settings, Unit,
};

use super::as_run::{GPT_3_5_CSQA, GPT_3_5_VQA, LLAMA};
use super::keywords::Keywords;
use crate::dp_prompt::dp_prompt::{CLIP_HIGH, CLIP_LOW, EXTRA, FLAN_T5_BASE, GRID, LENGTH};
use crate::entry::{Context, Entry, Preset, Rewriter};
use crate::registry::{joined, size};
use crate::text::answer::{sentence, unquoted};
use crate::text::writer::{Request, Writer};
use crate::{adept, controls, dp_bart, dp_mlm, dp_prompt, dp_st, privrewrite, safedp, tokens};

pub const ENTRY: Entry = Entry {
    name: "dp-gtr",
    summary: "rewrites after the best of a group of private paraphrases, avoiding their common words",
    source: "DP-GTR (2025), Section 4",
    unit: Some(Unit::Token),
    grid: &GRID,
    parameters: PARAMETERS,
    presets: PRESETS,
    rewriter: Rewriter::Any,
    build: &|context, epsilon, settings| Ok(Box::new(DpGtr::new(context, epsilon, settings)?)),
    ..Entry::PUBLISHED
};

/// The families of mechanisms that can paraphrase: every mechanism but this one and those that encode instead of
/// rewriting. The family of the default comes first.
const FAMILIES: &[&[&Entry]] = &[
    dp_prompt::ENTRIES,
    dp_mlm::ENTRIES,
    dp_bart::ENTRIES,
    adept::ENTRIES,
    dp_st::ENTRIES,
    privrewrite::ENTRIES,
    safedp::ENTRIES,
    tokens::ENTRIES,
    controls::ENTRIES,
];

const PARAPHRASERS: [&Entry; size(FAMILIES)] = joined(FAMILIES);

const PARAPHRASER_NAMES: [&str; PARAPHRASERS.len()] = {
    let mut names = [""; PARAPHRASERS.len()];
    let mut place = 0;
    while place < names.len() {
        names[place] = PARAPHRASERS[place].name;
        place += 1;
    }
    names
};

/// DP-GTR's prompts by their names here, and among those of `dp-prompt`.
const PARAPHRASE_PROMPTS: [(&str, &str); 2] = [("document", "dp-gtr"), ("question", "question")];

/// The frame for the exemplar and the keywords.
const PROMPT: &str =
    "Refer the following question to generate a new question:\n{}\nGenerated question:\n";

/// Separates the exemplar from the keywords.
const AVOID: &str = "\nAvoid using following tokens:\n";

/// The prefix of a paraphrase for its perplexity: public, as a model needs some text before the first token.
const BEFORE: &str = "Text:\n{}";

const PARAMETERS: &[Parameter] = &[
    Parameter::whole("paraphrases", 10, [1, 1000], "m, paraphrases of a group"),
    Parameter::choice(
        "paraphraser",
        &PARAPHRASER_NAMES,
        "the mechanism that paraphrases, at epsilon and else its own defaults",
    ),
    Parameter::whole(
        "spread",
        0,
        [0, 1],
        "1: the group's temperatures go from half to one and a half times their own",
    ),
    Parameter::whole("keywords", 10, [0, 1000], "K, words to avoid"),
    Parameter::choice(
        "release",
        &["ndp", "jem"],
        "how keywords are found: by counting, or by the joint exponential mechanism",
    ),
    Parameter::number(
        "epsilon2",
        2.0,
        [1e-6, 1e6],
        "epsilon of the joint exponential mechanism",
    ),
    Parameter::choice(
        "domain",
        &["seen", "public"],
        "what it chooses among: the words seen, as published, or those of the public vocabulary",
    ),
    Parameter::choice(
        "avoid",
        &["auto", "prompt", "decoding"],
        "how keywords are avoided: asked for in the prompt, or never chosen; auto: asked of a model that follows instructions",
    ),
    CLIP_LOW,
    CLIP_HIGH,
    LENGTH,
    EXTRA,
    Parameter::choice(
        "prompt",
        &[PARAPHRASE_PROMPTS[0].0, PARAPHRASE_PROMPTS[1].0],
        "how a paraphrase is asked for: as in the README of the code, or as in its experiments",
    ),
    Parameter::choice(
        "paraphrase_ends",
        &["model", "line", "question", "either"],
        "where a paraphrase ends: where the model ends it, at a line break, before a question mark, at either",
    ),
    Parameter::choice(
        "ends",
        &["line", "either"],
        "where the new text ends: at a line break, or there and before a question mark",
    ),
    Parameter::choice(
        "keywords_as",
        &["words", "nltk"],
        "what keywords are: words in lower case, or tokens as NLTK divides them, with their case",
    ),
    Parameter::whole(
        "shuffle",
        0,
        [0, 1],
        "1: keywords are named in random order, not by frequency",
    ),
    Parameter::whole(
        "max_new_tokens",
        48,
        [1, 100_000],
        "tokens of the new text at most",
    )
    .formerly("longest"),
];

const PRESETS: &[Preset] = &[
    ("ndp", &[("release", "ndp")]),
    ("jem", &[("release", "jem")]),
    ("jem-public", &[("release", "jem"), ("domain", "public")]),
    ("non-uniform", &[("spread", "1")]),
    FLAN_T5_BASE,
    // μ = 22.944258 and μ + 4σ with σ = 2.420791, as published.
    (
        "llama-3.1-8b",
        &[("clip_low", "22.944258"), ("clip_high", "32.627422")],
    ),
    ("gpt-3.5-csqa", GPT_3_5_CSQA),
    ("gpt-3.5-vqa", GPT_3_5_VQA),
    ("llama-3.1-8b-as-run", LLAMA),
];

/// The part of a text that is used.
type Cut = fn(&str) -> &str;

/// The cut that one of the parameters names.
fn cut(name: &str) -> Cut {
    match name {
        "model" => str::trim,
        "line" => sentence,
        "question" => before_question_mark,
        _ => either,
    }
}

/// The first line, up to its first question mark.
fn either(text: &str) -> &str {
    before_question_mark(sentence(text))
}

/// A text up to its first question mark.
fn before_question_mark(text: &str) -> &str {
    let (before, _) = text.split_once('?').unwrap_or((text, ""));
    unquoted(before.trim())
}

/// DP-GTR at one ε₁.
struct DpGtr {
    writer: Writer,
    /// Whose perplexity chooses the exemplar.
    scorer: Arc<dyn Scorer>,
    /// One for all paraphrases, or one for each.
    paraphrasers: Vec<Box<dyn Mechanism>>,
    epsilon: f64,
    /// s, one per paraphrase.
    scales: Vec<f64>,
    keywords: Keywords,
    /// Whether the keywords are banned in decoding; if not, the prompt asks to avoid them.
    bans: bool,
    prompt: Prompt,
    max_new_tokens: usize,
    /// What is used of a paraphrase, and of the new text.
    cuts: (Cut, Cut),
}

impl DpGtr {
    fn new(context: &Context, epsilon: f64, settings: &Settings) -> Result<Self> {
        let writer = Writer::of(context, ENTRY.name)?;
        let scorer = context.scorer.clone().ok_or_else(|| {
            Error::usage("'dp-gtr' needs a language model whose perplexity is known (--scorer)")
        })?;
        let (can_ban, must_ban) = writer.bans();
        let bans = match settings.chosen("avoid") {
            "prompt" => false,
            "decoding" => true,
            _ => must_ban,
        };
        if bans && !can_ban {
            return Err(Error::usage(
                "avoid = decoding of 'dp-gtr': it bans tokens by their logits, which a server does not show; take avoid=prompt",
            ));
        }
        let group = settings.get("paraphrases") as usize;
        let spread = settings.get("spread") == 1.0;
        let scales = if spread {
            spread_scales(group)
        } else {
            vec![1.0; group]
        };
        let distinct: &[f64] = if spread { &scales[..] } else { &[1.0] };
        Ok(Self {
            bans,
            writer,
            scorer,
            paraphrasers: distinct
                .iter()
                .map(|scale| paraphraser(context, epsilon / scale, settings))
                .collect::<Result<_>>()?,
            epsilon,
            scales,
            keywords: Keywords::of(settings, &*context.tokens),
            prompt: Prompt::new(PROMPT),
            max_new_tokens: settings.get("max_new_tokens") as usize,
            cuts: (
                cut(settings.chosen("paraphrase_ends")),
                cut(settings.chosen("ends")),
            ),
        })
    }

    /// Σ 1/s_i: the group's total cost, in units of ε₁ of one paraphrase at s = 1. A temperature that is higher by a
    /// factor s means ε₁/s, because T = 2Δ/ε.
    fn share(&self) -> f64 {
        self.scales.iter().map(|scale| 1.0 / scale).sum()
    }

    /// Stage 1: `[texts][paraphrases]`, each with its own coins.
    fn paraphrase(&self, batch: &[Query<'_>]) -> Result<Vec<Vec<Release>>> {
        let group = self.scales.len();
        let query = |row: usize, i: usize| Query {
            text: batch[row].text,
            seed: batch[row].seed.named("paraphrase").at(i as u64),
        };
        let mut groups: Vec<Vec<Release>> = batch.iter().map(|_| Vec::new()).collect();
        if let [one] = &self.paraphrasers[..] {
            let queries: Vec<Query<'_>> = (0..batch.len() * group)
                .map(|job| query(job / group, job % group))
                .collect();
            for (job, release) in one.rewrite(&queries)?.into_iter().enumerate() {
                groups[job / group].push(release);
            }
        } else {
            for (i, paraphraser) in self.paraphrasers.iter().enumerate() {
                let queries: Vec<Query<'_>> = (0..batch.len()).map(|row| query(row, i)).collect();
                for (group, release) in groups.iter_mut().zip(paraphraser.rewrite(&queries)?) {
                    group.push(release);
                }
            }
        }
        Ok(groups)
    }

    /// Stage 2a: the paraphrase with the lowest perplexity of each group, the first among equals; `None` for a group
    /// without paraphrases.
    fn exemplars<'a>(&self, groups: &[Vec<&'a str>]) -> Result<Vec<Option<&'a str>>> {
        let pairs: Vec<(&str, &str)> = groups.iter().flatten().map(|text| ("", *text)).collect();
        let mut scores = self
            .scorer
            .log_likelihood(&Prompt::new(BEFORE), &pairs)?
            .into_iter();
        Ok(groups
            .iter()
            .map(|group| {
                let mut best: Option<(f64, &str)> = None;
                for (text, score) in group.iter().zip(scores.by_ref()) {
                    // ln perplexity is the mean of −ln P over the tokens.
                    let mean = match score {
                        Ok(score) if score.tokens > 0 => score.total / score.tokens as f64,
                        _ => f64::NEG_INFINITY,
                    };
                    if best.is_none_or(|(highest, _)| mean > highest) {
                        best = Some((mean, *text));
                    }
                }
                best.map(|(_, text)| text)
            })
            .collect())
    }

    /// Stage 3: the request to the model, for a row of the batch.
    fn request(&self, row: usize, exemplar: &str, keywords: Vec<String>, seed: Seed) -> Request {
        let (text, banned) = match self.bans {
            true => (exemplar.to_owned(), keywords),
            false => ([exemplar, AVOID, &keywords.join(", ")].concat(), Vec::new()),
        };
        Request {
            row,
            text,
            banned,
            seed: seed.named("answer"),
        }
    }
}

/// s from ½ to 1½ in equal steps; 1 for a group of one.
fn spread_scales(group: usize) -> Vec<f64> {
    match group {
        1 => vec![1.0],
        _ => (0..group)
            .map(|i| 0.5 + i as f64 / (group - 1) as f64)
            .collect(),
    }
}

/// The paraphraser that the settings name, with those of them that it knows.
fn paraphraser(context: &Context, epsilon: f64, settings: &Settings) -> Result<Box<dyn Mechanism>> {
    let name = settings.chosen("paraphraser");
    let entry = PARAPHRASERS
        .into_iter()
        .find(|entry| entry.name == name)
        .expect("the choice is among the names");
    let own: Vec<(String, String)> = entry
        .parameters
        .iter()
        .filter_map(|parameter| {
            let value = match parameter.name {
                "prompt" => {
                    let chosen = settings.chosen("prompt");
                    let known = PARAPHRASE_PROMPTS.iter().find(|(name, _)| *name == chosen);
                    known.map(|(_, prompt)| (*prompt).to_owned())
                }
                name => settings.written(name),
            };
            Some((parameter.name.to_owned(), value?))
        })
        .collect();
    let epsilon = entry.unit.map(|_| epsilon);
    entry
        .instance(context, epsilon, &entry.settings(None, &own)?)
        .map_err(|error| error.context("'dp-gtr'"))
}

impl Mechanism for DpGtr {
    /// Basic composition of the group: if the claim is per unit, through the units of ε₁; if it is per text, here.
    fn guarantee(&self) -> Option<Guarantee> {
        let one = self.paraphrasers[0].guarantee()?;
        let sum = |part: fn(&Guarantee) -> f64| match &self.paraphrasers[..] {
            [_] => Some(part(&one) * self.scales.len() as f64),
            all => all.iter().map(|p| Some(part(&p.guarantee()?))).sum(),
        };
        Some(Guarantee {
            epsilon: match one.unit {
                Unit::Token | Unit::Triple => self.epsilon,
                Unit::Text => sum(|claim| claim.epsilon)?,
            },
            delta: sum(|claim| claim.delta)?,
            ..one
        })
    }

    /// The tokens of ε₁ that the whole group spends on `text`, rounded up.
    fn units(&self, text: &str) -> Option<u64> {
        let tokens = self.paraphrasers[0].units(text)?;
        match self.paraphrasers[0].guarantee()?.unit {
            Unit::Token | Unit::Triple => Some((tokens as f64 * self.share()).ceil() as u64),
            Unit::Text => Some(tokens),
        }
    }

    /// A metric claim of the paraphraser adds up over the group, too: that of ε₁/s_i is ε₁ over a distance divided by
    /// s_i.
    fn diameter(&self, texts: &[&str]) -> Option<f64> {
        Some(self.paraphrasers[0].diameter(texts)? * self.share())
    }

    fn beyond_window(&self, texts: &[&str]) -> Result<Option<Beyond>> {
        self.paraphrasers[0].beyond_window(texts)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let made = self.paraphrase(batch)?;
        let groups: Vec<Vec<&str>> = made
            .iter()
            .map(|group| {
                let texts = group.iter().map(|release| (self.cuts.0)(&release.text));
                texts.filter(|text| !text.is_empty()).collect()
            })
            .collect();
        let exemplars = self.exemplars(&groups)?;
        let requests: Vec<Request> = exemplars
            .iter()
            .enumerate()
            .filter_map(|(row, exemplar)| {
                let seed = batch[row].seed;
                let keywords = self.keywords.draw(&groups[row], seed);
                Some(self.request(row, (*exemplar)?, keywords, seed))
            })
            .collect();
        let answers = self
            .writer
            .write(&self.prompt, &requests, self.max_new_tokens)?;
        // Without an exemplar: the reason why there is no paraphrase, or nothing.
        let mut releases: Vec<Release> = made
            .iter()
            .map(|group| {
                let failed = group.iter().find(|release| release.failure.is_some());
                failed.cloned().unwrap_or_default()
            })
            .collect();
        for (request, answer) in requests.iter().zip(answers) {
            releases[request.row] = match answer {
                Ok(text) => Release::of((self.cuts.1)(&text)),
                Err(failure) => Release::failed(failure),
            };
        }
        Ok(releases)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use teda_core::{Answer, Basis, Neighbours, Sampling, TextGenerator};

    use super::*;
    use crate::entry::Kind;
    use crate::registry;
    use crate::testing::{statistics, toy};

    const CLIP: (f64, f64) = (-1.0, 1.5);

    fn instance(epsilon: f64, given: &[(&str, &str)]) -> Box<dyn Mechanism> {
        let given = toy::given(given);
        let settings = ENTRY.settings(None, &given).unwrap();
        ENTRY
            .instance(&toy::context(), Some(epsilon), &settings)
            .unwrap()
    }

    /// Two paraphrases of two tokens, one keyword, a new text of two tokens.
    fn small(epsilon: f64, more: &[(&str, &str)]) -> Box<dyn Mechanism> {
        let (low, high) = (CLIP.0.to_string(), CLIP.1.to_string());
        let set = [
            ("clip_low", &low[..]),
            ("clip_high", &high[..]),
            ("length", "2"),
            ("paraphrases", "2"),
            ("keywords", "1"),
            ("max_new_tokens", "2"),
        ];
        instance(epsilon, &[&set[..], more].concat())
    }

    /// The probabilities of `dp-prompt`'s releases of two tokens.
    fn paraphrases(text: &str, epsilon: f64) -> Vec<(String, f64)> {
        let toy = toy::tokens();
        let step = |before: &[u32]| -> Vec<f64> {
            let temperature = 2.0 * (CLIP.1 - CLIP.0) / epsilon;
            let weights: Vec<f64> = toy
                .logits(text, before)
                .iter()
                .map(|l| (f64::from(*l).clamp(CLIP.0, CLIP.1) / temperature).exp())
                .collect();
            let total: f64 = weights.iter().sum();
            weights.into_iter().map(|w| w / total).collect()
        };
        let mut all = Vec::new();
        for (a, p) in (0..).zip(step(&[])) {
            for (b, q) in (0..).zip(step(&[a])) {
                all.push((format!("t{a} t{b}"), p * q));
            }
        }
        all
    }

    /// The releases of [`small`] directly from the definition; `joint` is ε₂, `bans` says how keywords are avoided.
    fn exact(
        text: &str,
        epsilons: [f64; 2],
        joint: Option<f64>,
        bans: bool,
    ) -> BTreeMap<String, f64> {
        let toy = toy::tokens();
        let perplexity = |text: &str| {
            let pair = [("", text)];
            let score = toy
                .log_likelihood(&Prompt::new("Text:\n{}"), &pair)
                .unwrap();
            let score = score[0].clone().unwrap();
            (-score.total / score.tokens as f64).exp()
        };
        let answer = |exemplar: &str, keyword: &str| {
            let question = match bans {
                true => exemplar.to_owned(),
                false => format!("{exemplar}\nAvoid using following tokens:\n{keyword}"),
            };
            let highest = |before: &[u32]| {
                let logits = toy.logits(&question, before);
                let at = |t: &u32| logits[*t as usize];
                (0..toy::UNKNOWN)
                    .filter(|t| !bans || format!("t{t}") != keyword)
                    .max_by(|s, t| at(s).total_cmp(&at(t)))
                    .unwrap()
            };
            let first = highest(&[]);
            format!("t{first} t{}", highest(&[first]))
        };
        let [first, second] = epsilons.map(|epsilon| paraphrases(text, epsilon));
        let mut released = BTreeMap::new();
        for (a, p) in &first {
            for (b, q) in &second {
                let exemplar = if perplexity(b) < perplexity(a) { b } else { a };
                let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
                let has = |text: &str, word: &str| text.split(' ').any(|w| w == word);
                for word in a.split(' ').chain(b.split(' ')) {
                    let count = f64::from(u8::from(has(a, word)) + u8::from(has(b, word)));
                    counts.insert(word, count);
                }
                let highest = counts.values().copied().fold(0.0, f64::max);
                let weight = |count: f64| match joint {
                    Some(epsilon) => (epsilon * (count - highest) / 2.0).exp(),
                    None => f64::from(u8::from(count == highest)),
                };
                // By counting: the first in alphabetical order among the most frequent.
                let mut chosen: Vec<(&str, f64)> =
                    counts.iter().map(|(w, c)| (*w, weight(*c))).collect();
                if joint.is_none() {
                    chosen.retain(|(_, weight)| *weight > 0.0);
                    chosen.truncate(1);
                }
                let total: f64 = chosen.iter().map(|(_, weight)| weight).sum();
                for (keyword, weight) in chosen {
                    *released.entry(answer(exemplar, keyword)).or_default() +=
                        p * q * weight / total;
                }
            }
        }
        released
    }

    #[test]
    fn releases_follow_the_exact_probabilities_of_all_three_stages() {
        let text = "t3 t1";
        for epsilon in [2.0, 15.0] {
            for (set, epsilons, joint) in [
                (&[][..], [epsilon; 2], None),
                (&[("release", "jem")][..], [epsilon; 2], Some(2.0)),
                (&[("spread", "1")][..], [2.0 * epsilon, epsilon / 1.5], None),
                (&[("avoid", "decoding")][..], [epsilon; 2], None),
            ] {
                let bans = set == [("avoid", "decoding")];
                let counts = statistics::releases(&*small(epsilon, set), text, 30_000);
                let exact = exact(text, epsilons, joint, bans);
                statistics::assert_sampled(&counts, &exact, &format!("ε={epsilon} {set:?}"));
            }
        }
    }

    /// Privacy itself: no release reveals more than the group's tokens spend, with either way of finding keywords.
    #[test]
    fn the_exact_ratio_between_texts_stays_within_the_claim() {
        for epsilon in [0.5, 3.0, 20.0] {
            for joint in [None, Some(2.0)] {
                let of = |text| exact(text, [epsilon; 2], joint, false);
                let loss = statistics::greatest_loss(&of("t3 t1"), &of("t6"));
                let claim = small(epsilon, &[]).guarantee().unwrap();
                let units = small(epsilon, &[]).units("t6").unwrap() as f64;
                assert_eq!(
                    (claim.epsilon * units, claim.basis),
                    (4.0 * epsilon, Basis::Proven)
                );
                assert!(loss <= 4.0 * epsilon * (1.0 + 1e-12), "{loss} at {epsilon}");
            }
        }
    }

    #[test]
    fn the_claim_is_the_paraphrasers_composed() {
        let published = instance(3.0, &[]);
        let claim = published.guarantee().unwrap();
        assert_eq!(
            (claim.epsilon, claim.unit, claim.neighbours, claim.basis),
            (3.0, Unit::Token, Neighbours::AnyTexts, Basis::Claimed)
        );
        // "Document: t1 t2", "Paraphrase of the document:": seven words.
        assert_eq!(published.units("t1 t2"), Some(10 * 7));
        // 1/0.5 + 1/0.75 + 1/1 + 1/1.25 + 1/1.5 = 5.8; 5.8 · 7 = 40.6.
        let spread = instance(3.0, &[("spread", "1"), ("paraphrases", "5")]);
        assert_eq!(spread.units("t1 t2"), Some(41));
        assert_eq!(spread.guarantee().unwrap().epsilon, 3.0);
        let em = instance(3.0, &[("paraphraser", "em"), ("paraphrases", "4")]);
        let claim = em.guarantee().unwrap();
        assert_eq!(
            (claim.epsilon, claim.unit, claim.neighbours, claim.basis),
            (12.0, Unit::Text, Neighbours::OneToken, Basis::Proven)
        );
        assert_eq!(em.units("t1 t2"), Some(2));
        let metric = instance(3.0, &[("paraphraser", "word-perturb")]);
        assert_eq!(metric.guarantee().unwrap().neighbours, Neighbours::Metric);
        // 2 + 1 + 2/3 of 3 for SafeDP-Rewrite, whose ε is per text.
        let set = [
            ("paraphraser", "safedp-rewrite"),
            ("paraphrases", "3"),
            ("spread", "1"),
        ];
        let claim = instance(3.0, &set).guarantee().unwrap();
        assert!((claim.epsilon - 11.0).abs() < 1e-12, "{}", claim.epsilon);
        assert!(
            instance(3.0, &[("paraphraser", "identity")])
                .guarantee()
                .is_none()
        );
    }

    #[test]
    fn every_preset_and_every_paraphraser_rewrites() {
        let query = Query {
            text: "t3 t4",
            seed: Seed::root(1),
        };
        let rewrites = |preset: Option<&str>, set: &[(&str, &str)]| {
            let settings = ENTRY.settings(preset, &toy::given(set)).unwrap();
            let mechanism = ENTRY
                .instance(&toy::context(), Some(5.0), &settings)
                .unwrap();
            let release = mechanism.rewrite(&[query]).unwrap().remove(0);
            assert_eq!(release.failure, None, "{preset:?} {set:?}");
            let length = settings.get("max_new_tokens") as usize;
            assert_eq!(
                release.text.split(' ').count(),
                length,
                "{preset:?} {set:?}"
            );
        };
        for (preset, _) in PRESETS {
            rewrites(Some(preset), &[]);
        }
        for name in PARAPHRASER_NAMES {
            rewrites(None, &[("paraphraser", name)]);
        }
    }

    /// The families are listed here separately, because the registry's list holds this entry.
    #[test]
    fn every_other_mechanism_can_paraphrase() {
        for entry in registry::ALL {
            let other = entry.name != ENTRY.name && entry.kind != Kind::Protocol;
            assert_eq!(
                PARAPHRASER_NAMES.contains(&entry.name),
                other,
                "{}",
                entry.name
            );
        }
    }

    #[test]
    fn texts_end_where_they_are_told_to() {
        let text = " \"Why? Who knows.\nMe\" ";
        for (name, expected) in [
            ("model", "\"Why? Who knows.\nMe\""),
            ("line", "\"Why? Who knows."),
            ("question", "\"Why"),
            ("either", "\"Why"),
        ] {
            assert_eq!(cut(name)(text), expected, "{name}");
        }
        assert_eq!(cut("either")("one line\nand? more"), "one line");
        assert_eq!(cut("question")("no mark\nat all"), "no mark\nat all");
    }

    /// Answers every request with "t1 t2? t3", and has no logits.
    struct Says;

    impl TextGenerator for Says {
        fn complete(
            &self,
            prompt: &Prompt,
            queries: &[Query<'_>],
            n: usize,
            sampling: Sampling,
        ) -> Result<Vec<Answer<Vec<String>>>> {
            // Stage 3 is asked for the likeliest answer, and names the keywords.
            let writes = prompt.before().starts_with("Refer");
            assert_eq!(writes, sampling.temperature == 0.0);
            assert_eq!(writes, queries.iter().all(|q| q.text.contains("Avoid")));
            Ok(queries
                .iter()
                .map(|_| Ok(vec!["t1 t2? t3".to_owned(); n]))
                .collect())
        }
    }

    fn on_a_server() -> Context {
        Context {
            language_model: None,
            sampler: Some(Arc::new(Says)),
            ..toy::context()
        }
    }

    #[test]
    fn a_model_that_only_completes_is_enough_where_the_paraphraser_needs_no_logits() {
        let build = |preset: Option<&str>, set: &[(&str, &str)]| {
            let settings = ENTRY.settings(preset, &toy::given(set)).unwrap();
            ENTRY.instance(&on_a_server(), Some(5.0), &settings)
        };
        let query = Query {
            text: "t3 t4",
            seed: Seed::root(1),
        };
        for (preset, expected) in [(None, "t1 t2? t3"), (Some("gpt-3.5-csqa"), "t1 t2")] {
            let mechanism = build(preset, &[("paraphraser", "dp-prompt-black-box")]).unwrap();
            assert_eq!(mechanism.rewrite(&[query]).unwrap()[0].text, expected);
            assert!(mechanism.guarantee().is_none());
        }
        let refused = |set| build(None, set).err().unwrap().to_string();
        assert!(refused(&[]).contains("shows its logits"));
        let bans = [
            ("paraphraser", "dp-prompt-black-box"),
            ("avoid", "decoding"),
        ];
        assert!(refused(&bans).contains("avoid=prompt"));
    }

    #[test]
    fn presets_are_what_ran() {
        let claim = |preset| {
            let settings = ENTRY.settings(Some(preset), &[]).unwrap();
            let mechanism = ENTRY
                .instance(&toy::context(), Some(3.0), &settings)
                .unwrap();
            let units = mechanism.units("t1 t2");
            (mechanism.guarantee().map(|claim| claim.basis), units)
        };
        assert_eq!(claim("gpt-3.5-vqa"), (None, None));
        // "Question : t1 t2", "Paraphrase of the question :": nine words, and 20 more, eleven times.
        assert_eq!(
            claim("llama-3.1-8b-as-run"),
            (Some(Basis::Claimed), Some(11 * 29))
        );
    }
}
