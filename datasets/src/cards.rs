//! The data sets that ship in the binary. `scripts/data/build.py` made the files and prints the numbers below.

use serde::Serialize;

/// A named part of a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Split {
    /// Its name for `--split`.
    pub name: &'static str,
    /// Number of rows, before equal texts are merged.
    pub rows: usize,
}

/// What a user should know about a shipped dataset before using or citing it.
#[derive(Clone, Copy, Serialize)]
pub struct Card {
    /// Name on the command line.
    pub name: &'static str,
    /// Title of the corpus.
    pub title: &'static str,
    /// Where it was taken from.
    pub source: &'static str,
    /// Licence under which it ships.
    pub licence: &'static str,
    /// Whom to credit, as required by the licence or by courtesy.
    pub attribution: &'static str,
    /// Language of the texts (BCP 47).
    pub language: &'static str,
    /// Rows in all splits, before equal texts are merged.
    pub rows: usize,
    /// Its splits; their rows add up to `rows`.
    pub splits: &'static [Split],
    /// The split read by default.
    pub default_split: &'static str,
    /// SHA-256 of the compressed file in the binary, in lower-case hexadecimal.
    pub sha256: &'static str,
    /// Field that holds the text.
    #[serde(skip)]
    pub(crate) column: &'static str,
    /// The file itself: JSON lines, gzipped.
    #[serde(skip)]
    pub(crate) file: &'static [u8],
}

/// Every shipped dataset, in the order of listing.
#[must_use]
pub fn cards() -> &'static [Card] {
    &CARDS
}

const SNIPS: &[u8] = include_bytes!("../data/snips.jsonl.gz");
const MEDQUAD: &[u8] = include_bytes!("../data/medquad.jsonl.gz");
const NOVELS: &[u8] = include_bytes!("../data/novels.jsonl.gz");

/// Questions: the common part of the two datasets made from one file.
const MEDQUAD_QUESTIONS: Card = Card {
    name: "medquad-questions",
    title: "MedQuAD: consumer health questions answered by the NIH and the CDC (the questions)",
    source: "https://github.com/abachaa/MedQuAD",
    licence: "CC BY 4.0",
    attribution: "Asma Ben Abacha and Dina Demner-Fushman: A Question-Entailment Approach to \
                  Question Answering. BMC Bioinformatics 20:511, 2019",
    language: "en",
    rows: 16_407,
    // The source has no splits; all of it is 'train', so that every corpus has a split.
    splits: &[Split {
        name: "train",
        rows: 16_407,
    }],
    default_split: "train",
    sha256: "482b67d77c17b4d2ac8d9a19a15c7edf82c3a850dfbd6c966b33bdc0f1dc2f8a",
    column: "question",
    file: MEDQUAD,
};

static CARDS: [Card; 4] = [
    Card {
        name: "snips",
        title: "SNIPS: requests to a voice assistant, 7 intents, lower-cased and tokenised",
        source: "https://github.com/sonos/nlu-benchmark (2017), in the splits of \
                 https://github.com/trusthlt/dp-bart-private-rewriting",
        licence: "CC0 1.0",
        attribution: "Alice Coucke et al.: Snips Voice Platform: an embedded Spoken Language \
                      Understanding system for private-by-design voice interfaces. \
                      arXiv:1805.10190, 2018",
        language: "en",
        rows: 14_484,
        splits: &[
            Split {
                name: "train",
                rows: 13_084,
            },
            Split {
                name: "valid",
                rows: 700,
            },
            Split {
                name: "test",
                rows: 700,
            },
        ],
        default_split: "train",
        sha256: "28c8c047b904839b7bce142d8bfee32e528da491620f60377cff9df7cf54fd2a",
        column: "text",
        file: SNIPS,
    },
    MEDQUAD_QUESTIONS,
    Card {
        name: "medquad-answers",
        title: "MedQuAD: consumer health questions answered by the NIH and the CDC (the answers)",
        column: "answer",
        ..MEDQUAD_QUESTIONS
    },
    Card {
        name: "novels",
        title: "Sentences from novels and tales of three authors of horror fiction",
        source: "https://github.com/sjmeis/DPST (spookyauthor)",
        licence: "public domain (texts); MIT (the repository they were taken from)",
        attribution: "Edgar Allan Poe, H. P. Lovecraft and Mary Shelley; collected in sjmeis/DPST",
        language: "en",
        rows: 19_579,
        splits: &[Split {
            name: "train",
            rows: 19_579,
        }],
        default_split: "train",
        sha256: "39b5e85bc851140514a90b7ce6d0cb12c80c5408e46db7c847474b61386909e1",
        column: "text",
        file: NOVELS,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;
    use crate::{bytes, digest};

    #[test]
    fn counts_and_digests_are_those_of_the_files() {
        for card in cards() {
            assert_eq!(digest::sha256(card.file), card.sha256, "{}", card.name);
            let bytes = bytes::shipped(card).unwrap();
            let mut splits: BTreeMap<String, usize> = BTreeMap::new();
            for line in std::str::from_utf8(&bytes).unwrap().lines() {
                let row: Value = serde_json::from_str(line).unwrap();
                let split = row.get("split").map_or("train", |s| s.as_str().unwrap());
                *splits.entry(split.to_owned()).or_default() += 1;
                assert!(row[card.column].is_string(), "{}: {line}", card.name);
            }
            let written = card.splits.iter().map(|s| (s.name.to_owned(), s.rows));
            assert_eq!(splits, written.collect(), "{}", card.name);
            assert_eq!(splits.values().sum::<usize>(), card.rows, "{}", card.name);
            assert!(splits.contains_key(card.default_split), "{}", card.name);
        }
    }

    #[test]
    fn names_are_distinct_and_every_card_says_whose_it_is() {
        let mut names: Vec<&str> = cards().iter().map(|card| card.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), cards().len());
        for card in cards() {
            for said in [card.title, card.source, card.licence, card.attribution] {
                assert!(!said.is_empty(), "{}", card.name);
            }
        }
    }

    #[test]
    fn only_what_may_ship_ships() {
        for name in ["atis", "sst2", "csqa"] {
            assert!(!cards().iter().any(|card| card.name.contains(name)));
        }
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort_unstable();
        let shipped = ["medquad.jsonl.gz", "novels.jsonl.gz", "snips.jsonl.gz"];
        assert_eq!(files, shipped);
    }
}
