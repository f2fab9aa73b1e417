//! The limits for a cell: a largest bound, a smallest bound, a verdict.

use serde::{Serialize, Serializer};
use teda_core::{Error, Result, Verdict};
use teda_results::Cell;

use crate::cli::fields::Fields;

/// The limits of an audit, which each of its cells must keep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Limits {
    at_most: Option<AtMost>,
    at_least: Option<f64>,
    expect: Option<Verdict>,
}

/// The largest empirical ε that is allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum AtMost {
    /// What the mechanism claims between the texts of the cell; anything if it claims nothing.
    Claim,
    /// This much.
    Epsilon(f64),
}

impl Serialize for AtMost {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Claim => serializer.serialize_str("claim"),
            Self::Epsilon(epsilon) => serializer.serialize_f64(*epsilon),
        }
    }
}

impl Limits {
    /// The limits among the fields of an audit; its claim if it names none.
    ///
    /// # Errors
    /// Usage, for a value that is not a limit and for limits that no cell can keep together.
    pub fn read(fields: &Fields) -> Result<Self> {
        let at_least = fields.number("at-least")?;
        let expect = fields.word("expect")?.map(Verdict::parse).transpose();
        let expect = expect.map_err(|e| fields.at("expect", e))?;
        let at_most = match fields.word("at-most")? {
            Some("claim") => Some(AtMost::Claim),
            Some(_) => fields.number("at-most")?.map(AtMost::Epsilon),
            // A control that must be caught breaks its claim.
            None => (at_least.is_none() && expect.is_none()).then_some(AtMost::Claim),
        };
        let limits = Self {
            at_most,
            at_least,
            expect,
        };
        limits.possible().map_err(|e| fields.at("at-most", e))?;
        Ok(limits)
    }

    fn possible(&self) -> Result<()> {
        match *self {
            Self {
                at_most: Some(AtMost::Epsilon(most)),
                at_least: Some(least),
                ..
            } if most < least => Err(Error::usage(format!(
                "at-most = {most} is below at-least = {least}: no bound keeps both"
            ))),
            Self {
                at_most: Some(AtMost::Claim),
                expect: Some(Verdict::Violation),
                ..
            } => Err(Error::usage(
                "at-most = \"claim\" fails every cell that expect = \"violation\" asks for: leave one of them out",
            )),
            _ => Ok(()),
        }
    }

    /// Every limit that the cell does not keep, in words. A limit that something must be found is kept by all cells on
    /// the same releases, `beside`, if one attack finds it.
    #[must_use]
    pub fn failures<'a>(
        &self,
        cell: &Cell,
        beside: impl Iterator<Item = &'a Cell> + Clone,
    ) -> Vec<String> {
        let greatest = beside.clone().map(|cell| cell.empirical_epsilon);
        let greatest = greatest.fold(cell.empirical_epsilon, f64::max);
        let is_found = self.expect == Some(Verdict::Violation)
            && beside
                .into_iter()
                .any(|cell| cell.verdict == Verdict::Violation);
        let bound = cell.empirical_epsilon;
        let most = match self.at_most {
            // The verdict also takes the claim's δ into account.
            Some(AtMost::Claim) => (cell.verdict == Verdict::Violation).then(|| {
                let claim = cell.claimed_epsilon.unwrap_or(0.0);
                format!("ε ≥ {bound:.4} exceeds the claim of {claim}")
            }),
            Some(AtMost::Epsilon(most)) => {
                (bound > most).then(|| format!("ε ≥ {bound:.4} exceeds at-most = {most}"))
            }
            None => None,
        };
        let least = self
            .at_least
            .filter(|least| greatest < *least)
            .map(|least| {
                format!(
                    "ε ≥ {bound:.4} stays below at-least = {least} ({} trials can show {:.4})",
                    cell.trials, cell.ceiling
                )
            });
        let verdict = self
            .expect
            .filter(|verdict| cell.verdict != *verdict && !is_found)
            .map(|verdict| format!("verdict {} where {verdict} is expected", cell.verdict));
        // An audit that says nothing must not pass as one that found nothing.
        let silent = self.expect.is_none() && cell.verdict == Verdict::Inconclusive;
        let silent = silent.then(|| format!("{}: {}", cell.verdict, cell.explanation));
        [most, least, verdict, silent]
            .into_iter()
            .flatten()
            .collect()
    }

    /// The limits in a table, with `claim` replaced by its value.
    #[must_use]
    pub fn shown(&self, claim: Option<f64>) -> String {
        let most = self.at_most.map(|most| match (most, claim) {
            (AtMost::Claim, Some(claim)) => format!("≤ {claim} (claim)"),
            (AtMost::Claim, None) => "≤ claim (none)".to_owned(),
            (AtMost::Epsilon(most), _) => format!("≤ {most}"),
        });
        let least = self.at_least.map(|least| format!("≥ {least}"));
        let verdict = self.expect.map(|verdict| verdict.name().to_owned());
        let all: Vec<String> = [most, least, verdict].into_iter().flatten().collect();
        all.join(", ")
    }
}
