//! The single most telling sign, so that a rare leak is not drowned by the sum of many weak ones.
//!
//! # Definition
//! A sign is a number of the sheet, a direction and a threshold: it points at the candidate whose number is highest (or
//! lowest) of all, where it is so by more than the threshold: 0, and the 50th, 90th and 99th percentile of what lies
//! between the first and the second. Of n examples in which it points, it points at the secret in h; its worth is
//! ln((k − 1) p / (1 − p)) with p Wilson's lower limit of h in n, or 0 where that is below 1: at 3 standard deviations, since there are
//! some thousand such signs, but at 1.5 where the sign is a piece of evidence by itself ("the release is the candidate"). A
//! candidate's value is the worth of the best sign that points at it.
//!
//! # Source
//! The limit: Wilson (1927). The rest: ours.

use rayon::prelude::*;

use super::folds::{FOLDS, Without, fold};
use super::sheet::{Name, Sheet};

/// Percentiles of the gaps that are thresholds, beside 0.
const PERCENTILES: [usize; 3] = [50, 90, 99];
/// Standard deviations by which an observed share is lowered …
const CAUTION: f64 = 3.0;
/// … and that of a sign which is a piece of evidence by itself.
const EASE: f64 = 1.5;

/// The least worth that counts: weaker signs are added up better than looked at alone.
const LEAST: f64 = 1.0;

/// What was counted of each sign.
pub(super) struct Telling {
    k: usize,
    /// By number and direction.
    signs: Vec<Signs>,
}

/// The signs of one number in one direction.
struct Signs {
    column: usize,
    /// 1 for the highest, −1 for the lowest.
    direction: f32,
    /// Ascending.
    thresholds: Vec<f32>,
    /// By set of folds left out, the worth of the best sign up to each threshold.
    worth: Vec<Vec<f32>>,
}

/// Which candidate has the highest number, and by how much; none where several have.
fn pointed(choices: &[f32], k: usize, column: usize, direction: f32) -> (usize, f32) {
    let width = choices.len() / k;
    let (mut place, mut best, mut second) = (0, f32::NEG_INFINITY, f32::NEG_INFINITY);
    for j in 0..k {
        let value = direction * choices[j * width + column];
        if value > best {
            (place, second, best) = (j, best, value);
        } else {
            second = second.max(value);
        }
    }
    (place, best - second)
}

impl Telling {
    /// Counts on examples: the numbers of their candidates, `[k × width]`, and the place of the secret.
    pub(super) fn of(names: &[Name], examples: &[Vec<f32>], secrets: &[usize], k: usize) -> Self {
        let both: Vec<(usize, f32)> = (0..names.len())
            .flat_map(|c| [(c, 1.0), (c, -1.0)])
            .collect();
        let signs = both
            .into_par_iter()
            .filter_map(|(column, direction)| {
                let points = examples
                    .iter()
                    .map(|choices| pointed(choices, k, column, direction));
                let plain = names[column].plain && direction > 0.0;
                let caution = if plain { EASE } else { CAUTION };
                Signs::of((column, direction), points, secrets, k, caution)
            })
            .collect();
        Self { k, signs }
    }

    /// The value of each candidate, by the examples without some folds.
    pub(super) fn values(&self, choices: &[f32], without: Without) -> Vec<f32> {
        let mut values = vec![0.0_f32; self.k];
        for signs in &self.signs {
            let (place, gap) = pointed(choices, self.k, signs.column, signs.direction);
            let above = signs
                .thresholds
                .partition_point(|threshold| gap > *threshold);
            if above > 0 {
                values[place] = values[place].max(signs.worth[without.place()][above - 1]);
            }
        }
        values
    }
}

impl Signs {
    /// None where the number never points.
    fn of(
        (column, direction): (usize, f32),
        points: impl Iterator<Item = (usize, f32)>,
        secrets: &[usize],
        k: usize,
        caution: f64,
    ) -> Option<Self> {
        let points: Vec<(usize, f32)> = points.collect();
        let mut gaps: Vec<f32> = points
            .iter()
            .map(|point| point.1)
            .filter(|gap| *gap > 0.0)
            .collect();
        gaps.sort_unstable_by(f32::total_cmp);
        let last = gaps.len().checked_sub(1)?;
        let mut thresholds = vec![0.0];
        thresholds.extend(PERCENTILES.map(|percent| gaps[last * percent / 100]));
        thresholds.dedup();
        // [thresholds][folds]: pointed, and at the secret.
        let mut counts = vec![([0_u32; FOLDS], [0_u32; FOLDS]); thresholds.len()];
        for (example, ((place, gap), secret)) in points.iter().zip(secrets).enumerate() {
            let above = thresholds.partition_point(|threshold| gap > threshold);
            for (pointed, right) in &mut counts[..above] {
                pointed[fold(example)] += 1;
                right[fold(example)] += u32::from(place == secret);
            }
        }
        let mut all = vec![Vec::new(); Without::ALL];
        for without in Without::used() {
            let mut best = 0.0_f32;
            let up_to = counts.iter().map(|(pointed, right)| {
                best = best.max(worth(without.sum(right), without.sum(pointed), k, caution));
                best
            });
            all[without.place()] = up_to.collect();
        }
        Some(Self {
            column,
            direction,
            thresholds,
            worth: all,
        })
    }
}

/// What the number says.
pub(super) fn name() -> Name {
    let mut sheet = Sheet::named();
    sheet.put(
        "the most telling single sign points at the candidate{}",
        "",
        0.0,
    );
    sheet.names().remove(0)
}

/// ln of the odds that a sign points at the secret, over those of chance; cautious, and at least 0.
fn worth(right: u32, pointed: u32, k: usize, caution: f64) -> f32 {
    if pointed == 0 {
        return 0.0;
    }
    let (n, z) = (f64::from(pointed), caution * caution);
    let share = f64::from(right) / n;
    let middle = share + z / (2.0 * n);
    let spread = caution * (share * (1.0 - share) / n + z / (4.0 * n * n)).sqrt();
    let low = (middle - spread) / (1.0 + z / n);
    let odds = (k as f64 - 1.0) * low / (1.0 - low);
    let worth = odds.ln();
    if worth >= LEAST { worth as f32 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_is_worth_what_it_showed_and_no_more() {
        assert_eq!(
            worth(0, 0, 2, 3.0) + worth(5, 10, 2, 3.0) + worth(3, 3, 2, 3.0),
            0.0
        );
        assert!((worth(1_000, 1_000, 2, 3.0) - (1_000.0_f32 / 9.0).ln()).abs() < 1e-3);
        assert!(worth(900, 1_000, 16, 3.0) > worth(900, 1_000, 2, 3.0));
    }

    #[test]
    fn the_highest_points_and_a_shared_one_does_not() {
        let choices = [1.0, 5.0, 3.0, 2.0, 3.0, 2.0];
        assert_eq!(pointed(&choices, 3, 1, 1.0), (0, 3.0));
        assert_eq!(pointed(&choices, 3, 0, -1.0), (0, 2.0));
        assert_eq!(pointed(&choices, 3, 0, 1.0).1, 0.0);
    }

    #[test]
    fn an_example_does_not_speak_for_itself() {
        let examples: Vec<Vec<f32>> = (0..500)
            .map(|i| {
                if i % 5 == 0 {
                    vec![1.0, 0.0]
                } else {
                    vec![0.0, 0.0]
                }
            })
            .collect();
        let telling = Telling::of(&[name()], &examples, &[0; 500], 2);
        let all = telling.values(&[1.0, 0.0], Without::NOTHING);
        assert!(all[0] > 2.0 && all[1] == 0.0, "{all:?}");
        // All that was seen of it stands in the first fold.
        let none = telling.values(&[1.0, 0.0], Without::NOTHING.and(0));
        assert_eq!(none, [0.0, 0.0]);
        assert_eq!(telling.values(&[1.0, 1.0], Without::NOTHING), [0.0, 0.0]);
    }
}
