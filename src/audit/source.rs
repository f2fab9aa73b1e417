//! Where a mechanism comes from: the registry, a program (`exec:COMMAND`, or `LABEL=exec:COMMAND`), releases that were recorded
//! (`releases:FILE`), or the Rust program that calls this library.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use teda_core::{
    Basis, Error, Guarantee, Mechanism, Neighbours, Parameter, Privacy, Query, Release, Result,
    Settings, Unit,
};
use teda_mechanisms::{Context, Entry, Exec, ExecOptions, Kind, Preset, Rewriter, registry};

use crate::audit::own::{Make, Own};
use crate::audit::program::Program;
use crate::models::Programs;

/// Prefix of a name that is a file of recorded releases.
pub const RELEASES: &str = "releases:";
/// Prefix of a name that is a Rust program's own mechanism.
const OWN: &str = "own:";

/// How often a query that ends its process is retried.
const RESTARTS: usize = 2;

/// Where a mechanism comes from. Written as what its user typed.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Source {
    /// An entry of the registry.
    Registry(&'static Entry),
    /// A program that answers queries.
    Program(Program),
    /// A file of recorded releases.
    Releases(PathBuf),
    /// The program that calls this library.
    Own(Own),
}

impl Source {
    /// Parses what a user typed.
    ///
    /// # Errors
    /// Usage, for a name that is not in the registry.
    pub fn parse(text: &str) -> Result<Self> {
        if let Some(program) = Program::parse(text)? {
            return Ok(Self::Program(program));
        }
        if let Some(file) = text.strip_prefix(RELEASES) {
            return Ok(Self::Releases(file.into()));
        }
        if let Some(name) = text.strip_prefix(OWN) {
            return Ok(Self::Own(Own::missing(name)));
        }
        registry::entry(text).map(Self::Registry)
    }

    /// A mechanism that is already built, under a name of its own.
    #[must_use]
    pub fn own(name: &str, mechanism: Arc<dyn Mechanism>) -> Self {
        Self::Own(Own::built(name, mechanism))
    }

    /// A mechanism that `make` makes at each nominal ε, under a name of its own.
    #[must_use]
    pub fn grid_of(name: &str, make: Arc<Make>) -> Self {
        Self::Own(Own::grid(name, make))
    }

    /// Renames a mechanism of the calling program; has no effect on others.
    pub fn rename(&mut self, name: &str) {
        if let Self::Own(own) = self {
            name.clone_into(&mut own.name);
        }
    }

    /// Whether it is a program or a file: neither states what it claims.
    #[must_use]
    pub fn is_external(&self) -> bool {
        matches!(self, Self::Program(_) | Self::Releases(_))
    }

    /// The file of recorded releases, if it is one.
    #[must_use]
    pub fn recorded(&self) -> Option<&Path> {
        match self {
            Self::Releases(file) => Some(file),
            _ => None,
        }
    }

    fn entry(&self) -> Option<&'static Entry> {
        match self {
            Self::Registry(entry) => Some(entry),
            _ => None,
        }
    }

    /// The δ at which it is audited unless another is asked for: that of the claim of a mechanism that rewrites.
    /// Protocols and external mechanisms are audited at 0, as they always were.
    #[must_use]
    pub fn delta(&self, claim: Option<Privacy>) -> f64 {
        let rewrites = match self {
            Self::Registry(entry) => entry.kind != Kind::Protocol,
            Self::Own(_) => true,
            Self::Program(_) | Self::Releases(_) => false,
        };
        // A claim with δ = 1 promises nothing.
        let claim = claim.filter(|claim| rewrites && claim.delta < 1.0);
        claim.map_or(0.0, |claim| claim.delta)
    }

    /// The name in results.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Own(own) => own.name.clone(),
            Self::Program(program) => program.name(),
            _ => self.to_string(),
        }
    }

    /// The name in the path of seeds: a label changes no number.
    #[must_use]
    pub fn seed_name(&self) -> String {
        match self {
            Self::Program(program) => program.unlabelled(),
            _ => self.name(),
        }
    }

    /// What one ε is spent on; `None` for a mechanism without ε. An external mechanism is run at the nominal ε that it
    /// is given, if any; a program's own mechanism at what it claims.
    #[must_use]
    pub fn unit(&self, has_epsilon: bool) -> Option<Unit> {
        match self {
            Self::Registry(entry) => entry.unit,
            Self::Program(_) | Self::Releases(_) => has_epsilon.then_some(Unit::Text),
            Self::Own(own) if own.is_grid() => has_epsilon.then_some(Unit::Text),
            Self::Own(own) => own.guarantee().map(|claim| claim.unit),
        }
    }

    /// Like [`Self::unit`], where an instance is there to be asked: one made at an ε says itself what it is spent on.
    #[must_use]
    pub fn unit_of(&self, instance: &dyn Mechanism, has_epsilon: bool) -> Option<Unit> {
        let claim = match self {
            Self::Own(_) => instance.guarantee(),
            _ => None,
        };
        claim
            .map(|claim| claim.unit)
            .or_else(|| self.unit(has_epsilon))
    }

    /// The ε to run, out of those asked for; a single `None` for a mechanism without ε.
    ///
    /// # Errors
    /// Usage, if ε are asked for and the mechanism is already built.
    pub fn grid(&self, asked: Option<&[f64]>) -> Result<Vec<Option<f64>>> {
        let all = |epsilons: &[f64]| epsilons.iter().copied().map(Some).collect();
        Ok(match (self, asked) {
            (Self::Own(own), asked) => own.epsilons(asked)?,
            (_, asked) => match (self.unit(asked.is_some()), asked) {
                (None, _) => vec![None],
                (Some(_), Some(asked)) => all(asked),
                (Some(_), None) => all(self.entry().map_or(&[], |entry| entry.grid)),
            },
        })
    }

    /// The parameters that `--set` can change.
    #[must_use]
    pub fn parameters(&self) -> &'static [Parameter] {
        self.entry().map_or(&[], |entry| entry.parameters)
    }

    /// The presets that `--preset` can choose.
    #[must_use]
    pub fn presets(&self) -> &'static [Preset] {
        self.entry().map_or(&[], |entry| entry.presets)
    }

    /// The kind of model that it rewrites with.
    #[must_use]
    pub fn rewriter(&self) -> Rewriter {
        self.entry()
            .map_or(Rewriter::Nothing, |entry| entry.rewriter)
    }

    /// The parameter values of `preset` (if any) overridden by `given`.
    ///
    /// # Errors
    /// Usage, for an unknown preset or parameter, or a value out of range.
    pub fn settings(&self, preset: Option<&str>, given: &[(String, String)]) -> Result<Settings> {
        match self {
            Self::Registry(entry) => entry.settings(preset, given),
            _ => Settings::resolve(&self.name(), &[], given),
        }
    }

    /// An instance at `epsilon`, which is one of [`Self::grid`]. `claim` is what is claimed of an external mechanism.
    ///
    /// # Errors
    /// Usage, for an ε or a claim that it cannot have; any error from the mechanism's construction.
    pub fn instance(
        &self,
        context: &Context,
        epsilon: Option<f64>,
        settings: &Settings,
        claim: Option<&Claim>,
        programs: &Programs,
    ) -> Result<Arc<dyn Mechanism>> {
        let guarantee = || claim.map(|claim| claim.guarantee(epsilon)).transpose();
        Ok(match self {
            Self::Registry(entry) => entry.instance(context, epsilon, settings)?.into(),
            Self::Program(program) => Arc::new(Exec::new(ExecOptions {
                command: program.command.clone(),
                processes: programs
                    .processes
                    .unwrap_or_else(rayon::current_num_threads),
                timeout: programs.timeout,
                restarts: RESTARTS,
                epsilon,
                guarantee: guarantee()?,
                children: programs.children.clone(),
            })?),
            Self::Releases(_) => Arc::new(Recorded {
                guarantee: guarantee()?,
            }),
            Self::Own(own) => own.instance(epsilon)?,
        })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(entry) => f.write_str(entry.name),
            Self::Program(program) => program.fmt(f),
            Self::Releases(file) => write!(f, "{RELEASES}{}", file.display()),
            Self::Own(own) => write!(f, "{OWN}{}", own.name),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl TryFrom<String> for Source {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

impl From<Source> for String {
    fn from(source: Source) -> Self {
        source.to_string()
    }
}

/// What the user of an external mechanism claims of it (`--claim`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Claim {
    /// The claim as written.
    text: String,
    /// The nominal ε, if none is given.
    epsilon: Option<f64>,
    delta: f64,
    neighbours: Neighbours,
}

impl Claim {
    /// Parses `epsilon=2,delta=0,neighbours=any-texts,unit=text`; every part may be left out.
    ///
    /// # Errors
    /// Usage, for an invalid claim.
    pub fn parse(text: &str) -> Result<Self> {
        let mut claim = Self {
            text: text.to_owned(),
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
                        "--claim {part}: a claim per {value} needs to know how many a text has, which an external mechanism does not tell; state what it claims for a whole text (unit=text)"
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

    fn guarantee(&self, nominal: Option<f64>) -> Result<Guarantee> {
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

impl TryFrom<String> for Claim {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

impl From<Claim> for String {
    fn from(claim: Claim) -> Self {
        claim.text
    }
}

/// A mechanism known only by its recorded releases.
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
    fn a_source_is_written_as_it_was_typed() {
        for text in ["krr", "exec:python3 a,b.py", "releases:x/y.csv", "own:mine"] {
            let source = Source::parse(text).unwrap();
            assert_eq!(source.to_string(), text);
            let json = serde_json::to_value(&source).unwrap();
            assert_eq!(serde_json::from_value::<Source>(json).unwrap(), source);
        }
        assert!(Source::parse("kr").is_err());
    }

    #[test]
    fn only_rewriters_are_audited_at_the_delta_of_their_claim() {
        let claim = |delta| {
            Some(Privacy {
                epsilon: 1.0,
                delta,
            })
        };
        let delta = |name, of| Source::parse(name).unwrap().delta(claim(of));
        assert_eq!(delta("dp-bart", 1e-5), 1e-5);
        assert_eq!(delta("dp-bart", 1.0), 0.0);
        assert_eq!(Source::parse("dp-bart").unwrap().delta(None), 0.0);
        for other in ["gaussian", "exec:cat", "releases:x.csv"] {
            assert_eq!(delta(other, 1e-5), 0.0, "{other}");
        }
    }

    #[test]
    fn an_external_mechanism_runs_at_what_it_is_given() {
        let source = Source::parse("exec:cat").unwrap();
        assert_eq!(source.grid(None).unwrap(), [None]);
        assert_eq!(
            source.grid(Some(&[1.0, 2.0])).unwrap(),
            [Some(1.0), Some(2.0)]
        );
        let krr = Source::parse("krr").unwrap();
        assert_eq!(krr.grid(None).unwrap().len(), 4);
    }
}
