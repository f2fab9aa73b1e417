//! Markers that would cover each other, moved apart.

use super::curve::{Curve, Level, Place};

/// Markers closer than this cover each other.
pub const CLOSE: f64 = 8.0;

/// From the right edge of the plot to the marker of a level, and between two at one height.
pub const LEVEL_INDENT: f64 = 16.0;

/// Moves markers sideways that would cover each other, about where they belong and no further than
/// half way to the next grid value.
pub fn move_apart(curves: &mut [Curve], (left_edge, right_edge): (f64, f64)) {
    let mut grid: Vec<f64> = curves
        .iter()
        .flat_map(|(_, places)| places)
        .map(|p| p.x)
        .collect();
    grid.sort_by(f64::total_cmp);
    grid.dedup_by(|a, b| (*a - *b).abs() < CLOSE);
    for (i, &x) in grid.iter().enumerate() {
        let left = i
            .checked_sub(1)
            .map_or(2.0 * (x - left_edge), |before| x - grid[before]);
        let right = grid
            .get(i + 1)
            .map_or(2.0 * (right_edge - x), |after| after - x);
        // One stack of markers after the other, from the highest to the lowest.
        let mut here: Vec<&mut Place> = curves
            .iter_mut()
            .flat_map(|(_, places)| places)
            .filter(|place| (place.x - x).abs() < CLOSE)
            .collect();
        let heights: Vec<f64> = here.iter().map(|place| place.lower).collect();
        let mut order: Vec<usize> = (0..here.len()).collect();
        order.sort_by(|&a, &b| heights[a].total_cmp(&heights[b]));
        for stack in order.chunk_by_mut(|&a, &b| heights[b] - heights[a] < CLOSE) {
            if stack.len() == 1 {
                continue;
            }
            // Within a stack the series keep their order, so that curves seldom cross.
            stack.sort_unstable();
            let count = stack.len() as f64;
            let step = (left.min(right) * 0.85 / count).min(2.0 * CLOSE);
            for (rank, &index) in stack.iter().enumerate() {
                here[index].x += (rank as f64 - (count - 1.0) / 2.0) * step;
            }
        }
    }
}

/// Moves the markers of levels to the left that others at the same height would cover.
pub fn move_levels_apart(levels: &mut [Level]) {
    for i in 1..levels.len() {
        let (before, rest) = levels.split_at_mut(i);
        let place = &mut rest[0].1;
        let covering = before
            .iter()
            .filter(|(_, b)| (b.lower - place.lower).abs() < 2.0 * CLOSE);
        place.x -= covering.count() as f64 * LEVEL_INDENT;
    }
}
