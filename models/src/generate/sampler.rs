//! A language model as a black-box rewriter.

use teda_core::{
    Answer, Beyond, Lane, LanguageModel, Longest, Prompt, Query, Result, Sampling, Stream,
    TextGenerator, grouped,
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
        sampling.check()?;
        let temperature = sampling.temperature;
        let lanes: Vec<Lane<'_>> = queries
            .iter()
            .flat_map(|query| {
                (0..n).map(|c| Lane {
                    text: query.text,
                    seed: query.seed.at(c as u64),
                    longest: Longest::Tokens(sampling.longest),
                    banned: &[],
                })
            })
            .collect();
        let choose = |logits: &mut [f32], stream: &mut Stream| {
            stream.softmax_over(logits, |logit| f64::from(logit) / temperature) as u32
        };
        let answers = self.0.generate(prompt, &lanes, &choose)?;
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
        let longest = Longest::Tokens(sampling.longest);
        self.0.beyond_window(prompt, texts, longest)
    }
}

#[cfg(test)]
mod tests {
    use teda_core::{Choose, Followed, Generated, LogLikelihood, Scorer, Seed, Weigh};

    use super::*;

    /// Answers with what it is asked; a text of more than 4 bytes is too long for it.
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
            lanes: &[Lane<'_>],
            _: &Choose<'_>,
        ) -> Result<Vec<Answer<Generated>>> {
            let answer = |lane: &Lane<'_>| {
                let fits = lane.text.len() <= 4;
                fits.then(|| Generated {
                    text: lane.text.to_owned(),
                    tokens: vec![0],
                })
                .ok_or_else(|| "too long".into())
            };
            Ok(lanes.iter().map(answer).collect())
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
            longest: 9,
        };
        let answers = Sampler(&Echo)
            .complete(&Prompt::new("{}"), &queries, 3, sampling)
            .unwrap();
        let three = |text: &str| Ok(vec![text.to_owned(); 3]);
        assert_eq!(answers, [three("a"), Err("too long".into()), three("b")]);
    }
}
