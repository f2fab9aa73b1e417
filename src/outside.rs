//! Mechanisms from outside by name: `exec:COMMAND`, and `releases:FILE` that they made, with the claim that
//! their user states.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use teda_core::{
    Basis, Error, Guarantee, Mechanism, Neighbours, Query, Release, Result, Settings, Unit,
};
use teda_mechanisms::{Build, Context, Entry, Exec, ExecOptions, Kind, Rewriter, registry};

/// What a name begins with where a command follows.
pub const EXEC: &str = "exec:";
/// What a name begins with where a file of recorded releases follows.
pub const RELEASES: &str = "releases:";

/// How often a query that ends its process is tried again.
const RESTARTS: usize = 2;

/// How commands are run; nothing here can change a result of a command that keeps to the protocol.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Processes of a command at once.
    pub processes: usize,
    /// How long a process may be silent.
    pub timeout: Duration,
}

/// Of this process; set once, before anything is run.
static PACE: OnceLock<Pace> = OnceLock::new();

impl Pace {
    /// Makes this the pace of all commands, unless one was set before.
    pub fn set(self) {
        PACE.get_or_init(|| self);
    }

    fn get() -> Self {
        *PACE.get_or_init(|| Self {
            processes: rayon::current_num_threads(),
            timeout: Duration::from_secs(600),
        })
    }
}

/// What the user of a mechanism from outside claims of it (`--claim`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// The nominal ε, where none is given.
    epsilon: Option<f64>,
    delta: f64,
    neighbours: Neighbours,
}

impl Claim {
    /// Reads `epsilon=2,delta=0,neighbours=any-texts,unit=text`, of which everything may be left out.
    ///
    /// # Errors
    /// Usage, for what is no such claim.
    pub fn parse(text: &str) -> Result<Self> {
        let mut claim = Self {
            epsilon: None,
            delta: 0.0,
            neighbours: Neighbours::AnyTexts,
        };
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let number = |legal: fn(f64) -> bool, range: &str| {
                let number: Option<f64> = value.trim().parse().ok();
                number.filter(|number| legal(*number)).ok_or_else(|| {
                    Error::usage(format!("--claim {part}: {key} is a number {range}"))
                })
            };
            match key.trim() {
                "epsilon" => {
                    claim.epsilon = Some(number(|e| e >= 0.0 && e.is_finite(), "of 0 or more")?);
                }
                "delta" => {
                    claim.delta = number(|d| (0.0..1.0).contains(&d), "from 0 to below 1")?;
                }
                "neighbours" => {
                    let known = [Neighbours::AnyTexts, Neighbours::OneToken];
                    claim.neighbours = known
                        .into_iter()
                        .find(|neighbours| neighbours.name() == value.trim())
                        .ok_or_else(|| {
                            let names = known.map(Neighbours::name);
                            Error::unknown("neighbours in --claim", value, &names)
                        })?;
                }
                "unit" if value.trim() == Unit::Text.name() => {}
                "unit" => {
                    return Err(Error::usage(format!(
                        "--claim {part}: a claim per {value} needs to know how many a text has, which a mechanism from outside does not tell; state what it claims for a whole text (unit=text)"
                    )));
                }
                other => {
                    let known = ["epsilon", "delta", "neighbours", "unit"];
                    return Err(Error::unknown("part of --claim", other, &known));
                }
            }
        }
        Ok(claim)
    }

    fn guarantee(self, nominal: Option<f64>) -> Result<Guarantee> {
        let epsilon = self.epsilon.or(nominal).ok_or_else(|| {
            Error::usage(
                "--claim: the mechanism has no --epsilon, so the claim must state one: epsilon=…",
            )
        })?;
        Ok(Guarantee {
            epsilon,
            delta: self.delta,
            unit: Unit::Text,
            neighbours: self.neighbours,
            basis: Basis::Claimed,
        })
    }
}

/// Whether `name` is of a mechanism from outside.
pub fn is_outside(name: &str) -> bool {
    name.starts_with(EXEC) || name.starts_with(RELEASES)
}

/// The entry called `name`: of the registry, or of a mechanism from outside. `claim` is the latter's;
/// `has_epsilon` says whether it is run at nominal ε.
///
/// # Errors
/// Usage, for an unknown name or a claim that is none.
pub fn entry(name: &str, claim: Option<&str>, has_epsilon: bool) -> Result<&'static Entry> {
    if !is_outside(name) {
        return registry::entry(name);
    }
    // Entries live as long as the process; one is made for each name and claim.
    static KNOWN: Mutex<Option<HashMap<String, &'static Entry>>> = Mutex::new(None);
    let claim = claim.map(Claim::parse).transpose()?;
    let key = format!("{name}\n{claim:?}\n{has_epsilon}");
    let mut known = KNOWN.lock().expect("no thread panics with it");
    let known = known.get_or_insert_default();
    if let Some(entry) = known.get(&key) {
        return Ok(entry);
    }
    let entry = &*Box::leak(Box::new(outside_entry(name, claim, has_epsilon)));
    known.insert(key, entry);
    Ok(entry)
}

fn outside_entry(name: &str, claim: Option<Claim>, has_epsilon: bool) -> Entry {
    let (summary, build): (_, Box<Build>) = match name.strip_prefix(EXEC) {
        Some(command) => (
            "a command that answers queries, one JSON object a line",
            Box::new(build_command(command.to_owned(), claim, has_epsilon)),
        ),
        None => (
            "releases that were made earlier",
            Box::new(move |_, epsilon, _| {
                let epsilon = has_epsilon.then_some(epsilon);
                let guarantee = claim.map(|claim| claim.guarantee(epsilon)).transpose()?;
                Ok(Box::new(Recorded { guarantee }))
            }),
        ),
    };
    Entry {
        name: String::leak(name.to_owned()),
        summary,
        source: "from outside",
        kind: Kind::Outside,
        unit: has_epsilon.then_some(Unit::Text),
        grid: &[],
        parameters: &[],
        presets: &[],
        rewriter: Rewriter::Nothing,
        build: Box::leak(build),
    }
}

fn build_command(
    command: String,
    claim: Option<Claim>,
    has_epsilon: bool,
) -> impl Fn(&Context, f64, &Settings) -> Result<Box<dyn Mechanism>> {
    move |_, epsilon, _| {
        let epsilon = has_epsilon.then_some(epsilon);
        let pace = Pace::get();
        Ok(Box::new(Exec::new(ExecOptions {
            command: command.clone(),
            processes: pace.processes,
            timeout: pace.timeout,
            restarts: RESTARTS,
            epsilon,
            guarantee: claim.map(|claim| claim.guarantee(epsilon)).transpose()?,
        })?))
    }
}

/// A mechanism of which there is nothing but what it released.
struct Recorded {
    guarantee: Option<Guarantee>,
}

impl Mechanism for Recorded {
    fn guarantee(&self) -> Option<Guarantee> {
        self.guarantee
    }

    fn rewrite(&self, _: &[Query<'_>]) -> Result<Vec<Release>> {
        Err(Error::usage(
            "recorded releases are all there is of this mechanism: it rewrites no other text",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_read_with_their_defaults() {
        let claim = Claim::parse("epsilon=2,delta=1e-6,neighbours=one-token,unit=text").unwrap();
        assert_eq!(
            (claim.epsilon, claim.delta, claim.neighbours),
            (Some(2.0), 1e-6, Neighbours::OneToken)
        );
        let nominal = Claim::parse("").unwrap();
        assert_eq!(nominal.guarantee(Some(3.0)).unwrap().epsilon, 3.0);
        assert!(matches!(nominal.guarantee(None), Err(Error::Usage(_))));
        for wrong in [
            "epsilon=-1",
            "epsilon=x",
            "delta=1",
            "neighbours=all",
            "unit=token",
            "eps=1",
        ] {
            assert!(
                matches!(Claim::parse(wrong), Err(Error::Usage(_))),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_command_is_one_entry_however_often_it_is_asked_for() {
        let entry = |name, claim| super::entry(name, claim, true).unwrap();
        let first = entry("exec:cat", Some("epsilon=1"));
        assert!(std::ptr::eq(first, entry("exec:cat", Some("epsilon=1"))));
        assert!(!std::ptr::eq(first, entry("exec:cat", None)));
        assert_eq!(entry("krr", None).name, "krr");
        assert!(super::entry("kr", None, true).is_err());
    }
}
