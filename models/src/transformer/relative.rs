//! Relative position biases in buckets (Raffel et al. 2020; MPNet adopts them).

/// A number added to the score of a query and a key, by head and by the bucket of their distance.
pub(crate) struct RelativeBias {
    /// `[buckets × heads]`.
    table: Vec<f32>,
    heads: usize,
    /// Whether keys after the query have separate buckets.
    both_ways: bool,
    farthest: usize,
}

impl RelativeBias {
    pub(crate) fn new(table: Vec<f32>, heads: usize, both_ways: bool, farthest: usize) -> Self {
        Self {
            table,
            heads,
            both_ways,
            farthest,
        }
    }

    /// The biases of queries at `positions` towards the keys 0 … `keys`: `[heads × queries × keys]`.
    pub(crate) fn scores(&self, positions: &[usize], keys: usize) -> Vec<f32> {
        let mut scores = Vec::with_capacity(self.heads * positions.len() * keys);
        for head in 0..self.heads {
            for position in positions {
                scores.extend(
                    (0..keys)
                        .map(|key| self.table[self.bucket(*position, key) * self.heads + head]),
                );
            }
        }
        scores
    }

    /// Exact for near keys, logarithmic up to the farthest distance, with one bucket beyond.
    fn bucket(&self, query: usize, key: usize) -> usize {
        let mut buckets = self.table.len() / self.heads;
        let mut first = 0;
        let distance = if self.both_ways {
            buckets /= 2;
            if key > query {
                first = buckets;
            }
            query.abs_diff(key)
        } else {
            query.saturating_sub(key)
        };
        let exact = buckets / 2;
        if distance < exact {
            return first + distance;
        }
        // In single precision and truncated, as the models were trained.
        let share =
            (distance as f32 / exact as f32).ln() / (self.farthest as f32 / exact as f32).ln();
        let bucket = exact.saturating_add((share * (buckets - exact) as f32) as usize);
        first + bucket.min(buckets - 1)
    }
}
