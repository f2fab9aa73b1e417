//! What candidate and release share, letter by letter.

use super::profile::Profile;
use super::sheet::Sheet;
use super::wording::{longest_common, ratio};

/// Most characters of a text that are searched for common runs: the work is this squared.
const RUN: usize = 192;

/// Compares candidate and release.
pub(super) fn compare(c: (&Profile, &str), r: (&Profile, &str), sheet: &mut Sheet) {
    let ((c, c_text), (r, r_text)) = (c, r);
    let (c_inner, r_inner) = (c_text.trim(), r_text.trim());
    sheet.evidence(
        "the release is the candidate{}",
        ", letter by letter",
        c_text == r_text,
    );
    sheet.evidence(
        "the release is the candidate{}",
        ", word by word",
        c.words == r.words && !c.words.is_empty(),
    );
    sheet.evidence(
        "the candidate begins with the release{}",
        "",
        c_inner.starts_with(r_inner),
    );
    sheet.evidence(
        "the release begins with the candidate{}",
        "",
        r_inner.starts_with(c_inner),
    );
    sheet.evidence(
        "the candidate ends with the release{}",
        "",
        c_inner.ends_with(r_inner),
    );
    sheet.evidence(
        "the release stands in the candidate{}",
        "",
        c_inner.contains(r_inner),
    );
    sheet.evidence(
        "the candidate stands in the release{}",
        "",
        r_inner.contains(c_inner),
    );

    let length = r.lengths[2];
    let front = same(c_text.chars(), r_text.chars());
    let back = same(c_text.chars().rev(), r_text.chars().rev());
    for (what, n) in [("beginning", front), ("end", back)] {
        sheet.put(
            "the number of characters that both share at the {}",
            what,
            n.ln_1p(),
        );
        sheet.put(
            "the share of the release that both share at the {}",
            what,
            ratio(n, length),
        );
    }
    let head = |text: &str| text.chars().take(RUN).collect::<Vec<char>>();
    let run = longest_common(&head(c_text), &head(r_text)) as f64;
    sheet.put(
        "the number of characters in the longest run that both have{}",
        "",
        run.ln_1p(),
    );
    sheet.put(
        "the share of the release that is the longest run that both have{}",
        "",
        ratio(run, length.min(RUN as f64)),
    );
    sheet.put(
        "the cosine of runs of three characters{}",
        "",
        c.grams.cosine(&r.grams),
    );
}

/// Number of characters that both sequences begin with.
fn same(a: impl Iterator<Item = char>, b: impl Iterator<Item = char>) -> f64 {
    a.zip(b).take_while(|(a, b)| a == b).count() as f64
}
