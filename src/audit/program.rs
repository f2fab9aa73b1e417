//! A program of the user's, as a mechanism: its command, and what it is called in results.

use std::fmt;

use teda_core::{Error, Result, shown};
use teda_mechanisms::registry;

/// What stands before a command.
const EXEC: &str = "exec:";

/// `exec:COMMAND`, or `LABEL=exec:COMMAND`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// What it is called in results; the command itself when left out.
    label: Option<String>,
    /// The command.
    pub command: String,
}

impl Program {
    /// Whether a text names a program. It may contain commas, which a list of names may not.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        Self::parted(text).is_some()
    }

    /// Label and command.
    fn parted(text: &str) -> Option<(Option<&str>, &str)> {
        if let Some(command) = text.strip_prefix(EXEC) {
            return Some((None, command));
        }
        let (label, rest) = text.split_once('=')?;
        Some((Some(label), rest.strip_prefix(EXEC)?))
    }

    /// Parses what a user typed; `None` if it is no program.
    ///
    /// # Errors
    /// Usage, for a label that is empty or would be taken for something else.
    pub fn parse(text: &str) -> Result<Option<Self>> {
        let Some((label, command)) = Self::parted(text) else {
            return Ok(None);
        };
        if let Some(label) = label {
            let why = if label.trim().is_empty() {
                Some("it is empty")
            } else if label.trim() != label {
                Some("it begins or ends with a blank")
            } else if label.contains(|c: char| c == ',' || c == ':' || c.is_control()) {
                Some("it contains a comma, a colon or a control character")
            } else if label == "all" || registry::ALL.iter().any(|entry| entry.name == label) {
                Some("a mechanism of teda is called so")
            } else {
                None
            };
            if let Some(why) = why {
                return Err(Error::usage(format!(
                    "--mech {}: the label {} cannot be used: {why}; take another one",
                    shown(text),
                    shown(label)
                )));
            }
        }
        Ok(Some(Self {
            label: label.map(str::to_owned),
            command: command.to_owned(),
        }))
    }

    /// The name in results.
    #[must_use]
    pub fn name(&self) -> String {
        self.label.clone().unwrap_or_else(|| self.unlabelled())
    }

    /// The name without a label.
    #[must_use]
    pub fn unlabelled(&self) -> String {
        format!("{EXEC}{}", self.command)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(label) = &self.label {
            write!(f, "{label}=")?;
        }
        write!(f, "{EXEC}{}", self.command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_what_stands_before_the_command() {
        let read = |text: &str| {
            let program = Program::parse(text).unwrap().unwrap();
            assert_eq!(program.to_string(), text);
            (program.name(), program.command)
        };
        let both = |name: &str, command: &str| (name.to_owned(), command.to_owned());
        assert_eq!(read("exec:cat -u"), both("exec:cat -u", "cat -u"));
        assert_eq!(read("mine=exec:a=b c,d"), both("mine", "a=b c,d"));
        assert_eq!(
            read("exec:env A=exec:b"),
            both("exec:env A=exec:b", "env A=exec:b")
        );
        assert_eq!(Program::parse("krr").unwrap(), None);
        for wrong in ["", " ", "a ", "a,b", "krr", "all", "a\u{1b}b", "own:x"] {
            let error = Program::parse(&format!("{wrong}=exec:cat")).unwrap_err();
            assert!(error.to_string().contains("cannot be used"), "{error}");
        }
    }
}
