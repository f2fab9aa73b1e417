//! What a picture shows: its lines, their points, and what is said beside them.

use teda_core::Verdict;

/// What a picture says beside its data.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The first line.
    pub title: String,
    /// What the run was: data set, k, λ, trials, attack.
    pub subtitle: String,
    /// What the audit found, a sentence each, the most telling first.
    pub findings: Vec<String>,
    /// What one nominal ε is spent on, as the x axis says it: `text`, `token`, `triple`.
    pub unit: String,
    /// Confidence that the y axis states, in (0, 1): 0.99 is `99 %`.
    pub confidence: f64,
}

/// The cells that one line goes through.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What the legend calls it.
    pub label: String,
    /// Whose claims its points state, as the legend says it.
    pub claimant: String,
    /// Its points, in any order.
    pub points: Vec<Point>,
}

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Nominal ε ≥ 0; none for a mechanism without one, which becomes a horizontal line.
    pub nominal: Option<f64>,
    /// Empirical ε: the lower bound.
    pub lower: f64,
    /// ε of the upper confidence limit; may be infinite.
    pub upper: f64,
    /// Greatest `lower` that the trials could have shown; not drawn if infinite.
    pub ceiling: f64,
    /// What the mechanism claims between the texts of the audit, in the unit of the bound: finite, not
    /// negative; none where it claims nothing.
    pub claim: Option<f64>,
    /// How bound and claim compare.
    pub verdict: Verdict,
    /// Whether more than 1 % of the trials failed.
    pub failed: bool,
}
