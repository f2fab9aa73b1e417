//! The contents of a picture: its lines, their points, and the texts around them.

use teda_core::Verdict;

/// The texts of a picture, apart from its data.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The first line.
    pub title: String,
    /// The settings of the run: data set, k, λ, trials, attack.
    pub subtitle: String,
    /// The findings of the audit, one sentence each, the most telling first.
    pub findings: Vec<String>,
    /// What one nominal ε is spent on, as shown on the x axis: `text`, `token`, `triple`.
    pub unit: String,
    /// Confidence stated on the y axis, in (0, 1): 0.99 is `99 %`.
    pub confidence: f64,
    /// If the y axis is to show success rates, too: the number of candidates that they are among.
    pub success: Option<u32>,
}

/// The cells on one line.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub label: String,
    /// The name in the legend of whoever makes the claims of its points.
    pub claimant: String,
    /// Its points, in any order.
    pub points: Vec<Point>,
}

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Nominal ε ≥ 0; `None` for a mechanism without ε, which becomes a horizontal line.
    pub nominal: Option<f64>,
    /// Empirical ε: the lower bound.
    pub lower: f64,
    /// ε of the upper confidence limit; may be infinite.
    pub upper: f64,
    /// Greatest `lower` that the trials could have shown; not drawn if infinite.
    pub ceiling: f64,
    /// What the mechanism claims between the texts of the audit, in the unit of the bound: finite, not negative;
    /// `None` if it claims nothing.
    pub claim: Option<f64>,
    /// How bound and claim compare.
    pub verdict: Verdict,
    /// Whether more than 1 % of the trials failed.
    pub failed: bool,
}
