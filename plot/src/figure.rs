//! The picture's two files.

use super::canvas;
use super::font;
use super::layout::Figure;
use super::series::{Options, Series};
use std::fs;
use std::path::Path;
use teda_core::{Error, Result, plain};

/// Draws empirical against nominal ε as `svg` and as `png` (a path that ends in `.png`), 1200 × 800.
///
/// The same data give the same bytes.
///
/// # Errors
/// Failed, if a number cannot be drawn (NaN, an infinite bound or claim, a negative nominal ε) or a file
/// cannot be written.
pub fn draw(series: &[Series], options: &Options, svg: &Path, png: &Path) -> Result<()> {
    check(series)?;
    font::register()?;
    let (series, options) = (harmless(series), options.harmless());
    let figure = Figure::new(&series, &options);
    let text = canvas::svg(|canvas| figure.draw(canvas))?;
    fs::write(svg, text)
        .map_err(|e| Error::failed(format!("{}: cannot write: {e}", svg.display())))?;
    canvas::png(png, |canvas| figure.draw(canvas)).map_err(|e| e.context(png.display()))
}

/// The series with names that an SVG may contain: no escape makes a control character legal in XML.
fn harmless(series: &[Series]) -> Vec<Series> {
    let harmless = |one: &Series| Series {
        label: plain(&one.label).into_owned(),
        claimant: plain(&one.claimant).into_owned(),
        points: one.points.clone(),
    };
    series.iter().map(harmless).collect()
}

impl Options {
    /// These options, with texts that an SVG may contain.
    fn harmless(&self) -> Self {
        let harmless = |text: &String| plain(text).into_owned();
        Self {
            title: harmless(&self.title),
            subtitle: harmless(&self.subtitle),
            findings: self.findings.iter().map(harmless).collect(),
            unit: harmless(&self.unit),
            confidence: self.confidence,
            success: self.success,
        }
    }
}

/// Refuses data that cannot be drawn.
fn check(series: &[Series]) -> Result<()> {
    for Series { label, points, .. } in series {
        for point in points {
            let drawable = point.lower.is_finite()
                && !point.upper.is_nan()
                && !point.ceiling.is_nan()
                && [point.nominal, point.claim]
                    .iter()
                    .flatten()
                    .all(|x| x.is_finite() && *x >= 0.0);
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
    use super::super::series::Point;
    use super::super::style::{MARGIN, SIZE, SMALL};
    use super::*;
    use teda_core::Verdict;

    const GRID: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];

    fn options() -> Options {
        Options {
            title: "Empirical against nominal ε".into(),
            subtitle: "snips · k = 2".into(),
            findings: vec!["violation: it leaks.".into()],
            unit: "text".into(),
            confidence: 0.99,
            success: None,
        }
    }

    fn point(nominal: Option<f64>, lower: f64, upper: f64, verdict: Verdict) -> Point {
        Point {
            nominal,
            lower,
            upper,
            ceiling: 7.5,
            claim: None,
            verdict,
            failed: false,
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
            claimant: label.into(),
            points,
        }
    }

    fn level(label: &str, lower: f64) -> Series {
        Series {
            label: label.into(),
            claimant: label.into(),
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
            "ceiling 7.5",
            "violation: bound above the claim",
            "saturated: claim above the ceiling",
            "no-claim: no claim between such texts",
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
    fn names_of_others_leave_a_picture_that_can_be_read() {
        let hostile = "a\u{1b}[2J\0<b>&\"\u{202e}\u{ffff}\nc";
        let options = Options {
            title: hostile.into(),
            subtitle: hostile.into(),
            findings: vec![hostile.into()],
            ..options()
        };
        let (svg, _) = drawn(&[series(hostile, &GRID, 0.5)], &options);
        let legal = |c: char| c == '\n' || plain(&c.to_string()) == c.to_string();
        assert!(svg.chars().all(legal), "{svg}");
        assert!(svg.contains(r"a\u{1b}[2J\u{0}&lt;b&gt;&amp;"), "{svg}");
    }

    /// e^ε / (e^ε + 1) is 50 % at 0, 73 % at 1, 99.9 % at 7; of four candidates e^ε / (e^ε + 3) is 25 % at 0.
    #[test]
    fn an_axis_can_show_success_rates() {
        let of = |k| {
            let options = Options {
                success: Some(k),
                ..options()
            };
            drawn(&[series("krr", &GRID, 0.9)], &options).0
        };
        let two = of(2);
        for text in ["0 · 50 %", "1 · 73 %", "7 · 99.91 %", "success among 2"] {
            assert!(two.contains(text), "{text}");
        }
        assert!(of(4).contains("0 · 25 %"));
    }

    #[test]
    fn a_wide_grid_says_that_its_axis_is_logarithmic() {
        let (svg, _) = drawn(&[series("em", &[0.1, 1.0, 2500.0], 0.5)], &options());
        assert!(svg.contains("logarithmic") && svg.contains("2500"));
        let one = claiming("em", &[2500.0], 0.5, 1.0);
        let (svg, _) = drawn(&[one], &options());
        assert!(svg.contains("claim = nominal ε, beyond the frame"));
    }

    /// The corners of all lines of a colour, in pixels.
    fn lines_of(svg: &str, colour: &str) -> Vec<(f64, f64)> {
        let drawn = svg
            .lines()
            .filter(|line| line.starts_with("<polyline") && line.contains(colour));
        drawn.flat_map(coordinates).collect()
    }

    /// A series whose points claim this multiple of their nominal ε.
    fn claiming(label: &str, nominal: &[f64], share: f64, times: f64) -> Series {
        let mut series = series(label, nominal, share);
        for p in &mut series.points {
            p.claim = p.nominal.map(|x| times * x);
        }
        series
    }

    #[test]
    fn no_marker_stands_on_the_other_side_of_its_claim() {
        font::register().unwrap();
        let options = options();
        for grid in [&GRID[..], &[0.0, 0.5, 6.0], &[0.1, 1.0, 7.0]] {
            let shares = [0.99, 1.0, 0.995, 0.98, 1.01];
            let all: Vec<Series> = shares
                .iter()
                .map(|&share| claiming("s", grid, share, 1.0))
                .collect();
            let figure = Figure::new(&all, &options);
            assert_eq!(figure.claims.len(), 1);
            let claim: Vec<(f64, f64)> = figure.claims[0].1.concat();
            for (series, (_, places)) in all.iter().zip(&figure.curves) {
                for (point, place) in series.points.iter().zip(places) {
                    assert_eq!(place.x, figure.x.at(point.nominal.unwrap()));
                    let of_claim = if figure.x.zero == Some(place.x) {
                        claim[0].1
                    } else {
                        height(&claim, place.x)
                    };
                    // Heights are measured from the top.
                    let below = place.lower - of_claim;
                    let expected = point.claim.unwrap() - point.lower;
                    assert!(
                        below * expected > 0.0 || below.abs() < 1e-6 && expected.abs() < 1e-9,
                        "{point:?}: {below}"
                    );
                }
            }
        }
    }

    /// The height of a line from left to right at `x`.
    fn height(line: &[(f64, f64)], x: f64) -> f64 {
        let around = line
            .windows(2)
            .find(|pair| pair[0].0 - 1e-9 <= x && x <= pair[1].0 + 1e-9 && pair[0].0 < pair[1].0);
        let [(x0, y0), (x1, y1)] = around.unwrap() else {
            unreachable!("windows of two")
        };
        y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    }

    #[test]
    fn claims_are_lines_in_the_unit_of_the_bound_and_equal_ones_are_one() {
        let both = [
            claiming("krr", &GRID, 0.4, 1.0),
            claiming("krr-half-noise", &GRID, 0.8, 1.0),
        ];
        let (svg, _) = drawn(&both, &options());
        assert!(svg.contains("claim = nominal ε\n"));
        // One straight line through the claims of both.
        font::register().unwrap();
        let options = options();
        let figure = Figure::new(&both, &options);
        let drawn_at = lines_of(&svg, "stroke=\"#808080\" stroke-width=\"8\"");
        let legend = figure.bottom + 40.0;
        let ceiling = figure.ceilings[0];
        let line = drawn_at
            .iter()
            .filter(|(_, y)| *y < legend && (y - ceiling).abs() > 0.5);
        assert!(line.clone().count() > 60);
        let slope = (figure.claims[0].1[0].last().unwrap().1 - figure.bottom)
            / (figure.right - figure.left);
        for (x, y) in line {
            let expected = figure.bottom + slope * (x - figure.left);
            assert!((y - expected).abs() < 0.6, "({x}, {y})");
        }
        let eight = figure.curves[0].1[4].x;
        let claim = figure.bottom + slope * (eight - figure.left);
        let bound = figure.curves[0].1[4].lower;
        let share = (figure.bottom - bound) / (figure.bottom - claim);
        assert!((share - 0.4 * 7.0 / 8.0).abs() < 1e-9, "{share}");
        let none = [series("identity", &GRID, 0.9)];
        let mixed = [
            both[0].clone(),
            claiming("em", &GRID, 0.2, 0.5),
            none[0].clone(),
        ];
        let (svg, _) = drawn(&mixed, &options);
        assert!(svg.contains("claim of krr = nominal ε\n"));
        assert!(svg.contains("claim of em = 0.5 × nominal ε"));
        let mut unclaimed = none.clone();
        for p in &mut unclaimed[0].points {
            p.verdict = Verdict::NoClaim;
        }
        let (svg, _) = drawn(&unclaimed, &options);
        assert!(svg.contains("no claim between such texts") && !svg.contains("claim of"));
        assert!(!svg.contains("= nominal"));
    }

    #[test]
    fn a_claim_far_above_the_bounds_leaves_them_readable() {
        let mut far = claiming("dp-prompt", &[1.0, 2.0], 1.0, 2000.0);
        let (svg, _) = drawn(&[far.clone()], &options());
        assert!(svg.contains("claim = 2000 × nominal ε, beyond the frame"));
        // Bounds of 1 and 2; claims of 5 and 4000.
        far.points[0].claim = Some(5.0);
        let (svg, _) = drawn(&[far.clone()], &options());
        assert!(svg.contains("claim = 5 to 4000, goes beyond the frame"));
        font::register().unwrap();
        let options = options();
        let all = [far];
        let figure = Figure::new(&all, &options);
        let claim = figure.claims[0].1.concat();
        assert_eq!(claim.len(), 2, "a dash at the claim of 5");
        assert!(claim.iter().all(|(_, y)| *y >= figure.top - 1e-6));
        // The bounds, 1 and 2 of at most 7.5, are still far apart.
        let [low, high] = [0, 1].map(|i| figure.curves[0].1[i].lower);
        assert!(low - high > 40.0);
    }

    #[test]
    fn all_verdicts_and_failures_are_in_the_legend_whatever_else_is() {
        let verdicts = [
            (Verdict::Consistent, "consistent: "),
            (Verdict::Violation, "violation: "),
            (Verdict::Saturated, "saturated: "),
            (Verdict::NoClaim, "no-claim: "),
        ];
        let mut all: Vec<Series> = (0..70)
            .map(|i| series(&format!("series {i}"), &GRID, 0.5))
            .collect();
        for (p, (verdict, _)) in all[69].points.iter_mut().zip(verdicts) {
            p.verdict = verdict;
        }
        all[69].points[4].failed = true;
        let options = Options {
            findings: Vec::new(),
            ..options()
        };
        let (svg, _) = drawn(&all, &options);
        for text in verdicts.iter().map(|(_, text)| *text) {
            assert!(svg.contains(text), "{text}");
        }
        assert!(svg.contains("more than 1 % of trials failed") && svg.contains(" more\n"));
        // One ring in the plot and one in the legend, of eight pieces each.
        let pieces = |svg: &str| {
            let rings = svg.lines().filter(|l| l.starts_with("<polyline"));
            rings.filter(|l| l.contains("#595959")).count()
        };
        assert_eq!(pieces(&svg), 16);
        all[69].points[4].failed = false;
        let (svg, _) = drawn(&all, &options);
        assert!(!svg.contains("trials failed") && pieces(&svg) == 0);
    }

    #[test]
    fn findings_wrap_and_those_without_room_are_counted() {
        let options = |findings: Vec<String>| Options {
            findings,
            ..options()
        };
        let one = [series("krr", &GRID, 0.5)];
        let short: Vec<String> = (1..=8).map(|i| format!("finding {i} of it.")).collect();
        let (svg, _) = drawn(&one, &options(short.clone()));
        assert!(svg.contains("finding 5 of it.") && !svg.contains("finding 6 of it."));
        assert!(svg.contains("… and 3 more: see the table"));
        let (svg, _) = drawn(&one, &options(short[..6].to_vec()));
        assert!(svg.contains("finding 6 of it.") && !svg.contains("see the table"));
        let sentence = |i| format!("finding {i}: {}.", "it leaks at least so much ".repeat(9));
        let long: Vec<String> = (1..=8).map(sentence).collect();
        font::register().unwrap();
        let options = options(long);
        let figure = Figure::new(&one, &options);
        assert_eq!(figure.findings.len(), 5);
        assert_eq!(figure.findings[4], "… and 6 more: see the table");
        let widest = f64::from(SIZE.0) - 2.0 * MARGIN;
        assert!(
            figure
                .findings
                .iter()
                .all(|line| font::width(line, SMALL) <= widest)
        );
        assert!(figure.bottom - figure.top >= 300.0);
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
                claimant: "odd".into(),
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
