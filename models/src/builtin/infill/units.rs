//! The units of a text, which are masked or kept as a whole.

use teda_core::MASK;

/// A maximal run of letters, digits and apostrophes, one other character that is not white space, or a
/// mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Unit<'a> {
    pub(super) text: &'a str,
    /// Whether it comes first or after white space.
    pub(super) spaced: bool,
}

impl Unit<'_> {
    /// Whether the unit is already a mask.
    pub(super) fn mask(&self) -> bool {
        self.spaced && self.text == MASK
    }

    /// Whether the unit is a word that a mask may replace.
    pub(super) fn maskable(&self) -> bool {
        self.spaced && self.text.contains(char::is_alphanumeric)
    }
}

/// The units of `text`, in order.
pub(super) fn split(text: &str) -> Vec<Unit<'_>> {
    let mut units = Vec::new();
    let mut spaced = true;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            spaced = true;
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let length = match rest.find(|c| !in_word(c)) {
            Some(0) if spaced && rest.starts_with(MASK) => MASK.len(),
            Some(0) => first.len_utf8(),
            Some(length) => length,
            None => rest.len(),
        };
        let (text, after) = rest.split_at(length);
        units.push(Unit { text, spaced });
        spaced = false;
        rest = after;
    }
    units
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '\'' | '\u{2019}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_what_may_be_masked() {
        let text = " don\u{2019}t  pay $5.00, 'x-y'\t\0 é !";
        let units: Vec<(&str, bool, bool)> = split(text)
            .iter()
            .map(|u| (u.text, u.spaced, u.maskable()))
            .collect();
        assert_eq!(
            units,
            [
                ("don\u{2019}t", true, true),
                ("pay", true, true),
                ("$", true, false),
                ("5", false, false),
                (".", false, false),
                ("00", false, false),
                (",", false, false),
                ("'x", true, true),
                ("-", false, false),
                ("y'", false, false),
                ("\0", true, false),
                ("é", true, true),
                ("!", true, false),
            ]
        );
        assert_eq!(split(" \n"), []);
    }

    #[test]
    fn a_mask_is_a_unit_where_a_word_could_be() {
        let units: Vec<(&str, bool)> = split("[MASK], x[MASK] [mask]")
            .iter()
            .map(|u| (u.text, u.mask()))
            .collect();
        let words = ["[MASK]", ",", "x", "[", "MASK", "]", "[", "mask", "]"];
        assert_eq!(units, words.map(|word| (word, word == MASK)));
    }
}
