//! What is what: the block of entries below the plot.

use super::canvas::{Anchor, Canvas, Point, dashed};
use super::curve;
use super::font;
use super::style::{CEILING_DASH, DIAGONAL_DASH, INK, LINE, REFERENCE, SMALL, SMALL_LINE, Style};
use teda_core::Result;

/// Width of the sample before an entry's text, and the space between them.
const SAMPLE: f64 = 46.0;
const GAP: f64 = 10.0;
/// Space between columns.
const COLUMN_GAP: f64 = 26.0;
/// Space between rows, so that a wrapped entry reads as one.
const ROW_GAP: f64 = 4.0;
/// Lines of one entry.
const LINES: usize = 3;

/// What an entry shows before its text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sample {
    /// A series.
    Series(Style),
    /// The line on which empirical and nominal ε are equal.
    Diagonal,
    /// A ceiling.
    Ceiling,
    /// The ring around a violation.
    Violation,
    /// The hollow marker of a saturated point.
    Saturated,
    /// Nothing: the text stands alone.
    Note,
}

/// The entries in rows, laid out.
#[derive(Debug)]
pub struct Legend {
    rows: Vec<Vec<(Sample, Vec<String>)>>,
    column: f64,
}

impl Legend {
    /// Lays entries out in a block of `width` and at most `height` pixels. Where they need more,
    /// their texts are cut to fewer lines, and at last entries are counted instead of shown.
    pub fn new(entries: &[(Sample, String)], width: f64, height: f64) -> Self {
        let columns = columns(entries, width);
        let limit = room(width, columns);
        let laid_out = |lines: usize| Self {
            rows: entries
                .iter()
                .map(|(sample, text)| (*sample, font::wrap(text, SMALL, limit, lines)))
                .collect::<Vec<_>>()
                .chunks(columns)
                .map(<[_]>::to_vec)
                .collect(),
            column: (width + COLUMN_GAP) / columns as f64,
        };
        let mut legend = laid_out(1);
        for lines in 2..=LINES {
            let longer = laid_out(lines);
            if longer.height() <= height {
                legend = longer;
            }
        }
        if legend.height() > height {
            legend.cut(entries.len(), height);
        }
        legend
    }

    /// Drops rows until the block has at most `height`, and says at its end how many entries of
    /// `all` are not shown.
    fn cut(&mut self, all: usize, height: f64) {
        while self.height() > height && self.rows.len() > 1 {
            self.rows.pop();
        }
        let shown: usize = self.rows.iter().map(Vec::len).sum::<usize>() - 1;
        if let Some(entry) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            *entry = (Sample::Note, vec![format!("… and {} more", all - shown)]);
        }
    }

    /// The height of the block.
    pub fn height(&self) -> f64 {
        self.rows.iter().map(|row| row_height(row)).sum()
    }

    /// Draws the block with its upper left corner at `(left, top)`.
    pub fn draw(&self, canvas: &mut dyn Canvas, (left, top): Point) -> Result<()> {
        let mut y = top;
        for row in &self.rows {
            for (i, (sample, lines)) in row.iter().enumerate() {
                let x = left + i as f64 * self.column;
                draw_sample(canvas, *sample, (x, y + SMALL_LINE / 2.0))?;
                for (line, text) in lines.iter().enumerate() {
                    let baseline = y + (line as f64 + 0.5) * SMALL_LINE + 0.36 * SMALL;
                    let at = (x + SAMPLE + GAP, baseline);
                    canvas.text(text, at, SMALL, INK, Anchor::Start)?;
                }
            }
            y += row_height(row);
        }
        Ok(())
    }
}

fn row_height(row: &[(Sample, Vec<String>)]) -> f64 {
    let lines = row.iter().map(|(_, lines)| lines.len()).max().unwrap_or(0);
    lines as f64 * SMALL_LINE + ROW_GAP
}

/// Width of an entry's text.
fn room(width: f64, columns: usize) -> f64 {
    (width + COLUMN_GAP) / columns as f64 - COLUMN_GAP - SAMPLE - GAP
}

/// As many columns as hold every entry in one line, or else in two, but at least two.
fn columns(entries: &[(Sample, String)], width: f64) -> usize {
    let lines = |columns: usize| {
        let limit = room(width, columns);
        let wrapped = entries
            .iter()
            .map(|(_, text)| font::wrap(text, SMALL, limit, LINES).len());
        wrapped.max().unwrap_or(1)
    };
    let one = [4, 3, 2].into_iter().find(|&columns| lines(columns) == 1);
    one.or_else(|| [3, 2].into_iter().find(|&columns| lines(columns) == 2))
        .unwrap_or(2)
}

/// Draws a sample whose left end is at `at`.
fn draw_sample(canvas: &mut dyn Canvas, sample: Sample, at: Point) -> Result<()> {
    let line = [at, (at.0 + SAMPLE, at.1)];
    let middle = (at.0 + SAMPLE / 2.0, at.1);
    match sample {
        Sample::Series(style) => {
            curve::line(canvas, &line, &style)?;
            curve::marker(canvas, middle, &style, false)
        }
        Sample::Diagonal => dashed(canvas, &line, REFERENCE, LINE * 0.8, DIAGONAL_DASH),
        Sample::Ceiling => dashed(canvas, &line, REFERENCE, LINE * 0.8, CEILING_DASH),
        Sample::Violation => curve::ring(canvas, middle),
        Sample::Saturated => curve::marker(canvas, middle, &Style::ANY, true),
        Sample::Note => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(count: usize, text: &str) -> Vec<(Sample, String)> {
        (0..count)
            .map(|i| (Sample::Series(Style::of(i)), format!("{i} {text}")))
            .collect()
    }

    #[test]
    fn entries_take_columns_then_lines_then_are_counted() {
        font::register().unwrap();
        let rows = |legend: &Legend| -> Vec<usize> { legend.rows.iter().map(Vec::len).collect() };
        let short = Legend::new(&entries(6, "short"), 1152.0, 300.0);
        assert_eq!(rows(&short), [4, 2]);
        let long = entries(8, &"long label ".repeat(12));
        let roomy = Legend::new(&long, 1152.0, 300.0);
        assert!(roomy.height() <= 300.0 && rows(&roomy) == [2; 4]);
        let tight = Legend::new(&long, 1152.0, 100.0);
        assert!(tight.height() <= 100.0 && tight.rows.iter().flatten().all(|e| e.1.len() == 1));
        let many = Legend::new(&entries(50, "short"), 1152.0, 100.0);
        assert!(many.height() <= 100.0);
        let last = many.rows.last().and_then(|row| row.last()).unwrap();
        assert_eq!(*last, (Sample::Note, vec!["… and 35 more".to_owned()]));
        assert!(Legend::new(&[], 1152.0, 100.0).rows.is_empty());
    }
}
