//! The linear layer y = x Wᵀ + b, with the weights packed once at load.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

/// Outputs per panel: two AVX-512 vectors, four AVX2 or eight NEON ones.
pub(crate) const PANEL: usize = 32;

/// One step of the inner dimension of a panel, aligned to a cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Block(pub(crate) [f32; PANEL]);

impl Block {
    pub(crate) const ZERO: Self = Self([0.0; PANEL]);
}

/// A matrix in a larger row-major buffer: row i is `values[i·stride ..][.. width]`.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) count: usize,
}

/// A linear layer, `[rows × inputs]` → `[rows × outputs]`.
pub(crate) struct Linear {
    inputs: usize,
    outputs: usize,
    /// Panel p holds outputs 32p … 32p+31, zero beyond the last: `[panels × inputs]` blocks.
    panels: Vec<Block>,
    bias: Vec<Block>,
}

impl Linear {
    /// Packs `weight` `[outputs × inputs]`, given row by row, and `bias` `[outputs]`.
    pub(crate) fn new<'a>(
        inputs: usize,
        weight: impl IntoIterator<Item = &'a [f32]>,
        bias: &[f32],
    ) -> Self {
        let count = bias.len().div_ceil(PANEL);
        let mut panels = vec![Block::ZERO; count * inputs];
        for (output, row) in weight.into_iter().enumerate() {
            let panel = &mut panels[output / PANEL * inputs..][..inputs];
            for (block, value) in panel.iter_mut().zip(row) {
                block.0[output % PANEL] = *value;
            }
        }
        let mut packed_bias = vec![Block::ZERO; count];
        for (output, value) in bias.iter().enumerate() {
            packed_bias[output / PANEL].0[output % PANEL] = *value;
        }
        Self {
            inputs,
            outputs: bias.len(),
            panels,
            bias: packed_bias,
        }
    }

    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Adds `scale` times the weights of one output to `row` `[inputs]`: an embedding table that is tied to this layer
    /// needs no second copy.
    pub(crate) fn add_weights(&self, output: usize, scale: f32, row: &mut [f32]) {
        let panel = &self.panels[output / PANEL * self.inputs..][..self.inputs];
        for (x, block) in row.iter_mut().zip(panel) {
            *x += scale * block.0[output % PANEL];
        }
    }

    /// The layer's output for `input` `[rows × inputs]`: `[rows × outputs]`.
    pub(crate) fn apply(&self, input: &[f32]) -> Vec<f32> {
        self.apply_panels(input, 0..self.bias.len())
    }

    /// The columns `wanted` of [`Linear::apply`], to the bit: `[rows × wanted]`. Only the panels that hold them are
    /// computed.
    pub(crate) fn apply_some(&self, input: &[f32], wanted: Range<usize>) -> Vec<f32> {
        let panels = wanted.start / PANEL..wanted.end.div_ceil(PANEL);
        let first = panels.start * PANEL;
        let width = self.width(&panels);
        let computed = self.apply_panels(input, panels);
        if wanted.len() == width {
            return computed;
        }
        let columns = wanted.start - first..wanted.end - first;
        let rows = computed.chunks_exact(width.max(1));
        rows.flat_map(|row| &row[columns.clone()])
            .copied()
            .collect()
    }

    /// Number of outputs in these panels.
    fn width(&self, panels: &Range<usize>) -> usize {
        (panels.end * PANEL).min(self.outputs) - (panels.start * PANEL).min(self.outputs)
    }

    fn apply_panels(&self, input: &[f32], panels: Range<usize>) -> Vec<f32> {
        let count = input.len() / self.inputs;
        let width = self.width(&panels);
        let mut output = vec![0.0; count * width];
        if output.is_empty() {
            return output;
        }
        Arch::new().dispatch(Apply {
            layer: self,
            panels,
            width,
            input: Rows {
                values: input,
                stride: self.inputs,
                count,
            },
            output: &mut output,
        });
        output
    }
}

struct Apply<'a> {
    layer: &'a Linear,
    panels: Range<usize>,
    /// Number of outputs in these panels.
    width: usize,
    input: Rows<'a>,
    output: &'a mut [f32],
}

impl WithSimd for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let inputs = self.layer.inputs;
        let panels = &self.layer.panels[self.panels.start * inputs..self.panels.end * inputs];
        let biases = &self.layer.bias[self.panels];
        // Panel outermost: the weights of 32 outputs stay in the first-level cache while all rows pass.
        for (p, (panel, bias)) in panels.chunks_exact(inputs).zip(biases).enumerate() {
            let first = p * PANEL;
            let mut target = Target {
                output: &mut self.output[first..],
                stride: self.width,
                width: PANEL.min(self.width - first),
            };
            multiply(simd, self.input, panel, Start::At(bias), &mut target);
        }
    }
}

/// The start value of a product's sums.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a> {
    /// The same numbers in every row.
    At(&'a Block),
    /// The content of the output: the sum is continued.
    Output,
}

/// Row i of `target` = its start + row i of `input` times `panel` (`[inputs]` blocks), for at least
/// one row.
#[inline(always)]
pub(crate) fn multiply<S: Simd>(
    simd: S,
    input: Rows<'_>,
    panel: &[Block],
    start: Start<'_>,
    target: &mut Target<'_>,
) {
    // (vectors per panel, rows per tile, rows per small tile): as many sums as the registers hold.
    match S::F32_LANES {
        16 => tiles::<S, 2, 12, 4>(simd, input, panel, start, target),
        8 => tiles::<S, 4, 3, 1>(simd, input, panel, start, target),
        4 => tiles::<S, 8, 3, 1>(simd, input, panel, start, target),
        _ => tiles::<S, 32, 1, 1>(simd, input, panel, start, target),
    }
}

/// The target of a product: row i is `output[i·stride ..][.. width]`, `width` ≤ 32.
pub(crate) struct Target<'a> {
    pub(crate) output: &'a mut [f32],
    pub(crate) stride: usize,
    pub(crate) width: usize,
}

impl Target<'_> {
    #[inline(always)]
    fn load<S: Simd, const V: usize>(&self, row: usize, sums: &mut [S::f32s; V]) {
        let output = &self.output[row * self.stride..][..self.width];
        let mut block = Block::ZERO;
        block.0[..self.width].copy_from_slice(output);
        sums.copy_from_slice(S::as_simd_f32s(&block.0).0);
    }

    #[inline(always)]
    fn store<S: Simd, const V: usize>(&mut self, row: usize, sums: &[S::f32s; V]) {
        let output = &mut self.output[row * self.stride..][..self.width];
        if self.width == PANEL {
            S::as_mut_simd_f32s(output).0.copy_from_slice(sums);
        } else {
            let mut block = Block::ZERO;
            S::as_mut_simd_f32s(&mut block.0).0.copy_from_slice(sums);
            output.copy_from_slice(&block.0[..self.width]);
        }
    }
}

#[inline(always)]
fn tiles<S: Simd, const V: usize, const LARGE: usize, const SMALL: usize>(
    simd: S,
    input: Rows<'_>,
    panel: &[Block],
    start: Start<'_>,
    target: &mut Target<'_>,
) {
    let mut row = 0;
    while row + LARGE <= input.count {
        tile::<S, V, LARGE>(simd, input, row, panel, start, target);
        row += LARGE;
    }
    while row < input.count {
        tile::<S, V, SMALL>(simd, input, row, panel, start, target);
        row += SMALL;
    }
}

/// Rows `row … row + R` of the product; rows beyond the last are computed as copies of the last and discarded.
#[inline(always)]
fn tile<S: Simd, const V: usize, const R: usize>(
    simd: S,
    input: Rows<'_>,
    row: usize,
    panel: &[Block],
    start: Start<'_>,
    target: &mut Target<'_>,
) {
    let rows: [&[f32]; R] = std::array::from_fn(|r| {
        let index = (row + r).min(input.count - 1);
        &input.values[index * input.stride..][..panel.len()]
    });
    let mut sums = [[simd.splat_f32s(0.0); V]; R];
    for (r, sum) in sums.iter_mut().enumerate() {
        match start {
            Start::At(block) => sum.copy_from_slice(S::as_simd_f32s(&block.0).0),
            Start::Output => target.load::<S, V>((row + r).min(input.count - 1), sum),
        }
    }
    for (k, block) in panel.iter().enumerate() {
        let weights = S::as_simd_f32s(&block.0).0;
        for (sum, row) in sums.iter_mut().zip(&rows) {
            let value = simd.splat_f32s(row[k]);
            for (sum, weight) in sum.iter_mut().zip(weights) {
                *sum = simd.mul_add_f32s(value, *weight, *sum);
            }
        }
    }
    for (r, sum) in sums.iter().enumerate().take(input.count - row) {
        target.store::<S, V>(row + r, sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integers below 2²⁴ are exact in f32, so every order of summation agrees.
    #[test]
    fn equals_the_definition_on_every_shape() {
        for (rows, inputs, outputs) in [(1, 1, 1), (5, 7, 33), (12, 48, 32), (31, 16, 70)] {
            let value = |i: usize| ((i * 7919) % 23) as f32 - 11.0;
            let weight: Vec<f32> = (0..outputs * inputs).map(value).collect();
            let bias: Vec<f32> = (0..outputs).map(|i| value(i + 5)).collect();
            let input: Vec<f32> = (0..rows * inputs).map(|i| value(i + 3)).collect();
            let layer = Linear::new(inputs, weight.chunks(inputs), &bias);
            let output = layer.apply(&input);
            for (i, y) in output.iter().enumerate() {
                let (r, o) = (i / outputs, i % outputs);
                let expected: f32 = (0..inputs)
                    .map(|k| input[r * inputs + k] * weight[o * inputs + k])
                    .sum();
                assert_eq!(*y, expected + bias[o], "row {r}, output {o}");
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let value = |i: usize| ((i * 7919) % 1009) as f32 / 1009.0 - 0.3;
        let weight: Vec<f32> = (0..70 * 192).map(value).collect();
        let layer = Linear::new(192, weight.chunks(192), &[0.1; 70]);
        let input: Vec<f32> = (0..17 * 192).map(value).collect();
        let best = layer.apply(&input);
        let mut output = vec![0.0; best.len()];
        let mut apply = |run: &dyn Fn(Apply<'_>)| {
            output.fill(0.0);
            run(Apply {
                layer: &layer,
                panels: 0..3,
                width: 70,
                input: Rows {
                    values: &input,
                    stride: 192,
                    count: 17,
                },
                output: &mut output,
            });
            assert_eq!(output, best);
        };
        apply(&|work| Simd::vectorize(pulp::Scalar, work));
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            apply(&|work| Simd::vectorize(simd, work));
        }
    }

    #[test]
    fn a_row_has_the_same_bits_in_any_batch() {
        let value = |i: usize| ((i * 7919) % 1009) as f32 / 1009.0 - 0.3;
        let weight: Vec<f32> = (0..70 * 192).map(value).collect();
        let layer = Linear::new(192, weight.chunks(192), &[0.1; 70]);
        let input: Vec<f32> = (0..40 * 192).map(value).collect();
        let all = layer.apply(&input);
        for count in [1, 2, 3, 4, 11, 12, 13, 39] {
            let part = layer.apply(&input[..count * 192]);
            assert_eq!(part, all[..count * 70], "{count} rows");
        }
        for wanted in [0..70, 0..32, 32..64, 64..70, 5..6, 31..33, 33..70, 9..9] {
            let some = layer.apply_some(&input[..3 * 192], wanted.clone());
            let expected: Vec<f32> = (0..3)
                .flat_map(|row| all[row * 70..][wanted.clone()].to_vec())
                .collect();
            assert_eq!(some, expected, "{wanted:?}");
        }
    }
}
