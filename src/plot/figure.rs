//! The picture's data and its two files.

use super::canvas;
use super::font;
use super::layout::Figure;
use std::fs;
use std::path::Path;
use teda_core::{Error, Result, Verdict};

/// What a picture says beside its data.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The first line.
    pub title: String,
    /// What the run was: data set, k, λ, trials, attack.
    pub subtitle: String,
    /// What the audit found, a sentence each, the most telling first.
    pub findings: Vec<String>,
    /// What one nominal ε is spent on, as the x axis says it: `text`, `token`, `triple`.
    pub unit: String,
    /// Confidence that the y axis states, in (0, 1): 0.99 is `99 %`.
    pub confidence: f64,
}

/// The cells that one line goes through.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What the legend calls it.
    pub label: String,
    /// Its points, in any order.
    pub points: Vec<Point>,
}

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Nominal ε ≥ 0; none for a mechanism without one, which becomes a horizontal line.
    pub nominal: Option<f64>,
    /// Empirical ε: the lower bound.
    pub lower: f64,
    /// ε of the upper confidence limit; may be infinite.
    pub upper: f64,
    /// Greatest `lower` that the trials could have shown; not drawn if infinite.
    pub ceiling: f64,
    /// How bound and claim compare.
    pub verdict: Verdict,
}

/// Draws empirical against nominal ε as `svg` and as `png` (a path that ends in `.png`), 1200 × 800.
///
/// The same data makes the same bytes.
///
/// # Errors
/// Failed, if a number cannot be drawn (NaN, an infinite bound, a negative nominal ε) or a file
/// cannot be written.
pub fn draw(series: &[Series], options: &Options, svg: &Path, png: &Path) -> Result<()> {
    check(series)?;
    font::register()?;
    let figure = Figure::new(series, options);
    let text = canvas::svg(|canvas| figure.draw(canvas))?;
    fs::write(svg, text)
        .map_err(|e| Error::failed(format!("{}: cannot write: {e}", svg.display())))?;
    canvas::png(png, |canvas| figure.draw(canvas)).map_err(|e| e.context(png.display()))
}

/// Refuses what has no place on the sheet.
fn check(series: &[Series]) -> Result<()> {
    for Series { label, points } in series {
        for point in points {
            let drawable = point.lower.is_finite()
                && !point.upper.is_nan()
                && !point.ceiling.is_nan()
                && point.nominal.is_none_or(|x| x.is_finite() && x >= 0.0);
            if !drawable {
                return Err(Error::failed(format!(
                    "series '{label}': cannot draw the point {point:?}"
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::apart::CLOSE;
    use super::*;

    const GRID: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];

    fn options() -> Options {
        Options {
            title: "Empirical against nominal ε".into(),
            subtitle: "snips · k = 2".into(),
            findings: vec!["violation: it leaks.".into()],
            unit: "text".into(),
            confidence: 0.99,
        }
    }

    fn point(nominal: Option<f64>, lower: f64, upper: f64, verdict: Verdict) -> Point {
        Point {
            nominal,
            lower,
            upper,
            ceiling: 7.5,
            verdict,
        }
    }

    fn series(label: &str, nominal: &[f64], share: f64) -> Series {
        let points = nominal
            .iter()
            .map(|&x| {
                point(
                    Some(x),
                    x.min(7.0) * share,
                    f64::INFINITY,
                    Verdict::Consistent,
                )
            })
            .collect();
        Series {
            label: label.into(),
            points,
        }
    }

    fn level(label: &str, lower: f64) -> Series {
        Series {
            label: label.into(),
            points: vec![point(None, lower, lower + 0.1, Verdict::NoClaim)],
        }
    }

    /// The SVG's text and the PNG's bytes.
    fn drawn(series: &[Series], options: &Options) -> (String, Vec<u8>) {
        let dir = tempfile::tempdir().unwrap();
        let (svg, png) = (dir.path().join("a.svg"), dir.path().join("a.png"));
        draw(series, options, &svg, &png).unwrap();
        (fs::read_to_string(svg).unwrap(), fs::read(png).unwrap())
    }

    /// All coordinates of an SVG's lines and areas, in pixels.
    fn coordinates(svg: &str) -> Vec<(f64, f64)> {
        let lists = svg
            .split("points=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next());
        let pairs = lists
            .flat_map(str::split_whitespace)
            .filter_map(|pair| pair.split_once(','));
        pairs
            .map(|(x, y)| {
                (
                    x.parse::<f64>().unwrap() / 4.0,
                    y.parse::<f64>().unwrap() / 4.0,
                )
            })
            .collect()
    }

    #[test]
    fn a_picture_says_what_it_shows_and_is_the_same_each_time() {
        let mut all = vec![series("krr <exact>", &GRID, 0.9), level("identity", 7.0)];
        all[0].points[0].verdict = Verdict::Violation;
        all[0].points[4].verdict = Verdict::Saturated;
        let (svg, png) = drawn(&all, &options());
        for text in [
            "width=\"1200\" height=\"800\"",
            "Empirical against nominal ε",
            "snips · k = 2",
            "violation: it leaks.",
            "krr &lt;exact&gt;",
            "identity",
            "nominal ε (unit: text)",
            "empirical ε (lower bound, 99 % confidence)",
            "empirical = nominal",
            "ceiling 7.5",
            "violation",
            "hollow",
        ] {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!(png[16..24], [0, 0, 4, 176, 0, 0, 3, 32]);
        assert!(drawn(&all, &options()) == (svg, png));
    }

    #[test]
    fn every_degenerate_case_stays_on_the_sheet() {
        let long = "a very long name × ".repeat(40);
        let numbered = |count: usize, label: &str, share: f64| -> Vec<Series> {
            (0..count)
                .map(|i| series(&format!("{i} {label}"), &GRID, share))
                .collect()
        };
        let mut no_ceiling = numbered(2, "zero", 0.0);
        for p in no_ceiling.iter_mut().flat_map(|s| &mut s.points) {
            (p.ceiling, p.upper) = (f64::INFINITY, 0.0);
        }
        let levels = |count: usize| (0..count).map(|i| level(&format!("l{i}"), 0.1 * i as f64));
        let cases: Vec<Vec<Series>> = vec![
            vec![],
            vec![series("no points", &[], 1.0)],
            vec![series("one", &[2.0], 0.5)],
            vec![series("one", &[2500.0], 0.5)],
            vec![series("zero alone", &[0.0], 0.5)],
            vec![series("wide", &[0.0, 0.01, 1.0, 2500.0], 0.5)],
            numbered(8, "zeros", 0.0),
            no_ceiling,
            numbered(8, &long, 0.4),
            numbered(60, "many", 0.4)
                .into_iter()
                .chain(levels(40))
                .collect(),
            levels(3).collect(),
            vec![level(&long, 3.0), level(&"x".repeat(300), 3.0)],
        ];
        for case in cases {
            let options = Options {
                title: long.clone(),
                subtitle: long.clone(),
                findings: vec![long.clone(); 5],
                ..options()
            };
            let (svg, _) = drawn(&case, &options);
            let found = coordinates(&svg);
            let outside = found
                .iter()
                .find(|(x, y)| !(0.0..=1200.0).contains(x) || !(0.0..=800.0).contains(y));
            assert_eq!(outside, None, "{}", case.first().map_or("", |s| &s.label));
        }
    }

    #[test]
    fn a_wide_grid_says_that_its_axis_is_logarithmic() {
        let (svg, _) = drawn(&[series("em", &[0.1, 1.0, 2500.0], 0.5)], &options());
        assert!(svg.contains("logarithmic") && svg.contains("2500"));
        let (svg, _) = drawn(&[series("em", &[2500.0], 0.5)], &options());
        assert!(svg.contains("empirical = nominal (out of view)"));
    }

    #[test]
    fn markers_at_one_place_are_moved_apart_and_others_stay() {
        let all: Vec<Series> = (0..3)
            .map(|i| series(&format!("s{i}"), &GRID, 0.5))
            .collect();
        let options = options();
        font::register().unwrap();
        let figure = Figure::new(&all, &options);
        for i in 0..GRID.len() {
            let xs: Vec<f64> = figure
                .curves
                .iter()
                .map(|(_, places)| places[i].x)
                .collect();
            assert!(xs[1] - xs[0] > CLOSE && xs[2] - xs[1] > CLOSE, "{xs:?}");
        }
        let apart = [series("low", &GRID, 0.2), series("high", &GRID, 0.9)];
        let figure = Figure::new(&apart, &options);
        assert_eq!(figure.curves[0].1[4].x, figure.curves[1].1[4].x);
    }

    #[test]
    fn what_cannot_be_drawn_is_an_error_and_so_is_a_missing_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (svg, png) = (dir.path().join("a.svg"), dir.path().join("a.png"));
        let mut wrong = Vec::new();
        for (nominal, lower) in [
            (1.0, f64::NAN),
            (-1.0, 0.0),
            (f64::INFINITY, 0.0),
            (1.0, f64::INFINITY),
        ] {
            wrong.push(point(Some(nominal), lower, 1.0, Verdict::Consistent));
        }
        for p in wrong {
            let one = [Series {
                label: "odd".into(),
                points: vec![p],
            }];
            let error = draw(&one, &options(), &svg, &png).unwrap_err().to_string();
            assert!(error.contains("'odd'"), "{error}");
        }
        let gone = dir.path().join("gone/a.svg");
        let error = draw(&[], &options(), &gone, &png).unwrap_err().to_string();
        assert!(error.contains("gone/a.svg"), "{error}");
        let gone = dir.path().join("gone/a.png");
        let error = draw(&[], &options(), &svg, &gone).unwrap_err().to_string();
        assert!(error.contains("gone/a.png"), "{error}");
    }
}
