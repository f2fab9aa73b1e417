//! Why one query, or one trial, has no answer: whose failure it was, and the reason in words.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whose failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The mechanism's own: a program that crashes on this text or refuses it, a model whose window it exceeds, an
    /// empty release. It is an outcome of the mechanism, and an adversary may learn from it.
    Mechanism,
    /// A failure on the way: a time-out, or a server that is missing, fails or is too busy, after all retries. It says
    /// nothing about the mechanism.
    Transport,
    /// The attack's: a judge whose answer cannot be read, a release beyond its window.
    Attack,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 3] = [Self::Mechanism, Self::Transport, Self::Attack];

    /// Its name in stored rows and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mechanism => "mechanism",
            Self::Transport => "transport",
            Self::Attack => "attack",
        }
    }

    /// The cause with this name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.name() == name)
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Whose failure it is.
    pub cause: Cause,
    /// What happened, in words.
    pub reason: String,
}

impl Failure {
    /// A failure on the way to a model or a program.
    #[must_use]
    pub fn transport(reason: impl Into<String>) -> Self {
        Self {
            cause: Cause::Transport,
            reason: reason.into(),
        }
    }

    /// The same failure when an attack asked: unless it is a transport failure, it counts as the attack's.
    #[must_use]
    pub fn of_attack(self) -> Self {
        Self {
            cause: match self.cause {
                Cause::Mechanism | Cause::Attack => Cause::Attack,
                Cause::Transport => Cause::Transport,
            },
            ..self
        }
    }

    /// The same failure with its reason replaced.
    #[must_use]
    pub fn map(self, words: impl FnOnce(String) -> String) -> Self {
        Self {
            reason: words(self.reason),
            ..self
        }
    }
}

/// A failure of whatever was asked, which to an audit is the mechanism's.
impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self {
            cause: Cause::Mechanism,
            reason,
        }
    }
}

impl From<&str> for Failure {
    fn from(reason: &str) -> Self {
        reason.to_owned().into()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for cause in Cause::ALL {
            assert_eq!(Cause::named(cause.name()), Some(cause));
        }
        assert_eq!(Cause::named("Attack"), None);
    }

    #[test]
    fn what_an_attack_cannot_read_is_its_own_failure_but_no_lost_connection() {
        let cause = |failure: Failure| failure.of_attack().cause;
        assert_eq!(cause("empty".into()), Cause::Attack);
        assert_eq!(cause(Failure::transport("late")), Cause::Transport);
    }
}
