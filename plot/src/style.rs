//! The look of a series, and the sizes and colours of everything else.
//!
//! Colours are those of Okabe & Ito (2008), which colour-blind readers can distinguish; in greyscale print, marker and
//! dash distinguish series.

use plotters::style::RGBColor;

/// The picture's size in pixels.
pub const SIZE: (u32, u32) = (1200, 800);
/// Space between the picture's edge and its contents.
pub const MARGIN: f64 = 24.0;

/// Text sizes in pixels per em: of the title.
pub const TITLE: f64 = 24.0;
/// Of the subtitle.
pub const SUBTITLE: f64 = 15.0;
/// Of the axis titles.
pub const AXIS_TITLE: f64 = 17.0;
/// Of ticks, legend and labels.
pub const SMALL: f64 = 14.5;
/// From one line of small text to the next.
pub const SMALL_LINE: f64 = 20.0;
/// From one line of the findings to the next.
pub const FINDING_LINE: f64 = 18.0;

/// Width of a series' line.
pub const LINE: f64 = 2.4;
/// Radius of a marker.
pub const MARKER: f64 = 6.6;
/// Opacity of a confidence band.
pub const BAND: f64 = 0.13;

pub const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
pub const MUTED: RGBColor = RGBColor(0x59, 0x59, 0x59);
pub const REFERENCE: RGBColor = RGBColor(0x80, 0x80, 0x80);
pub const GRID: RGBColor = RGBColor(0xE6, 0xE6, 0xE6);
pub const WHITE: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);
/// The ring around a violation.
pub const ALARM: RGBColor = RGBColor(0xC0, 0x00, 0x20);

/// Dash of a claim.
pub const CLAIM_DASH: &[f64] = &[10.0, 6.0];
/// Dash of a ceiling.
pub const CEILING_DASH: &[f64] = &[2.0, 5.0];

/// Okabe & Ito's colours, those that show best on white first.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0x00, 0x00, 0x00),
    RGBColor(0xF0, 0xE4, 0x42),
];

/// Dashes in pixels, line and gap in turn. Their number is coprime to the number of markers, so that a pair repeats
/// only after the product of the two.
const DASHES: [&[f64]; 7] = [
    &[],
    &[14.0, 5.0],
    &[5.0, 4.0],
    &[14.0, 4.0, 4.0, 4.0],
    &[22.0, 6.0],
    &[9.0, 4.0, 3.0, 4.0, 3.0, 4.0],
    &[3.0, 4.0],
];

/// The shape of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    TriangleDown,
    Plus,
    Cross,
    Star,
}

const MARKERS: [Marker; 8] = [
    Marker::Circle,
    Marker::Square,
    Marker::Triangle,
    Marker::Diamond,
    Marker::TriangleDown,
    Marker::Plus,
    Marker::Cross,
    Marker::Star,
];

/// The look of one series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Style {
    pub colour: RGBColor,
    /// Colour of marker outlines, and of a line's edge if its colour alone is too pale.
    pub edge: RGBColor,
    /// Whether the line needs that edge.
    pub pale: bool,
    pub dash: &'static [f64],
    pub marker: Marker,
}

impl Style {
    /// The neutral look of a sample that represents any series.
    pub const ANY: Self = Self {
        colour: INK,
        edge: INK,
        pale: false,
        dash: &[],
        marker: Marker::Circle,
    };

    /// The look of series `index`; no two of the first 56 look alike in grey.
    pub fn of(index: usize) -> Self {
        let colour = COLOURS[index % COLOURS.len()];
        let darker = |channel: u8| (f64::from(channel) * 0.55) as u8;
        Self {
            colour,
            edge: RGBColor(darker(colour.0), darker(colour.1), darker(colour.2)),
            pale: colour == COLOURS[7],
            dash: DASHES[index % DASHES.len()],
            marker: MARKERS[index % MARKERS.len()],
        }
    }
}

impl Marker {
    /// The outline around the origin, for a marker of about `radius`; all shapes have similar areas.
    pub fn outline(self, radius: f64) -> Vec<(f64, f64)> {
        let scaled = |points: &[(f64, f64)]| {
            points
                .iter()
                .map(|&(x, y)| (x * radius, y * radius))
                .collect::<Vec<_>>()
        };
        let turned = |points: Vec<(f64, f64)>| {
            let half = std::f64::consts::FRAC_1_SQRT_2;
            points
                .into_iter()
                .map(|(x, y)| ((x - y) * half, (x + y) * half))
                .collect()
        };
        // Half the width of the bars of plus and cross, and their length from the centre.
        let (w, r) = (0.36, 1.2);
        let plus = [
            (-w, -r),
            (w, -r),
            (w, -w),
            (r, -w),
            (r, w),
            (w, w),
            (w, r),
            (-w, r),
            (-w, w),
            (-r, w),
            (-r, -w),
            (-w, -w),
        ];
        match self {
            Self::Circle => regular(48, radius * 0.98),
            Self::Square => scaled(&[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)]),
            Self::Triangle => scaled(&[(0.0, -1.25), (1.15, 0.8), (-1.15, 0.8)]),
            Self::TriangleDown => scaled(&[(0.0, 1.25), (-1.15, -0.8), (1.15, -0.8)]),
            Self::Diamond => scaled(&[(0.0, -1.3), (1.05, 0.0), (0.0, 1.3), (-1.05, 0.0)]),
            Self::Plus => scaled(&plus),
            Self::Cross => turned(scaled(&plus)),
            Self::Star => (0..10)
                .map(|i| {
                    let reach = radius * if i % 2 == 0 { 1.45 } else { 0.62 };
                    let angle = f64::from(i) * std::f64::consts::PI / 5.0;
                    (angle.sin() * reach, -angle.cos() * reach)
                })
                .collect(),
        }
    }
}

/// A regular polygon of `corners` corners.
pub fn regular(corners: u32, radius: f64) -> Vec<(f64, f64)> {
    (0..corners)
        .map(|i| {
            let angle = f64::from(i) * std::f64::consts::TAU / f64::from(corners);
            (angle.sin() * radius, -angle.cos() * radius)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_look_different_with_and_without_colour() {
        let styles: Vec<Style> = (0..56).map(Style::of).collect();
        for (i, a) in styles.iter().enumerate() {
            for b in &styles[..i] {
                assert!(a.marker != b.marker || a.dash != b.dash);
            }
        }
        for (i, a) in styles[..8].iter().enumerate() {
            assert!(
                styles[..i]
                    .iter()
                    .all(|b| a.colour != b.colour && a.marker != b.marker)
            );
        }
    }
}
