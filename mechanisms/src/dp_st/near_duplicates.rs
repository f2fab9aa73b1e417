//! Of triples that are nearly the same, one.

use std::collections::BTreeSet;

use super::triples::Triple;

/// Similarity from which two triples are near-duplicates: that of the code, there estimated by MinHash.
const THRESHOLD: f64 = 0.4;

/// Goes through the triples, those with most near-duplicates first: of each and its near-duplicates, as far as none
/// was before, the shortest stays, or the first of them. One without near-duplicates stays if `keeps_lone`. What stays
/// is in the order of the text.
pub fn merged(triples: Vec<Triple>, keeps_lone: bool) -> Vec<Triple> {
    let grams: Vec<BTreeSet<[char; 3]>> = triples.iter().map(grams).collect();
    let near: Vec<Vec<usize>> = (0..triples.len())
        .map(|i| {
            let is_near = |j: &usize| jaccard(&grams[i], &grams[*j]) >= THRESHOLD;
            (0..triples.len()).filter(is_near).collect()
        })
        .collect();
    let mut order: Vec<usize> = (0..triples.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(near[*i].len()));
    let mut open = vec![true; triples.len()];
    let mut stays = vec![false; triples.len()];
    for i in order {
        if !open[i] || (near[i].len() == 1 && !keeps_lone) {
            continue;
        }
        let group = near[i].iter().copied().filter(|j| open[*j]);
        let group: Vec<usize> = group.collect();
        let length = |j: &usize| triples[*j].phrase().chars().count();
        if let Some(shortest) = group.iter().copied().min_by_key(length) {
            stays[shortest] = true;
        }
        for j in group {
            open[j] = false;
        }
    }
    let kept = triples.into_iter().zip(stays);
    kept.filter(|(_, stays)| *stays)
        .map(|(triple, _)| triple)
        .collect()
}

/// Runs of three characters of the triple, as the code writes it.
fn grams(triple: &Triple) -> BTreeSet<[char; 3]> {
    let parts = [&triple.subject[..], &triple.relation, &triple.object];
    let letters: Vec<char> = parts.join(" | ").chars().collect();
    letters
        .windows(3)
        .map(|run| [run[0], run[1], run[2]])
        .collect()
}

/// |A ∩ B| / |A ∪ B|; every triple has runs.
fn jaccard(a: &BTreeSet<[char; 3]>, b: &BTreeSet<[char; 3]>) -> f64 {
    let both = a.intersection(b).count();
    both as f64 / (a.len() + b.len() - both) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triple(phrase: &str) -> Triple {
        let mut parts = phrase.split(" | ").map(str::to_owned);
        let mut part = || parts.next().unwrap();
        Triple {
            subject: part(),
            relation: part(),
            object: part(),
        }
    }

    #[test]
    fn one_of_those_alike_stays() {
        let all = [
            "he | opened | the old door",
            "a dog | barked at | the moon",
            "he | opened | the door",
            "he | slowly opened | the old door",
        ]
        .map(triple);
        assert_eq!(merged(all.to_vec(), true), [all[1].clone(), all[2].clone()]);
        assert_eq!(merged(all.to_vec(), false), [all[2].clone()]);
        assert_eq!(merged(all[..2].to_vec(), false), []);
        assert_eq!(merged(Vec::new(), true), []);
    }
}
