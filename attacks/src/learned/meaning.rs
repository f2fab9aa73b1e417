//! Similarity by public vectors: of whole texts, and of the pieces at the same positions.

use std::sync::{Arc, OnceLock};

use ndarray::ArrayView2;
use teda_core::TokenMap;

use super::profile::Profile;
use super::sheet::Sheet;
use super::wording::ratio;

/// Most pieces of a text whose best match is searched: the work is this squared.
const MATCHED: usize = 40;
/// Number of tokens that represent the whole vocabulary in means over it.
const SAMPLE: usize = 512;

/// What a word-level likelihood needs to know of the public vocabulary.
pub(super) struct Meaning {
    tokens: Arc<dyn TokenMap>,
    /// Evenly spaced among the tokens that may be released.
    sample: Vec<u32>,
    /// Indexed by token; each computed when it is first asked for.
    spread: Vec<OnceLock<Spread>>,
}

/// How a token's cosines c⁺ = max(0, cosine) with the vocabulary are distributed.
#[derive(Clone, Copy)]
struct Spread {
    mean: f64,
    /// ln of the mean of exp(2 c⁺).
    tilted: f64,
}

impl Meaning {
    pub(super) fn new(tokens: Arc<dyn TokenMap>) -> Self {
        let released = tokens.released();
        let every = released.len().div_ceil(SAMPLE).max(1);
        let sample = released.iter().copied().step_by(every).collect();
        let spread = vec![OnceLock::new(); tokens.vectors().nrows()];
        Self {
            tokens,
            sample,
            spread,
        }
    }

    fn spread(&self, token: u32, vectors: &ArrayView2<'_, f32>) -> Spread {
        *self.spread[token as usize].get_or_init(|| {
            let of = |other: &u32| cosine(vectors, token, *other).max(0.0);
            let cosines: Vec<f64> = self.sample.iter().map(of).collect();
            let share = 1.0 / cosines.len().max(1) as f64;
            Spread {
                mean: cosines.iter().sum::<f64>() * share,
                tilted: (cosines.iter().map(|c| (2.0 * c).exp()).sum::<f64>() * share).ln(),
            }
        })
    }

    /// Compares candidate and release, given the cosine of their sentence vectors.
    pub(super) fn compare(&self, c: &Profile, r: &Profile, sentence: f64, sheet: &mut Sheet) {
        sheet.put("the cosine of the sentence vectors{}", "", sentence);
        let vectors = self.tokens.vectors();
        let (c, r) = (&c.pieces[..], &r.pieces[..]);
        let shorter = c.len().min(r.len());
        let aligned = |from_end: bool| {
            let (mut sum, mut above, mut equal) = (0.0, 0.0, 0.0);
            for i in 0..shorter {
                let (a, b) = match from_end {
                    false => (c[i], r[i]),
                    true => (c[c.len() - 1 - i], r[r.len() - 1 - i]),
                };
                let cosine = cosine(&vectors, a, b);
                sum += cosine;
                above += cosine.max(0.0);
                equal += f64::from(u8::from(a == b));
            }
            [sum, above, equal]
        };
        let front = aligned(false);
        let back = if c.len() == r.len() {
            front
        } else {
            aligned(true)
        };
        sheet.put(
            "the number of places at which both have a piece{}",
            "",
            shorter as f64,
        );
        for (what, [sum, above, equal]) in [("beginning", front), ("end", back)] {
            sheet.put(
                "the sum of the cosines of pieces at the same place from the {}",
                what,
                sum,
            );
            sheet.put(
                "the sum of the positive cosines of pieces at the same place from the {}",
                what,
                above,
            );
            sheet.put(
                "the mean cosine of pieces at the same place from the {}",
                what,
                ratio(sum, shorter as f64),
            );
            sheet.put(
                "the number of equal pieces at the same place from the {}",
                what,
                equal,
            );
        }
        let spreads = c.iter().map(|token| self.spread(*token, &vectors));
        let (mean, tilted) = spreads.fold((0.0, 0.0), |sums, spread| {
            (sums.0 + spread.mean, sums.1 + spread.tilted)
        });
        sheet.put(
            "how near the candidate's pieces are to the vocabulary{}",
            "",
            mean,
        );
        sheet.put(
            "how near the candidate's pieces are to the vocabulary, near ones counting more{}",
            "",
            tilted,
        );

        let (c, r) = (&c[..c.len().min(MATCHED)], &r[..r.len().min(MATCHED)]);
        let mut rows = vec![0.0_f64; c.len()];
        let mut columns = vec![0.0_f64; r.len()];
        for (i, a) in c.iter().enumerate() {
            for (j, b) in r.iter().enumerate() {
                let cosine = cosine(&vectors, *a, *b);
                rows[i] = rows[i].max(cosine);
                columns[j] = columns[j].max(cosine);
            }
        }
        for (what, best) in [("the candidate's", rows), ("the release's", columns)] {
            let sum: f64 = best.iter().sum();
            sheet.put(
                "the mean cosine of {} pieces with the nearest of the other's",
                what,
                ratio(sum, best.len() as f64),
            );
            sheet.put(
                "the sum of the cosines of {} pieces with the nearest of the other's",
                what,
                sum,
            );
        }
    }
}

fn cosine(vectors: &ArrayView2<'_, f32>, a: u32, b: u32) -> f64 {
    f64::from(vectors.row(a as usize).dot(&vectors.row(b as usize)))
}
