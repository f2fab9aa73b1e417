//! Maps values to pixels, and chooses the ticks.

use super::canvas::Point;
use super::font;
use super::style::SMALL;

/// A nominal axis whose grid spans at least this factor is logarithmic.
const LOG_FROM: f64 = 20.0;
/// With more grid values than this, they are not used as ticks.
const MANY: usize = 12;
/// Minimum space between two tick labels.
const GAP: f64 = 10.0;
/// Width of the strip reserved for the value 0 on a logarithmic axis.
const ZERO_STRIP: f64 = 60.0;
/// Length of the straight pieces of a curved line.
const PIECE: f64 = 8.0;

/// A mapping of values to pixels along one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Whether the mapping is logarithmic; then it holds for positive values, and 0 is drawn separately.
    pub log: bool,
    /// Values at both ends, 0 < `from` if logarithmic.
    from: f64,
    to: f64,
    /// Pixels at both ends.
    start: f64,
    end: f64,
    /// Position of 0 on a logarithmic axis, if any value is 0.
    pub zero: Option<f64>,
}

/// A tick; its label is missing if there is no room for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Its position, in pixels.
    pub at: f64,
    /// Its text.
    pub label: Option<String>,
}

impl Axis {
    /// A linear axis.
    pub fn linear((from, to): (f64, f64), (start, end): (f64, f64)) -> Self {
        Self {
            log: false,
            from,
            to,
            start,
            end,
            zero: None,
        }
    }

    /// The axis for these nominal ε (finite, not negative, in any order), from left to right.
    pub fn nominal(values: &[f64], (start, end): (f64, f64)) -> Self {
        let positive = || values.iter().copied().filter(|&v| v > 0.0);
        let least = positive().fold(f64::INFINITY, f64::min);
        let greatest = positive().fold(0.0, f64::max);
        if greatest == 0.0 {
            return Self::linear((0.0, 1.0), (start, end));
        }
        if greatest / least < LOG_FROM {
            // A single value is in the middle; with several, some space is left at the right.
            let to = if least == greatest { 2.0 } else { 1.06 } * greatest;
            return Self::linear((0.0, to), (start, end));
        }
        let has_zero = positive().count() < values.len();
        let pad = (greatest / least).powf(0.05);
        Self {
            log: true,
            from: least / pad,
            to: greatest * pad,
            start: if has_zero { start + ZERO_STRIP } else { start },
            end,
            zero: has_zero.then_some(start + ZERO_STRIP / 2.0),
        }
    }

    /// The pixel of `value`.
    pub fn at(&self, value: f64) -> f64 {
        let share = match self.zero {
            Some(zero) if value == 0.0 => return zero,
            _ if self.log => (value / self.from).ln() / (self.to / self.from).ln(),
            _ => (value - self.from) / (self.to - self.from),
        };
        self.start + share * (self.end - self.start)
    }

    /// The value at a pixel: the inverse of [`Axis::at`].
    pub fn value(&self, pixel: f64) -> f64 {
        let share = (pixel - self.start) / (self.end - self.start);
        if self.log {
            self.from * (self.to / self.from).powf(share)
        } else {
            self.from + share * (self.to - self.from)
        }
    }

    /// The line through `points` (pixels, from left to right) that is straight in the values of this axis: on a
    /// logarithmic axis it is curved. So if one of two lines is above the other in the values, it is above it in the
    /// picture, too, even between the points. A line to or from a separate 0 is straight.
    pub fn joined(&self, points: &[Point]) -> Vec<Point> {
        let Some(&first) = points.first() else {
            return Vec::new();
        };
        let mut line = vec![first];
        for pair in points.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            if self.log && self.zero != Some(a.0) {
                let (from, to) = (self.value(a.0), self.value(b.0));
                let pieces = ((b.0 - a.0) / PIECE).ceil();
                line.extend((1..pieces as u32).map(|i| {
                    let x = a.0 + (b.0 - a.0) * f64::from(i) / pieces;
                    let share = (self.value(x) - from) / (to - from);
                    (x, a.1 + (b.1 - a.1) * share)
                }));
            }
            line.push(b);
        }
        line
    }

    /// The values at both ends, without a separate 0.
    pub fn range(&self) -> (f64, f64) {
        (self.from, self.to)
    }

    /// Ticks at the values of a nominal grid if their labels have room, otherwise at round values.
    pub fn grid_ticks(&self, grid: &[f64]) -> Vec<Tick> {
        let mut values = grid.to_vec();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let ticks = self.labelled(&values);
        let shown = ticks.iter().filter(|tick| tick.label.is_some()).count();
        let enough = values.len() > 1 && values.len() <= MANY && 3 * shown >= 2 * values.len();
        if enough { ticks } else { self.round_ticks() }
    }

    /// Ticks at round values.
    pub fn round_ticks(&self) -> Vec<Tick> {
        let mut values = if self.log {
            powers(self.from, self.to)
        } else {
            let room = (self.end - self.start).abs() / 58.0;
            multiples(self.from, self.to, room.clamp(2.0, 10.0))
        };
        if self.zero.is_some() {
            values.insert(0, 0.0);
        }
        self.labelled(&values)
    }

    /// Ticks at round values of ε, each with the success rate that it stands for among `k` candidates, e^ε / (e^ε + k − 1):
    /// no adversary is right more often under ε-differential privacy.
    pub fn success_ticks(&self, k: u32) -> Vec<Tick> {
        let with_rate = |tick: Tick| {
            let rate = 1.0 / (1.0 + f64::from(k - 1) * (-self.value(tick.at)).exp());
            let label = tick
                .label
                .map(|label| format!("{label} · {}", percent(rate)));
            Tick { label, ..tick }
        };
        self.round_ticks().into_iter().map(with_rate).collect()
    }

    /// Ticks at ascending `values`, leaving out labels that would touch the previous one.
    fn labelled(&self, values: &[f64]) -> Vec<Tick> {
        let mut free = f64::NEG_INFINITY;
        let vertical = self.end < self.start;
        values
            .iter()
            .map(|&value| {
                let (at, text) = (self.at(value), number(value));
                let half = font::width(&text, SMALL) / 2.0;
                let fits = vertical || at - half >= free;
                if fits {
                    free = at + half + GAP;
                }
                Tick {
                    at,
                    label: fits.then_some(text),
                }
            })
            .collect()
    }
}

/// A rate in per cent, with as many digits as tell it from 100 %.
fn percent(rate: f64) -> String {
    let left = 100.0 * (1.0 - rate);
    let digits = match left {
        left if left >= 1.0 => 0,
        left => (-left.log10()).ceil().clamp(1.0, 6.0) as usize,
    };
    format!("{:.digits$} %", 100.0 - left)
}

/// Multiples of a round step within a range, about `most` at most.
fn multiples(from: f64, to: f64, most: f64) -> Vec<f64> {
    let least = (to - from) / most;
    let power = 10_f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|m| m * power)
        .into_iter()
        .find(|&s| s >= least * 0.999);
    let step = step.unwrap_or(10.0 * power);
    let (first, last) = (
        (from / step).ceil() as i64,
        (to / step + 1e-9).floor() as i64,
    );
    (first..=last).map(|i| i as f64 * step).collect()
}

/// Powers of ten within a range, including 2 and 5 times them over few decades, and fewer over many.
fn powers(from: f64, to: f64) -> Vec<f64> {
    let (low, high) = (from.log10().floor() as i32, to.log10().ceil() as i32);
    let decades = (to / from).log10();
    let digits: &[f64] = if decades <= 3.5 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    let every = 1 + (decades / 10.0) as i32;
    (low..=high)
        .filter(|power| power.rem_euclid(every) == 0)
        .flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)))
        .filter(|&value| (from..=to).contains(&value))
        .collect()
}

/// A number with at most four significant digits, as short as possible.
pub fn number(value: f64) -> String {
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    match rounded.abs() {
        0.0 => "0".to_owned(),
        size if (1e-3..1e6).contains(&size) => rounded.to_string(),
        _ => format!("{rounded:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks
            .iter()
            .filter_map(|tick| tick.label.as_deref())
            .collect()
    }

    fn nominal(values: &[f64]) -> Axis {
        font::register().unwrap();
        Axis::nominal(values, (100.0, 900.0))
    }

    #[test]
    fn a_wide_grid_is_logarithmic_and_has_its_values_as_ticks() {
        let narrow = nominal(&[0.5, 1.0, 2.0, 4.0, 8.0]);
        assert!(!narrow.log);
        let grid = [0.1, 1.0, 10.0, 100.0, 2500.0];
        let wide = nominal(&grid);
        assert!(wide.log && nominal(&[1.0, 20.0]).log && !nominal(&[1.0, 19.9]).log);
        assert_eq!(
            labels(&wide.grid_ticks(&grid)),
            ["0.1", "1", "10", "100", "2500"]
        );
        assert!((wide.at(10.0) - wide.at(1.0) - (wide.at(1.0) - wide.at(0.1))).abs() < 1e-9);
    }

    #[test]
    fn all_values_lie_within_the_pixels_and_invert() {
        for grid in [
            &[1.0][..],
            &[2500.0],
            &[0.0],
            &[0.0, 0.5, 3.0],
            &[0.01, 2500.0],
            &[0.0, 1.0, 50.0],
        ] {
            let axis = nominal(grid);
            for &value in grid {
                let at = axis.at(value);
                assert!((100.0..=900.0).contains(&at), "{grid:?}");
                if axis.zero != Some(at) {
                    assert!((axis.value(at) - value).abs() <= 1e-9 * value.max(1.0));
                }
            }
        }
    }

    #[test]
    fn lines_are_straight_in_values() {
        let axis = nominal(&[0.0, 1.0, 100.0]);
        let through = |values: [f64; 3]| {
            axis.joined(&values.map(|value| (axis.at(value), 500.0 - 2.0 * value)))
        };
        let line = through([0.0, 1.0, 100.0]);
        assert!(line.len() > 80 && line[..2] == [(130.0, 500.0), (axis.at(1.0), 498.0)]);
        for (x, y) in &line[1..] {
            assert!((500.0 - 2.0 * axis.value(*x) - y).abs() < 1e-9, "{x} {y}");
        }
        let straight = nominal(&[1.0, 2.0]);
        let points = [(100.0, 1.0), (300.0, 7.0)];
        assert_eq!(straight.joined(&points), points);
        assert!(straight.joined(&[]).is_empty());
    }

    #[test]
    fn zero_stands_apart_on_a_logarithmic_axis() {
        let grid = [0.0, 1.0, 50.0];
        let axis = nominal(&grid);
        assert!(axis.log && axis.at(0.0) < axis.at(axis.range().0));
        assert_eq!(labels(&axis.grid_ticks(&grid)), ["0", "1", "50"]);
    }

    #[test]
    fn crowded_grids_get_round_ticks_that_do_not_touch() {
        let close: Vec<f64> = (0..40).map(|i| 1.0 + f64::from(i) * 0.1).collect();
        assert_eq!(
            labels(&nominal(&close).grid_ticks(&close)),
            ["0", "1", "2", "3", "4", "5"]
        );
        let many: Vec<f64> = (0..40).map(|i| 1.3_f64.powi(i)).collect();
        for (axis, grid) in [(nominal(&close), close), (nominal(&many), many)] {
            let ticks = axis.grid_ticks(&grid);
            let shown: Vec<&Tick> = ticks.iter().filter(|tick| tick.label.is_some()).collect();
            assert!(shown.len() > 3);
            for pair in shown.windows(2) {
                let half = |tick: &Tick| font::width(tick.label.as_ref().unwrap(), SMALL) / 2.0;
                assert!(pair[1].at - pair[0].at > half(pair[0]) + half(pair[1]));
            }
        }
    }

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (0.30000000000000004, "0.3"),
            (7.5427, "7.543"),
            (2500.0, "2500"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(
            (number(1e7), number(1.5e-5)),
            ("1e7".to_owned(), "1.5e-5".to_owned())
        );
    }
}
