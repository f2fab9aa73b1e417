//! Beam search from given source vectors.
//!
//! # Definition
//! A beginning of tokens t₁ … t_n after the start token has the score Σ ln P(t_i | t_1 … t_{i−1}, vectors), over the
//! whole vocabulary. At each step every one of the B beginnings is continued by every token. Of the 2B continuations
//! with the highest scores, those among the first B that end are finished texts, and the first B that do not end are
//! the next beginnings. The search is over once B texts are finished, or the beginnings have as many tokens as a text
//! may have, which then count as texts, too. The result is the text with the highest score divided by its number of
//! tokens, the start token included and the end left out. Of equal scores the beginning found first counts, then the
//! smaller token.
//!
//! # Source
//! The search of the `transformers` library with `early_stopping=True` and a length penalty of 1.
//!
//! # Determinism
//! Logits have the same bits whatever runs beside them, and sums are in double precision in a fixed order.

use teda_core::{BeamSearch, Error, Result, ln_softmax_over};

use super::LocalModel;
use crate::kernel::keys_values::next_room;
use crate::transformer::attention::Sources;
use crate::transformer::{Memory, Pass, Segment};

/// Most texts that are searched for at once.
const TEXTS: usize = 8;

/// A model and how it searches.
pub(super) struct Searcher<'a> {
    model: &'a LocalModel,
    search: BeamSearch,
    /// The token that every text begins with.
    start: u32,
    /// Slots per beginning.
    room: usize,
}

/// A beginning.
#[derive(Clone)]
struct Beam {
    tokens: Vec<u32>,
    score: f64,
    /// The first slot of its keys and values.
    region: usize,
}

/// What is searched for with one row of vectors.
struct Text {
    beams: Vec<Beam>,
    finished: Vec<(f64, Vec<u32>)>,
}

/// A beginning continued by one token.
struct Continued {
    beam: usize,
    token: u32,
    score: f64,
}

impl<'a> Searcher<'a> {
    /// # Errors
    /// Usage, if a text may have more tokens than the model has room for, or none of its own, or nothing is followed.
    pub(super) fn new(model: &'a LocalModel, search: BeamSearch) -> Result<Self> {
        let BeamSearch { beams, tokens } = search;
        let longest = model.decoder.longest;
        if beams == 0 || tokens < 2 || tokens > longest {
            return Err(model.named(Error::usage(format!(
                "a search with {beams} beams for texts of {tokens} tokens: at least 1 beam and 2 to {longest} tokens are possible"
            ))));
        }
        let start = model.source.as_ref().map_or(0, |side| side.start);
        Ok(Self {
            model,
            search,
            start,
            room: next_room(tokens),
        })
    }

    /// How many texts are searched for at once: as many as the memory bound allows.
    pub(super) fn at_once(&self) -> usize {
        let shape = self.model.decoder.shape;
        // Two banks of beginnings, and the source.
        let bytes = shape.bytes(2 * self.search.beams * self.room) + shape.bytes(self.room);
        let fitting = self.model.memory().checked_div(bytes).unwrap_or(TEXTS);
        fitting.clamp(1, TEXTS)
    }

    /// The tokens of the text that is found for each row of vectors.
    pub(super) fn search(&self, rows: &[Vec<f32>]) -> Result<Vec<Vec<u32>>> {
        let decoder = &self.model.decoder;
        let beams = self.search.beams;
        let (sources, regions) = self.sources(rows)?;
        // A step reads one bank and its survivors are copied into the other.
        let slots = rows.len() * 2 * beams * self.room;
        let mut memory = Memory::new(&decoder.backend, decoder.shape, slots)?;
        let region =
            |text: usize, bank: usize, beam: usize| ((text * 2 + bank) * beams + beam) * self.room;
        let mut texts: Vec<Text> = (0..rows.len())
            .map(|text| Text {
                beams: vec![Beam {
                    tokens: vec![self.start],
                    score: 0.0,
                    region: region(text, 0, 0),
                }],
                finished: Vec::new(),
            })
            .collect();
        for read in 1..self.search.tokens {
            let open: Vec<usize> = (0..texts.len())
                .filter(|text| texts[*text].finished.len() < beams)
                .filter(|text| !texts[*text].beams.is_empty())
                .collect();
            if open.is_empty() {
                break;
            }
            let active: Vec<(usize, &Beam)> = open
                .iter()
                .flat_map(|text| texts[*text].beams.iter().map(move |beam| (*text, beam)))
                .collect();
            let tokens: Vec<u32> = active
                .iter()
                .map(|(_, beam)| *beam.tokens.last().expect("a beginning has its start"))
                .collect();
            let segments = active.iter().map(|(_, beam)| Segment {
                tokens: 1,
                prefix: None,
                past: read - 1,
                region: beam.region,
                asked: vec![0],
                padding: 0,
            });
            let pass = Pass::new(segments.collect());
            let seen = Sources {
                memory: &sources,
                regions: active.iter().map(|(text, _)| regions[*text]).collect(),
            };
            let states = decoder.states(&tokens, &pass, &mut memory, Some(&seen))?;
            let logits = decoder.logits(states)?;
            let mut rows = logits.chunks_exact(decoder.vocabulary());
            for text in open {
                let found = &mut texts[text];
                let rows: Vec<&[f32]> = rows.by_ref().take(found.beams.len()).collect();
                let next = self.step(found, &rows);
                found.beams = next
                    .into_iter()
                    .enumerate()
                    .map(|(place, (parent, beam))| {
                        let to = region(text, read % 2, place);
                        memory.copy(parent, to, read)?;
                        Ok(Beam { region: to, ..beam })
                    })
                    .collect::<Result<_>>()?;
            }
        }
        Ok(texts.into_iter().map(|text| self.best(text)).collect())
    }

    /// Takes a step: finished texts are put aside, and the next beginnings returned, each with where the keys and
    /// values of the one it continues are.
    fn step(&self, text: &mut Text, rows: &[&[f32]]) -> Vec<(usize, Beam)> {
        let beams = self.search.beams;
        let mut next = Vec::with_capacity(beams);
        for (rank, found) in continued(&text.beams, rows, 2 * beams).iter().enumerate() {
            let beam = &text.beams[found.beam];
            if self.model.ends.contains(&found.token) {
                if rank < beams {
                    let finished = (per_token(found.score, &beam.tokens), beam.tokens.clone());
                    text.finished.push(finished);
                }
                continue;
            }
            if next.len() < beams {
                let longer = Beam {
                    tokens: [&beam.tokens[..], &[found.token]].concat(),
                    score: found.score,
                    region: beam.region,
                };
                next.push((beam.region, longer));
            }
        }
        next
    }

    /// The best text, without its start.
    fn best(&self, text: Text) -> Vec<u32> {
        let mut texts = text.finished;
        if texts.len() < self.search.beams {
            let open = text.beams.into_iter();
            texts.extend(open.map(|beam| (per_token(beam.score, &beam.tokens), beam.tokens)));
        }
        let mut best: Option<(f64, Vec<u32>)> = None;
        for (score, tokens) in texts {
            if best.as_ref().is_none_or(|(highest, _)| score > *highest) {
                best = Some((score, tokens));
            }
        }
        best.map_or(Vec::new(), |(_, tokens)| tokens[1..].to_vec())
    }

    /// The keys and values of rows of vectors in every layer, and where those of each row are.
    fn sources(&self, rows: &[Vec<f32>]) -> Result<(Memory, Vec<(usize, usize)>)> {
        let decoder = &self.model.decoder;
        let hidden = decoder.embeddings.hidden;
        let mut regions = Vec::with_capacity(rows.len());
        let mut slots = Vec::new();
        let mut first = 0;
        for row in rows {
            let tokens = row.len() / hidden;
            regions.push((first, tokens));
            slots.extend(first..first + tokens);
            first += next_room(tokens);
        }
        let mut memory = Memory::new(&decoder.backend, decoder.shape, first)?;
        let vectors = decoder.backend.matrix(rows.concat(), hidden)?;
        decoder.stack.store_sources(&vectors, &slots, &mut memory)?;
        Ok((memory, regions))
    }
}

/// ln P per token of a text with its start.
fn per_token(score: f64, tokens: &[u32]) -> f64 {
    score / tokens.len() as f64
}

/// The `most` continuations with the highest scores, the highest first.
fn continued(beams: &[Beam], rows: &[&[f32]], most: usize) -> Vec<Continued> {
    let mut all: Vec<Continued> = Vec::with_capacity(beams.len() * most);
    for (place, (beam, logits)) in beams.iter().zip(rows).enumerate() {
        let highest = highest(logits, most);
        let Some(first) = highest.first() else {
            continue;
        };
        // ln Σ exp, from the probability of the likeliest token.
        let logit = |token: &u32| f64::from(logits[*token as usize]);
        let total = logit(first) - ln_softmax_over(logits, &[*first], f64::from);
        all.extend(highest.iter().map(|token| Continued {
            beam: place,
            token: *token,
            score: beam.score + (logit(token) - total),
        }));
    }
    // Stable, and beginnings and tokens are in order already.
    all.sort_by(|a, b| b.score.total_cmp(&a.score));
    all.truncate(most);
    all
}

/// The `most` tokens with the highest logits, the highest first and of equal ones the smaller token.
fn highest(logits: &[f32], most: usize) -> Vec<u32> {
    let mut tokens: Vec<u32> = (0..logits.len() as u32).collect();
    let higher = |a: &u32, b: &u32| {
        let (x, y) = (logits[*a as usize], logits[*b as usize]);
        y.total_cmp(&x).then(a.cmp(b))
    };
    if most < tokens.len() {
        tokens.select_nth_unstable_by(most, higher);
        tokens.truncate(most);
    }
    tokens.sort_unstable_by(higher);
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_come_first_and_of_equals_the_smaller() {
        let logits = [1.0, 3.0, 2.0, 3.0, -1.0];
        assert_eq!(highest(&logits, 3), [1, 3, 2]);
        assert_eq!(highest(&logits, 9), [1, 3, 2, 0, 4]);
    }

    #[test]
    fn continuations_are_ordered_by_the_probability_of_the_whole() {
        let beam = |score| Beam {
            tokens: vec![0],
            score,
            region: 0,
        };
        let beams = [beam(-1.0), beam(-3.0)];
        let (first, second) = ([0.0_f32, 0.0], [5.0_f32, 0.0]);
        let found = continued(&beams, &[&first, &second], 3);
        let halves = -1.0 - std::f64::consts::LN_2;
        let near = -3.0 - (1.0 + (-5.0_f64).exp()).ln();
        for (found, (beam, token, score)) in
            found
                .iter()
                .zip([(0, 0, halves), (0, 1, halves), (1, 0, near)])
        {
            assert_eq!((found.beam, found.token), (beam, token));
            assert!((found.score - score).abs() < 1e-12, "{}", found.score);
        }
    }
}
