//! `teda models calibrate`: measures bounds for clipping a model's logits.

use std::sync::Mutex;

use clap::Args;
use rayon::prelude::*;
use teda_core::{
    Error, Failure, Gap, Keep, LanguageModel, MaskedLanguageModel, MaxNewTokens, Prompt, Result,
    Seed, Sequence, State, Stream,
};
use teda_datasets::Request;

use super::flags::AccessArguments;
use super::output::print;
use teda::models::{language_model, masked_language_model};

/// Measures a language model's logits on public text and proposes bounds for clipping.
///
/// Each text is put into DP-Prompt's prompt and continued at temperature 1 by as many tokens as the prompt
/// has; mean μ and standard deviation σ are taken over all logits of all steps. A masked language model is
/// shown the gaps that DP-MLM makes in each text instead. The proposed bounds are
/// (μ, μ + 4σ), the rule by which the published bounds were made. Use public text: what is measured on
/// private text depends on it.
#[derive(Args)]
pub struct Arguments {
    /// builtin (the rewriter), builtin-infill, short name, repository or path
    #[arg(value_name = "MODEL")]
    model: String,
    /// Public texts (as of `teda audit`)
    #[arg(long, value_name = "NAME", default_value = "novels")]
    dataset: String,
    /// Texts used
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Leaves the model's chat template out
    #[arg(long)]
    no_chat: bool,
    #[command(flatten)]
    access: AccessArguments,
}

/// Count, sum and sum of squares in units of 2⁻³²: integers add up to the same result in any order of threads.
#[derive(Default)]
struct Moments {
    count: u64,
    sum: i128,
    squares: i128,
}

/// Units of [`Moments`] in 1.
const UNITS: f64 = (1_u64 << 32) as f64;

impl Moments {
    fn of(logits: &[f32]) -> Self {
        let units = |x: f64| (x * UNITS).round() as i128;
        let numbers = logits.iter().map(|x| f64::from(*x));
        let sums = |(sum, squares), x: f64| (sum + units(x), squares + units(x * x));
        let (sum, squares) = numbers.fold((0, 0), sums);
        Self {
            count: logits.len() as u64,
            sum,
            squares,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
        }
    }

    /// Mean and standard deviation.
    fn normal(&self) -> (f64, f64) {
        let per_logit = |sum: i128| sum as f64 / UNITS / self.count as f64;
        let mean = per_logit(self.sum);
        (
            mean,
            (per_logit(self.squares) - mean * mean).max(0.0).sqrt(),
        )
    }
}

impl Arguments {
    pub fn run(self) -> Result<()> {
        let request = Request {
            source: self.dataset.clone(),
            split: None,
            limit: Some(self.limit),
            min_words: None,
            max_words: None,
        };
        let dataset = teda_datasets::load(&request, self.access.limits(), &mut std::io::stdin())?;
        let access = self.access.access(false);
        let (moments, failed) = match masked_language_model(&self.model, &access)? {
            Some(model) => (measure_gaps(&model, &dataset.texts)?, 0),
            None => {
                let model = language_model(&self.model, !self.no_chat, &access)?;
                measure(&model, &dataset.texts)?
            }
        };
        let (mean, deviation) = moments.normal();
        let high = mean + 4.0 * deviation;
        print(&format!(
            "{}: μ = {mean:.6}, σ = {deviation:.6} over {} logits ({} texts of {}, {failed} too long for the model)\n(μ, μ + 4σ): --set clip_low={mean:.6},clip_high={high:.6}\n",
            self.model,
            moments.count,
            dataset.texts.len(),
            self.dataset,
        ))
    }
}

/// The moments over all texts, and the number of texts that the model could not continue.
fn measure(model: &dyn LanguageModel, texts: &[String]) -> Result<(Moments, usize)> {
    let prompt = Prompt::new("Document : {}\nParaphrase of the document :");
    let moments = Mutex::new(Moments::default());
    let choose = |logits: &mut [f32], stream: &mut Stream| {
        let own = Moments::of(logits);
        let mut all = moments.lock().expect("no thread panics with it");
        *all = std::mem::take(&mut *all).plus(own);
        drop(all);
        stream.softmax_over(logits, f64::from) as u32
    };
    let sequences: Vec<Sequence<'_>> = texts
        .iter()
        .zip(0..)
        .map(|(text, index)| Sequence {
            text,
            seed: Seed::root(0).named("calibrate").at(index),
            max_new_tokens: MaxNewTokens::AsPrompt,
            banned: &[],
        })
        .collect();
    let answers = model.generate(&prompt, &sequences, &choose)?;
    let reasons: Vec<&Failure> = answers.iter().filter_map(|a| a.as_ref().err()).collect();
    if reasons.len() == answers.len() {
        let reason = reasons
            .first()
            .map_or("there is none", |failure| &failure.reason);
        return Err(Error::failed(format!("no text can be continued: {reason}")));
    }
    let moments = moments
        .into_inner()
        .map_err(|_| Error::failed("the measurement stopped half-way"))?;
    Ok((moments, reasons.len()))
}

/// Texts whose gaps are measured together.
const TEXTS: usize = 16;

/// The moments over all gaps of all texts.
fn measure_gaps(model: &dyn MaskedLanguageModel, texts: &[String]) -> Result<Moments> {
    let some = |texts: &[String]| {
        let all: Vec<_> = texts
            .iter()
            .map(|text| teda_mechanisms::gaps(text))
            .collect();
        let gaps: Vec<Gap<'_>> = all
            .iter()
            .flat_map(|(whole, gaps)| gaps.iter().map(move |gap| (whole, gap)))
            .map(|(whole, (before, after))| Gap {
                whole,
                before,
                after,
            })
            .collect();
        let states = model.states(&gaps, Keep::No)?;
        let states: Vec<&State> = states.iter().collect();
        let logits = model.logits(&states, 0..model.words().len())?;
        Ok(Moments::of(&logits))
    };
    let all = texts
        .par_chunks(TEXTS)
        .map(some)
        .collect::<Result<Vec<_>>>()?;
    let moments = all.into_iter().fold(Moments::default(), Moments::plus);
    match moments.count {
        0 => Err(Error::failed(
            "no text has a word that DP-MLM would draw anew",
        )),
        _ => Ok(moments),
    }
}
