//! `llm`: a language model judges which candidate was rewritten.
//!
//! # Threat model
//! The adversary knows the candidate set and sees the release; it has a public language model and no access to the
//! mechanism. A judge on a server reveals candidates and releases to whoever runs it.
//!
//! # Definition
//! By likelihood: score(v) = ln P(release | prompt with v) / tokens of the release, under the judge, where the prompt
//! asks for a paraphrase of v in DP-Prompt's words ([`likelihood`]).
//!
//! By prompt: the judge is shown the release and the numbered candidates and asked for a number, in TeDA's words
//! ([`prompt`]). Each trial is asked in two orders: a random one, and that one rotated by half of its length, so that
//! for k = 2 every candidate is in every position once and a preference for positions cancels. score(v) is the mean
//! over the orders of
//! - ln P("answer: \[\[N\]\]" | prompt) with N the number of v, where the judge's probabilities are visible (a model
//!   in this process);
//! - where only the judge's text is visible (a server), 1 if it answers with the number of v, else 0. The answer,
//!   apart from white space around it, must be `answer: [[N]]` with N ∈ {1,…,k} and nothing else. A trial with any
//!   other answer is guessed at random and counted as failed.
//!
//! # Source
//! TeDA (arXiv 2603.22968), Section 4.1 and Appendix B: the LLM distinguishability attack (there
//! Qwen3-8B, by prompt). The likelihood is what the Neyman-Pearson lemma would have an adversary
//! compare, with the judge in place of the mechanism.
//!
//! # Deviations
//! The judge is the audit's own (`--judge`). The paper asks once, in the order of the set, and reads one sampled
//! answer; here the order is random, a second one balances it, and the probabilities of all answers are compared if
//! they are visible. On a server an answer has 16 tokens at most, which a model that thinks first needs for its thoughts:
//! it is asked not to think, and one that cannot be kept from it needs `thinking=on` in its address. Line breaks of the
//! prompt and the formulas in it are reconstructed ([`prompt`]).

mod ask;
mod likelihood;
mod prompt;
#[cfg(test)]
mod toy;

use std::sync::Arc;

use teda_core::{Attack, Error, Scorer, TextGenerator};

use crate::entry::{Build, Context, Entry};
use ask::{Ask, Seen};
use likelihood::Likelihood;

pub const ENTRY: Entry = Entry {
    name: "llm",
    summary: "a language model judges which candidate was rewritten",
    source: "TeDA (arXiv 2603.22968), Appendix B",
    judge: true,
    likelihoods: false,
    latent: false,
    reads: false,
    build: Build::Scores(|context: &Context| {
        let texts = context.texts.clone();
        let judge = context.judge.clone();
        let judge = judge.ok_or_else(|| Error::failed("the attack 'llm' was given no judge"))?;
        let attack: Box<dyn Attack> = match judge {
            Judge::Likelihood(scorer) => Box::new(Likelihood::new(scorer, texts)),
            Judge::Probabilities(scorer) => Box::new(Ask::new(Seen::Probabilities(scorer), texts)),
            Judge::Words(generator) => Box::new(Ask::new(Seen::Words(generator), texts)),
        };
        Ok(attack)
    }),
};

/// A language model that judges, by what is visible of it.
#[derive(Clone)]
pub enum Judge {
    /// By how likely it finds the release, given each candidate.
    Likelihood(Arc<dyn Scorer>),
    /// By being asked which candidate it was: the probability of each answer.
    Probabilities(Arc<dyn Scorer>),
    /// By being asked which candidate it was: the answer that it writes.
    Words(Arc<dyn TextGenerator>),
}
