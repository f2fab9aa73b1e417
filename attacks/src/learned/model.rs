//! A conditional logit with the scales of its numbers.

use super::logit::{Choices, dot};

/// ln P(candidate | release, candidates) from the numbers of the candidates.
pub(super) struct Model {
    k: usize,
    /// The columns of numbers that are not always equal for all candidates.
    columns: Vec<usize>,
    /// By column, its standard deviation.
    deviations: Vec<f64>,
    scales: Vec<f64>,
    /// By column, the largest difference that was seen: nothing was learned beyond it.
    limits: Vec<f32>,
    /// Weights per unit of scale.
    weights: Vec<f64>,
}

impl Model {
    /// The models of some examples under each of the penalties, which are given largest first.
    ///
    /// Columns for which `odds` gives a scale are logarithms of odds already; they use that scale. A scale of 0 leaves
    /// a column out.
    pub(super) fn path(
        k: usize,
        choices: &Choices,
        odds: &[Option<f64>],
        penalties: &[f64],
    ) -> Vec<Self> {
        let mut scales = choices.scales();
        let used = |column: &usize| scales[*column] > 1e-9 && odds[*column] != Some(0.0);
        let columns: Vec<usize> = (0..scales.len()).filter(used).collect();
        let deviations = scales.clone();
        for (scale, odds) in scales.iter_mut().zip(odds) {
            *scale = odds.unwrap_or(*scale);
        }
        let limits = choices.limits();
        let scaled = choices.scaled(&columns, &scales);
        let mut weights = vec![0.0; columns.len()];
        penalties
            .iter()
            .map(|penalty| {
                weights = scaled.fit(*penalty, &weights);
                Self {
                    k,
                    deviations: columns.iter().map(|c| deviations[*c]).collect(),
                    scales: columns.iter().map(|column| scales[*column]).collect(),
                    limits: columns.iter().map(|column| limits[*column]).collect(),
                    columns: columns.clone(),
                    weights: weights.clone(),
                }
            })
            .collect()
    }

    /// Number of candidates per trial.
    pub(super) fn candidates(&self) -> usize {
        self.k
    }

    /// ln P of each candidate from their numbers, `[k × width]`. Equal rows have equal scores.
    pub(super) fn score(&self, numbers: &[f32]) -> Vec<f64> {
        let mut one = Choices::new(self.k, numbers.len() / self.k);
        one.push(numbers, 0);
        let score = |row: &[f32]| {
            let of = |(place, column): (usize, &usize)| {
                let (limit, value) = (self.limits[place], row[*column]);
                (f64::from(value.clamp(-limit, limit)) / self.scales[place]) as f32
            };
            let values: Vec<f32> = self.columns.iter().enumerate().map(of).collect();
            dot(&values, &self.weights)
        };
        let mut scores: Vec<f64> = one.rows().map(score).collect();
        if self.k == 2 {
            // With two choices, what is kept is the first minus the second.
            let half = scores.first().copied().unwrap_or(0.0) / 2.0;
            scores = vec![half, -half];
        }
        let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|score| (score - highest).exp()).sum();
        let whole = highest + sum.ln();
        scores.into_iter().map(|score| score - whole).collect()
    }

    /// The columns with their weights per standard deviation, largest weight first.
    pub(super) fn weights(&self) -> Vec<(usize, f64)> {
        let both = self.columns.iter().enumerate().map(|(place, column)| {
            let deviations = self.deviations[place] / self.scales[place];
            (*column, self.weights[place] * deviations)
        });
        let mut all: Vec<(usize, f64)> = both.filter(|(_, weight)| *weight != 0.0).collect();
        all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        all
    }
}
