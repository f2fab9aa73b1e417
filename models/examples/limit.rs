//! What this processor can do at most: multiply-adds a second out of its registers and first cache, and bytes a second out
//! of main memory.
//!
//! `cargo run --release --example limit -- THREADS` prints one line of JSON. `scripts/bench/limit.sh` makes a table of it.

use std::hint::black_box;
use std::time::Instant;

use pulp::{Arch, Simd, WithSimd};
use teda_bf16::{Line, Pairs, Products, STEPS, WIDTH};
use teda_core::{Error, Result};

/// Chains of multiply-adds: more than latency times width of any processor.
const CHAINS: usize = 24;
/// Rounds of one measurement, and how often it is made.
const ROUNDS: usize = 2_000_000;
const REPEATS: usize = 5;
/// Numbers that a thread reads from memory: far more than caches hold.
const NUMBERS: usize = 64 << 20;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let threads: usize = arguments
        .first()
        .and_then(|text| text.parse().ok())
        .filter(|threads| *threads > 0)
        .ok_or_else(|| Error::usage("limit THREADS"))?;
    let single = best(threads, &|| Arch::new().dispatch(Single));
    let half = Products::detect().map(|products| {
        let rate = best(threads, &|| multiplied(products));
        format!("\"{}\": {rate:.3e}, ", products.instructions().name())
    });
    let numbers = vec![1.0_f32; NUMBERS];
    let memory = best(threads, &|| Arch::new().dispatch(Read(&numbers)));
    println!(
        "{{\"threads\": {threads}, \"f32\": {single:.3e}, {}\"bytes\": {memory:.3e}}}",
        half.unwrap_or_default()
    );
    Ok(())
}

/// The most that all threads together did in a second; `work` returns how much it did.
fn best(threads: usize, work: &(impl Fn() -> usize + Sync)) -> f64 {
    let rate = |_| {
        let start = Instant::now();
        let done: usize = std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let done = running.into_iter().map(|thread| thread.join());
            done.map(|done| done.expect("no thread panics")).sum()
        });
        done as f64 / start.elapsed().as_secs_f64()
    };
    (0..REPEATS).map(rate).fold(0.0, f64::max)
}

/// Independent chains of multiply-adds in registers.
struct Single;

impl WithSimd for Single {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        let (factor, add) = (simd.splat_f32s(black_box(0.999)), simd.splat_f32s(1e-3));
        let mut sums = [simd.splat_f32s(1.0); CHAINS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = simd.mul_add_f32s(*sum, factor, add);
            }
        }
        for sum in sums {
            black_box(simd.reduce_sum_f32s(sum));
        }
        ROUNDS * CHAINS * S::F32_LANES
    }
}

/// The highest tiles out of the first cache.
fn multiplied(products: Products) -> usize {
    const INNER: usize = 8 * STEPS;
    let rows = products.instructions().heights()[0];
    let lines = vec![Line([0x3f80_3f80; STEPS]); INNER / STEPS * rows];
    let panel = vec![Pairs([0x3f80_3f80; WIDTH]); INNER];
    let mut sums = vec![[0.0; WIDTH]; rows];
    let unit = products.unit();
    let rounds = ROUNDS / INNER;
    for _ in 0..rounds {
        unit.tile(black_box(&lines), &panel, &[0.0; WIDTH], &mut sums);
        black_box(&sums);
    }
    rounds * rows * WIDTH * INNER * 2
}

/// Reads numbers in order; returns their bytes.
struct Read<'a>(&'a [f32]);

impl WithSimd for Read<'_> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        let mut sums = [simd.splat_f32s(0.0); 8];
        let (vectors, _) = S::as_simd_f32s(self.0);
        for eight in vectors.as_chunks::<8>().0 {
            for (sum, vector) in sums.iter_mut().zip(eight) {
                *sum = simd.add_f32s(*sum, *vector);
            }
        }
        for sum in sums {
            black_box(simd.reduce_sum_f32s(sum));
        }
        size_of_val(self.0)
    }
}
