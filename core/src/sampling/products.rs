//! Inner products of sums of sentence vectors with the vectors of all texts.
//!
//! # Two steps
//! A log weight that is more than 746 below the highest is a weight of 0 in double precision. Where λ is large, as in the
//! paper's main setting, that is nearly all of them. So products come in single precision first, and in double precision
//! for those texts alone whose weight is not certainly 0 ([`near`]).
//!
//! # Why nothing changes
//! With n dimensions, a product in single precision is off by at most (n + 2)·2⁻²³·‖x‖·‖s‖ (n + 1 roundings of 2⁻²⁴ and
//! those of s, doubled for terms of higher order). If one is further than 2e + 747/|λ| from the best of them, e being that
//! bound, its log weight is more than 746 below the highest: the draw neither adds it up nor stops at it.

use ndarray::ArrayView2;
use pulp::{Arch, Simd, WithSimd};

/// Texts per block of a pass: their vectors stay in the nearest cache while all sets visit them.
const TEXTS_PER_BLOCK: usize = 32;
/// Texts whose products with one sum are computed side by side.
const TEXTS_TOGETHER: usize = 4;
/// Independent partial sums of a product in double precision; part of the definition of its rounding.
const LANES: usize = 8;
/// Below the highest by more than this, a log weight is a weight of 0; 1 more than the draw itself needs.
const FURTHEST: f64 = 747.0;

/// ⟨x, s⟩ for every sum s and every text x, `[sums × texts]`, in double precision.
pub(super) fn exact(vectors: ArrayView2<'_, f32>, sums: &[f64], products: &mut [f64]) {
    Arch::new().dispatch(Exact {
        vectors,
        sums,
        products,
    });
}

/// ⟨x, s⟩ of one text in double precision, as [`exact`] computes it.
pub(super) fn exact_one(vectors: ArrayView2<'_, f32>, text: usize, sum: &[f64]) -> f64 {
    let row: Vec<f64> = vectors.row(text).iter().copied().map(f64::from).collect();
    let [product] = Arch::new().dispatch(One { row: &row, sum });
    product
}

/// The same in single precision, by whatever operations are fastest: only [`near`] may look at them.
pub(super) fn rough(vectors: ArrayView2<'_, f32>, sums: &[f64], products: &mut [f32]) {
    let sums: Vec<f32> = sums.iter().map(|x| *x as f32).collect();
    Arch::new().dispatch(Rough {
        vectors,
        sums: &sums,
        products,
    });
}

/// No vector is longer than this.
pub(super) fn longest(vectors: ArrayView2<'_, f32>) -> f64 {
    let square = f64::from(Arch::new().dispatch(Longest(vectors)));
    // Of the square's relative error, by more than enough.
    let error = (vectors.ncols() + 2) as f64 * f64::from(f32::EPSILON);
    (square * (1.0 + error)).sqrt()
}

/// Whether [`near`] can leave out anything, for sums of so many vectors of at most this norm.
pub(super) fn tells_apart(lambda: f64, longest: f64, count: usize) -> bool {
    lambda.abs() * 2.0 * count as f64 * longest * longest > FURTHEST
}

/// The texts, of those not `taken`, whose weight exp(λ⟨x, s⟩ − highest) may be more than 0, ascending. `products` are
/// those of [`rough`] with a sum s of `taken.len()` vectors; no vector is longer than `longest`.
pub(super) fn near(
    products: &mut [f32],
    taken: &[usize],
    lambda: f64,
    dimension: usize,
    longest: f64,
) -> Vec<usize> {
    let sign = if lambda < 0.0 { -1.0 } else { 1.0 };
    for text in taken {
        products[*text] = -sign * f32::INFINITY;
    }
    let best = products
        .iter()
        .fold(f32::NEG_INFINITY, |best, x| best.max(sign * x));
    let norms = longest * longest * taken.len() as f64;
    let error = (dimension + 2) as f64 * f64::from(f32::EPSILON) * norms;
    let threshold = f64::from(best) - 2.0 * error - FURTHEST / lambda.abs();
    let threshold = (threshold as f32).next_down();
    let is_far = |x: f32| sign * x < threshold;
    let mut near = Vec::new();
    for (block, products) in products.chunks(TEXTS_PER_BLOCK).enumerate() {
        // NaN is not far: whoever draws has to see it.
        if products.iter().all(|x| is_far(*x)) {
            continue;
        }
        let texts = (block * TEXTS_PER_BLOCK..).zip(products);
        near.extend(texts.filter(|(_, x)| !is_far(**x)).map(|(text, _)| text));
    }
    near.retain(|text| !taken.contains(text));
    near
}

struct Exact<'a, 'b> {
    vectors: ArrayView2<'a, f32>,
    sums: &'b [f64],
    products: &'b mut [f64],
}

impl WithSimd for Exact<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (texts, dimension) = self.vectors.dim();
        let dimension = dimension.max(1);
        let mut block = Vec::with_capacity(TEXTS_PER_BLOCK * dimension);
        for first in (0..texts).step_by(TEXTS_PER_BLOCK) {
            let places = first..(first + TEXTS_PER_BLOCK).min(texts);
            block.clear();
            for text in places.clone() {
                let row = self.vectors.row(text);
                block.extend(row.iter().copied().map(f64::from));
            }
            let sums = self.sums.chunks(dimension);
            for (sum, products) in sums.zip(self.products.chunks_mut(texts)) {
                let mut rows = block.chunks_exact(dimension);
                let (several, rest) = products[places.clone()].as_chunks_mut::<TEXTS_TOGETHER>();
                for products in several {
                    let rows = std::array::from_fn(|_| rows.next().expect("one a product"));
                    *products = in_lanes(simd, rows, sum);
                }
                for (product, row) in rest.iter_mut().zip(rows) {
                    [*product] = in_lanes(simd, [row], sum);
                }
            }
        }
    }
}

struct One<'a> {
    row: &'a [f64],
    sum: &'a [f64],
}

impl WithSimd for One<'_> {
    type Output = [f64; 1];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 1] {
        in_lanes(simd, [self.row], self.sum)
    }
}

/// ⟨x, y⟩ of each x, with [`LANES`] partial sums.
#[inline(always)]
fn in_lanes<S: Simd, const N: usize>(simd: S, xs: [&[f64]; N], y: &[f64]) -> [f64; N] {
    // Vectors that hold the partial sums of one product.
    match S::F64_LANES {
        8 => in_vectors::<S, 1, N>(simd, xs, y),
        4 => in_vectors::<S, 2, N>(simd, xs, y),
        2 => in_vectors::<S, 4, N>(simd, xs, y),
        _ => in_vectors::<S, LANES, N>(simd, xs, y),
    }
}

#[inline(always)]
fn in_vectors<S: Simd, const V: usize, const N: usize>(
    simd: S,
    xs: [&[f64]; N],
    y: &[f64],
) -> [f64; N] {
    let mut lanes = [[simd.splat_f64s(0.0); V]; N];
    let xs = xs.map(|x| x.as_chunks::<LANES>());
    let (y_blocks, y_rest) = y.as_chunks::<LANES>();
    for (place, b) in y_blocks.iter().enumerate() {
        let b = S::as_simd_f64s(b).0;
        for (lanes, (x, _)) in lanes.iter_mut().zip(&xs) {
            let a = S::as_simd_f64s(&x[place]).0;
            for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
                *lane = simd.add_f64s(*lane, simd.mul_f64s(*a, *b));
            }
        }
    }
    std::array::from_fn(|i| {
        let mut sums = [0.0; LANES];
        S::as_mut_simd_f64s(&mut sums).0.copy_from_slice(&lanes[i]);
        let rest: f64 = xs[i].1.iter().zip(y_rest).map(|(a, b)| a * b).sum();
        sums.iter().sum::<f64>() + rest
    })
}

struct Rough<'a, 'b> {
    vectors: ArrayView2<'a, f32>,
    sums: &'b [f32],
    products: &'b mut [f32],
}

impl WithSimd for Rough<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (texts, dimension) = self.vectors.dim();
        let dimension = dimension.max(1);
        let vectors = self.vectors.as_slice();
        let vectors = vectors.expect("sentence vectors are in standard layout");
        for first in (0..texts).step_by(TEXTS_PER_BLOCK) {
            let places = first..(first + TEXTS_PER_BLOCK).min(texts);
            let block = &vectors[first * dimension..][..places.len() * dimension];
            let sums = self.sums.chunks(dimension);
            for (sum, products) in sums.zip(self.products.chunks_mut(texts)) {
                let mut rows = block.chunks_exact(dimension);
                let (several, rest) = products[places.clone()].as_chunks_mut::<TEXTS_TOGETHER>();
                for products in several {
                    let rows = std::array::from_fn(|_| rows.next().expect("one a product"));
                    *products = roughly(simd, rows, sum);
                }
                for (product, row) in rest.iter_mut().zip(rows) {
                    [*product] = roughly(simd, [row], sum);
                }
            }
        }
    }
}

/// The greatest squared norm.
struct Longest<'a>(ArrayView2<'a, f32>);

impl WithSimd for Longest<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let mut longest = 0.0_f32;
        for row in self.0.rows() {
            let row = row
                .to_slice()
                .expect("sentence vectors are in standard layout");
            let [square] = roughly(simd, [row], row);
            longest = square.max(longest);
        }
        longest
    }
}

/// ⟨x, y⟩ of each x, in single precision.
#[inline(always)]
fn roughly<S: Simd, const N: usize>(simd: S, xs: [&[f32]; N], y: &[f32]) -> [f32; N] {
    let mut sums = [simd.splat_f32s(0.0); N];
    let xs = xs.map(S::as_simd_f32s);
    let (vectors, rest) = S::as_simd_f32s(y);
    for (place, b) in vectors.iter().enumerate() {
        for (sum, (x, _)) in sums.iter_mut().zip(&xs) {
            *sum = simd.mul_add_f32s(x[place], *b, *sum);
        }
    }
    std::array::from_fn(|i| {
        let rest: f32 = xs[i].1.iter().zip(rest).map(|(a, b)| a * b).sum();
        simd.reduce_sum_f32s(sums[i]) + rest
    })
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis};

    use super::*;
    use crate::Seed;

    fn vectors(texts: usize, dimension: usize) -> Array2<f32> {
        let mut stream = Seed::root(8).named("vectors").stream();
        let draw = || (stream.uniform() + stream.uniform() - 1.0) as f32;
        let mut vectors = Array2::from_shape_simple_fn((texts, dimension), draw);
        for mut row in vectors.rows_mut() {
            let norm = row.dot(&row).sqrt();
            row /= norm;
        }
        vectors
    }

    /// Sums of so many of the vectors, `[sums × dimension]`.
    fn sums(vectors: &Array2<f32>, count: usize) -> Vec<f64> {
        let columns = |first: usize| {
            let rows: Vec<usize> = (first..first + count).collect();
            let rows = vectors.select(Axis(0), &rows);
            rows.mapv(f64::from).sum_axis(Axis(0)).to_vec()
        };
        (0..5).flat_map(columns).collect()
    }

    #[test]
    fn both_precisions_equal_the_definition_within_their_bounds() {
        for (texts, dimension) in [(1, 1), (5, 3), (37, 16), (70, 45), (33, 256)] {
            let vectors = vectors(texts.max(8), dimension);
            let texts = vectors.nrows();
            for count in [1, 3] {
                let sums = sums(&vectors, count);
                let mut exactly = vec![0.0; 5 * texts];
                let mut roughly = vec![0.0; 5 * texts];
                exact(vectors.view(), &sums, &mut exactly);
                rough(vectors.view(), &sums, &mut roughly);
                let bound = (dimension + 2) as f64 * f64::from(f32::EPSILON) * count as f64;
                for (i, (exact, rough)) in exactly.iter().zip(roughly).enumerate() {
                    let (sum, text) = (&sums[i / texts * dimension..][..dimension], i % texts);
                    let row = vectors.row(text);
                    let expected: f64 = row.iter().zip(sum).map(|(x, y)| f64::from(*x) * y).sum();
                    assert!((exact - expected).abs() < 1e-14);
                    assert!((f64::from(rough) - expected).abs() < bound / 2.0);
                    assert_eq!(*exact, exact_one(vectors.view(), text, sum));
                }
            }
        }
    }

    #[test]
    fn no_vector_is_longer_than_the_longest() {
        let mut vectors = vectors(50, 45);
        vectors.row_mut(7).mapv_inplace(|x| 3.0 * x);
        let norm = |row: ndarray::ArrayView1<'_, f32>| {
            let square: f64 = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
            square.sqrt()
        };
        let found = longest(vectors.view());
        assert!(found >= norm(vectors.row(7)) && found < 3.0001);
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let vectors = vectors(37, 45);
        let sums = sums(&vectors, 2);
        let run = |run: &dyn Fn(Exact<'_, '_>)| {
            let mut products = vec![0.0; 5 * 37];
            run(Exact {
                vectors: vectors.view(),
                sums: &sums,
                products: &mut products,
            });
            products
        };
        let best = run(&|work| Arch::new().dispatch(work));
        assert_eq!(best, run(&|work| Simd::vectorize(pulp::Scalar, work)));
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            assert_eq!(best, run(&|work| Simd::vectorize(simd, work)));
        }
    }

    #[test]
    fn what_is_left_out_has_no_weight() {
        let vectors = vectors(400, 24);
        let cases = [(-1e4, 1), (1e4, 2), (-800.0, 3), (3e6, 1), (-370.0, 1)];
        for (lambda, count) in cases {
            let (sums, taken): (_, Vec<usize>) = (sums(&vectors, count), (0..count).collect());
            let sum = &sums[..24];
            let mut roughly = vec![0.0; 400];
            rough(vectors.view(), sum, &mut roughly);
            let near = near(&mut roughly, &taken, lambda, 24, 1.0001);
            let others = || (0..400).filter(|text| !taken.contains(text));
            let log_weight = |text| lambda * exact_one(vectors.view(), text, sum);
            let highest = others().map(log_weight).fold(f64::MIN, f64::max);
            for text in others().filter(|text| !near.contains(text)) {
                assert_eq!((log_weight(text) - highest).exp(), 0.0, "λ = {lambda}");
            }
            let left_out = others().count() - near.len();
            assert!(near.is_sorted() && near.iter().all(|text| !taken.contains(text)));
            assert_eq!(
                left_out > 0,
                tells_apart(lambda, 1.0, count),
                "λ = {lambda}"
            );
        }
    }
}
