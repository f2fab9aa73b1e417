//! Rotary position embedding, in place.

use std::sync::OnceLock;

/// Positions computed at once.
const RUN: usize = 1024;

/// Cosines and sines by position: angle(p, i) = p · frequency(i), `[positions × width/2]` each. They are computed when
/// a row first reaches them: few texts reach the last of a million positions.
pub(crate) struct Rotary {
    frequencies: Vec<f32>,
    /// `RUN` positions each.
    runs: Vec<OnceLock<Run>>,
}

struct Run {
    cosines: Vec<f32>,
    sines: Vec<f32>,
}

impl Rotary {
    /// A table for `positions` positions and these frequencies, half as many as a head is wide.
    pub(crate) fn new(frequencies: &[f32], positions: usize) -> Self {
        let runs = std::iter::repeat_with(OnceLock::new);
        Self {
            frequencies: frequencies.to_vec(),
            runs: runs.take(positions.div_ceil(RUN)).collect(),
        }
    }

    /// Cosines and sines of one position.
    fn row(&self, position: usize) -> (&[f32], &[f32]) {
        let half = self.frequencies.len();
        let run = self.runs[position / RUN].get_or_init(|| {
            let first = position / RUN * RUN;
            let angles = (first..first + RUN).flat_map(|p| {
                let frequencies = self.frequencies.iter();
                frequencies.map(move |frequency| p as f32 * frequency)
            });
            let (cosines, sines) = angles.map(|angle| (angle.cos(), angle.sin())).unzip();
            Run { cosines, sines }
        });
        let place = position % RUN * half;
        (&run.cosines[place..][..half], &run.sines[place..][..half])
    }

    /// Rotates each head's pairs (i, i + width/2) in every row `[rows × heads·width]` by the angles of the row's
    /// position (Su et al. 2021, in the split-half layout of GPT-NeoX).
    pub(crate) fn apply(&self, values: &mut [f32], positions: &[usize]) {
        if positions.is_empty() {
            return;
        }
        let row = values.len() / positions.len();
        for (row, position) in values.chunks_exact_mut(row).zip(positions) {
            let (cosines, sines) = self.row(*position);
            for head in row.chunks_exact_mut(2 * cosines.len()) {
                let (low, high) = head.split_at_mut(cosines.len());
                for (((a, b), cos), sin) in low.iter_mut().zip(high).zip(cosines).zip(sines) {
                    (*a, *b) = (*a * cos - *b * sin, *b * cos + *a * sin);
                }
            }
        }
    }

    /// Cosines and sines of `positions`, `[positions × width/2]` each.
    pub(crate) fn rows(&self, positions: &[usize]) -> (Vec<f32>, Vec<f32>) {
        let (mut cosines, mut sines) = (Vec::new(), Vec::new());
        for position in positions {
            let (of_cosine, of_sine) = self.row(*position);
            cosines.extend_from_slice(of_cosine);
            sines.extend_from_slice(of_sine);
        }
        (cosines, sines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_turn_by_position_times_frequency() {
        let rotary = Rotary::new(&[1.0, 0.5], 4);
        let mut values = [1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0];
        rotary.apply(&mut values, &[3, 0]);
        let (c, s) = (3.0_f32.cos(), 3.0_f32.sin());
        let (c2, s2) = (1.5_f32.cos(), 1.5_f32.sin());
        assert_eq!(values[..4], [c, 2.0 * c2, s, 2.0 * s2]);
        assert_eq!(values[4..], [0.0, 0.0, 1.0, 2.0]);
    }

    #[test]
    fn every_run_of_positions_has_the_same_definition() {
        let rotary = Rotary::new(&[1.0, 0.5], 1 << 26);
        for position in [0, 1, RUN - 1, RUN, 5 * RUN + 7, (1 << 26) - 1] {
            let angle = position as f32;
            let (cosines, sines) = rotary.rows(&[position]);
            assert_eq!(cosines, [angle.cos(), (angle * 0.5).cos()]);
            assert_eq!(sines, [angle.sin(), (angle * 0.5).sin()]);
        }
    }
}
