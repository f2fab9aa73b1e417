//! A language model as a black-box rewriter.

use teda_core::{
    Answer, Beyond, Choose, LanguageModel, MaxNewTokens, Prompt, Query, Result, Sampling, Sequence,
    Stream, TextGenerator, grouped, likeliest,
};

/// Samples from softmax(logits / temperature) over the whole vocabulary; at temperature 0, the highest logit.
pub struct Sampler<M>(pub M);

impl<M: std::ops::Deref<Target: LanguageModel> + Send + Sync> TextGenerator for Sampler<M> {
    /// Candidate c of a query has the stream `seed.at(c)`, so that it does not depend on how many are requested.
    fn complete(
        &self,
        prompt: &Prompt,
        queries: &[Query<'_>],
        n: usize,
        sampling: Sampling,
    ) -> Result<Vec<Answer<Vec<String>>>> {
        sampling.check()?;
        let temperature = sampling.temperature;
        let sequences: Vec<Sequence<'_>> = queries
            .iter()
            .flat_map(|query| {
                (0..n).map(|c| Sequence {
                    text: query.text,
                    seed: query.seed.at(c as u64),
                    max_new_tokens: MaxNewTokens::Tokens(sampling.max_new_tokens),
                    banned: &[],
                })
            })
            .collect();
        let choose = |logits: &mut [f32], stream: &mut Stream| {
            stream.softmax_over(logits, |logit| f64::from(logit) / temperature) as u32
        };
        let choose: &Choose<'_> = match temperature {
            0.0 => &likeliest,
            _ => &choose,
        };
        let answers = self.0.generate(prompt, &sequences, choose)?;
        let texts = answers
            .into_iter()
            .map(|answer| answer.map(|generated| generated.text))
            .collect();
        Ok(grouped(texts, queries.len()))
    }

    fn beyond_window(
        &self,
        prompt: &Prompt,
        texts: &[&str],
        sampling: Sampling,
    ) -> Result<Option<Beyond>> {
        let max_new_tokens = MaxNewTokens::Tokens(sampling.max_new_tokens);
        self.0.beyond_window(prompt, texts, max_new_tokens)
    }
}

#[cfg(test)]
mod tests {
    use teda_core::{Followed, Generated, LogLikelihood, Scorer, Seed, Weigh};

    use super::*;

    /// Answers with its prompt; a text of more than 4 bytes is too long for it.
    struct Echo;

    impl Scorer for Echo {
        fn log_likelihood(
            &self,
            _: &Prompt,
            _: &[(&str, &str)],
        ) -> Result<Vec<Answer<LogLikelihood>>> {
            unreachable!("nothing is scored")
        }
    }

    impl LanguageModel for Echo {
        fn vocabulary(&self) -> usize {
            1
        }

        fn follows_instructions(&self) -> bool {
            true
        }

        fn prompt_tokens(&self, _: &Prompt, text: &str) -> Result<usize> {
            Ok(text.len())
        }

        fn logit_moments(&self) -> Option<(f64, f64)> {
            None
        }

        fn generate(
            &self,
            _: &Prompt,
            sequences: &[Sequence<'_>],
            _: &Choose<'_>,
        ) -> Result<Vec<Answer<Generated>>> {
            let answer = |sequence: &Sequence<'_>| {
                let fits = sequence.text.len() <= 4;
                fits.then(|| Generated {
                    text: sequence.text.to_owned(),
                    tokens: vec![0],
                })
                .ok_or_else(|| "too long".into())
            };
            Ok(sequences.iter().map(answer).collect())
        }

        fn follow(
            &self,
            _: &Prompt,
            _: &[(&str, &str)],
            _: &Weigh<'_>,
        ) -> Result<Vec<Answer<Followed>>> {
            unreachable!("nothing is followed")
        }
    }

    /// Every other query keeps its own answers.
    #[test]
    fn a_query_that_fails_fails_alone() {
        let queries: Vec<Query<'_>> = ["a", "too long", "b"]
            .iter()
            .map(|text| Query {
                text,
                seed: Seed::root(0),
            })
            .collect();
        let sampling = Sampling {
            temperature: 1.0,
            max_new_tokens: 9,
        };
        let answers = Sampler(&Echo)
            .complete(&Prompt::new("{}"), &queries, 3, sampling)
            .unwrap();
        let three = |text: &str| Ok(vec![text.to_owned(); 3]);
        assert_eq!(answers, [three("a"), Err("too long".into()), three("b")]);
    }
}
