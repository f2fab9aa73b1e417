//! `teda models calibrate`: measures bounds for clipping a model's logits.

use std::sync::Mutex;

use clap::Args;
use teda_core::{
    Error, Failure, LanguageModel, MaxNewTokens, Prompt, Result, Seed, Sequence, Stream,
};
use teda_datasets::Request;

use super::flags::AccessArguments;
use super::output::print;
use teda::models::language_model;

/// Measures a language model's logits on public text and proposes bounds for clipping.
///
/// Each text is put into DP-Prompt's prompt and continued at temperature 1 by as many tokens as the prompt
/// has; mean μ and standard deviation σ are taken over all logits of all steps. The proposed bounds are
/// (μ, μ + 4σ), the rule by which the published bounds were made. Use public text: what is measured on
/// private text depends on it.
#[derive(Args)]
pub struct Arguments {
    /// builtin, short name, repository or path
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
        let model = language_model(&self.model, !self.no_chat, &self.access.access(false))?;
        let (moments, failed) = measure(&model, &dataset.texts)?;
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
        let units = |x: f64| (x * UNITS).round() as i128;
        let numbers = logits.iter().map(|x| f64::from(*x));
        let (sum, squares) = numbers.fold((0, 0), |(sum, squares), x| {
            (sum + units(x), squares + units(x * x))
        });
        let mut all = moments.lock().expect("no thread panics with it");
        all.count += logits.len() as u64;
        all.sum += sum;
        all.squares += squares;
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
