//! What a marker says of its point: the verdict, and whether trials failed.

use teda_core::Verdict;

/// What the legend says of a point of which so many trials failed that it does not show the attack alone.
pub const FAILED: &str = "broken ring: more than 1 % of trials failed";

/// How a verdict shows in a marker, and what the legend says of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sign {
    /// Share of the marker, from its middle, in the full colour: 1 is a filled one, 0 one without a core.
    pub core: f64,
    /// Strength of the colour around the core: 0 is white, 1 the full colour.
    pub tint: f64,
    /// Whether a ring is around the marker.
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
