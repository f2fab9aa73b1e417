//! Extracts the text from a language model's answer.

/// The first non-blank line of `answer`, without the quotation marks around it that instructed models like to add;
/// empty if there is none.
pub fn sentence(answer: &str) -> &str {
    let line = answer
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    for (open, close) in [('"', '"'), ('“', '”')] {
        if let Some(inner) = line.strip_prefix(open).and_then(|l| l.strip_suffix(close))
            && !inner.contains([open, close])
        {
            return inner.trim();
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_without_its_quotation_marks() {
        assert_eq!(
            sentence("\n \"Play some jazz.\" \nSure!"),
            "Play some jazz."
        );
        assert_eq!(sentence("“Play” it"), "“Play” it");
        assert_eq!(sentence("\"a\" and \"b\""), "\"a\" and \"b\"");
        assert_eq!(sentence(" \n"), "");
        assert_eq!(sentence("\""), "\"");
    }
}
