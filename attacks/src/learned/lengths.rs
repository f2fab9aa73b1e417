//! Lengths: the terms of a Gaussian regression of the release's length on the candidate's.

use super::profile::Profile;
use super::sheet::Sheet;

const MEASURES: [&str; 3] = ["words", "word pieces", "characters"];
/// Longer lengths count as this.
const MOST: f64 = 2_000.0;

/// Compares candidate and release.
pub(super) fn compare(c: &Profile, r: &Profile, sheet: &mut Sheet) {
    for (place, what) in MEASURES.into_iter().enumerate() {
        let (c, r) = (c.lengths[place], r.lengths[place]);
        sheet.sign("the release has as many {} as the candidate", what, c == r);
        sheet.sign(
            "the release has as many {} as the candidate, or one more or less",
            what,
            (c - r).abs() <= 1.0,
        );
        let (c_log, r_log) = (c.ln_1p(), r.ln_1p());
        sheet.put(
            "how far the numbers of {} are apart, as a ratio",
            what,
            (c_log - r_log).abs(),
        );
        sheet.put("the logarithm of the candidate's number of {}", what, c_log);
        sheet.put("its square, of {}", what, c_log * c_log);
        sheet.put(
            "the product of the logarithms of both numbers of {}",
            what,
            c_log * r_log,
        );
        let (c, r) = (c.min(MOST), r.min(MOST));
        sheet.put("how far the numbers of {} are apart", what, (c - r).abs());
        sheet.put("the candidate's number of {}", what, c);
        sheet.put("the square of the candidate's number of {}", what, c * c);
        sheet.put("the product of both numbers of {}", what, c * r);
    }
}

/// Describes the length of a candidate if there is no release to compare it with.
pub(super) fn alone(c: &Profile, sheet: &mut Sheet) {
    for (place, what) in MEASURES.into_iter().enumerate() {
        let log = c.lengths[place].ln_1p();
        sheet.put(
            "there is no release, and the candidate has many {}",
            what,
            log,
        );
        sheet.put(
            "there is no release, and the square of the candidate's number of {}",
            what,
            log * log,
        );
        sheet.put(
            "there is no release, and the candidate's number of {}",
            what,
            c.lengths[place].min(MOST),
        );
    }
}
