//! Extracts the text from a language model's answer.

/// The first non-blank line of `answer`, without the quotation marks around it that instructed models like to add;
/// empty if there is none.
pub fn sentence(answer: &str) -> &str {
    let line = answer
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    unquoted(line)
}

/// All lines of `answer`, without the quotation marks around them and blanks at its ends.
pub fn whole(answer: &str) -> &str {
    unquoted(answer.trim())
}

/// A text without one pair of quotation marks around it.
pub fn unquoted(text: &str) -> &str {
    for (open, close) in [('"', '"'), ('“', '”')] {
        if let Some(inner) = text.strip_prefix(open).and_then(|l| l.strip_suffix(close))
            && !inner.contains([open, close])
        {
            return inner.trim();
        }
    }
    text
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

    #[test]
    fn a_whole_answer_keeps_its_lines() {
        assert_eq!(whole("\n\"One. Two.\nThree.\"\n"), "One. Two.\nThree.");
        assert_eq!(whole("\"a\" and\n\"b\""), "\"a\" and\n\"b\"");
        assert_eq!(whole(" \n"), "");
    }
}
