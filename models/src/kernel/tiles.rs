//! The rows of a product's left side in bfloat16, in the order in which tiles read them.

use std::iter::from_fn;
use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use teda_bf16::{Instructions, Line, STEPS, pack};

/// A run of rows that are multiplied together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tile {
    pub(crate) first: usize,
    /// Its rows; those beyond the last row of the matrix are computed and left out.
    pub(crate) height: usize,
}

/// Rows in tiles. Of each tile, the first line of each row, then the second of each, and so on: a tile reads one run of
/// memory from one address, whatever its height.
pub(crate) struct Tiles {
    /// Number of rows.
    count: usize,
    lines: Vec<Line>,
    tiles: Vec<(Tile, Range<usize>)>,
}

impl Tiles {
    /// The rows of `values` `[rows × stride]`, each number rounded to the nearest bfloat16, in tiles for `instructions`.
    pub(crate) fn of(instructions: Instructions, values: &[f32], stride: usize) -> Self {
        Arch::new().dispatch(Round {
            heights: instructions.heights(),
            values,
            stride,
        })
    }

    /// The tiles with their lines, `[lines of a row × height]`.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Tile, &[Line])> {
        let lines = |(tile, lines): &(Tile, Range<usize>)| (*tile, &self.lines[lines.clone()]);
        self.tiles.iter().map(lines)
    }

    /// A tile's rows that are the matrix's.
    pub(crate) fn rows(&self, tile: Tile) -> Range<usize> {
        tile.first..self.count.min(tile.first + tile.height)
    }
}

/// Makes tiles. A type and no closure: only its code is compiled for the processor's vectors.
struct Round<'a> {
    heights: &'a [usize],
    values: &'a [f32],
    stride: usize,
}

impl WithSimd for Round<'_> {
    type Output = Tiles;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Tiles {
        const WIDTH: usize = 2 * STEPS;
        let Self {
            heights,
            values,
            stride,
        } = self;
        let count = values.len() / stride;
        let mut lines = Vec::with_capacity((count + heights[0]) * stride.div_ceil(WIDTH));
        let mut tiles = Vec::with_capacity(count / heights[0] + 1);
        for tile in plan(heights, count) {
            let start = lines.len();
            for first in (0..stride).step_by(WIDTH) {
                for row in tile.first..tile.first + tile.height {
                    let mut line = Line::ZERO;
                    if row < count {
                        let part = &values[row * stride..][first..stride];
                        match part.first_chunk::<WIDTH>() {
                            Some(part) => pack(part, &mut line.0),
                            None => pack(part, &mut line.0[..part.len().div_ceil(2)]),
                        }
                    }
                    lines.push(line);
                }
            }
            tiles.push((tile, start..lines.len()));
        }
        Tiles {
            count,
            lines,
            tiles,
        }
    }
}

/// Tiles for `count` rows: the highest while they are full, then the lowest that holds the rest.
fn plan(heights: &[usize], count: usize) -> impl Iterator<Item = Tile> {
    let mut first = 0;
    from_fn(move || {
        let left = count - first.min(count);
        let fitting = heights.iter().rev().find(|height| **height >= left);
        let tile = Tile {
            first,
            height: *fitting.unwrap_or(&heights[0]),
        };
        first += tile.height;
        (left > 0).then_some(tile)
    })
}

#[cfg(test)]
mod tests {
    use teda_bf16::unpacked;

    use super::*;

    #[test]
    fn every_number_of_every_row_is_where_its_tile_reads_it() {
        let shapes = [(0, 5), (1, 1), (7, 32), (31, 45), (13, 64)];
        let all = Instructions::ALL.map(|instructions| shapes.map(|shape| (instructions, shape)));
        for (instructions, (count, stride)) in all.into_iter().flatten() {
            let value = |row: usize, column: usize| (row * 64 + column) as f32 / 16.0;
            let values: Vec<f32> = (0..count * stride)
                .map(|i| teda_bf16::rounded(value(i / stride, i % stride)))
                .collect();
            let tiles = Tiles::of(instructions, &values, stride);
            let mut seen = Vec::new();
            for (tile, lines) in tiles.iter() {
                for (i, line) in lines.iter().enumerate() {
                    let (row, part) = (tile.first + i % tile.height, i / tile.height);
                    for (k, x) in line.0.iter().copied().flat_map(unpacked).enumerate() {
                        let column = part * 2 * STEPS + k;
                        let within = row < count && column < stride;
                        let expected = if within {
                            values[row * stride + column]
                        } else {
                            0.0
                        };
                        assert_eq!(x, expected);
                    }
                }
                seen.extend(tiles.rows(tile));
            }
            assert_eq!(seen, Vec::from_iter(0..count));
        }
        let heights = |count| Vec::from_iter(plan(&[12, 8, 4, 1], count).map(|tile| tile.height));
        assert_eq!(heights(25), [12, 12, 1]);
        assert_eq!(heights(23), [12, 12]);
        assert_eq!(heights(18), [12, 8]);
    }
}
