//! Products of bfloat16 matrices by the instructions that processors have for them.
//!
//! A bfloat16 is the upper half of an `f32`: 8 bits of exponent, 8 of precision. Two of them, neighbours along the inner
//! dimension of a product, are a [`Pair`]; an instruction multiplies the pairs of two vectors and adds both products to
//! an `f32`. Half the memory of `f32`, and up to twice the products.
//!
//! # Definition
//! [`dot`] says what is computed, in plain code: each sum is one chain over the pairs, in order, in which the product of
//! the second numbers is added before that of the first, each by one fused multiply-add. Numbers too small to be normal
//! count as 0. A sum thus has the same bits in any batch and on every processor with the same [`Instructions`].
//!
//! # Unsafe code
//! The intrinsics are `unsafe` to call, since a processor without them stops the program. A [`Products`] exists only
//! where the processor has them. Numbers become vectors by copies of arrays; no address is computed. Nothing else in this
//! workspace is unsafe.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod pair;
mod plain;

pub use pair::{Line, Pair, Pairs, STEPS, WIDTH, pack, rounded, unpacked};
pub use plain::dot;

/// The instructions that multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instructions {
    /// `VDPBF16PS` on vectors of 512 bits: AMD since Zen 4, Intel since Cooper Lake.
    Avx512Bf16,
}

impl Instructions {
    /// Name for a manifest.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512Bf16 => "avx512-bf16",
        }
    }
}

/// The right to multiply: this processor has the instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Products {
    instructions: Instructions,
}

impl Products {
    /// The best instructions of this processor, if it has any.
    #[must_use]
    pub fn detect() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if avx512::available() {
            return Some(Self {
                instructions: Instructions::Avx512Bf16,
            });
        }
        None
    }

    /// What multiplies.
    #[must_use]
    pub fn instructions(self) -> Instructions {
        self.instructions
    }

    /// Row r of `sums` = `start` + row r of a tile times `panel` `[pairs]`. The tile's rows are in `lines`
    /// `[⌈pairs / 16⌉ × R]`: the first line of each row, then the second of each, and so on. 1, 4, 8 or 12 rows are
    /// multiplied at once; the more, the faster.
    ///
    /// # Panics
    /// If there are too few lines.
    pub fn tile<const R: usize>(
        self,
        lines: &[Line],
        panel: &[Pairs],
        start: &[f32; WIDTH],
        sums: &mut [[f32; WIDTH]; R],
    ) {
        assert!(
            lines.len() >= panel.len().div_ceil(STEPS) * R,
            "a line for every step"
        );
        match self.instructions {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `self` exists, so the processor has the instructions.
            Instructions::Avx512Bf16 => unsafe { avx512::tile(lines, panel, start, sums) },
            #[cfg(not(target_arch = "x86_64"))]
            Instructions::Avx512Bf16 => unreachable!("detected on x86-64 alone"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of every size, and all that are special, by a multiplicative generator.
    fn numbers(count: usize, seed: u64, special: bool) -> Vec<f32> {
        let mut state = seed;
        let next = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let bits = (state >> 32) as u32;
            match bits % 16 {
                // Not normal.
                0 if special => f32::from_bits(bits & 0x807f_ffff),
                1 if special => 0.0_f32.copysign(f32::from_bits(bits)),
                // Their products are not.
                2 if special => f32::from_bits(bits & 0x83ff_ffff | 0x0080_0000),
                _ => (bits as f32 / 2e9 - 1.0) * [1.0, 1e-3, 64.0][bits as usize % 3],
            }
        };
        (0..count).map(next).collect()
    }

    fn packed(values: &[f32], columns: usize) -> Vec<Pair> {
        let inner = columns.div_ceil(2);
        let mut pairs = vec![0; values.len() / columns * inner];
        for (row, pairs) in values.chunks(columns).zip(pairs.chunks_mut(inner)) {
            pack(row, pairs);
        }
        pairs
    }

    fn products() -> Option<Products> {
        let products = Products::detect();
        if products.is_none() {
            eprintln!("skipped: this processor has no products of bfloat16");
        }
        products
    }

    /// One tile of `R` rows of `inputs` numbers against the plain code.
    fn check<const R: usize>(products: Products, inputs: usize, special: bool) {
        let inner = inputs.div_ceil(2);
        let input = packed(&numbers(R * inputs, 3, special), inputs);
        let weights = packed(&numbers(WIDTH * inputs, 5, special), inputs);
        let start: [f32; WIDTH] = numbers(WIDTH, 9, special).try_into().unwrap();
        let mut lines = vec![Line::ZERO; inner.div_ceil(STEPS) * R];
        for (r, row) in input.chunks(inner).enumerate() {
            for (k, pair) in row.iter().enumerate() {
                lines[k / STEPS * R + r].0[k % STEPS] = *pair;
            }
        }
        let mut panel = vec![Pairs::ZERO; inner];
        for (output, row) in weights.chunks(inner).enumerate() {
            for (pairs, pair) in panel.iter_mut().zip(row) {
                pairs.0[output] = *pair;
            }
        }
        let mut sums = [[f32::NAN; WIDTH]; R];
        products.tile(&lines, &panel, &start, &mut sums);
        for (r, sums) in sums.iter().enumerate() {
            for (output, sum) in sums.iter().enumerate() {
                let (a, b) = (
                    &input[r * inner..][..inner],
                    &weights[output * inner..][..inner],
                );
                let expected = dot(start[output], a, b);
                assert_eq!(
                    sum.to_bits(),
                    expected.to_bits(),
                    "{inputs} inputs, row {r} of {R}, output {output}: {sum:e} for {expected:e}"
                );
            }
        }
    }

    /// Every height of a tile, odd lengths, lines that are not full, and numbers that are not normal.
    #[test]
    fn instructions_compute_what_the_plain_code_does() {
        let Some(products) = products() else { return };
        for inputs in [1, 2, 7, 31, 32, 33, 64, 192, 577] {
            for special in [false, true] {
                check::<1>(products, inputs, special);
                check::<4>(products, inputs, special);
                check::<8>(products, inputs, special);
                check::<12>(products, inputs, special);
            }
        }
    }

    /// All pairs of special numbers: zeros of both signs, the least and greatest of every kind, infinities, not a number.
    #[test]
    fn what_is_special_is_treated_alike() {
        let Some(products) = products() else { return };
        let halves = [
            0x0000, 0x8000, 0x0001, 0x807f, 0x0080, 0x8080, 0x1f80, 0x9fff, 0x3f80, 0xbf81, 0x7f7f,
            0xff7f, 0x7f80, 0xff80, 0x7fc0_u32,
        ];
        let starts = [
            0.0,
            -0.0,
            f32::from_bits(1),
            f32::MIN_POSITIVE,
            -f32::MIN_POSITIVE,
            1.0,
            f32::MAX,
            f32::NEG_INFINITY,
        ];
        for (a, b) in halves.iter().flat_map(|a| halves.map(|b| (a, b))) {
            for (c, start) in halves.iter().flat_map(|c| starts.map(|start| (c, start))) {
                let (left, right) = (a | c << 16, b | 0x3f80 << 16);
                let mut sums = [[0.0; WIDTH]];
                let mut line = Line::ZERO;
                line.0[0] = left;
                products.tile(
                    &[line],
                    &[Pairs([right; WIDTH])],
                    &[start; WIDTH],
                    &mut sums,
                );
                let (found, expected) = (sums[0][0], dot(start, &[left], &[right]));
                let same = found.to_bits() == expected.to_bits();
                assert!(
                    same || found.is_nan() && expected.is_nan(),
                    "{start:e} + {left:08x} · {right:08x} = {found:e}, and not {expected:e}"
                );
            }
        }
    }
}
