//! Colours: of help, which clap writes, and of the first word of a message. Results have none.

use std::borrow::Cow;
use std::ffi::OsString;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use clap::{ColorChoice, ValueEnum};

/// The flag.
const FLAG: &str = "--color";

/// Sets when there are colours, for clap's messages as well. What the environment says (`NO_COLOR`, `CLICOLOR_FORCE`) holds where
/// the user says `auto`.
pub fn set(choice: ColorChoice) {
    let choice = match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Sets what a command line is going to say once it is read: clap may have to say before that that it cannot be read.
pub fn expect(arguments: &[OsString]) {
    let words: Vec<_> = arguments
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let value =
        words
            .iter()
            .enumerate()
            .rev()
            .find_map(|(place, word)| match word.strip_prefix(FLAG)? {
                "" => words.get(place + 1).cloned(),
                value => value.strip_prefix('=').map(|value| value.to_owned().into()),
            });
    if let Some(choice) = value.and_then(|value| ColorChoice::from_str(&value, true).ok()) {
        set(choice);
    }
}

/// A message for standard error, with `error:` and `warning:` at its beginning in colour if there are colours.
pub fn first_word(line: &str) -> Cow<'_, str> {
    let styled = |word: &str, color: AnsiColor| {
        let rest = line.strip_prefix(word)?;
        let style = Style::new().bold().fg_color(Some(color.into()));
        Some(format!("{style}{word}{style:#}{rest}"))
    };
    if AutoStream::choice(&std::io::stderr()) == anstream::ColorChoice::Never {
        return line.into();
    }
    let styled = styled("error:", AnsiColor::Red).or_else(|| styled("warning:", AnsiColor::Yellow));
    styled.map_or(line.into(), Cow::Owned)
}
