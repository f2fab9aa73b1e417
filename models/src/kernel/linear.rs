//! The linear layer y = x Wᵀ + b, with the weights packed once at load.

use std::ops::Range;
use std::sync::OnceLock;

use pulp::{Arch, Simd, WithSimd};
use teda_bf16::{Pairs, Products, pack, unpacked};

use super::math::all_finite;
use super::tiles::Tiles;

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
    panels: Panels,
    bias: Vec<Block>,
    /// Whether all weights are finite, so that 0 times any of them is 0; known when it was first asked.
    finite: OnceLock<bool>,
}

/// The weights: panel p holds outputs 32p … 32p+31, zero beyond the last.
enum Panels {
    /// `[panels × inputs]` blocks.
    F32(Vec<Block>),
    /// `[panels × ⌈inputs / 2⌉]` blocks of pairs.
    Bf16(Products, Vec<Pairs>),
}

impl Linear {
    /// Packs `weight` `[outputs × inputs]`, given row by row, and `bias` `[outputs]`; rounded to bfloat16 if these are to
    /// be multiplied.
    pub(crate) fn new<'a>(
        bf16: Option<Products>,
        inputs: usize,
        weight: impl IntoIterator<Item = &'a [f32]>,
        bias: &[f32],
    ) -> Self {
        let count = bias.len().div_ceil(PANEL);
        let panels = match bf16 {
            None => Panels::F32(packed(count, inputs, weight)),
            Some(products) => Panels::Bf16(products, halved(count, inputs, weight)),
        };
        let mut packed_bias = vec![Block::ZERO; count];
        for (output, value) in bias.iter().enumerate() {
            packed_bias[output / PANEL].0[output % PANEL] = *value;
        }
        Self {
            inputs,
            outputs: bias.len(),
            panels,
            bias: packed_bias,
            finite: OnceLock::new(),
        }
    }

    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    pub(super) fn bias(&self) -> &[Block] {
        &self.bias
    }

    /// The weights, `[panels × inputs]` blocks, if they are single precision and all finite.
    pub(super) fn finite_panels(&self) -> Option<&[Block]> {
        let Panels::F32(panels) = &self.panels else {
            return None;
        };
        let check = || panels.iter().all(|block| all_finite(&block.0));
        self.finite.get_or_init(check).then_some(panels)
    }

    /// Adds `scale` times the weights of one output to `row` `[inputs]`: an embedding table that is tied to this layer
    /// needs no second copy.
    pub(crate) fn add_weights(&self, output: usize, scale: f32, row: &mut [f32]) {
        let (panel, column) = (output / PANEL, output % PANEL);
        match &self.panels {
            Panels::F32(panels) => {
                let panel = &panels[panel * self.inputs..][..self.inputs];
                for (x, block) in row.iter_mut().zip(panel) {
                    *x += scale * block.0[column];
                }
            }
            Panels::Bf16(_, panels) => {
                let pairs = self.inputs.div_ceil(2);
                let panel = &panels[panel * pairs..][..pairs];
                for (two, pairs) in row.chunks_mut(2).zip(panel) {
                    for (x, weight) in two.iter_mut().zip(unpacked(pairs.0[column])) {
                        *x += scale * weight;
                    }
                }
            }
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
        let bias = &self.bias[panels.clone()];
        match &self.panels {
            Panels::F32(weights) => Arch::new().dispatch(Apply {
                panels: &weights[panels.start * self.inputs..panels.end * self.inputs],
                bias,
                width,
                input: Rows {
                    values: input,
                    stride: self.inputs,
                    count,
                },
                output: &mut output,
            }),
            Panels::Bf16(products, weights) => {
                let pairs = self.inputs.div_ceil(2);
                let instructions = products.instructions();
                let tiles = Tiles::of(instructions, input, self.inputs);
                let weights = &weights[panels.start * pairs..panels.end * pairs];
                let unit = products.unit();
                let mut sums = vec![[0.0; PANEL]; instructions.heights()[0]];
                for (p, (panel, bias)) in weights.chunks_exact(pairs).zip(bias).enumerate() {
                    let first = p * PANEL;
                    let columns = PANEL.min(width - first);
                    for (tile, lines) in tiles.iter() {
                        let sums = &mut sums[..tile.height];
                        unit.tile(lines, panel, &bias.0, sums);
                        for (row, sums) in tiles.rows(tile).zip(sums) {
                            let output = &mut output[row * width + first..][..columns];
                            match output.first_chunk_mut() {
                                Some(output) => *output = *sums,
                                None => output.copy_from_slice(&sums[..columns]),
                            }
                        }
                    }
                }
            }
        }
        output
    }
}

/// `weight` in panels, `[count × inputs]` blocks.
fn packed<'a>(
    count: usize,
    inputs: usize,
    weight: impl IntoIterator<Item = &'a [f32]>,
) -> Vec<Block> {
    let mut panels = vec![Block::ZERO; count * inputs];
    for (output, row) in weight.into_iter().enumerate() {
        let panel = &mut panels[output / PANEL * inputs..][..inputs];
        for (block, value) in panel.iter_mut().zip(row) {
            block.0[output % PANEL] = *value;
        }
    }
    panels
}

/// The same in bfloat16, `[count × ⌈inputs / 2⌉]` blocks of pairs.
fn halved<'a>(
    count: usize,
    inputs: usize,
    weight: impl IntoIterator<Item = &'a [f32]>,
) -> Vec<Pairs> {
    let inner = inputs.div_ceil(2);
    let mut panels = vec![Pairs::ZERO; count * inner];
    let mut pairs = vec![0; inner];
    for (output, row) in weight.into_iter().enumerate() {
        pack(row, &mut pairs);
        let panel = &mut panels[output / PANEL * inner..][..inner];
        for (block, pair) in panel.iter_mut().zip(&pairs) {
            block.0[output % PANEL] = *pair;
        }
    }
    panels
}

struct Apply<'a> {
    panels: &'a [Block],
    bias: &'a [Block],
    /// Number of outputs in these panels.
    width: usize,
    input: Rows<'a>,
    output: &'a mut [f32],
}

impl WithSimd for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let panels = self.panels.chunks_exact(self.input.stride);
        // Panel outermost: the weights of 32 outputs stay in the first-level cache while all rows pass.
        for (p, (panel, bias)) in panels.zip(self.bias).enumerate() {
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
    pub(super) fn store<S: Simd, const V: usize>(&mut self, row: usize, sums: &[S::f32s; V]) {
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
        let tile = Tile::<V, LARGE> {
            input,
            row,
            panel,
            start,
            target,
        };
        tile.with_simd(simd);
        row += LARGE;
    }
    while row < input.count {
        simd.vectorize(Tile::<V, SMALL> {
            input,
            row,
            panel,
            start,
            target,
        });
        row += SMALL;
    }
}

/// Rows `row … row + R` of the product; rows beyond the last are computed as copies of the last and discarded. A function of
/// its own for each height: within a larger one, the compiler keeps the sums in memory and not in registers.
struct Tile<'a, 'b, const V: usize, const R: usize> {
    input: Rows<'a>,
    row: usize,
    panel: &'a [Block],
    start: Start<'a>,
    target: &'a mut Target<'b>,
}

impl<const V: usize, const R: usize> WithSimd for Tile<'_, '_, V, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            input,
            row,
            panel,
            start,
            target,
        } = self;
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
}

#[cfg(test)]
mod tests {
    use teda_bf16::Instructions;

    use super::*;

    /// Integers below 2²⁴ are exact in f32, so every order of summation agrees.
    #[test]
    fn equals_the_definition_on_every_shape() {
        for (rows, inputs, outputs) in [(1, 1, 1), (5, 7, 33), (12, 48, 32), (31, 16, 70)] {
            let value = |i: usize| ((i * 7919) % 23) as f32 - 11.0;
            let weight: Vec<f32> = (0..outputs * inputs).map(value).collect();
            let bias: Vec<f32> = (0..outputs).map(|i| value(i + 5)).collect();
            let input: Vec<f32> = (0..rows * inputs).map(|i| value(i + 3)).collect();
            let layer = Linear::new(None, inputs, weight.chunks(inputs), &bias);
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
        let layer = Linear::new(None, 192, weight.chunks(192), &[0.1; 70]);
        let input: Vec<f32> = (0..17 * 192).map(value).collect();
        let best = layer.apply(&input);
        let mut output = vec![0.0; best.len()];
        let mut apply = |run: &dyn Fn(Apply<'_>)| {
            output.fill(0.0);
            let Panels::F32(panels) = &layer.panels else {
                panic!("it was made for f32");
            };
            run(Apply {
                panels,
                bias: &layer.bias,
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

    /// Layers in single precision, and in bfloat16 by all instructions that this processor has.
    fn layers(inputs: usize, weight: &[f32], bias: &[f32]) -> Vec<Linear> {
        let bf16 = Instructions::ALL.into_iter().filter_map(Products::of);
        let each = [None].into_iter().chain(bf16.map(Some));
        each.map(|bf16| Linear::new(bf16, inputs, weight.chunks(inputs), bias))
            .collect()
    }

    #[test]
    fn a_row_has_the_same_bits_in_any_batch() {
        let value = |i: usize| ((i * 7919) % 1009) as f32 / 1009.0 - 0.3;
        let weight: Vec<f32> = (0..70 * 191).map(value).collect();
        let input: Vec<f32> = (0..40 * 191).map(value).collect();
        for layer in layers(191, &weight, &[0.1; 70]) {
            let all = layer.apply(&input);
            for count in [1, 2, 3, 4, 11, 12, 13, 39] {
                let part = layer.apply(&input[..count * 191]);
                assert_eq!(part, all[..count * 70], "{count} rows");
            }
            for wanted in [0..70, 0..32, 32..64, 64..70, 5..6, 31..33, 33..70, 9..9] {
                let some = layer.apply_some(&input[..3 * 191], wanted.clone());
                let expected: Vec<f32> = (0..3)
                    .flat_map(|row| all[row * 70..][wanted.clone()].to_vec())
                    .collect();
                assert_eq!(some, expected, "{wanted:?}");
            }
        }
    }

    /// Numbers of few bits are exact in bfloat16, and their sums in f32: both precisions give the same. Of others, the
    /// weights are those that were rounded.
    #[test]
    fn bfloat16_is_exact_where_the_numbers_are_and_rounds_the_others() {
        let value = |i: usize| ((i * 7919) % 23) as f32 - 11.0;
        for (rows, inputs, outputs) in [(1, 1, 1), (5, 7, 33), (12, 48, 32), (31, 16, 70)] {
            let weight: Vec<f32> = (0..outputs * inputs).map(value).collect();
            let bias: Vec<f32> = (0..outputs).map(|i| value(i + 5)).collect();
            let input: Vec<f32> = (0..rows * inputs).map(|i| value(i + 3)).collect();
            let made = layers(inputs, &weight, &bias);
            for layer in &made[1..] {
                assert_eq!(layer.apply(&input), made[0].apply(&input));
            }
        }
        let weight: Vec<f32> = (0..35).map(|i| 1.0 + i as f32 / 700.0).collect();
        for layer in &layers(5, &weight, &[0.0; 7])[1..] {
            let mut row = [0.5; 5];
            layer.add_weights(6, 2.0, &mut row);
            let expected: Vec<f32> = weight[30..]
                .iter()
                .map(|x| 0.5 + 2.0 * teda_bf16::rounded(*x))
                .collect();
            assert_eq!(row[..], expected);
        }
    }
}
