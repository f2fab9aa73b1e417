//! Laws of the built-in infilling model: a candidate depends on its query, its number and the
//! options alone.

use teda_core::{Prompt, Query, Result, Sampling, Seed, TextGenerator};
use teda_models::Backend;
use teda_models::builtin::{self, Infill, Options};

const PLAIN: Sampling = at(1.0);

const fn at(temperature: f64) -> Sampling {
    Sampling {
        temperature,
        max_new_tokens: 64,
    }
}

/// The candidates of every query.
fn complete(
    model: &Infill,
    queries: &[Query<'_>],
    n: usize,
    sampling: Sampling,
) -> Result<Vec<Vec<String>>> {
    let answers = model.complete(&Prompt::new("{}"), queries, n, sampling)?;
    Ok(answers.into_iter().map(|a| a.unwrap()).collect())
}

fn model(mask_rate: f64, rounds: usize) -> Infill {
    builtin::infill(Options { mask_rate, rounds }, &Backend::F32).unwrap()
}

/// Texts of 0 to 200 units, words in and out of the vocabulary, other scripts, odd characters.
fn texts(count: u64) -> Vec<String> {
    let words = [
        "play",
        "the",
        "song",
        "Boston's",
        "weather",
        "don\u{2019}t",
        "?",
        ",",
        "5",
        "$3.50",
        "café",
        "東京",
        "x-ray",
        "…",
        "\u{0}",
        "antidisestablishmentarianism",
        "e\u{301}",
        "<mask>",
        "\t",
        "ß",
    ];
    (0..count)
        .map(|index| {
            let mut stream = Seed::root(5).at(index).stream();
            let length = match index % 10 {
                0 => stream.below(200),
                _ => stream.below(24),
            };
            let mut text = String::new();
            for _ in 0..length {
                text.push_str(words[stream.below(words.len())]);
                if stream.below(5) > 0 {
                    text.push(' ');
                }
            }
            text
        })
        .collect()
}

fn queries(texts: &[String]) -> Vec<Query<'_>> {
    texts
        .iter()
        .zip(0..)
        .map(|(text, index)| Query {
            text,
            seed: Seed::root(9).at(index),
        })
        .collect()
}

#[test]
fn any_batch_and_any_number_of_threads_give_the_same_texts() {
    let texts = texts(300);
    let queries = queries(&texts);
    let model = model(0.3, 2);
    let mut results = Vec::new();
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        for batch in [1, 7, 300] {
            let texts: Vec<Vec<String>> = pool.install(|| {
                queries
                    .chunks(batch)
                    .flat_map(|chunk| complete(&model, chunk, 3, PLAIN).unwrap())
                    .collect()
            });
            results.push(texts);
        }
    }
    for result in &results[1..] {
        assert_eq!(*result, results[0]);
    }
}

#[test]
fn a_candidate_does_not_depend_on_how_many_are_asked_for() {
    let texts = texts(20);
    let queries = queries(&texts);
    let model = model(0.3, 1);
    let few = complete(&model, &queries, 2, PLAIN).unwrap();
    let many = complete(&model, &queries, 40, PLAIN).unwrap();
    for (few, many) in few.iter().zip(&many) {
        assert_eq!(few[..], many[..2]);
    }
    assert_eq!(
        complete(&model, &queries, 0, PLAIN).unwrap(),
        vec![Vec::<String>::new(); 20]
    );
    assert!(complete(&model, &[], 3, PLAIN).unwrap().is_empty());
}

#[test]
fn masks_of_a_text_are_filled_and_nothing_else_is_touched() {
    let text = "play [MASK] by [MASK], please";
    let query = [Query {
        text,
        seed: Seed::root(2),
    }];
    for (rate, rounds) in [(0.1, 1), (1.0, 3)] {
        let candidates = &complete(&model(rate, rounds), &query, 100, PLAIN).unwrap()[0];
        for candidate in candidates {
            let words: Vec<&str> = candidate.split(' ').collect();
            assert_eq!((words[0], words[2], words[4]), ("play", "by", "please"));
            let filled = [words[1], words[3].strip_suffix(',').unwrap()];
            for word in filled {
                assert!(!word.is_empty() && word.chars().all(char::is_alphanumeric));
            }
        }
        let distinct: std::collections::BTreeSet<&String> = candidates.iter().collect();
        assert!(distinct.len() > 50, "{} of 100", distinct.len());
    }
    // With every word masked there is nothing to keep.
    let all = [Query {
        text: "[MASK] [MASK]",
        seed: Seed::root(3),
    }];
    for candidate in &complete(&model(0.3, 1), &all, 20, PLAIN).unwrap()[0] {
        assert_eq!(candidate.split(' ').count(), 2);
        assert!(!candidate.contains("MASK"), "{candidate}");
    }
}

#[test]
fn kept_units_stay_verbatim_and_masks_become_single_words() {
    let text = "  Play  Beyoncé's\t“Halo”, now-or-never: 7 times!";
    let query = [Query {
        text,
        seed: Seed::root(1),
    }];
    for candidate in &complete(&model(0.3, 1), &query, 200, PLAIN).unwrap()[0] {
        let original: Vec<&str> = text.split_whitespace().collect();
        let rewritten: Vec<&str> = candidate.split(' ').collect();
        assert_eq!(rewritten.len(), original.len(), "{candidate}");
        // Five maskable words ("“Halo”," opens with a quotation mark): round(1.5) = 2 are drawn.
        let changed = original
            .iter()
            .zip(&rewritten)
            .filter(|(a, b)| a != b)
            .count();
        assert!(changed <= 2, "{candidate}");
        assert_eq!(rewritten[2], "“Halo”,");
        assert!(rewritten[3].ends_with("-or-never:"), "{candidate}");
        assert!(rewritten[5].ends_with('!'), "{candidate}");
    }
}

#[test]
fn texts_without_words_come_back_unchanged() {
    for text in ["", " ", "\n\t", "?!  …", "\u{0}", "“quoted”"] {
        let query = [Query {
            text,
            seed: Seed::root(1),
        }];
        let rewritten = complete(&model(1.0, 3), &query, 2, PLAIN).unwrap();
        assert_eq!(rewritten, [[text, text]]);
    }
}

#[test]
fn every_word_is_drawn_at_rate_one_and_a_cold_draw_is_the_mode() {
    let query = |seed| {
        [Query {
            text: "zzzz qqqq xxxx jjjj",
            seed: Seed::root(seed),
        }]
    };
    let model = model(1.0, 1);
    let drawn = complete(&model, &query(1), 20, PLAIN).unwrap();
    for text in &drawn[0] {
        for word in ["zzzz", "qqqq", "xxxx", "jjjj"] {
            assert!(!text.contains(word), "{text}");
        }
    }
    let cold = at(1e-6);
    let modes = [
        complete(&model, &query(1), 2, cold).unwrap(),
        complete(&model, &query(2), 2, cold).unwrap(),
    ];
    assert_eq!(modes[0], modes[1]);
    assert_eq!(modes[0][0][0], modes[0][0][1]);
}

#[test]
fn long_texts_and_long_words_are_rewritten() {
    let many = "word and other words, ".repeat(4_700);
    let long = format!("start {} end", "x".repeat(100_000));
    for text in [many, long] {
        let query = [Query {
            text: &text,
            seed: Seed::root(3),
        }];
        let rewritten = &complete(&model(0.3, 1), &query, 1, PLAIN).unwrap()[0][0];
        assert_eq!(
            rewritten.split_whitespace().count(),
            text.split_whitespace().count()
        );
        assert_ne!(*rewritten, text);
    }
}

#[test]
fn what_is_out_of_range_is_a_usage_error() {
    for options in [(0.0, 1), (1.1, 1), (f64::NAN, 1), (0.3, 0), (0.3, 4)] {
        let (mask_rate, rounds) = options;
        let error = builtin::infill(Options { mask_rate, rounds }, &Backend::F32).err();
        assert!(
            matches!(error, Some(teda_core::Error::Usage(_))),
            "{options:?}"
        );
    }
    for temperature in [-1.0, f64::NAN, f64::INFINITY] {
        let error = complete(&model(0.3, 1), &[], 1, at(temperature)).err();
        assert!(
            matches!(error, Some(teda_core::Error::Usage(_))),
            "{temperature}"
        );
    }
}
