//! `reconstruct`: a language model writes the source back from the release, and the candidate nearest to that is guessed.
//!
//! # Threat model
//! The adversary sees the release; it has a public language model and a public sentence encoder, and no access to the
//! mechanism. It writes without the candidates before it: they only turn what it wrote into a guess. A model on a server
//! reveals releases to whoever runs it.
//!
//! # Definition
//! T = what the model of `--judge` writes when asked to reconstruct the original of the release ([`prompt`]), always the
//! likeliest token. score(v) = ⟨ψ(T), ψ(v)⟩, the cosine of sentence vectors, as the attack `embedding` has it of the
//! release itself: beside that one it shows what the model adds. An empty T is equally near to all.
//!
//! Beside the guess stands what it read ([`recall`]): the share of the source's words that come back, and of its rare
//! ones, in T and in the release.
//!
//! # Source
//! Pang et al., *Reconstruction of Differentially Private Text Sanitization via Large Language Models* (arXiv 2410.12443),
//! the black-box attack; Meisenbacher et al., *The Double-edged Sword of LLM-based Data Reconstruction* (arXiv 2508.18976).
//!
//! # Deviations
//! The wording of the prompt is ours, and it shows no examples. The model in the binary follows no instructions: it
//! repeats what it reads and mends it as it was trained to, so that what comes back is little more than the release.
//!
//! # Coins
//! None: a release is reconstructed in one way, whoever asks and how often. Equal releases are written back once, as long
//! as those that are kept fit 64 MiB.

mod prompt;
mod recall;
mod writer;

use std::sync::Arc;

use ndarray::Array2;
use teda_core::{
    Answer, Attack, Encoder, Error, Observation, Reading, Reconstruction, Reconstructor, Result,
};

use crate::entry::{Build, Context, Entry};
use recall::Recall;
use writer::Writer;

pub const ENTRY: Entry = Entry {
    name: "reconstruct",
    summary: "a language model writes the source back; nearest candidate to that",
    source: "Pang et al. (arXiv 2410.12443)",
    judge: true,
    likelihoods: false,
    latent: false,
    reads: true,
    build: Build::Scores(|context: &Context| {
        let model = context.writer.clone();
        let model = model.ok_or_else(|| {
            Error::failed("the attack 'reconstruct' was given no language model to write with")
        })?;
        Ok(Box::new(Reconstruct {
            writer: Writer::new(model, context.tokens.clone()),
            encoder: context.encoder.clone(),
            vectors: context.vectors.clone(),
            recall: Recall::new(context.texts.clone()),
        }))
    }),
};

struct Reconstruct {
    writer: Writer,
    encoder: Arc<dyn Encoder>,
    /// Of the run's texts.
    vectors: Arc<Array2<f32>>,
    recall: Recall,
}

impl Attack for Reconstruct {
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>> {
        let written = self.reconstruct(batch)?.into_iter();
        Ok(written.map(|answer| answer.map(|one| one.scores)).collect())
    }

    fn reconstructor(&self) -> Option<&dyn Reconstructor> {
        Some(self)
    }
}

impl Reconstructor for Reconstruct {
    fn reconstruct(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Reconstruction>>> {
        let releases: Vec<&str> = batch.iter().map(|seen| seen.release).collect();
        let written = self.writer.write(&releases)?;
        let texts: Vec<&str> = written
            .iter()
            .map(|answer| answer.as_ref().map_or("", |text| text))
            .collect();
        let vectors = self.encoder.encode(&texts)?;
        let near = |seen: &Observation<'_>, row: usize| {
            let cosine = |text: &usize| f64::from(vectors.row(row).dot(&self.vectors.row(*text)));
            seen.candidates.iter().map(cosine).collect()
        };
        let answer = |(row, seen): (usize, &Observation<'_>)| {
            let text = written[row].clone()?;
            let scores = near(seen, row);
            Ok(Reconstruction { text, scores })
        };
        Ok(batch.iter().enumerate().map(answer).collect())
    }

    fn read(&self, source: usize, release: &str, text: String) -> Reading {
        self.recall.read(source, release, text)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use teda_core::{Prompt, Query, Sampling, TextGenerator};

    use super::*;
    use crate::toy;

    /// Writes the release in capitals, and counts what it is asked. Cannot read "secret".
    #[derive(Default)]
    struct Shouts(AtomicUsize);

    impl TextGenerator for Shouts {
        fn complete(
            &self,
            _: &Prompt,
            queries: &[Query<'_>],
            _: usize,
            sampling: Sampling,
        ) -> Result<Vec<Answer<Vec<String>>>> {
            assert_eq!(sampling.temperature, 0.0);
            self.0.fetch_add(queries.len(), Ordering::Relaxed);
            let say = |query: &Query<'_>| match query.text {
                "secret" => Err("no".into()),
                text => Ok(vec![format!(" {} \n", text.to_uppercase())]),
            };
            Ok(queries.iter().map(say).collect())
        }
    }

    const TEXTS: [&str; 3] = ["PLAY JAZZ", "BOOK A TABLE", "RAIN"];

    fn attack(model: &Arc<Shouts>) -> Box<dyn Attack> {
        let context = Context {
            writer: Some(model.clone()),
            ..toy::context(&TEXTS)
        };
        match ENTRY.build {
            Build::Scores(build) => build(&context).unwrap(),
            Build::Learns(_) => unreachable!("it does not learn"),
        }
    }

    /// The words of the toy's vectors have a case, so only the reconstruction can be near.
    #[test]
    fn the_candidate_nearest_to_what_was_written_is_guessed() {
        let attack = attack(&Arc::default());
        for (release, best) in [("play jazz", 0), ("book a table", 1), ("rain", 2)] {
            let seen = toy::observation(&[0, 1, 2], release);
            let scores = attack.score(&[seen]).unwrap().remove(0).unwrap();
            assert!((scores[best] - 1.0).abs() < 1e-6, "{release}: {scores:?}");
            assert!(scores.iter().filter(|score| **score > 0.99).count() == 1);
        }
    }

    #[test]
    fn what_was_written_stands_beside_the_guess() {
        let attack = attack(&Arc::default());
        let reconstructor = attack.reconstructor().unwrap();
        let batch = [
            toy::observation(&[0, 1], "play jazz"),
            toy::observation(&[0, 1], "secret"),
        ];
        let answers = reconstructor.reconstruct(&batch).unwrap();
        assert_eq!(answers[0].as_ref().unwrap().text, "PLAY JAZZ");
        assert_eq!(answers[1].as_ref().unwrap_err().reason, "no");
        let scores = attack.score(&batch).unwrap();
        assert_eq!(scores[0], Ok(answers[0].clone().unwrap().scores));
        assert!(scores[1].is_err() && attack.score(&[]).unwrap().is_empty());
        let reading = reconstructor.read(0, "play tennis", "PLAY JAZZ".to_owned());
        assert_eq!((reading.words.release, reading.words.text), (1, 2));
    }

    #[test]
    fn equal_releases_are_written_back_once() {
        let model: Arc<Shouts> = Arc::default();
        let attack = attack(&model);
        let releases = ["play jazz", "rain", "play jazz", "play jazz"];
        let batch = releases.map(|release| toy::observation(&[0, 1], release));
        let together = attack.score(&batch).unwrap();
        assert_eq!(model.0.load(Ordering::Relaxed), 2);
        // Row i depends on release i alone, and what was written before is not asked for again.
        for (seen, expected) in batch.iter().zip(&together) {
            assert_eq!(&attack.score(&[*seen]).unwrap()[0], expected);
        }
        assert_eq!(model.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn without_a_model_it_is_not_built() {
        let Build::Scores(build) = ENTRY.build else {
            unreachable!("it does not learn")
        };
        assert!(build(&toy::context(&TEXTS)).is_err());
    }
}
