//! Draws a laid-out picture onto a canvas, from back to front.

use super::canvas::{self, Anchor, Canvas, dashed};
use super::curve::{self, Place};
use super::labels;
use super::layout::Figure;
use super::style::{
    AXIS_TITLE, CEILING_DASH, CLAIM_DASH, FINDING_LINE, GRID, INK, LINE, MARGIN, MUTED, REFERENCE,
    SIZE, SMALL, SUBTITLE, TITLE, WHITE,
};
use teda_core::Result;

impl Figure<'_> {
    /// Draws the whole picture.
    pub fn draw(&self, canvas: &mut dyn Canvas) -> Result<()> {
        let (width, height) = (f64::from(SIZE.0), f64::from(SIZE.1));
        let sheet = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)];
        canvas.fill(&sheet, WHITE, 1.0)?;
        self.draw_titles(canvas)?;
        self.draw_grid(canvas)?;
        // Below the lines, so that a line at 0 is visible.
        self.draw_axes(canvas)?;
        for (style, places) in &self.curves {
            curve::band(canvas, places, style, &self.x)?;
        }
        for (style, place) in &self.levels {
            curve::band(canvas, &self.across(place), style, &self.x)?;
        }
        for &height in &self.ceilings {
            let line = [(self.left, height), (self.right, height)];
            dashed(canvas, &line, REFERENCE, LINE * 0.8, CEILING_DASH)?;
        }
        for (colour, pieces) in &self.claims {
            for piece in pieces {
                dashed(canvas, piece, *colour, LINE * 0.8, CLAIM_DASH)?;
            }
        }
        for (style, place) in &self.levels {
            let line = [(self.left, place.lower), (self.right, place.lower)];
            curve::line(canvas, &line, style)?;
        }
        for (style, places) in &self.curves {
            let line: Vec<canvas::Point> = places.iter().map(|p| (p.x, p.lower)).collect();
            curve::line(canvas, &self.x.joined(&line), style)?;
        }
        for (style, place) in &self.levels {
            curve::marker(canvas, place, style)?;
        }
        for (style, places) in &self.curves {
            for place in places {
                curve::marker(canvas, place, style)?;
            }
        }
        labels::draw(
            canvas,
            &mut self.labels.clone(),
            self.right,
            (self.top, self.bottom),
        )?;
        self.legend.draw(canvas, (MARGIN, self.bottom + 62.0))
    }

    fn draw_titles(&self, canvas: &mut dyn Canvas) -> Result<()> {
        let mut y = MARGIN;
        for line in &self.title {
            y += TITLE * 1.25;
            canvas.text(line, (MARGIN, y - TITLE * 0.35), TITLE, INK, Anchor::Start)?;
        }
        for line in &self.subtitle {
            y += SUBTITLE * 1.35;
            canvas.text(
                line,
                (MARGIN, y - SUBTITLE * 0.3),
                SUBTITLE,
                MUTED,
                Anchor::Start,
            )?;
        }
        for line in &self.findings {
            y += FINDING_LINE;
            canvas.text(line, (MARGIN, y), SMALL, INK, Anchor::Start)?;
        }
        Ok(())
    }

    fn draw_grid(&self, canvas: &mut dyn Canvas) -> Result<()> {
        for tick in &self.y_ticks {
            canvas.line(&[(self.left, tick.at), (self.right, tick.at)], GRID, 1.0)?;
        }
        if self.has_grid {
            for tick in &self.x_ticks {
                canvas.line(&[(tick.at, self.top), (tick.at, self.bottom)], GRID, 1.0)?;
            }
        }
        Ok(())
    }

    fn draw_axes(&self, canvas: &mut dyn Canvas) -> Result<()> {
        let (left, right, top, bottom) = (self.left, self.right, self.top, self.bottom);
        canvas.line(&[(left, top), (left, bottom), (right, bottom)], INK, 1.4)?;
        for tick in &self.y_ticks {
            canvas.line(&[(left - 6.0, tick.at), (left, tick.at)], INK, 1.2)?;
            if let Some(text) = &tick.label {
                let at = (left - 10.0, tick.at + 0.36 * SMALL);
                canvas.text(text, at, SMALL, INK, Anchor::End)?;
            }
        }
        let middle = (left + right) / 2.0;
        let title_at = bottom + 46.0;
        if self.has_grid {
            for tick in &self.x_ticks {
                canvas.line(&[(tick.at, bottom), (tick.at, bottom + 6.0)], INK, 1.2)?;
                if let Some(text) = &tick.label {
                    let at = (tick.at, bottom + 9.0 + SMALL);
                    canvas.text(text, at, SMALL, INK, Anchor::Middle)?;
                }
            }
            if let Some(zero) = self.x.zero {
                self.draw_break(canvas, zero + 30.0)?;
            }
            let scale = if self.x.log { ", logarithmic" } else { "" };
            let text = format!("nominal ε (unit: {}{scale})", self.options.unit);
            canvas.text(&text, (middle, title_at), AXIS_TITLE, INK, Anchor::Middle)?;
        } else {
            let text = "no nominal ε";
            canvas.text(
                text,
                (middle, bottom + 30.0),
                AXIS_TITLE,
                INK,
                Anchor::Middle,
            )?;
        }
        for (i, line) in self.y_title.iter().enumerate() {
            let x = MARGIN + (i as f64 + 0.8) * AXIS_TITLE * 1.2;
            canvas.text_upwards(line, (x, (top + bottom) / 2.0), AXIS_TITLE, INK)?;
        }
        Ok(())
    }

    /// Two strokes where a logarithmic axis is broken to show 0.
    fn draw_break(&self, canvas: &mut dyn Canvas, x: f64) -> Result<()> {
        let y = self.bottom;
        canvas.line(&[(x - 3.0, y), (x + 3.0, y)], WHITE, 4.0)?;
        [-3.0, 3.0].iter().try_for_each(|shift| {
            canvas.line(
                &[(x + shift - 3.0, y + 7.0), (x + shift + 3.0, y - 7.0)],
                INK,
                1.4,
            )
        })
    }

    /// A level's ends at both sides of the plot.
    fn across(&self, place: &Place) -> [Place; 2] {
        [self.left, self.right].map(|x| Place { x, ..*place })
    }
}
