//! Rotary position embedding, in place.

/// Cosines and sines by position: angle(p, i) = p · frequency(i), `[positions × width/2]` each.
pub(crate) struct Rotary {
    cosines: Vec<f32>,
    sines: Vec<f32>,
    half: usize,
}

impl Rotary {
    /// A table for `positions` positions and these frequencies, half as many as a head is wide.
    pub(crate) fn new(frequencies: &[f32], positions: usize) -> Self {
        let angles = (0..positions).flat_map(|p| {
            frequencies
                .iter()
                .map(move |frequency| p as f32 * frequency)
        });
        let (cosines, sines) = angles.map(|angle| (angle.cos(), angle.sin())).unzip();
        Self {
            cosines,
            sines,
            half: frequencies.len(),
        }
    }

    /// Turns each head's pairs (i, i + width/2) of every row `[rows × heads·width]` by the angles of the
    /// row's position (Su et al. 2021, in the split-half layout of GPT-NeoX).
    pub(crate) fn apply(&self, values: &mut [f32], positions: &[usize]) {
        if positions.is_empty() {
            return;
        }
        let row = values.len() / positions.len();
        for (row, position) in values.chunks_exact_mut(row).zip(positions) {
            let cosines = &self.cosines[position * self.half..][..self.half];
            let sines = &self.sines[position * self.half..][..self.half];
            for head in row.chunks_exact_mut(2 * self.half) {
                let (low, high) = head.split_at_mut(self.half);
                for (((a, b), cos), sin) in low.iter_mut().zip(high).zip(cosines).zip(sines) {
                    (*a, *b) = (*a * cos - *b * sin, *b * cos + *a * sin);
                }
            }
        }
    }

    /// Cosines and sines of `positions`, `[positions × width/2]` each.
    pub(crate) fn rows(&self, positions: &[usize]) -> (Vec<f32>, Vec<f32>) {
        let of = |table: &[f32]| {
            positions
                .iter()
                .flat_map(|p| &table[p * self.half..][..self.half])
                .copied()
                .collect()
        };
        (of(&self.cosines), of(&self.sines))
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
}
