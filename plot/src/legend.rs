//! The legend: the block of entries below the plot.

use super::canvas::{Anchor, Canvas, Point, dashed};
use super::curve::{self, Place};
use super::font;
use super::sign::Sign;
use super::style::{
    CEILING_DASH, CLAIM_DASH, INK, LINE, MARKER, REFERENCE, SMALL, SMALL_LINE, Style,
};
use plotters::style::RGBColor;
use teda_core::{Result, Verdict};

/// Width of the sample before an entry's text, and the space between them.
const SAMPLE: f64 = 46.0;
const GAP: f64 = 10.0;
/// Space between columns.
const COLUMN_GAP: f64 = 26.0;
/// Space between rows, so that a wrapped entry reads as one.
const ROW_GAP: f64 = 4.0;
/// Most lines in one entry.
const LINES: usize = 3;

/// The sample before an entry's text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sample {
    /// A series.
    Series(Style),
    /// A claim.
    Claim(RGBColor),
    /// A ceiling.
    Ceiling,
    /// The marker of a verdict.
    Verdict(Sign),
    /// The broken ring of failed trials.
    Failed,
    /// No sample: the text stands alone.
    Note,
}

/// The entries in rows, laid out.
#[derive(Debug)]
pub struct Legend {
    rows: Vec<Vec<(Sample, Vec<String>)>>,
    column: f64,
}

impl Legend {
    /// Lays out `series` and the explanations for all of them (`signs`) in a block of `width` and at most `height`
    /// pixels. If they need more, their texts are cut to fewer lines, and finally series are counted instead of shown;
    /// signs are always shown.
    pub fn new(
        series: &[(Sample, String)],
        signs: &[(Sample, String)],
        width: f64,
        height: f64,
    ) -> Self {
        let legend = Self::whole(&[series, signs].concat(), width, height);
        let shorter = (0..series.len()).rev().map(|shown| {
            let more = format!("… and {} more", series.len() - shown);
            let entries = [&series[..shown], &[(Sample::Note, more)], signs].concat();
            Self::whole(&entries, width, height)
        });
        let mut last = legend;
        for shorter in shorter {
            if last.height() <= height {
                break;
            }
            last = shorter;
        }
        last
    }

    /// Lays out all entries, with as many lines as fit in `height`, but at least one each.
    fn whole(entries: &[(Sample, String)], width: f64, height: f64) -> Self {
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
        legend
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

/// As many columns as hold every entry in one line, or if necessary in two lines, but at least two columns.
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
    let place = |sign, failed| Place {
        x: middle.0,
        lower: middle.1,
        upper: middle.1,
        cut: false,
        sign,
        failed,
        radius: MARKER,
    };
    let plain = Sign::of(Verdict::Consistent);
    match sample {
        Sample::Series(style) => {
            curve::line(canvas, &line, &style)?;
            curve::marker(canvas, &place(plain, false), &style)
        }
        Sample::Claim(colour) => dashed(canvas, &line, colour, LINE * 0.8, CLAIM_DASH),
        Sample::Ceiling => dashed(canvas, &line, REFERENCE, LINE * 0.8, CEILING_DASH),
        Sample::Verdict(sign) => curve::marker(canvas, &place(sign, false), &Style::ANY),
        Sample::Failed => curve::rings(canvas, &place(plain, true)),
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
        let short = Legend::new(&entries(6, "short"), &[], 1152.0, 300.0);
        assert_eq!(rows(&short), [4, 2]);
        let long = entries(8, &"long label ".repeat(12));
        let roomy = Legend::new(&long, &[], 1152.0, 300.0);
        assert!(roomy.height() <= 300.0 && rows(&roomy) == [2; 4]);
        let tight = Legend::new(&long, &[], 1152.0, 100.0);
        assert!(tight.height() <= 100.0 && tight.rows.iter().flatten().all(|e| e.1.len() == 1));
        let signs = [
            (Sample::Ceiling, "ceiling".to_owned()),
            (Sample::Failed, "failed".to_owned()),
        ];
        let many = Legend::new(&entries(50, "short"), &signs, 1152.0, 100.0);
        assert!(many.height() <= 100.0);
        let all = many.rows.concat();
        let texts: Vec<&str> = all[13..].iter().map(|(_, lines)| &*lines[0]).collect();
        assert_eq!(texts, ["… and 37 more", "ceiling", "failed"]);
        // Signs are shown even if there is no room.
        let none = Legend::new(&entries(50, "short"), &signs, 1152.0, 0.0);
        assert_eq!(none.rows.concat().len(), 3);
        assert!(Legend::new(&[], &[], 1152.0, 100.0).rows.is_empty());
    }
}
