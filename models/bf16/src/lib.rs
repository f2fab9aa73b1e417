//! Products of bfloat16 matrices by the instructions that processors have for them.
//!
//! A bfloat16 is the upper half of an `f32`: 8 bits of exponent, 8 of precision. Two of them, neighbours along the inner
//! dimension of a product, are a [`Pair`]; an instruction multiplies the pairs of two vectors and adds both products to
//! an `f32`. Half the memory of `f32`, and up to twice the products.
//!
//! # Definition
//! [`Instructions::dot`] says what is computed, in plain code: every number depends on its own row and column alone, and
//! numbers too small to be normal count as 0. A sum thus has the same bits in any batch and on every processor with the
//! same [`Instructions`]; others add in another order and give other bits.
//!
//! # Unsafe code
//! Instructions that only some processors have are `unsafe` to run, since a processor without them stops the program. A
//! [`Products`] exists only where the processor has them. AVX-512 runs on vectors that are copies of arrays; AMX reads and
//! writes arrays by address, in one place ([`Unit::tile`]), behind assertions of their lengths. Nothing else in this
//! workspace is unsafe.

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod instructions;
mod pair;
mod plain;
mod unit;

pub use instructions::{Instructions, Products};
pub use pair::{Line, Pair, Pairs, STEPS, WIDTH, pack, rounded, unpacked};
pub use unit::Unit;

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

    /// All that this processor has.
    fn available() -> Vec<Products> {
        let found: Vec<Products> = Instructions::ALL
            .into_iter()
            .filter_map(Products::of)
            .collect();
        if found.is_empty() {
            eprintln!("skipped: this processor has no products of bfloat16");
        }
        found
    }

    /// One tile of `rows` rows of `inputs` numbers against the plain code.
    fn check(products: Products, rows: usize, inputs: usize, special: bool) {
        let inner = inputs.div_ceil(2);
        let input = packed(&numbers(rows * inputs, 3, special), inputs);
        let weights = packed(&numbers(WIDTH * inputs, 5, special), inputs);
        let start: [f32; WIDTH] = numbers(WIDTH, 9, special).try_into().unwrap();
        let mut lines = vec![Line::ZERO; inner.div_ceil(STEPS) * rows];
        for (r, row) in input.chunks(inner).enumerate() {
            for (k, pair) in row.iter().enumerate() {
                lines[k / STEPS * rows + r].0[k % STEPS] = *pair;
            }
        }
        let mut panel = vec![Pairs::ZERO; inner];
        for (output, row) in weights.chunks(inner).enumerate() {
            for (pairs, pair) in panel.iter_mut().zip(row) {
                pairs.0[output] = *pair;
            }
        }
        let mut sums = vec![[f32::NAN; WIDTH]; rows];
        products.unit().tile(&lines, &panel, &start, &mut sums);
        for (r, sums) in sums.iter().enumerate() {
            for (output, sum) in sums.iter().enumerate() {
                let (a, b) = (
                    &input[r * inner..][..inner],
                    &weights[output * inner..][..inner],
                );
                let expected = products.instructions().dot(start[output], a, b);
                assert_eq!(
                    sum.to_bits(),
                    expected.to_bits(),
                    "{inputs} inputs, row {r} of {rows}, output {output}: {sum:e} for {expected:e}"
                );
            }
        }
    }

    /// Every height of a tile, odd lengths, lines that are not full, and numbers that are not normal.
    #[test]
    fn instructions_compute_what_the_plain_code_does() {
        for products in available() {
            for inputs in [1, 2, 7, 31, 32, 33, 64, 192, 577] {
                for rows in products.instructions().heights() {
                    check(products, *rows, inputs, false);
                    check(products, *rows, inputs, true);
                }
            }
        }
    }

    /// All pairs of special numbers: zeros of both signs, the least and greatest of every kind, infinities, not a number.
    #[test]
    fn what_is_special_is_treated_alike() {
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
        for products in available() {
            let (unit, instructions) = (products.unit(), products.instructions());
            let rows = *instructions.heights().last().expect("there are heights");
            let mut lines = vec![Line::ZERO; rows];
            let mut sums = vec![[0.0; WIDTH]; rows];
            for (a, b) in halves.iter().flat_map(|a| halves.map(|b| (a, b))) {
                for (c, start) in halves.iter().flat_map(|c| starts.map(|start| (c, start))) {
                    let (left, right) = (a | c << 16, b | 0x3f80 << 16);
                    lines[0].0[0] = left;
                    unit.tile(&lines, &[Pairs([right; WIDTH])], &[start; WIDTH], &mut sums);
                    let expected = instructions.dot(start, &[left], &[right]);
                    let found = sums[0][0];
                    let same = found.to_bits() == expected.to_bits();
                    assert!(
                        same || found.is_nan() && expected.is_nan(),
                        "{}: {start:e} + {left:08x} · {right:08x} = {found:e}, and not {expected:e}",
                        instructions.name()
                    );
                }
            }
        }
    }

    /// A thread that has two units goes on with one of them.
    #[test]
    fn units_do_not_disturb_each_other() {
        for products in available() {
            let first = products.unit();
            drop(products.unit());
            let rows = products.instructions().heights()[0];
            let lines = vec![Line([0x3f80_3f80; STEPS]); rows];
            let mut sums = vec![[0.0; WIDTH]; rows];
            let panel = [Pairs([0x3f80_4000; WIDTH]); STEPS];
            first.tile(&lines, &panel, &[1.0; WIDTH], &mut sums);
            assert_eq!(sums, vec![[49.0; WIDTH]; rows]);
            std::thread::spawn(move || check(products, rows, 64, false))
                .join()
                .expect("another thread has a unit of its own");
        }
    }
}
