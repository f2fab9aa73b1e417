//! A chart of lines through points with intervals: utility against leakage (the frontier), and the figures of studies.

use super::axis::{Axis, Tick};
use super::canvas::{self, Anchor, Canvas};
use super::curve::{self, Place};
use super::font;
use super::legend::{Legend, Sample};
use super::sign::Sign;
use super::style::{
    AXIS_TITLE, GRID, INK, MARGIN, MARKER, MUTED, SIZE, SMALL, SUBTITLE, Style, TITLE, WHITE,
};
use std::fs;
use std::path::Path;
use teda_core::{Error, Result, Verdict, plain};

/// How values are put on the x axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// In proportion, from 0 or less on.
    Linear,
    /// As a grid of nominal ε: in proportion if it is narrow, by logarithm if it is wide.
    Nominal,
}

/// A chart's data and texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The first line.
    pub title: String,
    /// The settings of the run.
    pub subtitle: String,
    /// What is on the x axis.
    pub x: String,
    /// What is on the y axis.
    pub y: String,
    /// How values are put on the x axis.
    pub scale: Scale,
    /// The lines.
    pub lines: Vec<ChartLine>,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartLine {
    /// Its name in the legend.
    pub label: String,
    /// Its points in the order in which the line goes through them.
    pub points: Vec<ChartPoint>,
}

/// One point of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartPoint {
    /// Where on the x axis.
    pub x: f64,
    /// Where on the y axis.
    pub y: f64,
    /// Ends of the confidence interval of y, if it has one.
    pub interval: Option<(f64, f64)>,
    /// What stands beside the marker.
    pub label: Option<String>,
}

/// Height kept for the plot, whatever the legend holds.
const LEAST_HEIGHT: f64 = 360.0;
/// Room around the data, as a share of its range.
const PAD: f64 = 0.06;

/// Draws a chart as `svg` and as `png`, 1200 × 800. The same data give the same bytes.
///
/// # Errors
/// Failed, if a number is not finite or a file cannot be written.
pub fn chart(chart: &Chart, svg: &Path, png: &Path) -> Result<()> {
    for line in &chart.lines {
        let finite = |point: &ChartPoint| {
            let (low, high) = point.interval.unwrap_or_default();
            [point.x, point.y, low, high].iter().all(|x| x.is_finite())
        };
        if let Some(bad) = line.points.iter().find(|point| !finite(point)) {
            return Err(Error::failed(format!(
                "series '{}': cannot draw the point {bad:?}",
                line.label
            )));
        }
    }
    font::register()?;
    let sheet = Sheet::new(chart);
    let text = canvas::svg(|canvas| sheet.draw(canvas))?;
    fs::write(svg, text)
        .map_err(|e| Error::failed(format!("{}: cannot write: {e}", svg.display())))?;
    canvas::png(png, |canvas| sheet.draw(canvas)).map_err(|e| e.context(png.display()))
}

/// Everything in its place.
struct Sheet<'a> {
    chart: &'a Chart,
    title: Vec<String>,
    subtitle: Vec<String>,
    x: Axis,
    y: Axis,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    legend: Legend,
}

impl<'a> Sheet<'a> {
    fn new(chart: &'a Chart) -> Self {
        let (width, height) = (f64::from(SIZE.0), f64::from(SIZE.1));
        let inner = width - 2.0 * MARGIN;
        let title = font::wrap(&plain(&chart.title), TITLE, inner, 2);
        let subtitle = font::wrap(&plain(&chart.subtitle), SUBTITLE, inner, 2);
        let top = MARGIN
            + title.len() as f64 * TITLE * 1.25
            + subtitle.len() as f64 * SUBTITLE * 1.35
            + 18.0;
        let entries: Vec<(Sample, String)> = chart
            .lines
            .iter()
            .enumerate()
            .map(|(i, line)| {
                let label = plain(&line.label).into_owned();
                (Sample::Series(Style::of(i)), label)
            })
            .collect();
        let below = 62.0 + MARGIN;
        let legend = Legend::new(&entries, &[], inner, height - top - below - LEAST_HEIGHT);
        let bottom = height - below - legend.height();
        let points = || chart.lines.iter().flat_map(|line| &line.points);
        let values: Vec<f64> = points().map(|point| point.x).collect();
        let heights = points().flat_map(|point| {
            let (low, high) = point.interval.unwrap_or((point.y, point.y));
            [low, high]
        });
        let low = heights.clone().fold(f64::INFINITY, f64::min);
        let high = heights.fold(f64::NEG_INFINITY, f64::max);
        let y = Axis::linear(padded(low, high), (bottom, top));
        let widest = y
            .round_ticks()
            .iter()
            .filter_map(|tick| tick.label.as_deref())
            .map(|text| font::width(text, SMALL))
            .fold(0.0, f64::max);
        let left = MARGIN + AXIS_TITLE * 1.2 + 10.0 + widest + 10.0;
        let right = width - MARGIN - 12.0;
        let is_nominal = chart.scale == Scale::Nominal && values.iter().all(|x| *x >= 0.0);
        let x = if is_nominal {
            Axis::nominal(&values, (left, right))
        } else {
            Axis::linear(spaced(&values), (left, right))
        };
        Self {
            chart,
            title,
            subtitle,
            x,
            y,
            left,
            right,
            top,
            bottom,
            legend,
        }
    }

    fn draw(&self, canvas: &mut dyn Canvas) -> Result<()> {
        let (width, height) = (f64::from(SIZE.0), f64::from(SIZE.1));
        let sheet = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)];
        canvas.fill(&sheet, WHITE, 1.0)?;
        let mut y = MARGIN;
        for line in &self.title {
            y += TITLE * 1.25;
            canvas.text(line, (MARGIN, y - TITLE * 0.35), TITLE, INK, Anchor::Start)?;
        }
        for line in &self.subtitle {
            y += SUBTITLE * 1.35;
            let at = (MARGIN, y - SUBTITLE * 0.3);
            canvas.text(line, at, SUBTITLE, MUTED, Anchor::Start)?;
        }
        self.draw_axes(canvas)?;
        for (i, line) in self.chart.lines.iter().enumerate() {
            self.draw_line(canvas, &line.points, &Style::of(i))?;
        }
        self.legend.draw(canvas, (MARGIN, self.bottom + 62.0))
    }

    fn draw_axes(&self, canvas: &mut dyn Canvas) -> Result<()> {
        let (left, right, top, bottom) = (self.left, self.right, self.top, self.bottom);
        let values = |line: &ChartLine| line.points.iter().map(|point| point.x).collect::<Vec<_>>();
        let grid: Vec<f64> = self.chart.lines.iter().flat_map(values).collect();
        let x_ticks = match self.chart.scale {
            Scale::Linear => self.x.round_ticks(),
            Scale::Nominal => self.x.grid_ticks(&grid),
        };
        let y_ticks = self.y.round_ticks();
        for Tick { at, .. } in &y_ticks {
            canvas.line(&[(left, *at), (right, *at)], GRID, 1.0)?;
        }
        for Tick { at, .. } in &x_ticks {
            canvas.line(&[(*at, top), (*at, bottom)], GRID, 1.0)?;
        }
        canvas.line(&[(left, top), (left, bottom), (right, bottom)], INK, 1.4)?;
        for Tick { at, label } in &y_ticks {
            canvas.line(&[(left - 6.0, *at), (left, *at)], INK, 1.2)?;
            if let Some(text) = label {
                let place = (left - 10.0, at + 0.36 * SMALL);
                canvas.text(text, place, SMALL, INK, Anchor::End)?;
            }
        }
        for Tick { at, label } in &x_ticks {
            canvas.line(&[(*at, bottom), (*at, bottom + 6.0)], INK, 1.2)?;
            if let Some(text) = label {
                let place = (*at, bottom + 9.0 + SMALL);
                canvas.text(text, place, SMALL, INK, Anchor::Middle)?;
            }
        }
        let middle = ((left + right) / 2.0, bottom + 46.0);
        canvas.text(
            &plain(&self.chart.x),
            middle,
            AXIS_TITLE,
            INK,
            Anchor::Middle,
        )?;
        let at = (MARGIN + 0.8 * AXIS_TITLE * 1.2, (top + bottom) / 2.0);
        canvas.text_upwards(&plain(&self.chart.y), at, AXIS_TITLE, INK)
    }

    fn draw_line(
        &self,
        canvas: &mut dyn Canvas,
        points: &[ChartPoint],
        style: &Style,
    ) -> Result<()> {
        let at = |point: &ChartPoint| (self.x.at(point.x), self.y.at(point.y));
        let line: Vec<canvas::Point> = points.iter().map(at).collect();
        curve::line(canvas, &line, style)?;
        for (point, (x, y)) in points.iter().zip(line) {
            if let Some((low, high)) = point.interval {
                let ends = [(x, self.y.at(low)), (x, self.y.at(high))];
                canvas.line(&ends, style.edge, 1.4)?;
            }
            let place = Place {
                x,
                lower: y,
                upper: y,
                cut: false,
                sign: Sign::of(Verdict::Consistent),
                failed: false,
                radius: MARKER * 0.8,
            };
            curve::marker(canvas, &place, style)?;
            if let Some(label) = &point.label {
                let beside = (x + MARKER + 2.0, y + MARKER + 8.0);
                canvas.text(
                    &plain(label),
                    beside,
                    SMALL * 0.85,
                    style.edge,
                    Anchor::Start,
                )?;
            }
        }
        Ok(())
    }
}

/// The range of a linear x axis: 0, all values, and some room at the right.
fn spaced(values: &[f64]) -> (f64, f64) {
    let most = values.iter().copied().fold(0.0, f64::max);
    let least = values.iter().copied().fold(0.0, f64::min);
    let end = if most > least { most } else { least + 1.0 };
    (least, end + PAD * (end - least))
}

/// A range with some room around it, and one of length 1 around a single value or none.
fn padded(low: f64, high: f64) -> (f64, f64) {
    match high - low {
        range if range > 0.0 => (low - PAD * range, high + PAD * range),
        0.0 => (low - 0.5, low + 0.5),
        _ => (0.0, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64, label: &str) -> ChartPoint {
        ChartPoint {
            x,
            y,
            interval: Some((y - 0.01, y + 0.01)),
            label: Some(label.to_owned()),
        }
    }

    fn example(lines: Vec<ChartLine>) -> Chart {
        Chart {
            title: "Utility against leakage".into(),
            subtitle: "snips <b>".into(),
            x: "empirical ε".into(),
            y: "cosine".into(),
            scale: Scale::Linear,
            lines,
        }
    }

    fn drawn(chart: &Chart) -> Result<String> {
        let dir = tempfile::tempdir().unwrap();
        let (svg, png) = (dir.path().join("a.svg"), dir.path().join("a.png"));
        super::chart(chart, &svg, &png)?;
        assert_eq!(&fs::read(png).unwrap()[1..4], b"PNG");
        Ok(fs::read_to_string(svg).unwrap())
    }

    #[test]
    fn a_chart_says_what_it_shows() {
        let line = ChartLine {
            label: "em".into(),
            points: vec![point(0.0, 0.1, "ε = 1"), point(3.0, 0.8, "ε = 100")],
        };
        let svg = drawn(&example(vec![line])).unwrap();
        for text in [
            "Utility against leakage",
            "snips &lt;b&gt;",
            "empirical ε",
            "cosine",
            "ε = 100",
            "em",
        ] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn little_or_nothing_is_drawn_and_what_is_no_number_is_refused() {
        drawn(&example(Vec::new())).unwrap();
        let one = |x| ChartLine {
            label: "a\u{1b}[2J".into(),
            points: vec![ChartPoint {
                interval: None,
                ..point(x, 0.0, "")
            }],
        };
        drawn(&example(vec![one(0.0)])).unwrap();
        assert!(drawn(&example(vec![one(f64::INFINITY)])).is_err());
    }

    /// A wide grid of nominal ε is drawn by logarithm, with a tick at each of its values.
    #[test]
    fn a_wide_grid_has_its_own_ticks() {
        let points = [0.1, 10.0, 2500.0].map(|x| point(x, 0.5, ""));
        let line = ChartLine {
            label: "dp-mlm".into(),
            points: points.to_vec(),
        };
        let wide = Chart {
            scale: Scale::Nominal,
            ..example(vec![line])
        };
        let svg = drawn(&wide).unwrap();
        for tick in ["\n0.1\n", "\n10\n", "\n2500\n"] {
            assert!(svg.contains(tick), "{tick}");
        }
    }
}
