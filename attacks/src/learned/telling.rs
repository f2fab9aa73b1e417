//! A list of telling signs, so that a rare leak is not drowned out by the sum of many weak ones.
//!
//! # Definition
//! A sign is a number of the sheet, a direction and a threshold: it points at the candidate with the highest (or
//! lowest) number, if the gap to the next exceeds the threshold: 0, or the 50th, 90th or 99th percentile of the gaps
//! between the first and the second. Of n examples in which it points, it points at the secret in h; its worth is
//! ln((k − 1) p / (1 − p)) with p Wilson's lower limit of h in n: at 3 standard deviations, since there are some
//! thousand such signs, but at 2 if the sign is evidence on its own ("the release is the candidate").
//!
//! The list begins with the sign of greatest worth, continues with the sign of greatest worth on the examples in which
//! no earlier sign points, and ends when no sign is worth 1, or after ten. A candidate's value is the worth of the
//! first sign that points anywhere, if it points at this candidate, otherwise 0. So a sign that is present whenever a
//! better one is counts only for what it adds: "both end with the same word" is not believed just because copies do.
//!
//! # Source
//! Decision lists: Rivest (1987). The limit: Wilson (1927). The signs are our own.

use rayon::prelude::*;

use super::folds::{Without, fold};
use super::sheet::{Name, Sheet};

/// Percentiles of the gaps that are used as thresholds, besides 0.
const PERCENTILES: [usize; 3] = [50, 90, 99];
/// Standard deviations by which an observed share is lowered …
const CAUTION: f64 = 3.0;
/// … and the same for a sign that is evidence on its own.
const EASE: f64 = 2.0;
/// The least worth that counts: weaker signs are better added up than used alone.
const LEAST: f64 = 1.0;
/// Most signs in a list.
const MOST: usize = 10;

/// The lists found on examples.
pub(super) struct Telling {
    k: usize,
    /// Indexed by set of folds left out.
    lists: Vec<Vec<Rule>>,
}

/// A sign with its worth.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rule {
    column: usize,
    /// 1 for highest, −1 for lowest.
    direction: f32,
    threshold: f32,
    worth: f32,
}

/// A number in one direction, and where it points in each example.
struct Pointer {
    column: usize,
    direction: f32,
    caution: f64,
    /// In ascending order.
    thresholds: Vec<f32>,
    /// By example: how many thresholds it exceeds, and whether it points at the secret.
    points: Vec<(u8, bool)>,
}

/// Which candidate has the highest number, and by how much; by 0 if several share it.
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
    /// Finds signs in examples: the numbers of their candidates, `[k × width]`, and the index of the secret.
    pub(super) fn of(names: &[Name], examples: &[Vec<f32>], secrets: &[usize], k: usize) -> Self {
        let both: Vec<(usize, f32)> = (0..names.len())
            .flat_map(|column| [(column, 1.0), (column, -1.0)])
            .collect();
        let pointers: Vec<Pointer> = both
            .into_par_iter()
            .filter_map(|(column, direction)| {
                let plain = names[column].plain && direction > 0.0;
                let caution = if plain { EASE } else { CAUTION };
                Pointer::of((column, direction), caution, examples, secrets, k)
            })
            .collect();
        let mut lists = vec![Vec::new(); Without::ALL];
        let used: Vec<Without> = Without::used().collect();
        let found: Vec<Vec<Rule>> = used
            .par_iter()
            .map(|without| list(&pointers, examples.len(), *without, k))
            .collect();
        for (without, list) in used.into_iter().zip(found) {
            lists[without.place()] = list;
        }
        Self { k, lists }
    }

    /// What the number says, with the first sign over all examples; `names` are those of the numbers it was found in.
    pub(super) fn name(&self, names: &[Name]) -> Name {
        let mut own = name();
        if let Some(first) = self.lists[Without::NOTHING.place()].first() {
            let least = if first.direction > 0.0 {
                ""
            } else {
                ", the least of"
            };
            own.words += &format!(" (first of them{least}: {})", names[first.column].words);
        }
        own
    }

    /// The value of each candidate, from the examples outside some folds.
    pub(super) fn values(&self, choices: &[f32], without: Without) -> Vec<f32> {
        let mut values = vec![0.0; self.k];
        for rule in &self.lists[without.place()] {
            let (place, gap) = pointed(choices, self.k, rule.column, rule.direction);
            if gap > rule.threshold {
                values[place] = rule.worth;
                break;
            }
        }
        values
    }
}

impl Pointer {
    /// `None` if the number never points.
    fn of(
        (column, direction): (usize, f32),
        caution: f64,
        examples: &[Vec<f32>],
        secrets: &[usize],
        k: usize,
    ) -> Option<Self> {
        let points: Vec<(usize, f32)> = examples
            .iter()
            .map(|choices| pointed(choices, k, column, direction))
            .collect();
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
        let above = |gap: f32| thresholds.partition_point(|threshold| gap > *threshold);
        let points = points
            .into_iter()
            .zip(secrets)
            .map(|((place, gap), secret)| (above(gap) as u8, place == *secret))
            .collect();
        Some(Self {
            column,
            direction,
            caution,
            thresholds,
            points,
        })
    }

    /// In how many of some examples it points beyond each number of thresholds, and in how many of these at the
    /// secret.
    fn counts(&self, examples: &[usize]) -> [Count; PERCENTILES.len() + 2] {
        let mut counts = [Count::default(); PERCENTILES.len() + 2];
        for example in examples {
            let (above, right) = self.points[*example];
            counts[usize::from(above)].pointed += 1;
            counts[usize::from(above)].right += u32::from(right);
        }
        for above in (1..self.thresholds.len()).rev() {
            let higher = counts[above + 1];
            counts[above].pointed += higher.pointed;
            counts[above].right += higher.right;
        }
        counts
    }
}

/// Examples in which a sign points, and how many of them it points at the secret in.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Count {
    pointed: u32,
    right: u32,
}

/// A pointer beyond a number of its thresholds, with its worth in the remaining examples.
struct Candidate<'a> {
    pointer: &'a Pointer,
    above: usize,
    worth: f64,
}

/// The sign with the greatest worth in some examples, the first among ties.
fn best<'a>(pointers: &'a [Pointer], examples: &[usize], k: usize) -> Option<Candidate<'a>> {
    let mut best: Option<Candidate<'a>> = None;
    for pointer in pointers {
        let counts = pointer.counts(examples);
        let reachable = counts.iter().enumerate().take(pointer.thresholds.len() + 1);
        for (above, count) in reachable.skip(1) {
            let worth = worth(*count, k, pointer.caution);
            if best.as_ref().is_none_or(|best| worth > best.worth) {
                best = Some(Candidate {
                    pointer,
                    above,
                    worth,
                });
            }
        }
    }
    best
}

/// The list from the examples outside some folds.
fn list(pointers: &[Pointer], examples: usize, without: Without, k: usize) -> Vec<Rule> {
    let mut left: Vec<usize> = (0..examples)
        .filter(|example| !without.has(fold(*example)))
        .collect();
    let mut rules = Vec::new();
    while rules.len() < MOST
        && let Some(best) = best(pointers, &left, k)
        && best.worth >= LEAST
    {
        rules.push(Rule {
            column: best.pointer.column,
            direction: best.pointer.direction,
            threshold: best.pointer.thresholds[best.above - 1],
            worth: best.worth as f32,
        });
        left.retain(|e| usize::from(best.pointer.points[*e].0) < best.above);
    }
    rules
}

/// What the number says.
pub(super) fn name() -> Name {
    let mut sheet = Sheet::named();
    sheet.put("a telling sign points at the candidate{}", "", 0.0);
    sheet.names().remove(0)
}

/// ln of the odds that a sign points at the secret, relative to chance; cautious. −∞ if it never pointed.
fn worth(count: Count, k: usize, caution: f64) -> f64 {
    let Count { pointed, right } = count;
    if pointed == 0 {
        return f64::NEG_INFINITY;
    }
    let (n, z) = (f64::from(pointed), caution * caution);
    let share = f64::from(right) / n;
    let middle = share + z / (2.0 * n);
    let spread = caution * (share * (1.0 - share) / n + z / (4.0 * n * n)).sqrt();
    let low = (middle - spread) / (1.0 + z / n);
    ((k as f64 - 1.0) * low / (1.0 - low)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_is_worth_what_it_showed_and_no_more() {
        let of = |right, pointed, k| worth(Count { pointed, right }, k, CAUTION);
        assert_eq!(of(0, 0, 2), f64::NEG_INFINITY);
        assert!(of(5, 10, 2) < LEAST && of(3, 3, 2) < LEAST);
        assert!((of(1_000, 1_000, 2) - (1_000.0_f64 / 9.0).ln()).abs() < 1e-6);
        assert!(of(900, 1_000, 16) > of(900, 1_000, 2));
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
        // Everything that was seen of it is in the first fold.
        let none = telling.values(&[1.0, 0.0], Without::NOTHING.and(0));
        assert_eq!(none, [0.0, 0.0]);
        assert_eq!(telling.values(&[1.0, 1.0], Without::NOTHING), [0.0, 0.0]);
    }

    /// Copies have both signs; in ten others only the second is present, and points at the secret in eight.
    #[test]
    fn a_sign_that_is_there_with_a_better_one_lives_by_what_it_adds() {
        let evidence = Name {
            plain: true,
            ..name()
        };
        let names = [evidence.clone(), evidence];
        let examples: Vec<Vec<f32>> = (0..500)
            .map(|i| match i {
                0..40 => vec![1.0, 1.0, 0.0, 0.0],
                40..48 => vec![0.0, 1.0, 0.0, 0.0],
                48..50 => vec![0.0, 0.0, 0.0, 1.0],
                _ => vec![0.0; 4],
            })
            .collect();
        let telling = Telling::of(&names, &examples, &[0; 500], 2);
        let copied = telling.values(&[1.0, 1.0, 0.0, 0.0], Without::NOTHING);
        assert!(copied[0] > 2.0 && copied[1] == 0.0, "{copied:?}");
        let alone = telling.values(&[0.0, 1.0, 0.0, 0.0], Without::NOTHING);
        assert_eq!(alone, [0.0, 0.0]);
    }
}
