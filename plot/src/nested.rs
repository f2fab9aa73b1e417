//! Markers at the same place, drawn one around the other.
//!
//! No marker is moved: a marker beside its nominal ε could end up on the other side of the claim, which rises with ε.
//! A marker that would be covered is drawn larger instead, so that its rim shows.

use super::curve::Place;
use super::style::MARKER;

/// Markers whose centres are closer than this cover each other.
const CLOSE: f64 = 8.0;
/// From a covering marker to the rim of the covered one, if there is room.
const STEP: f64 = 4.5;
/// The most by which the largest marker may exceed the smallest, not counting rings.
const MOST: f64 = 22.0;

/// Sets the radii of markers that are drawn in this order, the last one on top.
pub fn nest(mut places: Vec<&mut Place>) {
    let mut xs: Vec<f64> = places.iter().map(|place| place.x).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup_by(|a, b| (*a - *b).abs() < CLOSE);
    let gap = xs.windows(2).map(|pair| pair[1] - pair[0]);
    let room = (gap.fold(f64::INFINITY, f64::min) * 0.4).min(MOST);
    // What is on top of each marker; how deep it is, is known for all markers drawn after it.
    let covering: Vec<Vec<usize>> = (0..places.len())
        .map(|i| {
            let above = i + 1..places.len();
            above.filter(|&j| covers(places[j], places[i])).collect()
        })
        .collect();
    let mut depths = vec![0_u32; places.len()];
    for i in (0..places.len()).rev() {
        let above = covering[i].iter();
        depths[i] = above.map(|&j| depths[j] + 1).max().unwrap_or(0);
    }
    let deepest = depths.iter().copied().max().unwrap_or(0).max(1);
    let step = STEP.min(room / f64::from(deepest));
    for i in (0..places.len()).rev() {
        // A marker beside the one that covers it need not be as wide around it: its far side shows more.
        let reach = covering[i]
            .iter()
            .map(|&j| places[j].reach() + step - distance(places[j], places[i]) / 2.0);
        places[i].radius = reach.fold(MARKER, f64::max);
    }
}

/// Whether a marker of minimum radius, or a ring around it, hides most of one below.
fn covers(above: &Place, below: &Place) -> bool {
    let least = Place {
        radius: MARKER,
        ..*above
    };
    distance(above, below) < least.reach().max(CLOSE)
}

fn distance(a: &Place, b: &Place) -> f64 {
    (a.x - b.x).hypot(a.lower - b.lower)
}

#[cfg(test)]
mod tests {
    use super::super::sign::Sign;
    use super::*;
    use teda_core::Verdict;

    fn nested(places: &[(f64, f64, Verdict)]) -> Vec<Place> {
        let mut places: Vec<Place> = places
            .iter()
            .map(|&(x, lower, verdict)| Place {
                x,
                lower,
                upper: lower,
                cut: false,
                sign: Sign::of(verdict),
                failed: false,
                radius: MARKER,
            })
            .collect();
        nest(places.iter_mut().collect());
        places
    }

    #[test]
    fn what_is_covered_is_larger_and_no_marker_moves() {
        let (plain, ringed) = (Verdict::Consistent, Verdict::Violation);
        let at = [
            (100.0, 300.0, plain),
            (102.0, 299.0, ringed),
            (100.0, 300.0, plain),
            (100.0, 200.0, plain),
            (400.0, 300.0, plain),
        ];
        let places = nested(&at);
        for (place, (x, lower, _)) in places.iter().zip(at) {
            assert_eq!((place.x, place.lower), (x, lower));
        }
        // The first shows around the second's ring, the second around the third.
        assert!(places[0].radius > places[1].reach() && places[1].reach() > places[1].radius);
        assert!(places[1].radius > places[2].radius);
        assert!(places[2..].iter().all(|place| place.radius == MARKER));
        // A ring hides what is a little further away.
        let beside = nested(&[(100.0, 300.0, plain), (100.0, 289.0, ringed)]);
        assert!(beside[0].radius + 11.0 > beside[1].reach() + 2.0);
        let apart = nested(&[(100.0, 300.0, plain), (100.0, 289.0, plain)]);
        assert_eq!(apart[0].radius, MARKER);
    }

    #[test]
    fn many_at_one_place_stay_small() {
        let places = nested(&[(100.0, 300.0, Verdict::Consistent); 60]);
        assert!(places[0].radius <= MARKER + MOST + 1e-9);
        assert!(
            places
                .windows(2)
                .all(|pair| pair[0].radius > pair[1].radius)
        );
        // Less than half way to the next value of the grid, too.
        let close = nested(&[
            (100.0, 300.0, Verdict::Consistent),
            (100.0, 300.0, Verdict::Consistent),
            (108.0, 300.0, Verdict::Consistent),
        ]);
        assert!(close[0].radius < MARKER + 4.0);
    }
}
