//! The coins of a training run: what dropout leaves out, and weights that no checkpoint has.

use candle_core::{Device, Result, Tensor};
use teda_core::Seed;

/// The coins of one pass over a part of a batch. The n-th dropout of the pass draws from child n of the part's seed,
/// number by number, so no other part and no thread moves them.
pub(super) struct Coins {
    seed: Option<Seed>,
    drawn: u64,
}

impl Coins {
    /// Those under `seed`.
    pub(super) fn of(seed: Seed) -> Self {
        Self {
            seed: Some(seed),
            drawn: 0,
        }
    }

    /// Dropout leaves nothing out, as where a model is applied.
    pub(super) fn none() -> Self {
        Self {
            seed: None,
            drawn: 0,
        }
    }

    /// Each number of `x` is 0 with probability `rate`, otherwise divided by 1 − `rate`.
    pub(super) fn dropout(&mut self, x: &Tensor, rate: f64) -> Result<Tensor> {
        let Some(seed) = self.seed.filter(|_| rate > 0.0) else {
            return Ok(x.clone());
        };
        let mut stream = seed.at(self.drawn).stream();
        self.drawn += 1;
        let kept = (1.0 / (1.0 - rate)) as f32;
        let factors: Vec<f32> = (0..x.elem_count())
            .map(|_| if stream.uniform() < rate { 0.0 } else { kept })
            .collect();
        x * Tensor::from_vec(factors, x.shape(), &Device::Cpu)?
    }
}

/// `count` draws of N(0, `deviation`²), by Box and Muller.
pub(super) fn normal(seed: Seed, count: usize, deviation: f64) -> Vec<f32> {
    let mut stream = seed.stream();
    let mut draw = || {
        let radius = (-2.0 * (1.0 - stream.uniform()).ln()).sqrt();
        let angle = std::f64::consts::TAU * stream.uniform();
        (deviation * radius * angle.cos()) as f32
    };
    (0..count).map(|_| draw()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropout_keeps_the_mean_and_is_addressed() {
        let x = Tensor::ones((100, 200), candle_core::DType::F32, &Device::Cpu).unwrap();
        let drop = |seed: Seed, rate: f64| {
            let mut coins = Coins::of(seed);
            [(); 2].map(|()| {
                let y = coins.dropout(&x, rate).unwrap();
                y.flatten_all().unwrap().to_vec1::<f32>().unwrap()
            })
        };
        let [first, second] = drop(Seed::root(1), 0.1);
        let zeros = first.iter().filter(|x| **x == 0.0).count() as f64;
        // Five standard errors of 20,000 coins.
        assert!((zeros - 2000.0).abs() < 5.0 * 1800_f64.sqrt(), "{zeros}");
        assert!(
            first
                .iter()
                .all(|x| *x == 0.0 || (x - 1.0 / 0.9).abs() < 1e-6)
        );
        assert_ne!(first, second);
        assert_eq!(drop(Seed::root(1), 0.1), [first, second]);
        let untouched = Coins::none().dropout(&x, 0.5).unwrap();
        assert_eq!(
            untouched.sum_all().unwrap().to_scalar::<f32>().unwrap(),
            20_000.0
        );
    }

    #[test]
    fn weights_are_normal() {
        let n = 100_000;
        let drawn = normal(Seed::root(2), n, 0.02);
        let mean = drawn.iter().map(|x| f64::from(*x)).sum::<f64>() / n as f64;
        let square = drawn.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / n as f64;
        assert!(mean.abs() < 5.0 * 0.02 / (n as f64).sqrt(), "{mean}");
        let ratio = square / 4e-4;
        assert!(
            (ratio - 1.0).abs() < 5.0 * (2.0 / n as f64).sqrt(),
            "{ratio}"
        );
        let beyond = drawn.iter().filter(|x| x.abs() > 0.0392).count() as f64 / n as f64;
        // P(|x| > 1.96 σ) = 0.05.
        assert!((beyond - 0.05).abs() < 0.0035, "{beyond}");
    }
}
