//! TeDA's question to a judge, and parsing its answer.
//!
//! # Source
//! TeDA (arXiv 2603.22968), Appendix B, word for word.
//!
//! # Deviations
//! The paper typesets formulas (Y, K, N ∈ {1,…,K}) and a list: here K is written as the number of candidates, and
//! paragraphs and list items begin on their own lines.

use teda_core::{Answer, Prompt, Seed};

/// Number of orders in which each trial is asked.
pub(super) const ORDERS: usize = 2;

/// The question about `k` candidates; it has a place for what [`shown`] writes.
pub(super) fn question(k: usize) -> Prompt {
    Prompt::new(&format!(
        "You are given a rewritten text Y and several candidate original texts. Your task is to identify \
         which candidate is the most likely original text that was rewritten to produce Y.\n\
         Output format. Answer with exactly the following format on a single line: answer: [[N]], where \
         N ∈ {{1,...,{k}}}. Do not include analysis or any additional text.\n\
         Rewritten text Y:\n\
         {{}}\n\
         Which candidate is most likely the original?"
    ))
}

/// The release and the candidates in the order of their numbers.
pub(super) fn shown<'a>(release: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    let mut text = format!("{release}\nCandidate original texts:");
    for (number, candidate) in (1..).zip(candidates) {
        text += &format!("\n{number}. {candidate}");
    }
    text
}

/// The answer that names candidate `number`, from 1.
pub(super) fn answer(number: usize) -> String {
    format!("answer: [[{number}]]")
}

/// The number that `said` names, from 1 to `k`: it must contain nothing but that answer.
pub(super) fn read(said: &str, k: usize) -> Answer<usize> {
    (1..=k)
        .find(|number| said.trim() == answer(*number))
        .ok_or_else(|| {
            let start: String = said.trim().chars().take(60).collect();
            format!("the judge did not answer 'answer: [[N]]' with N from 1 to {k}, but {start:?}")
                .into()
        })
}

/// The orders in which k candidates are shown: a random one, and the same rotated by half its length.
pub(super) fn orders(seed: Seed, k: usize) -> [Vec<usize>; ORDERS] {
    let mut drawn: Vec<usize> = (0..k).collect();
    seed.stream().shuffle(&mut drawn);
    std::array::from_fn(|turn| {
        let mut order = drawn.clone();
        order.rotate_left(turn * k / ORDERS);
        order
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_is_the_papers() {
        let asked = question(2).fill(&shown("play jazz", ["rain?", "jazz please"].into_iter()));
        assert_eq!(
            asked,
            "You are given a rewritten text Y and several candidate original texts. Your task is to identify which candidate is the most likely original text that was rewritten to produce Y.
Output format. Answer with exactly the following format on a single line: answer: [[N]], where N ∈ {1,...,2}. Do not include analysis or any additional text.
Rewritten text Y:
play jazz
Candidate original texts:
1. rain?
2. jazz please
Which candidate is most likely the original?"
        );
        // Everything before the texts is one prefix, whatever the texts are.
        assert!(question(16).before().ends_with(
            "{1,...,16}. Do not include analysis or any additional text.\nRewritten text Y:\n"
        ));
    }

    #[test]
    fn answers_are_read_strictly() {
        for (said, k, number) in [
            ("answer: [[2]]", 2, Some(2)),
            ("  answer: [[1]]\n", 2, Some(1)),
            ("answer: [[12]]", 16, Some(12)),
            ("Answer: [[2]]", 2, None),
            ("answer: [[3]] because", 4, None),
            ("answer: [[9]]", 2, None),
            ("answer: [[0]]", 2, None),
            ("answer: [[02]]", 2, None),
            ("answer: [[2]", 2, None),
            ("answer: [2]", 2, None),
            ("answer:[[2]]", 2, None),
            ("answer: [[ 2 ]]", 2, None),
            ("answer: [[N]]", 2, None),
            ("answer: [[1]]\nanswer: [[2]]", 2, None),
            ("2", 2, None),
            ("", 2, None),
        ] {
            assert_eq!(read(said, k).ok(), number, "{said:?}");
        }
        let reason = read(&"word ".repeat(1000), 2).unwrap_err().reason;
        assert!(
            reason.contains("from 1 to 2") && reason.len() < 200,
            "{reason}"
        );
    }

    #[test]
    fn orders_are_random_and_put_everyone_in_both_halves() {
        let mut first = [0_u32; 5];
        for trial in 0..10_000 {
            let [drawn, turned] = orders(Seed::root(3).at(trial), 5);
            let mut sorted = drawn.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
            assert_eq!(turned, [&drawn[2..], &drawn[..2]].concat());
            first[drawn[0]] += 1;
        }
        // Four standard deviations of Bin(10 000, 1/5).
        assert!(first.iter().all(|n| n.abs_diff(2000) < 160), "{first:?}");
        let [one, other] = orders(Seed::root(4), 2);
        assert_eq!([one[0], one[1]], [other[1], other[0]]);
    }
}
