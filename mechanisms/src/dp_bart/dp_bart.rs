//! `dp-bart`: noise on the vectors that an encoder makes of a text; a decoder writes a text from the sum.
//!
//! # Definition
//! 1. The encoder reads n = `tokens` tokens of the text; a longer text is cut, a shorter one filled up. Its vectors,
//!    one after the other, are the latent, of n·h numbers.
//! 2. Pruning (`pruning=pr`) keeps, of each token's h numbers, those that `pruning_rounds` rounds leave: which ones is a property
//!    of the model's weights. k numbers are left in all.
//! 3. Each of them is clipped to [−C, C], C = `clip`, and gets independent noise, those of filling tokens too.
//! 4. The decoder is given the noisy numbers, with 0 in place of what was pruned, and sees all n tokens. Beam search with
//!    3 beams finds a text of at most n tokens, the start token included.
//!
//! Two latents differ by at most 2C in each number, so by at most Δ₂ = 2C√k in ℓ2 and Δ₁ = 2Ck in ℓ1. The noise is
//! - `analytic-gaussian`: N(0, σ²) with the smallest σ that (ε, δ) allows for Δ₂ (Balle and Wang);
//! - `gaussian`: N(0, σ²) with the classical σ = Δ₂ √(2 ln(1.25/δ)) / ε, as the published scripts ran it;
//! - `laplace`: Laplace(Δ₁/ε).
//!
//! # Guarantee
//! (ε, δ) per text between any two texts, with δ = 0 for `laplace`: after step 3 the text is not looked at any more, and
//! steps 1 and 2 map every text into the cube [−C, C]^k. **Proven** for `analytic-gaussian` and `laplace`. The classical σ
//! is proven for ε < 1 only; for others it suffices as long as Balle and Wang's condition, which is necessary and
//! sufficient, holds of it: at δ = 10⁻⁵ up to about ε = 8.4. Up to there it is proven, beyond it is **claimed**, and not
//! true of two texts whose latents are opposite corners. Proven is meant for exact noise: it is computed in double
//! precision and handed to the decoder in single.
//!
//! # Source
//! DP-BART: Igamberdiev & Habernal, *DP-BART for privatized text rewriting under local differential privacy* (Findings of
//! ACL 2023): DP-BART-CLV (no pruning), -PR (`--preset pr`) and -PR+. PR+ is PR with a checkpoint that was trained on
//! under pruning and noise: the same code with that checkpoint (`--llm`). TeDA (arXiv 2603.22968) says that it ran the
//! analytic Gaussian; the signal-to-noise ratio of its Figure 10 is that of the classical one (`teda models snr`).
//!
//! # Deviations
//! The published scripts ran `gaussian` (`--preset clv-as-run`, `pr-as-run`); the default here is `analytic-gaussian`,
//! because it keeps what it claims at every ε. With the rewriter in the binary, n = 20 of its pieces. Beam search blocks no repeated phrases and
//! forces no token at the end, as a checkpoint's own settings may ask of other libraries. The parameter `tokens` is
//! `max_seq_len` of the code.

use std::sync::Arc;

use ndarray::Array2;
use teda_core::{
    Basis, BeamSearch, EncoderDecoder, Error, Guarantee, LanguageModel, Latent, Mechanism,
    Parameter, Query, Release, Result, Settings, Stream, Unit,
};

use super::pruning::kept;
use crate::entry::{Context, Entry, Preset, Rewriter};
use crate::noise::additive::{self, AdditiveNoise, DELTA, NOISE, Sensitivity};

pub const ENTRY: Entry = Entry {
    name: "dp-bart",
    summary: "noise on the clipped vectors of an encoder, from which a decoder writes a text",
    source: "DP-BART (Findings of ACL 2023), Sections 4.1 and 4.2",
    unit: Some(Unit::Text),
    grid: &[10.0, 50.0, 100.0, 250.0, 750.0, 1000.0, 2500.0],
    parameters: &[TOKENS, CLIP, PRUNING, ROUNDS, NOISE, DELTA],
    presets: PRESETS,
    rewriter: Rewriter::EncoderDecoder,
    build: &|context, epsilon, settings| {
        let model = model(context, "'dp-bart'")?;
        let rounds = match settings.chosen(PRUNING.name) {
            "pr" => settings.get(ROUNDS.name) as usize,
            _ => 0,
        };
        let tokens = settings.get(TOKENS.name) as usize;
        let clip = settings.get(CLIP.name);
        let mechanism = DpBart::new(model, tokens, rounds, |values| {
            let noise = noise_of(settings.chosen(NOISE.name), settings, values, epsilon);
            (noise, [-clip, clip], false)
        })?;
        Ok(Box::new(mechanism))
    },
    ..Entry::PUBLISHED
};

pub const TOKENS: Parameter = Parameter::whole(
    "tokens",
    20,
    [2, 1024],
    "tokens of a text that are encoded (a longer one is cut, a shorter one filled up), and of a release at most",
);

const CLIP: Parameter = Parameter::number(
    "clip",
    0.1,
    [1e-6, 1e6],
    "C: every number of a vector is clipped to [-C, C]",
);

const PRUNING: Parameter = Parameter::choice(
    "pruning",
    &["none", "pr"],
    "none: every number of a token's vector (CLV); pr: those that the decoder goes by (PR)",
);

const ROUNDS: Parameter = Parameter::whole(
    "pruning_rounds",
    5,
    [1, 100],
    "rounds of pruning, each of which drops the lowest quarter: 5 keep 182 of 768",
);

const PRESETS: &[Preset] = &[
    ("pr", &[("pruning", "pr")]),
    ("clv-as-run", &[("noise", "gaussian")]),
    ("pr-as-run", &[("pruning", "pr"), ("noise", "gaussian")]),
];

/// Beginnings that the decoder follows.
const BEAMS: usize = 3;

/// The encoder-decoder of a context.
///
/// # Errors
/// Usage, if it has none.
pub fn model(context: &Context, who: &str) -> Result<Arc<dyn LanguageModel>> {
    let model = context.language_model.clone();
    model
        .filter(|model| model.encoder_decoder().is_some())
        .ok_or_else(|| {
            Error::usage(format!(
                "{who} needs an encoder-decoder that runs in this process (--llm): builtin, or for example facebook/bart-base"
            ))
        })
}

/// Noise of one of [`NOISES`](crate::NOISES) for latents of `values` numbers, each in an interval of length `range`.
#[must_use]
pub fn noise(name: &str, range: f64, values: usize, epsilon: f64, delta: f64) -> AdditiveNoise {
    let values = values as f64;
    // Two latents differ by at most `range` in each number: Δ₂² is a sum of k squares, Δ₁ a sum of k numbers.
    let sensitivity = Sensitivity {
        l2: range * values.sqrt(),
        l1: range * values,
    };
    AdditiveNoise::new(name, sensitivity, epsilon, delta)
}

/// Noise of one of [`NOISES`](crate::NOISES) for latents of `values` numbers, with these settings in all else.
#[must_use]
pub fn noise_of(name: &str, settings: &Settings, values: usize, epsilon: f64) -> AdditiveNoise {
    let range = 2.0 * settings.get(CLIP.name);
    noise(name, range, values, epsilon, settings.get(DELTA.name))
}

/// Relative error of a sum of a number and its noise, generously.
const ROUNDING: f64 = 1e-12;

/// DP-BART at one ε per text.
pub struct DpBart {
    model: Arc<dyn LanguageModel>,
    tokens: usize,
    /// The numbers of a token's vector that are left.
    kept: Vec<usize>,
    /// What the numbers are clipped to.
    clip: [f64; 2],
    noise: AdditiveNoise,
    /// Whether every token gets the same noise: the defect of `dp-bart-broadcast`.
    broadcasts: bool,
}

impl DpBart {
    /// An instance of `model`, which has two halves. `noise` says of a number of values what noise they get, what they
    /// are clipped to, and whether every token gets the same.
    ///
    /// # Errors
    /// Usage, if the model has no room for so many tokens, or none to fill up with.
    pub fn new(
        model: Arc<dyn LanguageModel>,
        tokens: usize,
        rounds: usize,
        noise: impl FnOnce(usize) -> (AdditiveNoise, [f64; 2], bool),
    ) -> Result<Self> {
        let halves = halves(&*model);
        // That there is room, before the first text.
        halves.encode(&[""], tokens)?;
        let kept = match rounds {
            0 => (0..halves.hidden()).collect(),
            rounds => kept(&halves.key_weights()?.to_vec(), rounds),
        };
        let (noise, clip, broadcasts) = noise(tokens * kept.len());
        Ok(Self {
            model,
            tokens,
            kept,
            clip,
            noise,
            broadcasts,
        })
    }

    /// Noise for one latent, drawn with these coins.
    fn noise(&self, stream: &mut Stream) -> Vec<f64> {
        if self.broadcasts {
            return self.noise.draw(self.kept.len(), stream).repeat(self.tokens);
        }
        self.noise.draw(self.tokens * self.kept.len(), stream)
    }

    /// ln of the density of this noise on one latent. If every token gets the same, it is that of the one vector of
    /// noise, and −∞ for noise that differs between tokens by more than the rounding of sums.
    fn ln_density(&self, noise: &[f64]) -> f64 {
        if !self.broadcasts {
            return self.noise.ln_density(noise);
        }
        let first = &noise[..self.kept.len()];
        let same = |(a, b): (&f64, &f64)| (a - b).abs() <= ROUNDING * (1.0 + a.abs());
        let mut tokens = noise.chunks(first.len());
        match tokens.all(|token| token.iter().zip(first).all(same)) {
            true => self.noise.ln_density(first),
            false => f64::NEG_INFINITY,
        }
    }

    /// What the decoder is given: the noisy numbers in their places, and 0 in those that were pruned.
    fn filled(&self, noisy: &Array2<f64>) -> Array2<f32> {
        let hidden = halves(&*self.model).hidden();
        let mut vectors = Array2::zeros((noisy.nrows(), self.tokens * hidden));
        for token in 0..self.tokens {
            for (place, number) in self.kept.iter().enumerate() {
                let from = noisy.column(token * self.kept.len() + place);
                let mut to = vectors.column_mut(token * hidden + number);
                to.zip_mut_with(&from, |to, from| *to = *from as f32);
            }
        }
        vectors
    }
}

/// The halves of a model that [`model`] found to have some.
fn halves(model: &dyn LanguageModel) -> &dyn EncoderDecoder {
    model.encoder_decoder().expect("the model has two halves")
}

impl Latent for DpBart {
    fn clean(&self, texts: &[&str]) -> Result<Array2<f64>> {
        let model = halves(&*self.model);
        let (hidden, [low, high]) = (model.hidden(), self.clip);
        let vectors = model.encode(texts, self.tokens)?;
        let columns: Vec<usize> = (0..self.tokens)
            .flat_map(|token| self.kept.iter().map(move |number| token * hidden + number))
            .collect();
        // Clipping, by which two latents differ by at most high − low in each number.
        let number = |(row, place): (usize, usize)| {
            f64::from(vectors[[row, columns[place]]]).clamp(low, high)
        };
        Ok(Array2::from_shape_fn((texts.len(), columns.len()), number))
    }

    fn noisy(&self, batch: &[Query<'_>]) -> Result<Array2<f64>> {
        additive::noisy(self, batch, |stream| self.noise(stream))
    }

    fn log_densities(
        &self,
        batch: &[Query<'_>],
        candidates: &[Vec<&str>],
    ) -> Result<Vec<Vec<f64>>> {
        additive::log_densities(self, batch, candidates, |noise| self.ln_density(noise))
    }

    /// Broadcast noise has no density between texts whose tokens differ otherwise.
    fn is_gaussian(&self) -> bool {
        self.noise.is_gaussian() && !self.broadcasts
    }

    fn deviation(&self) -> f64 {
        self.noise.deviation()
    }
}

impl Mechanism for DpBart {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(match self.broadcasts {
            true => Guarantee {
                basis: Basis::Claimed,
                ..self.noise.guarantee()
            },
            false => self.noise.guarantee(),
        })
    }

    fn latent(&self) -> Option<&dyn Latent> {
        Some(self)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let vectors = self.filled(&self.noisy(batch)?);
        let search = BeamSearch {
            beams: BEAMS,
            tokens: self.tokens,
        };
        let texts = halves(&*self.model).decode(vectors.view(), search)?;
        Ok(texts
            .into_iter()
            .map(|text| Release::of(text.trim()))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{Continuous, ContinuousCDF, Laplace, Normal};
    use teda_core::{Neighbours, Seed};

    use super::*;
    use crate::controls::dp_bart_broadcast;
    use crate::noise::additive::NOISES;
    use crate::noise::analytic_gaussian;
    use crate::testing::statistics::assert_follows;
    use crate::testing::toy;

    const FAR: [&str; 2] = ["t0 t0", "t7 t7"];

    /// Over texts of two tokens whose vectors are corners of a cube.
    fn instance(entry: &Entry, epsilon: f64, set: &[(&str, &str)]) -> Box<dyn Mechanism> {
        let set = toy::given(&[&[("tokens", "2")], set].concat());
        let settings = entry.settings(None, &set).unwrap();
        let context = Context {
            language_model: Some(toy::corners()),
            ..toy::context()
        };
        entry.instance(&context, Some(epsilon), &settings).unwrap()
    }

    fn queries(text: &str, count: u64) -> Vec<Query<'_>> {
        let query = |i| Query {
            text,
            seed: Seed::root(31).at(i),
        };
        (0..count).map(query).collect()
    }

    /// The noise on each number, `[draws × k]`.
    fn noises(mechanism: &dyn Mechanism, draws: u64) -> Array2<f64> {
        let latent = mechanism.latent().unwrap();
        let clean = latent.clean(&["t3 t5"]).unwrap();
        latent.noisy(&queries("t3 t5", draws)).unwrap() - clean.row(0)
    }

    #[test]
    fn latents_are_clipped_pruned_and_filled_up() {
        let clean = |set: &[(&str, &str)], text| {
            let mechanism = instance(&ENTRY, 10.0, set);
            let latent = mechanism.latent().unwrap().clean(&[text]).unwrap();
            latent.row(0).to_vec()
        };
        let (low, high) = (-0.1, 0.1);
        // t5 is 101, t2 010; the fourth number is like the first.
        let expected = [high, low, high, high, low, high, low, low];
        assert_eq!(clean(&[], "t5 t2 t7 t7"), expected);
        assert_eq!(clean(&[], "t5")[4..], [0.0; 4]);
        // One round drops the first of four weights 0, 1, 2, 3, and another the second.
        let pruned = [("pruning", "pr"), ("pruning_rounds", "2")];
        let expected = [high, high, low, low];
        assert_eq!(clean(&pruned, "t5 t2"), expected);
        assert_eq!(clean(&[("clip", "3")], "t5")[0], 1.0);
    }

    /// No two latents are further apart than the sensitivities, and opposite corners are exactly so far apart.
    #[test]
    fn sensitivities_are_those_of_opposite_corners() {
        let (epsilon, delta) = (2.0, 1e-5_f64);
        let mechanism = instance(&ENTRY, epsilon, &[]);
        let clean = mechanism.latent().unwrap().clean(&FAR).unwrap();
        let apart = &clean.row(0) - &clean.row(1);
        let (l2, l1) = (apart.dot(&apart).sqrt(), apart.mapv(f64::abs).sum());
        let deviation = |noise| {
            let mechanism = instance(&ENTRY, epsilon, &[("noise", noise)]);
            mechanism.latent().unwrap().deviation()
        };
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-6, "{a}, not {b}");
        close(deviation("laplace"), 2_f64.sqrt() * l1 / epsilon);
        let classical = l2 * (2.0 * (1.25 / delta).ln()).sqrt() / epsilon;
        close(deviation("gaussian"), classical);
        let analytic = analytic_gaussian::sigma(l2, epsilon, delta);
        close(deviation("analytic-gaussian"), analytic);
    }

    #[test]
    fn noise_has_its_law_and_each_number_its_own() {
        for name in NOISES {
            let mechanism = instance(&ENTRY, 5.0, &[("noise", name)]);
            let deviation = mechanism.latent().unwrap().deviation();
            let noises = noises(&*mechanism, 5_000);
            let normal = Normal::new(0.0, deviation).unwrap();
            let laplace = Laplace::new(0.0, deviation / 2_f64.sqrt()).unwrap();
            let cdf = |z: f64| match name {
                "laplace" => laplace.cdf(z),
                _ => normal.cdf(z),
            };
            assert_follows(noises.iter().copied().collect(), cdf, name);
            for (i, j) in [(0, 1), (0, 4), (3, 7)] {
                let product = noises.column(i).dot(&noises.column(j)) / 5_000.0;
                let correlation = product / (deviation * deviation);
                // Five standard deviations of a mean of 5,000 products.
                assert!(correlation.abs() < 5.0 / 5_000_f64.sqrt(), "{name} {i} {j}");
            }
        }
    }

    /// δ(ε) of Gaussian noise between opposite corners as what it is, the mean of (1 − e^{ε−ℓ})₊ with ℓ the loss, in
    /// standard deviations of that mean from `delta`.
    fn excess(mechanism: &dyn Mechanism, epsilon: f64, delta: f64) -> f64 {
        let draws = 20_000;
        let latent = mechanism.latent().unwrap();
        let clean = latent.clean(&FAR).unwrap();
        let variance = latent.deviation().powi(2);
        let noisy = latent.noisy(&queries(FAR[0], draws)).unwrap();
        let excess: Vec<f64> = noisy
            .rows()
            .into_iter()
            .map(|noisy| {
                let square = |row| {
                    let apart = &noisy - &clean.row(row);
                    apart.dot(&apart)
                };
                let loss = (square(1) - square(0)) / (2.0 * variance);
                (1.0 - (epsilon - loss).exp()).max(0.0)
            })
            .collect();
        let n = draws as f64;
        let mean = excess.iter().sum::<f64>() / n;
        let variance = excess.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / n;
        (mean - delta) / (variance / n).sqrt()
    }

    /// The analytic Gaussian spends its δ and no more; the classical one spends far more at ε = 15.
    #[test]
    fn the_analytic_noise_keeps_its_claim_and_the_classical_does_not() {
        for epsilon in [1.0, 15.0] {
            let of = |noise| {
                let set = [("noise", noise), ("delta", "0.05")];
                let mechanism = instance(&ENTRY, epsilon, &set);
                excess(&*mechanism, epsilon, 0.05)
            };
            let analytic = of("analytic-gaussian");
            assert!(analytic.abs() < 4.0, "{analytic} at {epsilon}");
            let classical = of("gaussian");
            match epsilon {
                1.0 => assert!(classical < -4.0, "{classical}"),
                _ => assert!(classical > 20.0, "{classical}"),
            }
        }
    }

    #[test]
    fn a_claim_is_proven_as_far_as_the_noise_suffices() {
        let claim = |epsilon, noise| {
            let claim = instance(&ENTRY, epsilon, &[("noise", noise)]).guarantee();
            let claim = claim.unwrap();
            assert_eq!(
                (claim.epsilon, claim.unit, claim.neighbours),
                (epsilon, Unit::Text, Neighbours::AnyTexts)
            );
            (claim.delta, claim.basis)
        };
        for epsilon in [0.1, 1.0, 8.4, 250.0] {
            assert_eq!(claim(epsilon, "analytic-gaussian"), (1e-5, Basis::Proven));
            assert_eq!(claim(epsilon, "laplace"), (0.0, Basis::Proven));
        }
        for epsilon in [0.1, 1.0, 8.4] {
            assert_eq!(claim(epsilon, "gaussian"), (1e-5, Basis::Proven));
        }
        for epsilon in [8.5, 15.0, 250.0, 2500.0] {
            assert_eq!(claim(epsilon, "gaussian"), (1e-5, Basis::Claimed));
        }
    }

    /// The signal-to-noise ratios of PR with 3,640 numbers and clipped latents of norm 5.7. TeDA prints 0.41, 1.60 and
    /// 4.07 and names the analytic Gaussian.
    #[test]
    fn ratios_of_signal_to_noise_are_the_known_ones() {
        let ratio = |noise, epsilon| {
            let settings = ENTRY.settings(None, &[]).unwrap();
            let noise = noise_of(noise, &settings, 3_640, epsilon);
            5.7 / (noise.deviation() * 3_640_f64.sqrt())
        };
        for (epsilon, classical, analytic) in [
            (250.0, 0.404, 0.145),
            (1000.0, 1.616, 0.319),
            (2500.0, 4.040, 0.521),
        ] {
            for (noise, expected) in [("gaussian", classical), ("analytic-gaussian", analytic)] {
                let found = ratio(noise, epsilon);
                assert!(
                    (found - expected).abs() < 5.1e-4,
                    "{noise} {epsilon}: {found}"
                );
            }
        }
    }

    /// Densities are those of a library, up to a constant that is the same for all candidates.
    #[test]
    fn densities_are_those_of_the_noise() {
        let texts = ["t0 t0", "t7 t7", "t3 t5"];
        for name in NOISES {
            let mechanism = instance(&ENTRY, 20.0, &[("noise", name)]);
            let latent = mechanism.latent().unwrap();
            let (deviation, queries) = (latent.deviation(), queries("t3 t5", 30));
            let candidates = vec![texts.to_vec(); 30];
            let found = latent.log_densities(&queries, &candidates).unwrap();
            let clean = latent.clean(&texts).unwrap();
            let normal = Normal::new(0.0, deviation).unwrap();
            let laplace = Laplace::new(0.0, deviation / 2_f64.sqrt()).unwrap();
            let ln = |z: f64| match name {
                "laplace" => laplace.ln_pdf(z),
                _ => normal.ln_pdf(z),
            };
            for (noisy, found) in latent
                .noisy(&queries)
                .unwrap()
                .rows()
                .into_iter()
                .zip(found)
            {
                let exact: Vec<f64> = clean
                    .rows()
                    .into_iter()
                    .map(|clean| (&noisy - &clean).iter().map(|z| ln(*z)).sum())
                    .collect();
                for (found, exact) in [(found[0], exact[0]), (found[1], exact[1])]
                    .map(|(f, e)| (f - found[2], e - exact[2]))
                {
                    assert!((found - exact).abs() < 1e-9 * (1.0 + exact.abs()), "{name}");
                }
            }
            assert_eq!(latent.is_gaussian(), name != "laplace");
        }
        let broken = instance(&dp_bart_broadcast::ENTRY, 20.0, &[]);
        let latent = broken.latent().unwrap();
        // The tokens of "t3 t5" differ as no others here do.
        let candidates = [texts.to_vec()];
        let found = latent
            .log_densities(&queries("t3 t5", 1), &candidates)
            .unwrap();
        assert_eq!(found[0][..2], [f64::NEG_INFINITY; 2]);
        assert!(found[0][2].is_finite() && !latent.is_gaussian());
    }

    /// What is released is what the decoder makes of the noisy latent, for each query alone.
    #[test]
    fn releases_are_decoded_from_the_noisy_latent() {
        let pruned = [("pruning", "pr"), ("pruning_rounds", "1")];
        let mechanism = instance(&ENTRY, 30.0, &pruned);
        let queries = queries("t5 t2", 200);
        let noisy = mechanism.latent().unwrap().noisy(&queries).unwrap();
        let releases = mechanism.rewrite(&queries).unwrap();
        let toy = toy::corners();
        let mut different = 0;
        for ((query, noisy), release) in queries.iter().zip(noisy.rows()).zip(&releases) {
            let numbers: Vec<f32> = noisy.iter().map(|number| *number as f32).collect();
            let vectors = [&[0.0][..], &numbers[..3], &[0.0], &numbers[3..]].concat();
            let vectors = Array2::from_shape_vec((1, 8), vectors).unwrap();
            let search = BeamSearch {
                beams: 3,
                tokens: 2,
            };
            let text = EncoderDecoder::decode(&*toy, vectors.view(), search).unwrap();
            assert_eq!(release.text, text[0]);
            assert_eq!(mechanism.rewrite(&[*query]).unwrap()[0], *release);
            different += u32::from(release.text != releases[0].text);
        }
        assert!(different > 20, "{different}");
    }

    /// The control's defect: the difference of two tokens is that of the text, whatever the noise. Its sound twin hides
    /// it.
    #[test]
    fn broadcast_noise_shows_what_tokens_differ_by() {
        let difference = |entry: &Entry, epsilon: f64| {
            let mechanism = instance(entry, epsilon, &[]);
            let latent = mechanism.latent().unwrap();
            let noisy = latent.noisy(&queries("t0 t7", 50)).unwrap();
            let clean = latent.clean(&["t0 t7"]).unwrap();
            let between = |row: ndarray::ArrayView1<'_, f64>| {
                let (first, second) = row.split_at(ndarray::Axis(0), 4);
                &first - &second
            };
            let clean = between(clean.row(0));
            let worst = noisy.rows().into_iter().map(|row| {
                let error = between(row) - &clean;
                error.mapv(f64::abs).sum()
            });
            worst.fold(0.0, f64::max)
        };
        for epsilon in [10.0, 1000.0] {
            assert!(difference(&dp_bart_broadcast::ENTRY, epsilon) < 1e-9);
            assert!(difference(&ENTRY, epsilon) > 0.01);
        }
        let broken = instance(&dp_bart_broadcast::ENTRY, 10.0, &[]);
        assert_eq!(broken.guarantee().unwrap().basis, Basis::Claimed);
        let clean = broken.latent().unwrap().clean(&["t0 t7"]).unwrap();
        assert_eq!((clean[[0, 0]], clean[[0, 4]]), (-0.2, 0.1));
    }

    #[test]
    fn a_model_without_halves_is_refused() {
        let context = Context {
            language_model: None,
            ..toy::context()
        };
        let settings = ENTRY.settings(None, &[]).unwrap();
        let refused = ENTRY.instance(&context, Some(10.0), &settings).err();
        assert!(refused.unwrap().to_string().contains("encoder-decoder"));
    }
}
