//! A language model as a black-box rewriter.

use teda_core::{
    Answer, Error, Lane, LanguageModel, Longest, Prompt, Query, Result, Sampling, Stream,
    TextGenerator,
};

/// Samples from softmax(logits / temperature) over the whole vocabulary.
pub struct Sampler<M>(pub M);

impl<M: std::ops::Deref<Target: LanguageModel> + Send + Sync> TextGenerator for Sampler<M> {
    /// Candidate c of a query has the stream `seed.at(c)`, so that it does not depend on how many are
    /// asked for.
    fn complete(
        &self,
        prompt: &Prompt,
        queries: &[Query<'_>],
        n: usize,
        sampling: Sampling,
    ) -> Result<Vec<Answer<Vec<String>>>> {
        let temperature = sampling.temperature;
        if !(temperature > 0.0 && temperature.is_finite()) {
            return Err(Error::usage(format!(
                "temperature {temperature} is not a finite number above 0"
            )));
        }
        let lanes: Vec<Lane<'_>> = queries
            .iter()
            .flat_map(|query| {
                (0..n).map(|c| Lane {
                    text: query.text,
                    seed: query.seed.at(c as u64),
                    longest: Longest::Tokens(sampling.longest),
                })
            })
            .collect();
        let choose = |logits: &mut [f32], stream: &mut Stream| {
            stream.softmax_over(logits, |logit| f64::from(logit) / temperature) as u32
        };
        let mut answers = self.0.generate(prompt, &lanes, &choose)?.into_iter();
        Ok(queries
            .iter()
            .map(|_| {
                let own = answers.by_ref().take(n);
                own.map(|answer| answer.map(|generated| generated.text))
                    .collect()
            })
            .collect())
    }
}
