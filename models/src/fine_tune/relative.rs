//! DeBERTa's relative positions: distances, in buckets that grow with the logarithm.
//!
//! # Definition
//! The distance of token i to token j is i − j. With b buckets and m = b / 2, distances below m stand for themselves;
//! a greater one d has the number ⌈ln(d / m) / ln((M − 1) / m) · (m − 1)⌉ + m, with the sign of i − j, where M is the
//! greatest distance. Without buckets all stand for themselves. Entry s + n of the table belongs to number n, where s is
//! b or, without buckets, M; numbers outside it are moved to its ends.

/// How distances become rows of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Distances {
    /// b, if there are buckets.
    pub(super) buckets: Option<usize>,
    /// M.
    pub(super) greatest: usize,
}

/// The rows of the table that texts of one length use.
pub(super) struct Window {
    /// The first of them.
    pub(super) first: usize,
    pub(super) count: usize,
    /// For tokens i and j the row below `first`, `[longest × longest]`.
    pub(super) rows: Vec<u32>,
}

impl Distances {
    /// s: half of the rows of the table.
    pub(super) fn span(&self) -> usize {
        self.buckets.unwrap_or(self.greatest)
    }

    /// The number of a distance.
    pub(super) fn number(&self, distance: i64) -> i64 {
        let Some(buckets) = self.buckets else {
            return distance;
        };
        let m = buckets as i64 / 2;
        if distance.abs() <= m {
            return distance;
        }
        // In single precision, as transformers has it: its roundings decide at the borders of buckets.
        let far = (distance.unsigned_abs() as f32 / m as f32).ln();
        let farthest = ((self.greatest as f64 - 1.0) / m as f64) as f32;
        let step = (far / farthest.ln() * (m - 1) as f32).ceil();
        distance.signum() * (step as i64 + m)
    }

    /// The rows for texts of `longest` tokens.
    pub(super) fn window(&self, longest: usize) -> Window {
        let span = self.span() as i64;
        let (i, end) = (longest as i64, self.number(longest as i64 - 1));
        let (low, high) = ((-end).max(-span), end.min(span - 1));
        let rows = (0..i).flat_map(|i| (0..longest as i64).map(move |j| i - j));
        let rows = rows.map(|distance| (self.number(distance).clamp(low, high) - low) as u32);
        Window {
            first: (span + low) as usize,
            count: (high - low + 1) as usize,
            rows: rows.collect(),
        }
    }
}
