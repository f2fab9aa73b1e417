//! How a text is written: case, punctuation, digits, and its code points.

use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{is_nfc, is_nfd, is_nfkc};

use super::sheet::Sheet;

/// Punctuation marks that are counted, with their names.
const MARKS: [(&str, &str); 10] = [
    (".", "full stops"),
    (",", "commas"),
    ("!", "exclamation marks"),
    ("?", "question marks"),
    (":;", "colons and semicolons"),
    ("'", "straight apostrophes"),
    ("\"", "straight quotation marks"),
    ("-", "hyphens"),
    ("()[]{}", "brackets"),
    ("\n\t\r", "line breaks and tabs"),
];

/// Code points and forms that a text may have.
const FORMS: [&str; 16] = [
    "a character beyond ASCII",
    "combining marks",
    "a form other than NFC",
    "a form other than NFD",
    "characters that NFKC would change",
    "curly quotes",
    "long dashes",
    "an ellipsis character",
    "a no-break or other special space",
    "invisible characters",
    "white space at an end",
    "two spaces in a row",
    "letters beyond Latin script",
    "control characters",
    "symbols beyond ASCII",
    "accented letters",
];

/// How a text is written.
pub(super) struct Style {
    letters: f64,
    capitals: f64,
    first_is_capital: bool,
    words: f64,
    /// Words that begin with a capital letter.
    titled: f64,
    digits: f64,
    punctuation: f64,
    marks: [f64; MARKS.len()],
    forms: [bool; FORMS.len()],
    beyond_ascii: f64,
    first: Option<char>,
    last: Option<char>,
}

impl Style {
    pub(super) fn of(text: &str) -> Self {
        let count = |is: &dyn Fn(char) -> bool| text.chars().filter(|c| is(*c)).count() as f64;
        let inner = text.trim();
        let mark = |c: char| c.is_ascii_punctuation() || (!c.is_ascii() && !c.is_alphanumeric());
        let letters = text.chars().filter(|c| c.is_alphabetic());
        let words = text.split_whitespace();
        let titled = |word: &&str| {
            word.chars()
                .find(|c| c.is_alphabetic())
                .is_some_and(char::is_uppercase)
        };
        Self {
            letters: count(&char::is_alphabetic),
            capitals: count(&char::is_uppercase),
            first_is_capital: letters.clone().next().is_some_and(char::is_uppercase),
            words: words.clone().count() as f64,
            titled: words.filter(titled).count() as f64,
            digits: count(&char::is_numeric),
            punctuation: count(&|c| c.is_ascii_punctuation()),
            marks: MARKS.map(|(marks, _)| count(&|c| marks.contains(c))),
            forms: forms(text),
            beyond_ascii: count(&|c| !c.is_ascii()),
            first: inner.chars().next().filter(|c| mark(*c)),
            last: inner.chars().next_back().filter(|c| mark(*c)),
        }
    }
}

/// Which of [`FORMS`] a text has.
fn forms(text: &str) -> [bool; FORMS.len()] {
    let mut forms = [false; FORMS.len()];
    forms[10] = text != text.trim();
    forms[11] = text.contains("  ");
    forms[13] = text
        .chars()
        .any(|c| c.is_control() && !"\n\t\r".contains(c));
    if text.is_ascii() {
        return forms;
    }
    let any = |is: &dyn Fn(char) -> bool| text.chars().any(|c| !c.is_ascii() && is(c));
    forms[0] = true;
    forms[1] = any(&is_combining_mark);
    forms[2] = !is_nfc(text);
    forms[3] = !is_nfd(text);
    forms[4] = !is_nfkc(text);
    forms[5] = any(&|c| "‘’‚“”„«»".contains(c));
    forms[6] = any(&|c| "‐‑‒–—―−".contains(c));
    forms[7] = any(&|c| c == '…');
    forms[8] = any(&char::is_whitespace);
    forms[9] = any(
        &|c| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}'),
    );
    forms[12] = any(&|c| c.is_alphabetic() && u32::from(c) >= 0x250);
    forms[14] = any(&|c| !c.is_alphanumeric() && !c.is_whitespace() && !is_combining_mark(c));
    forms[15] = any(&|c| c.is_alphabetic() && u32::from(c) < 0x250);
    forms
}

/// Compares candidate and release.
pub(super) fn compare(c: &Style, r: &Style, sheet: &mut Sheet) {
    let share = |a: f64, of: f64| if of > 0.0 { a / of } else { 0.0 };
    let apart = |a: f64, b: f64| (a.ln_1p() - b.ln_1p()).abs();
    for (what, a, b) in [
        (
            "letters",
            share(c.capitals, c.letters),
            share(r.capitals, r.letters),
        ),
        ("words", share(c.titled, c.words), share(r.titled, r.words)),
    ] {
        sheet.put(
            "how far the shares of {} with a capital are apart",
            what,
            (a - b).abs(),
        );
        sheet.put("the candidate's share of {} with a capital", what, a);
    }
    sheet.put(
        "how far the numbers of capitals are apart{}",
        "",
        apart(c.capitals, r.capitals),
    );
    sheet.sign(
        "both begin with a capital, or both do not{}",
        "",
        c.first_is_capital == r.first_is_capital,
    );
    sheet.sign(
        "the candidate begins with a capital{}",
        "",
        c.first_is_capital,
    );
    let none = |s: &Style| s.capitals == 0.0;
    let only = |s: &Style| s.capitals == s.letters && s.letters > 0.0;
    sheet.sign(
        "both are without capitals, or both are not{}",
        "",
        none(c) == none(r),
    );
    sheet.sign(
        "both are in capitals, or both are not{}",
        "",
        only(c) == only(r),
    );

    sheet.put(
        "how far the numbers of punctuation marks are apart{}",
        "",
        apart(c.punctuation, r.punctuation),
    );
    sheet.put(
        "the candidate's number of punctuation marks{}",
        "",
        c.punctuation.ln_1p(),
    );
    for (place, (_, what)) in MARKS.iter().enumerate() {
        let (a, b) = (c.marks[place], r.marks[place]);
        sheet.put("how far the numbers of {} are apart", what, apart(a, b));
        sheet.sign(
            "both have {}, or both have none",
            what,
            (a > 0.0) == (b > 0.0),
        );
        sheet.put("the candidate's number of {}", what, a.ln_1p());
    }
    sheet.sign(
        "both begin with the same mark, or with none{}",
        "",
        c.first == r.first,
    );
    sheet.sign(
        "both end with the same mark, or with none{}",
        "",
        c.last == r.last,
    );
    sheet.sign("the candidate ends with a mark{}", "", c.last.is_some());

    sheet.put(
        "how far the numbers of digits are apart{}",
        "",
        apart(c.digits, r.digits),
    );
    sheet.sign(
        "both have digits, or both have none{}",
        "",
        (c.digits > 0.0) == (r.digits > 0.0),
    );
    sheet.put("the candidate's number of digits{}", "", c.digits.ln_1p());

    sheet.put(
        "how far the numbers of characters beyond ASCII are apart{}",
        "",
        apart(c.beyond_ascii, r.beyond_ascii),
    );
    for (place, what) in FORMS.into_iter().enumerate() {
        sheet.sign(
            "both have {}, or both have not",
            what,
            c.forms[place] == r.forms[place],
        );
        sheet.sign("the candidate has {}", what, c.forms[place]);
    }
}

/// Describes a candidate if there is no release to compare it with.
pub(super) fn alone(c: &Style, sheet: &mut Sheet) {
    sheet.put(
        "there is no release, and the candidate has many {}",
        "digits",
        c.digits.ln_1p(),
    );
    sheet.put(
        "there is no release, and the candidate has many {}",
        "punctuation marks",
        c.punctuation.ln_1p(),
    );
    sheet.put(
        "there is no release, and the candidate has many {}",
        "capitals",
        c.capitals.ln_1p(),
    );
    sheet.sign(
        "there is no release, and the candidate begins with {}",
        "a capital",
        c.first_is_capital,
    );
    sheet.sign(
        "there is no release, and the candidate ends with {}",
        "a mark",
        c.last.is_some(),
    );
    for (place, (_, what)) in MARKS.iter().enumerate() {
        sheet.sign(
            "there is no release, and the candidate has {}",
            what,
            c.marks[place] > 0.0,
        );
    }
    for (place, what) in FORMS.into_iter().enumerate() {
        sheet.sign(
            "there is no release, and the candidate has {}",
            what,
            c.forms[place],
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_seen() {
        let has = |text: &str, what: &str| {
            let place = FORMS.iter().position(|form| *form == what).unwrap();
            Style::of(text).forms[place]
        };
        for (text, what) in [
            ("e\u{301}", "combining marks"),
            ("e\u{301}", "a form other than NFC"),
            ("\u{e9}", "a form other than NFD"),
            ("\u{fb01}", "characters that NFKC would change"),
            ("it’s", "curly quotes"),
            ("a – b", "long dashes"),
            ("a\u{a0}b", "a no-break or other special space"),
            ("a\u{200b}b", "invisible characters"),
            (" a", "white space at an end"),
            ("a  b", "two spaces in a row"),
            ("привет", "letters beyond Latin script"),
            ("a\u{7}b", "control characters"),
            ("5 €", "symbols beyond ASCII"),
        ] {
            assert!(has(text, what), "{text:?}: {what}");
            assert!(!has("Plain - it's.", what), "{what}");
        }
    }
}
