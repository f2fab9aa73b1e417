//! Labels at the right edge, moved apart if they would overlap.

use super::canvas::{Anchor, Canvas};
use super::font;
use super::style::{REFERENCE, SMALL, SMALL_LINE};
use plotters::style::RGBColor;
use teda_core::Result;

/// From the plot's edge to a label; the leader is drawn in it.
const INDENT: f64 = 16.0;
/// Most lines in one label.
const LINES: usize = 2;

/// A label at the height of the item it names.
#[derive(Debug, Clone)]
pub struct Label {
    lines: Vec<String>,
    colour: RGBColor,
    y: f64,
}

impl Label {
    /// A label of at most `limit` pixels for an item at height `y`.
    pub fn new(text: &str, colour: RGBColor, y: f64, limit: f64) -> Self {
        Self {
            lines: font::wrap(text, SMALL, limit - INDENT, LINES),
            colour,
            y,
        }
    }

    fn height(&self) -> f64 {
        self.lines.len() as f64 * SMALL_LINE
    }
}

/// The width that the labels take beside the plot.
pub fn width(labels: &[Label]) -> f64 {
    let lines = labels.iter().flat_map(|label| &label.lines);
    lines
        .map(|line| font::width(line, SMALL) + INDENT)
        .fold(0.0, f64::max)
}

/// The height that the labels need.
pub fn height(labels: &[Label]) -> f64 {
    labels.iter().map(Label::height).sum()
}

/// Draws the labels to the right of `x`, between `top` and `bottom`, each connected to its height.
pub fn draw(
    canvas: &mut dyn Canvas,
    labels: &mut [Label],
    x: f64,
    (top, bottom): (f64, f64),
) -> Result<()> {
    labels.sort_by(|a, b| a.y.total_cmp(&b.y));
    for (label, start) in labels.iter().zip(spread(labels, top, bottom)) {
        let middle = start + label.height() / 2.0;
        let leader = [(x + 2.0, label.y), (x + INDENT - 4.0, middle)];
        canvas.line(&leader, REFERENCE, 1.0)?;
        for (i, line) in label.lines.iter().enumerate() {
            // Text looks centred when its baseline is about a third of its size below the middle.
            let baseline = start + (i as f64 + 0.5) * SMALL_LINE + 0.36 * SMALL;
            let at = (x + INDENT, baseline);
            canvas.text(line, at, SMALL, label.colour, Anchor::Start)?;
        }
    }
    Ok(())
}

/// The upper edges of labels in ascending order, moved as little as possible (in squares) so that none overlap:
/// isotonic regression by pooling adjacent violators.
fn spread(labels: &[Label], top: f64, bottom: f64) -> Vec<f64> {
    // Each pool: the sum of its wishes and their number. A wish is where the first label's edge would have to be for
    // this label to be where it wants, with all labels between them stacked closely.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    let mut above = 0.0;
    let mut offsets = Vec::new();
    for label in labels {
        offsets.push(above);
        let mut pool = (label.y - label.height() / 2.0 - above, 1);
        above += label.height();
        while let Some(&(sum, count)) = pools.last() {
            if sum / count as f64 <= pool.0 / pool.1 as f64 {
                break;
            }
            pools.pop();
            pool = (pool.0 + sum, pool.1 + count);
        }
        pools.push(pool);
    }
    let last = (bottom - above).max(top);
    let starts = pools.iter().flat_map(|&(sum, count)| {
        std::iter::repeat_n((sum / count as f64).clamp(top, last), count)
    });
    starts
        .zip(offsets)
        .map(|(start, offset)| start + offset)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(heights: &[f64]) -> Vec<Label> {
        font::register().unwrap();
        heights
            .iter()
            .map(|&y| Label::new("label", REFERENCE, y, 100.0))
            .collect()
    }

    #[test]
    fn free_labels_stay_and_others_move_apart_within_the_plot() {
        let starts = spread(&labels(&[100.0, 300.0]), 0.0, 500.0);
        assert_eq!(starts, [90.0, 290.0]);
        let starts = spread(&labels(&[100.0, 100.0, 102.0, 300.0]), 0.0, 500.0);
        assert!(
            starts
                .windows(2)
                .all(|pair| pair[1] - pair[0] >= SMALL_LINE - 1e-9),
            "{starts:?}"
        );
        assert_eq!(starts[3], 290.0);
        for heights in [[0.0; 5], [500.0; 5]] {
            let starts = spread(&labels(&heights), 0.0, 500.0);
            assert!(
                starts[0] >= 0.0 && starts[4] + SMALL_LINE <= 500.0,
                "{starts:?}"
            );
        }
    }
}
