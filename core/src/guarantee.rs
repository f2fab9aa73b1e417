//! What a mechanism claims, and what that claim means between the texts of an audit.
//!
//! # Definition
//! M is (ε, δ)-DP under a neighbour relation if P[M(x) ∈ S] ≤ e^ε P[M(x′) ∈ S] + δ for all neighbours x, x′ and all S.
//! A published ε may be per text, per generated token or per triple, and for one relation or another, so two of them
//! cannot be compared directly.
//!
//! # Source
//! Basic composition: Dwork & Roth (2014), Theorem 3.16. Group privacy: ibid., Theorem 2.2; its δ for
//! a group of g is the definition applied g times, δ(1 + e^ε + … + e^{(g−1)ε}).

use std::fmt;

use serde::{Deserialize, Serialize};

/// What one ε is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Each generated or rewritten token.
    Token,
    /// Each subject-verb-object triple.
    Triple,
    /// The whole release.
    Text,
}

impl Unit {
    /// The unit's name as printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Triple => "triple",
            Self::Text => "text",
        }
    }
}

/// Which pairs of texts a claim (or an audit) is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Neighbours {
    /// Any two texts: local differential privacy, and TeDA's setting.
    AnyTexts,
    /// Two texts of the same token count that differ in one token.
    OneToken,
    /// Any two texts, with a bound that grows with their distance.
    Metric,
}

impl Neighbours {
    /// The relation's name on the command line and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AnyTexts => "any-texts",
            Self::OneToken => "one-token",
            Self::Metric => "metric",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a claim is backed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Follows from the mechanism as implemented here; the derivation is in its file.
    Proven,
    /// Stated by the paper (or, for a broken control, by its label); not proven here.
    Claimed,
}

impl Basis {
    /// The basis' name as printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Claimed => "claimed",
        }
    }
}

/// An (ε, δ) pair for whole texts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Privacy {
    /// ε ≥ 0, natural logarithm.
    pub epsilon: f64,
    /// δ ∈ [0, 1].
    pub delta: f64,
}

/// The smallest and the largest number of units (tokens, triples) in a text of an audit, as the mechanism counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// Units of the shortest text.
    pub shortest: u64,
    /// Units of the longest text.
    pub longest: u64,
}

/// How a claim between whole texts comes about: `epsilon` of one unit, times the units of a text, times the positions at which two
/// texts may differ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Composition {
    /// ε of one unit.
    pub epsilon: f64,
    /// What one ε is spent on.
    pub unit: Unit,
    /// Units of the longest text; 1 if ε is spent on a text.
    pub units: u64,
    /// Positions at which two texts may differ, under group privacy; 1 without it.
    pub positions: u64,
}

impl Composition {
    /// The claim between whole texts.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.positions as f64 * (self.units as f64 * self.epsilon)
    }
}

/// The claim of a mechanism in its own unit and for its own neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Guarantee {
    /// ε of one unit.
    pub epsilon: f64,
    /// δ of one unit.
    pub delta: f64,
    /// What one ε is spent on.
    pub unit: Unit,
    /// The pairs of texts it is about.
    pub neighbours: Neighbours,
    /// How it is backed.
    pub basis: Basis,
}

impl Guarantee {
    /// A claim by the user about a mechanism: ε between any two texts, and δ = 0.
    #[must_use]
    pub fn claimed(epsilon: f64) -> Self {
        Self {
            epsilon,
            delta: 0.0,
            unit: Unit::Text,
            neighbours: Neighbours::AnyTexts,
            basis: Basis::Claimed,
        }
    }

    /// The claim between whole texts under `neighbours`, or `None` if nothing follows.
    ///
    /// With n = `lengths.longest` units, a per-unit claim composes to (nε, nδ). A one-token claim
    /// extends to any two texts only if all of them have the same number n of tokens: then they
    /// differ in at most n positions and group privacy gives (nε, δ(e^{nε}−1)/(e^ε−1)). Between
    /// texts of different length it says nothing. A metric claim is ε a unit of distance: between texts that are at
    /// most `diameter` apart it is ε·`diameter` ([`Mechanism::diameter`](crate::Mechanism::diameter)), and nothing
    /// without it.
    #[must_use]
    pub fn between(
        &self,
        neighbours: Neighbours,
        lengths: Option<Lengths>,
        diameter: Option<f64>,
    ) -> Option<Privacy> {
        let whole_text = match self.unit {
            Unit::Text => Privacy {
                epsilon: self.epsilon,
                delta: self.delta,
            },
            Unit::Token | Unit::Triple => {
                let n = lengths?.longest as f64;
                Privacy {
                    epsilon: n * self.epsilon,
                    delta: (n * self.delta).min(1.0),
                }
            }
        };
        match (self.neighbours, neighbours) {
            (Neighbours::AnyTexts, Neighbours::AnyTexts | Neighbours::OneToken)
            | (Neighbours::OneToken, Neighbours::OneToken) => Some(whole_text),
            (Neighbours::OneToken, Neighbours::AnyTexts) => lengths
                .filter(|l| l.shortest == l.longest)
                .map(|l| group(whole_text, l.longest)),
            (Neighbours::Metric, _) => diameter.map(|diameter| Privacy {
                epsilon: self.epsilon * diameter,
                delta: whole_text.delta,
            }),
            (_, Neighbours::Metric) => None,
        }
    }
}

impl Guarantee {
    /// How [`Self::between`] comes to its ε, where that is a product of whole numbers; `None` if it is the mechanism's own ε, grows
    /// with a distance, or if nothing follows.
    #[must_use]
    pub fn composition(
        &self,
        neighbours: Neighbours,
        lengths: Option<Lengths>,
    ) -> Option<Composition> {
        let claim = self.between(neighbours, lengths, None)?;
        let longest = lengths.map_or(1, |lengths| lengths.longest);
        let composition = Composition {
            epsilon: self.epsilon,
            unit: self.unit,
            units: match self.unit {
                Unit::Text => 1,
                Unit::Token | Unit::Triple => longest,
            },
            positions: match (self.neighbours, neighbours) {
                (Neighbours::OneToken, Neighbours::AnyTexts) => longest,
                _ => 1,
            },
        };
        let composed = composition.units > 1 || composition.positions > 1;
        (composed && composition.total() == claim.epsilon).then_some(composition)
    }
}

/// Group privacy for texts at distance `size`: (gε, δ Σ_{i<g} e^{iε}), δ capped at 1.
fn group(single: Privacy, size: u64) -> Privacy {
    let g = size as f64;
    let factor = if single.epsilon == 0.0 {
        g
    } else {
        (g * single.epsilon).exp_m1() / single.epsilon.exp_m1()
    };
    let delta = if single.delta == 0.0 {
        0.0
    } else {
        (single.delta * factor).min(1.0)
    };
    Privacy {
        epsilon: g * single.epsilon,
        delta,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(unit: Unit, neighbours: Neighbours, delta: f64) -> Guarantee {
        Guarantee {
            epsilon: 0.5,
            delta,
            unit,
            neighbours,
            basis: Basis::Proven,
        }
    }
    const MIXED: Option<Lengths> = Some(Lengths {
        shortest: 3,
        longest: 8,
    });
    const EQUAL: Option<Lengths> = Some(Lengths {
        shortest: 4,
        longest: 4,
    });

    #[test]
    fn a_text_level_claim_between_any_texts_holds_everywhere() {
        let g = claim(Unit::Text, Neighbours::AnyTexts, 1e-5);
        let expected = Some(Privacy {
            epsilon: 0.5,
            delta: 1e-5,
        });
        assert_eq!(g.between(Neighbours::AnyTexts, None, None), expected);
        assert_eq!(g.between(Neighbours::OneToken, MIXED, None), expected);
    }

    #[test]
    fn per_token_claims_compose_over_the_longest_text() {
        let g = claim(Unit::Token, Neighbours::AnyTexts, 1e-5);
        let p = g.between(Neighbours::AnyTexts, MIXED, None).unwrap();
        assert!((p.epsilon - 4.0).abs() < 1e-15 && (p.delta - 8e-5).abs() < 1e-18);
        assert_eq!(g.between(Neighbours::AnyTexts, None, None), None);
    }

    #[test]
    fn one_token_claims_reach_any_texts_only_at_equal_length() {
        let g = claim(Unit::Text, Neighbours::OneToken, 0.0);
        assert_eq!(g.between(Neighbours::AnyTexts, MIXED, None), None);
        assert_eq!(g.between(Neighbours::AnyTexts, None, None), None);
        let p = g.between(Neighbours::AnyTexts, EQUAL, None).unwrap();
        assert_eq!((p.epsilon, p.delta), (2.0, 0.0));
    }

    #[test]
    fn group_privacy_matches_the_geometric_sum() {
        let p = group(
            Privacy {
                epsilon: 0.5,
                delta: 1e-6,
            },
            3,
        );
        let expected = 1e-6 * (1.0 + 0.5_f64.exp() + 1.0_f64.exp());
        assert!((p.epsilon - 1.5).abs() < 1e-15);
        assert!((p.delta - expected).abs() < 1e-18);
        assert_eq!(
            group(
                Privacy {
                    epsilon: 0.0,
                    delta: 0.1
                },
                3
            )
            .delta,
            0.1 * 3.0
        );
        assert_eq!(
            group(
                Privacy {
                    epsilon: 500.0,
                    delta: 1e-6
                },
                9
            )
            .delta,
            1.0
        );
    }

    #[test]
    fn a_composed_claim_says_what_it_is_the_product_of() {
        let of = |unit, own, lengths| {
            let claim = claim(unit, own, 0.0);
            let composition = claim.composition(Neighbours::AnyTexts, lengths)?;
            let whole = claim.between(Neighbours::AnyTexts, lengths, None).unwrap();
            assert_eq!(composition.total(), whole.epsilon);
            Some((composition.units, composition.positions))
        };
        assert_eq!(of(Unit::Token, Neighbours::AnyTexts, MIXED), Some((8, 1)));
        assert_eq!(of(Unit::Text, Neighbours::OneToken, EQUAL), Some((1, 4)));
        assert_eq!(of(Unit::Token, Neighbours::OneToken, EQUAL), Some((4, 4)));
        assert_eq!(of(Unit::Text, Neighbours::AnyTexts, MIXED), None);
        assert_eq!(of(Unit::Text, Neighbours::OneToken, MIXED), None);
    }

    #[test]
    fn a_metric_claim_is_its_epsilon_times_the_greatest_distance() {
        for (unit, delta) in [(Unit::Text, 1e-6), (Unit::Token, 4e-6)] {
            let g = claim(unit, Neighbours::Metric, 1e-6);
            for neighbours in [Neighbours::AnyTexts, Neighbours::OneToken] {
                assert_eq!(g.between(neighbours, EQUAL, None), None);
                let p = g.between(neighbours, EQUAL, Some(3.0)).unwrap();
                assert_eq!((p.epsilon, p.delta), (1.5, delta));
            }
        }
    }
}
