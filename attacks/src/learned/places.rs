//! Releases that are one number or one bit for each text of the data set: the entry at the candidate's position.

use super::sheet::Sheet;

/// A release with as many entries as the data set has texts.
pub(super) struct Places(Vec<f64>);

impl Places {
    /// That many numbers separated by white space, or that many bits; empty for any other release.
    pub(super) fn of(release: &str, texts: usize) -> Self {
        let bits = |release: &str| release.bytes().all(|b| b == b'0' || b == b'1');
        if release.len() == texts && bits(release) {
            return Self(release.bytes().map(|b| f64::from(b - b'0')).collect());
        }
        let number = |word: &str| word.parse().ok().filter(|x: &f64| x.is_finite());
        let numbers: Option<Vec<f64>> = release.split_whitespace().map(number).collect();
        Self(numbers.filter(|all| all.len() == texts).unwrap_or_default())
    }

    /// Adds the entry of the text `number`.
    pub(super) fn compare(&self, number: usize, sheet: &mut Sheet) {
        let entry = self.0.get(number).copied().unwrap_or(0.0);
        sheet.put(
            "the release's number at the candidate's place in the data set{}",
            "",
            entry.clamp(-1e6, 1e6),
        );
        // ln of the ratio of two Laplace densities one apart is linear between them and constant beyond.
        sheet.put(
            "the release's number at the candidate's place in the data set, cut to 0 and 1{}",
            "",
            entry.clamp(0.0, 1.0),
        );
        sheet.evidence(
            "the release's number at the candidate's place in the data set is above one half{}",
            "",
            entry > 0.5,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_numbers_have_places_and_words_have_none() {
        assert_eq!(Places::of("010", 3).0, [0.0, 1.0, 0.0]);
        assert_eq!(Places::of("-0.5 1e3 2", 3).0, [-0.5, 1e3, 2.0]);
        for other in ["0102", "01", "0.5 x 2", "", "category 3"] {
            assert!(Places::of(other, 3).0.is_empty(), "{other}");
        }
        assert!(Places::of("nan inf 1", 3).0.is_empty());
    }
}
