//! What a marker says about its point: the verdict, and whether trials failed.

use teda_core::Verdict;

/// The legend's text for a point with so many failed trials that it does not show the attack alone.
pub const FAILED: &str = "broken ring: more than 1 % of trials failed";

/// How a marker shows a verdict, and the legend's text for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sign {
    /// Share of the marker, from its centre, in full colour: 1 is a filled marker, 0 one without a core.
    pub core: f64,
    /// Strength of the colour around the core: 0 is white, 1 the full colour.
    pub tint: f64,
    /// Whether the marker has a ring around it.
    pub ring: bool,
    /// The line of the legend.
    pub text: &'static str,
}

impl Sign {
    /// The sign of a verdict. This match is the only place that tells verdicts apart.
    pub fn of(verdict: Verdict) -> Self {
        let (core, tint, ring, text) = match verdict {
            Verdict::Violation => (1.0, 1.0, true, "violation: bound above the claim"),
            Verdict::Consistent => (1.0, 1.0, false, "consistent: bound within the claim"),
            Verdict::Saturated => (0.0, 0.0, false, "saturated: claim above the ceiling"),
            Verdict::Inconclusive => (0.5, 0.0, false, "inconclusive: most answers are missing"),
            Verdict::NoClaim => (0.0, 0.4, false, "no-claim: no claim between such texts"),
        };
        Self {
            core,
            tint,
            ring,
            text,
        }
    }
}
