//! The worst pair: ε is a supremum, so the best of many bounds counts, provided that the choice is paid for.
//!
//! # Definition
//! For pair j with s_j hits in T_j trials among k candidates, let ε̂_j(t) be TeDA's forced-choice bound at tail t.
//! Bonferroni: max_j ε̂_j(α/(2m)) over m pairs. Split: j* = argmax_j ε̂_j on one half of the trials, and ε̂_{j*}(α/2)
//! on the other. The same works for the best of several attacks, thresholds or λ.
//!
//! # Guarantee
//! Bonferroni spends α/(2m) on each of the m limits. The split spends α/2 on one limit, from trials that had no part
//! in choosing it. In both cases the m pairs must be listed before their trials are seen; a pair without trials still
//! counts.
//!
//! # Source
//! Union bound (Bonferroni 1936); data splitting (Cox 1975), as in DP-Sniper (Bichsel et al. 2021),
//! which certifies its witness on fresh samples.
//!
//! # Errors
//! Usage, if the two halves list different numbers of pairs.

use std::collections::BTreeMap;

use super::evidence::{Design, Evidence, Observed};
use super::{Assurance, Bound, Estimator, Level, Needs, check_guess, teda};
use crate::{Error, Result};

/// The estimator that pays for every set of candidates.
pub const BONFERRONI: Estimator = Estimator {
    name: "worst-pair",
    summary: "the candidate set that shows most, of few sets with many trials each; prints it",
    spends: "alpha/2 divided among all candidate sets",
    assurance: Assurance::Confidence,
    needs: Needs::Guesses,
    supports: |_| Ok(()),
    begin: |design| Box::new(Sets::new(design, false)),
};

/// The estimator that chooses on one half and certifies on the other.
pub const SPLIT: Estimator = Estimator {
    name: "worst-pair-split",
    summary: "the candidate set that shows most in the even trials, bounded by the odd ones; prints it",
    spends: "alpha/2 on one Clopper-Pearson limit of the trials that did not choose",
    assurance: Assurance::Confidence,
    needs: Needs::Guesses,
    supports: |_| Ok(()),
    begin: |design| Box::new(Sets::new(design, true)),
};

/// Most candidate sets that are distinguished: with more, none has many trials.
const MOST_SETS: usize = 1_000_000;

/// Hits by candidate set.
struct Sets {
    design: Design,
    splits: bool,
    trials: u64,
    /// Keyed by the sorted set: the trials that choose, and those that certify (all of them, if there is no split).
    hits: BTreeMap<Vec<u32>, [Hits; 2]>,
}

impl Sets {
    fn new(design: Design, splits: bool) -> Self {
        Self {
            design,
            splits,
            trials: 0,
            hits: BTreeMap::new(),
        }
    }

    fn half(&self, half: usize) -> Vec<Hits> {
        self.hits.values().map(|halves| halves[half]).collect()
    }

    fn worst(&self) -> Option<WorstPair> {
        let Design {
            k, level, delta, ..
        } = self.design;
        if self.splits {
            split(&self.half(0), &self.half(1), k, level, delta).ok()?
        } else {
            bonferroni(&self.half(1), k, level, delta)
        }
    }

    /// What the set with most trials would have shown if every guess in it had been right.
    fn ceiling(&self) -> f64 {
        let certifying = self.half(1);
        let trials = certifying.iter().map(|hits| hits.trials).max().unwrap_or(0);
        let all = Hits {
            hits: trials,
            trials,
        };
        let tests = if self.splits {
            1
        } else {
            certifying.len().max(1)
        };
        let tail = self.design.level.tail() / tests as f64;
        forced_choice(&all, self.design.k, tail, self.design.delta)
    }
}

impl Evidence for Sets {
    fn record(&mut self, trial: &Observed<'_>) -> Result<()> {
        let mut set = trial.candidates.to_vec();
        set.sort_unstable();
        let half = usize::from(!self.splits || self.trials % 2 == 1);
        self.trials += 1;
        let hits = &mut self.hits.entry(set).or_default()[half];
        hits.trials += 1;
        hits.hits += u64::from(trial.hit());
        if self.hits.len() > MOST_SETS {
            return Err(Error::usage(format!(
                "more than {MOST_SETS} candidate sets: the worst of so many cannot be told; take fewer texts (--limit)"
            )));
        }
        Ok(())
    }

    fn bound(&self) -> Bound {
        Bound {
            epsilon: self.worst().map_or(0.0, |worst| worst.epsilon),
            ceiling: self.ceiling(),
        }
    }

    fn witness(&self) -> Option<Vec<u32>> {
        let worst = self.worst().filter(|worst| worst.epsilon > 0.0)?;
        self.hits.keys().nth(worst.index).cloned()
    }
}

/// Hits and trials of one pair (or attack, threshold, λ).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hits {
    /// Trials in which the guess was the secret.
    pub hits: u64,
    /// All trials.
    pub trials: u64,
}

/// The pair that shows most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorstPair {
    /// Its index in the list.
    pub index: usize,
    /// ε ≥ this with confidence 1 − α/2.
    pub epsilon: f64,
}

/// The largest bound over all pairs, each at α/(2m). `None` without pairs.
///
/// # Panics
/// If k < 2, δ is outside [0, 1), or a pair has more hits than trials.
#[must_use]
pub fn bonferroni(pairs: &[Hits], k: usize, level: Level, delta: f64) -> Option<WorstPair> {
    check_guess(k, delta);
    best(pairs, k, level.tail() / pairs.len() as f64, delta)
}

/// The pair with the largest bound in `selection`, bounded by its trials in `certification`, which are separate.
/// `None` without pairs.
///
/// # Errors
/// Usage, if the two list different numbers of pairs.
///
/// # Panics
/// Same as [`bonferroni`].
pub fn split(
    selection: &[Hits],
    certification: &[Hits],
    k: usize,
    level: Level,
    delta: f64,
) -> Result<Option<WorstPair>> {
    check_guess(k, delta);
    if selection.len() != certification.len() {
        return Err(Error::usage(format!(
            "the selection half lists {} pairs and the certification half {}: they must be the same pairs in the same order",
            selection.len(),
            certification.len()
        )));
    }
    Ok(
        best(selection, k, level.tail(), delta).map(|chosen| WorstPair {
            index: chosen.index,
            epsilon: forced_choice(&certification[chosen.index], k, level.tail(), delta),
        }),
    )
}

/// The first pair with the largest bound at `tail`; if all bounds are 0, the first.
fn best(pairs: &[Hits], k: usize, tail: f64, delta: f64) -> Option<WorstPair> {
    let bounds = pairs
        .iter()
        .map(|pair| forced_choice(pair, k, tail, delta))
        .enumerate()
        .map(|(index, epsilon)| WorstPair { index, epsilon });
    bounds.reduce(|best, next| {
        if next.epsilon > best.epsilon {
            next
        } else {
            best
        }
    })
}

fn forced_choice(pair: &Hits, k: usize, tail: f64, delta: f64) -> f64 {
    teda::forced_choice(k, pair.hits, pair.trials, tail, delta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::estimator::anytime::success_limit;
    use proptest::prelude::*;

    /// A tail of 0.05.
    fn level() -> Level {
        Level::new(0.1).unwrap()
    }

    fn half(pairs: &[Hits], seed: &Seed, rates: &[f64], trials: u64) -> Vec<Hits> {
        let mut stream = seed.stream();
        let mut drawn = pairs.to_vec();
        for (pair, rate) in drawn.iter_mut().zip(rates) {
            pair.trials += trials;
            pair.hits += (0..trials).filter(|_| stream.uniform() < *rate).count() as u64;
        }
        drawn
    }

    /// 49 pairs at ε = 0.2 and one at 3, 200 trials each: the mean of 400 audits.
    #[test]
    fn one_bad_pair_among_fifty_is_found() {
        let mut rates = vec![success_limit(2, 0.2, 0.0).p; 50];
        rates[17] = success_limit(2, 3.0, 0.0).p;
        let nothing = vec![Hits::default(); 50];
        let (mut pooled, mut united, mut halved) = (0.0, 0.0, 0.0);
        for run in 0..400 {
            let seed = Seed::root(50).at(run);
            let selection = half(&nothing, &seed.named("selection"), &rates, 100);
            let certification = half(&nothing, &seed.named("certification"), &rates, 100);
            let all: Vec<Hits> = selection
                .iter()
                .zip(&certification)
                .map(|(a, b)| Hits {
                    hits: a.hits + b.hits,
                    trials: a.trials + b.trials,
                })
                .collect();
            let hits = all.iter().map(|pair| pair.hits).sum();
            pooled += teda::forced_choice(2, hits, 10_000, 0.05, 0.0) / 400.0;
            let worst = bonferroni(&all, 2, level(), 0.0).unwrap();
            let split = split(&selection, &certification, 2, level(), 0.0)
                .unwrap()
                .unwrap();
            assert_eq!((worst.index, split.index), (17, 17));
            united += worst.epsilon / 400.0;
            halved += split.epsilon / 400.0;
        }
        println!("pooled {pooled}, Bonferroni {united}, split {halved}");
        assert!((pooled - 0.2).abs() < 0.01, "{pooled}");
        assert!((united - 2.088).abs() < 0.06, "{united}");
        assert!((halved - 2.278).abs() < 0.06, "{halved}");
    }

    #[test]
    fn empty_lists_and_empty_pairs() {
        assert_eq!(bonferroni(&[], 2, level(), 0.0), None);
        assert_eq!(split(&[], &[], 2, level(), 0.0).unwrap(), None);
        let pairs = [Hits::default(), Hits { hits: 9, trials: 9 }];
        assert_eq!(bonferroni(&pairs, 2, level(), 0.0).unwrap().index, 1);
        let unlucky = split(&pairs, &pairs[..1], 2, level(), 0.0);
        assert!(matches!(unlucky, Err(Error::Usage(_))));
        let silent = [Hits::default(); 2];
        assert_eq!(
            split(&pairs, &silent, 2, level(), 0.0).unwrap(),
            Some(WorstPair {
                index: 1,
                epsilon: 0.0
            })
        );
    }

    proptest! {
        /// More pairs cost more, one pair costs nothing.
        #[test]
        fn bonferroni_pays_for_every_pair(trials in 1_u64..5_000, share in 0.0_f64..=1.0, k in 2_usize..10, delta in 0.0_f64..0.3, extra in 1_usize..30) {
            let pair = Hits { hits: (trials as f64 * share) as u64, trials };
            let alone = bonferroni(&[pair], k, level(), delta).unwrap();
            prop_assert_eq!(alone.epsilon, teda::forced_choice(k, pair.hits, trials, 0.05, delta));
            let mut many = vec![Hits::default(); extra];
            many.push(pair);
            let worst = bonferroni(&many, k, level(), delta).unwrap();
            prop_assert!(worst.epsilon <= alone.epsilon && worst.epsilon.is_finite());
            prop_assert!(worst.epsilon == 0.0 || worst.index == extra);
        }
    }
}
