//! A canvas for drawing in fractional pixels, written as SVG or PNG.
//!
//! plotters' backends accept only whole pixels and barely smooth edges. So both get a canvas [`FINE`] times as large:
//! the SVG keeps the large coordinates in its `viewBox`, and the PNG's pixels are averages of the large canvas's.

use super::font::{self, FAMILY, LINE_HEIGHT};
use super::style::SIZE;
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform, IntoTextStyle, RGBColor, ShapeStyle};
use std::path::Path;
use teda_core::{Error, Result};

/// Large pixels per side of one pixel.
const FINE: u32 = 4;

/// A point in pixels from the upper left corner.
pub type Point = (f64, f64);

/// Which end of a text is at its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A canvas; later drawings cover earlier ones.
pub trait Canvas {
    /// A line of `width` pixels through `points`.
    fn line(&mut self, points: &[Point], colour: RGBColor, width: f64) -> Result<()>;
    /// The area within `corners`.
    fn fill(&mut self, corners: &[Point], colour: RGBColor, opacity: f64) -> Result<()>;
    /// `text` at `size` pixels per em with its baseline at `at`.
    fn text(
        &mut self,
        text: &str,
        at: Point,
        size: f64,
        colour: RGBColor,
        anchor: Anchor,
    ) -> Result<()>;
    /// `text` read from bottom to top, centred at `at` on its baseline.
    fn text_upwards(&mut self, text: &str, at: Point, size: f64, colour: RGBColor) -> Result<()>;
}

/// Like [`Canvas::line`], but dashed: `dash` holds lengths of line and gap in turn.
pub fn dashed(
    canvas: &mut dyn Canvas,
    points: &[Point],
    colour: RGBColor,
    width: f64,
    dash: &[f64],
) -> Result<()> {
    if dash.is_empty() {
        return canvas.line(points, colour, width);
    }
    pieces(points, dash)
        .iter()
        .try_for_each(|piece| canvas.line(piece, colour, width))
}

/// The visible pieces of a dashed line.
fn pieces(points: &[Point], dash: &[f64]) -> Vec<Vec<Point>> {
    let mut pieces = Vec::new();
    let mut piece: Vec<Point> = points.first().copied().into_iter().collect();
    let (mut part, mut left) = (0, dash[0]);
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let mut gone = 0.0;
        while length - gone > left {
            gone += left;
            let share = gone / length;
            let at = (
                from.0 + (to.0 - from.0) * share,
                from.1 + (to.1 - from.1) * share,
            );
            if part % 2 == 0 {
                piece.push(at);
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![at];
            }
            part = (part + 1) % dash.len();
            left = dash[part];
        }
        left -= length - gone;
        if part % 2 == 0 {
            piece.push(to);
        }
    }
    if piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

/// A canvas on one of plotters' backends.
struct Sheet<B> {
    backend: B,
    /// plotters' font size of a text of one em.
    em: f64,
    /// How far plotters puts the baseline below the point it is given, in em.
    drop: f64,
}

impl<B: DrawingBackend> Sheet<B> {
    fn write(
        &mut self,
        text: &str,
        at: Point,
        size: f64,
        colour: RGBColor,
        anchor: Anchor,
        transform: FontTransform,
    ) -> Result<()> {
        let h_pos = match anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let drop = self.drop * size;
        let at = match transform {
            FontTransform::None => (at.0, at.1 - drop),
            _ => (at.0 - drop, at.1),
        };
        let style = (FAMILY, size * self.em * f64::from(FINE))
            .with_color(colour)
            .into_text_style(&SIZE)
            .pos(Pos::new(h_pos, VPos::Top))
            .transform(transform);
        self.backend
            .draw_text(text, &style, fine(at))
            .map_err(failed)
    }
}

impl<B: DrawingBackend> Canvas for Sheet<B> {
    fn line(&mut self, points: &[Point], colour: RGBColor, width: f64) -> Result<()> {
        let style = ShapeStyle {
            color: colour.to_rgba(),
            filled: false,
            stroke_width: (width * f64::from(FINE)).round() as u32,
        };
        self.backend
            .draw_path(points.iter().copied().map(fine), &style)
            .map_err(failed)
    }

    fn fill(&mut self, corners: &[Point], colour: RGBColor, opacity: f64) -> Result<()> {
        let corners = corners.iter().copied().map(fine);
        self.backend
            .fill_polygon(corners, &colour.mix(opacity).filled())
            .map_err(failed)
    }

    fn text(
        &mut self,
        text: &str,
        at: Point,
        size: f64,
        colour: RGBColor,
        anchor: Anchor,
    ) -> Result<()> {
        self.write(text, at, size, colour, anchor, FontTransform::None)
    }

    fn text_upwards(&mut self, text: &str, at: Point, size: f64, colour: RGBColor) -> Result<()> {
        self.write(
            text,
            at,
            size,
            colour,
            Anchor::Middle,
            FontTransform::Rotate270,
        )
    }
}

/// The picture drawn by `draw`, as the text of an SVG file.
pub fn svg(draw: impl Fn(&mut dyn Canvas) -> Result<()>) -> Result<String> {
    font::register()?;
    let mut text = String::new();
    let mut sheet = Sheet {
        backend: SVGBackend::with_string(&mut text, large()),
        // plotters writes a font-size of its size / 1.24 and a `dy` of 0.76 em.
        em: 1.24,
        drop: 0.76,
    };
    draw(&mut sheet)?;
    sheet.backend.present().map_err(failed)?;
    drop(sheet);
    let size = |(w, h): (u32, u32)| format!("width=\"{w}\" height=\"{h}\"");
    Ok(text.replacen(&size(large()), &size(SIZE), 1))
}

/// Writes the picture drawn by `draw` as a PNG file.
pub fn png(path: &Path, draw: impl Fn(&mut dyn Canvas) -> Result<()>) -> Result<()> {
    font::register()?;
    let mut pixels = vec![0xFF_u8; (large().0 * large().1 * 3) as usize];
    draw(&mut Sheet {
        backend: BitMapBackend::with_buffer(&mut pixels, large()),
        // plotters takes the line's height for the size and puts the baseline at half of it.
        em: LINE_HEIGHT,
        drop: LINE_HEIGHT / 2.0,
    })?;
    let mut backend = BitMapBackend::new(path, SIZE);
    backend
        .blit_bitmap((0, 0), SIZE, &averaged(&pixels))
        .map_err(failed)?;
    backend.present().map_err(failed)
}

/// The large canvas's pixels, three bytes each, averaged to the picture's.
fn averaged(pixels: &[u8]) -> Vec<u8> {
    let (side, width) = (FINE as usize, SIZE.0 as usize);
    let mut small = Vec::with_capacity(pixels.len() / (side * side));
    for rows in pixels.chunks_exact(3 * width * side * side) {
        for column in 0..width {
            for channel in 0..3 {
                let block = (0..side).flat_map(|y| (0..side).map(move |x| (x, y)));
                let sum: u32 = block
                    .map(|(x, y)| {
                        let pixel = y * width * side + column * side + x;
                        u32::from(rows[3 * pixel + channel])
                    })
                    .sum();
                small.push(((sum + FINE * FINE / 2) / (FINE * FINE)) as u8);
            }
        }
    }
    small
}

/// The size of the large canvas.
fn large() -> (u32, u32) {
    (SIZE.0 * FINE, SIZE.1 * FINE)
}

/// A point on the large canvas.
fn fine((x, y): Point) -> (i32, i32) {
    let fine = |v: f64| (v * f64::from(FINE)).round() as i32;
    (fine(x), fine(y))
}

fn failed(e: impl std::fmt::Display) -> Error {
    Error::failed(format!("cannot draw: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_go_round_corners_and_keep_their_lengths() {
        let found = pieces(&[(0.0, 0.0), (5.0, 0.0), (5.0, 10.0)], &[3.0, 1.0]);
        let expected = vec![
            vec![(0.0, 0.0), (3.0, 0.0)],
            vec![(4.0, 0.0), (5.0, 0.0), (5.0, 2.0)],
            vec![(5.0, 3.0), (5.0, 6.0)],
            vec![(5.0, 7.0), (5.0, 10.0)],
        ];
        assert_eq!(found, expected);
        assert!(pieces(&[], &[3.0, 1.0]).is_empty());
    }

    #[test]
    fn a_small_pixel_is_the_mean_of_its_block() {
        let mut pixels = vec![255; (large().0 * large().1 * 3) as usize];
        pixels[..3].fill(0);
        let small = averaged(&pixels);
        assert_eq!(small.len(), (SIZE.0 * SIZE.1 * 3) as usize);
        assert_eq!(small[..6], [239, 239, 239, 255, 255, 255]);
    }
}
