//! `llm`: a language model judges which candidate was rewritten.
//!
//! # Threat model
//! The adversary knows the candidate set and sees the release; it has a public language model and no
//! access to the mechanism. A judge on a server shows candidates and releases to whoever runs it.
//!
//! # Definition
//! By likelihood: score(v) = ln P(release | prompt with v) / tokens of the release, under the judge, the
//! prompt asking for a paraphrase of v in DP-Prompt's words ([`likelihood`]).
//!
//! By prompt: the judge is shown the release and the numbered candidates and asked for a number, in
//! TeDA's words ([`prompt`]). Each trial is asked in two orders: a random one, and that one turned by
//! half of its length, so that for k = 2 every candidate stands once at every place and a preference for
//! places cancels. score(v) is the mean over the orders of
//! - ln P("answer: \[\[N\]\]" | prompt) with N the number of v, where the judge's probabilities are seen
//!   (a model in this process);
//! - 1 where the judge answers with the number of v, else 0, where only its text is seen (a server).
//!   The answer, white space around it aside, must be `answer: [[N]]` with N ∈ {1,…,k} and nothing
//!   else. A trial with an answer that is not is guessed at random and counted as failed.
//!
//! # Source
//! TeDA (arXiv 2603.22968), Section 4.1 and Appendix B: the LLM distinguishability attack (there
//! Qwen3-8B, by prompt). The likelihood is what the Neyman-Pearson lemma would have an adversary
//! compare, with the judge in place of the mechanism.
//!
//! # Deviations
//! The judge is the audit's own (`--judge`). The paper asks once, in the order of the set, and reads one
//! sampled answer; here the order is random, a second one balances it, and the probabilities of all
//! answers are compared where they can be seen. Line breaks of the prompt and the formulas in it are
//! reconstructed ([`prompt`]).

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

/// A language model that judges, by what is seen of it.
#[derive(Clone)]
pub enum Judge {
    /// How likely it finds the release, given each candidate.
    Likelihood(Arc<dyn Scorer>),
    /// Asked which candidate it was: the probability of each answer.
    Probabilities(Arc<dyn Scorer>),
    /// Asked which candidate it was: the answer that it writes.
    Words(Arc<dyn TextGenerator>),
}
