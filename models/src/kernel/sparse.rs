//! The linear layer y = x Wᵀ + b for inputs most of which are 0, as behind a ReLU.
//!
//! # Definition
//! An input that is 0 in all rows of a small tile is left out of their sums. What is left out is 0 times a finite weight,
//! so every sum is that of [`Linear::apply`]; one that is 0 is +0, whatever the other rows of its tile are.
//!
//! # Speed
//! Of what the built-in infilling model's feed-forward layers hand to their second product, 97 % are 0.

use pulp::{Arch, Simd, WithSimd};

use super::linear::{Block, Linear, PANEL, Rows, Target};

impl Linear {
    /// [`Linear::apply`], in less time where most of `input` is 0.
    pub(crate) fn apply_sparse(&self, input: &[f32]) -> Vec<f32> {
        let Some(panels) = self.finite_panels() else {
            return self.apply(input);
        };
        let inputs = self.inputs();
        let rows = Rows {
            values: input,
            stride: inputs,
            count: input.len() / inputs,
        };
        let mut output = vec![0.0; rows.count * self.outputs()];
        if output.is_empty() {
            return output;
        }
        let done = Arch::new().dispatch(Apply {
            panels,
            bias: self.bias(),
            input: rows,
            width: self.outputs(),
            output: &mut output,
        });
        if !done {
            output = self.apply(input);
        }
        // −0 becomes +0: a sum that is 0 does not tell which zeros were added to it.
        output.iter_mut().for_each(|x| *x += 0.0);
        output
    }
}

struct Apply<'a> {
    panels: &'a [Block],
    bias: &'a [Block],
    input: Rows<'a>,
    width: usize,
    output: &'a mut [f32],
}

impl WithSimd for Apply<'_> {
    /// Whether it was worth it; if not, nothing was written.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        // (vectors per panel, rows per tile): few rows, so that few inputs are used by one of them.
        match S::F32_LANES {
            16 => apply::<S, 2, 3>(simd, self),
            8 => apply::<S, 4, 2>(simd, self),
            4 => apply::<S, 8, 2>(simd, self),
            _ => apply::<S, 32, 1>(simd, self),
        }
    }
}

#[inline(always)]
fn apply<S: Simd, const V: usize, const R: usize>(simd: S, work: Apply<'_>) -> bool {
    let inputs = work.input.stride;
    let tiles = Tiles::<R>::of(simd, work.input);
    // Where most inputs are used, a large tile's products are faster than leaving some out.
    if 2 * tiles.used.len() > tiles.ends.len() * inputs {
        return false;
    }
    for (p, (panel, bias)) in work.panels.chunks_exact(inputs).zip(work.bias).enumerate() {
        let first = p * PANEL;
        let mut target = Target {
            output: &mut work.output[first..],
            stride: work.width,
            width: PANEL.min(work.width - first),
        };
        let mut start = 0;
        for (tile, end) in tiles.ends.iter().enumerate() {
            simd.vectorize(Tile::<V, R> {
                panel,
                bias,
                used: &tiles.used[start..*end],
                first: tile * R,
                rows: R.min(work.input.count - tile * R),
                target: &mut target,
            });
            start = *end;
        }
    }
    true
}

/// An input that is not 0 in one of a tile's rows, and its value in each.
#[derive(Clone, Copy)]
struct Used<const R: usize> {
    input: usize,
    values: [f32; R],
}

/// Rows in tiles of R, each with the inputs that it uses.
struct Tiles<const R: usize> {
    used: Vec<Used<R>>,
    /// Where each tile ends in `used`.
    ends: Vec<usize>,
}

impl<const R: usize> Tiles<R> {
    #[inline(always)]
    fn of<S: Simd>(simd: S, input: Rows<'_>) -> Self {
        let (inputs, count) = (input.stride, input.count.div_ceil(R));
        let mut tiles = Self {
            used: Vec::with_capacity(count * inputs / 8),
            ends: Vec::with_capacity(count),
        };
        let mut any = vec![0.0; inputs];
        let mut places = vec![0; inputs];
        let absent = vec![0.0; inputs];
        for first in (0..input.count).step_by(R) {
            let rows: [&[f32]; R] = std::array::from_fn(|r| match first + r < input.count {
                true => &input.values[(first + r) * inputs..][..inputs],
                false => &absent[..inputs],
            });
            or(simd, rows, &mut any);
            // Without a branch, which no processor could predict.
            let mut found = 0;
            for (place, any) in any.iter().enumerate() {
                places[found] = place;
                found += usize::from(any.to_bits() << 1 != 0);
            }
            let used = places[..found].iter().map(|place| Used {
                input: *place,
                values: rows.map(|row| row[*place]),
            });
            tiles.used.extend(used);
            tiles.ends.push(tiles.used.len());
        }
        tiles
    }
}

/// The bits that are set in one of the rows.
#[inline(always)]
fn or<S: Simd, const R: usize>(simd: S, rows: [&[f32]; R], any: &mut [f32]) {
    let rows = rows.map(S::as_simd_f32s);
    let (vectors, rest) = S::as_mut_simd_f32s(any);
    for (place, any) in vectors.iter_mut().enumerate() {
        *any = rows.iter().fold(simd.splat_f32s(0.0), |any, (row, _)| {
            simd.or_f32s(any, row[place])
        });
    }
    for (place, any) in rest.iter_mut().enumerate() {
        let bits = rows.iter().map(|(_, row)| row[place].to_bits());
        *any = f32::from_bits(bits.fold(0, |any, bits| any | bits));
    }
}

/// One tile's sums for one panel. A function of its own, as in [`super::linear`].
struct Tile<'a, 'b, const V: usize, const R: usize> {
    panel: &'a [Block],
    bias: &'a Block,
    used: &'a [Used<R>],
    /// Its first row in the target.
    first: usize,
    /// Its rows that there are.
    rows: usize,
    target: &'a mut Target<'b>,
}

impl<const V: usize, const R: usize> WithSimd for Tile<'_, '_, V, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        for sum in &mut sums {
            sum.copy_from_slice(S::as_simd_f32s(&self.bias.0).0);
        }
        for used in self.used {
            let weights = S::as_simd_f32s(&self.panel[used.input].0).0;
            for (sum, value) in sums.iter_mut().zip(&used.values) {
                let value = simd.splat_f32s(*value);
                for (sum, weight) in sum.iter_mut().zip(weights) {
                    *sum = simd.mul_add_f32s(value, *weight, *sum);
                }
            }
        }
        for (r, sum) in sums.iter().enumerate().take(self.rows) {
            self.target.store::<S, V>(self.first + r, sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use teda_bf16::{Instructions, Products};

    use super::*;

    const INPUTS: usize = 191;
    const OUTPUTS: usize = 70;

    fn value(i: usize) -> f32 {
        ((i * 7919) % 1009) as f32 / 1009.0 - 0.3
    }

    fn layer(bf16: Option<Products>, weight: &[f32]) -> Linear {
        let bias: Vec<f32> = (0..OUTPUTS).map(value).collect();
        Linear::new(bf16, INPUTS, weight.chunks(INPUTS), &bias)
    }

    /// Numbers of which about `share` are not 0.
    fn sparse(rows: usize, share: f64) -> Vec<f32> {
        let mut stream = teda_core::Seed::root(3).stream();
        (0..rows * INPUTS)
            .map(|i| {
                if stream.uniform() < share {
                    value(i)
                } else {
                    0.0
                }
            })
            .collect()
    }

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn equals_the_dense_product_however_many_inputs_are_zero() {
        let weight: Vec<f32> = (0..OUTPUTS * INPUTS).map(value).collect();
        let bf16 = Instructions::ALL.into_iter().filter_map(Products::of);
        for products in [None].into_iter().chain(bf16.map(Some)) {
            let layer = layer(products, &weight);
            for share in [0.0, 0.01, 0.1, 0.3, 0.6, 1.0] {
                for rows in [0, 1, 2, 3, 4, 5, 13, 40] {
                    let input = sparse(rows, share);
                    let (found, expected) = (layer.apply_sparse(&input), layer.apply(&input));
                    assert_eq!(bits(&found), bits(&expected), "{share} of {rows} rows");
                }
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let weight: Vec<f32> = (0..OUTPUTS * INPUTS).map(value).collect();
        let (layer, input) = (layer(None, &weight), sparse(17, 0.05));
        let best = layer.apply_sparse(&input);
        let run = |run: &dyn Fn(Apply<'_>) -> bool| {
            let mut output = vec![0.0; best.len()];
            let done = run(Apply {
                panels: layer.finite_panels().unwrap(),
                bias: layer.bias(),
                input: Rows {
                    values: &input,
                    stride: INPUTS,
                    count: 17,
                },
                width: OUTPUTS,
                output: &mut output,
            });
            assert!(done);
            assert_eq!(bits(&output), bits(&best));
        };
        run(&|work| Simd::vectorize(pulp::Scalar, work));
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            run(&|work| Simd::vectorize(simd, work));
        }
    }

    /// Sums that are 0 come about in several ways: of nothing, of zeros of either sign, of products too small.
    #[test]
    fn a_zero_does_not_tell_which_rows_shared_its_tile() {
        let (tiny, none) = ([-f32::MIN_POSITIVE; 3], [-0.0; 3]);
        for (weight, bias) in [(tiny, -0.0), (tiny, 0.0), (none, -0.0), ([1.0; 3], -0.0)] {
            let layer = Linear::new(None, 3, [&weight[..]], &[bias]);
            let alone = [f32::MIN_POSITIVE, 0.0, 0.0];
            for other in [[0.0; 3], [0.0, 1.0, 0.0], [1.0, 2.0, 3.0], [-0.0; 3]] {
                let both = layer.apply_sparse(&[alone, other].concat());
                assert_eq!(bits(&both[..1]), bits(&layer.apply_sparse(&alone)));
                assert_eq!(bits(&both[1..]), bits(&layer.apply_sparse(&other)));
                assert!(both.iter().all(|x| x.to_bits() != (-0.0_f32).to_bits()));
            }
        }
    }

    #[test]
    fn a_weight_that_is_not_finite_is_seen_behind_a_zero() {
        for bad in [f32::NAN, f32::INFINITY] {
            let mut weight = vec![0.5; OUTPUTS * INPUTS];
            weight[3 * INPUTS + 5] = bad;
            let output = layer(None, &weight).apply_sparse(&[0.0; INPUTS]);
            assert!(output[3].is_nan() && output[2].is_finite());
        }
    }
}
