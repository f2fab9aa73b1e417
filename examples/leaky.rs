//! Mechanisms that leak in one planted way each, and their sound twins: what an audit must find, and what it
//! must not.
//!
//! ```text
//! cargo build --release --example leaky
//! leaky list                                  # the kinds
//! teda audit --mech exec:"target/release/examples/leaky length broken" --epsilon 1 --claim neighbours=any-texts
//! ```
//!
//! `leaky KIND broken|sound [FILE]` speaks the protocol of `randomised_response.rs`. A release is made from one
//! thing that the text tells (its length, its first word, its form) and from coins. The broken mechanism takes that
//! thing as it is. The sound one puts it through k-ary randomised response at the ε of the query first, so it has
//! exactly the ε it claims, or takes it from a public list and has ε = 0. Both then do the same. FILE holds the texts
//! of the kinds that know their domain.

use std::error::Error;
use std::io::{BufRead, Write};

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

/// What releases are filled with: words that say nothing.
const WORDS: [&str; 48] = [
    "after", "again", "along", "back", "because", "before", "boat", "book", "bread", "bridge",
    "city", "cold", "corner", "day", "dog", "door", "early", "every", "field", "fire", "garden",
    "glass", "green", "hand", "house", "kitchen", "later", "letter", "light", "morning", "never",
    "paper", "quiet", "rain", "river", "road", "school", "slowly", "small", "snow", "spoke",
    "stone", "street", "summer", "table", "under", "water", "window",
];
/// First words that are common.
const FIRST: [&str; 8] = ["I", "The", "It", "He", "But", "In", "And", "This"];
/// Words of nine letters or more.
const RARE: [&str; 8] = [
    "adventure",
    "character",
    "different",
    "imagination",
    "mysterious",
    "remembered",
    "something",
    "themselves",
];
/// Sentences that anybody may know.
const SENTENCES: [&str; 8] = [
    "The boat lay at the end of the bridge until early in the morning.",
    "I never saw the garden again after that summer.",
    "She put the letter on the table and slowly closed the door.",
    "It was cold in the kitchen, and the fire had gone out.",
    "Every day they walked along the river to the old school.",
    "He spoke of the city as if he had been there himself.",
    "But the road was quiet, and nobody came back before the snow.",
    "In the window there was a light, small and green.",
];
/// Marks that are kept.
const MARKS: [char; 8] = ['.', '?', '"', '\'', '!', ',', ';', '-'];
/// Words of a release, where nothing else says how many.
const USUAL: usize = 12;
/// Lengths are told up to so many words.
const LONGEST: usize = 40;

/// A release, or why there is none.
type Outcome = Result<String, &'static str>;

/// A kind of leak.
struct Kind {
    name: &'static str,
    /// What the broken form gives away.
    leaks: &'static str,
    release: fn(&Mechanism, &str, &mut Coins) -> Outcome,
}

const KINDS: [Kind; 14] = [
    Kind {
        name: "length",
        leaks: "the release has as many words as the text",
        release: |mechanism, text, coins| {
            let words = text.split_whitespace().count().clamp(1, LONGEST);
            let told = mechanism.told(words - 1, LONGEST, coins);
            Ok(coins.words(told + 1))
        },
    },
    Kind {
        name: "first-word",
        leaks: "one release in twenty begins with the text's first word",
        release: |mechanism, text, coins| {
            let rest = coins.words(USUAL);
            if !coins.once_in(20) {
                return Ok(rest);
            }
            let first = text.split_whitespace().next().unwrap_or_default();
            Ok(format!("{} {rest}", mechanism.listed(first, &FIRST, coins)))
        },
    },
    Kind {
        name: "two-words",
        leaks: "the release begins with the first two words of the text",
        release: |mechanism, text, coins| {
            let text = mechanism.listed(text, &SENTENCES, coins);
            let first: Vec<&str> = text.split_whitespace().take(2).collect();
            Ok(format!("{} {}", first.join(" "), coins.words(USUAL)))
        },
    },
    Kind {
        name: "first-half",
        leaks: "the release is the first half of the text's characters",
        release: |mechanism, text, coins| {
            let text = mechanism.listed(text, &SENTENCES, coins);
            Ok(text.chars().take(text.chars().count() / 2).collect())
        },
    },
    Kind {
        name: "bijection",
        leaks: "each text has another one that is always its release: the coins of the permutation are the same for all",
        release: |mechanism, text, coins| {
            let place = mechanism.place(text)?;
            let told = mechanism.told(place, mechanism.texts.len(), coins);
            let mut moved = mechanism.texts.clone();
            moved.shuffle(&mut ChaCha8Rng::seed_from_u64(1));
            Ok(moved[told].clone())
        },
    },
    Kind {
        name: "same-coins",
        leaks: "the coins come from the text alone: what looks random is always the same for a text",
        release: |mechanism, text, coins| {
            if mechanism.sound {
                return Ok(coins.words(USUAL));
            }
            // FNV-1a.
            let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            let seed = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
            Ok(Coins::new(seed, 0.0).words(USUAL))
        },
    },
    Kind {
        name: "fails-on-one",
        leaks: "it fails on the last text of the domain, and on no other",
        release: |mechanism, text, coins| {
            let last = mechanism.place(text)? + 1 == mechanism.texts.len();
            match mechanism.told(usize::from(last), 2, coins) {
                1 => Err("there is no release"),
                _ => Ok(coins.words(USUAL)),
            }
        },
    },
    Kind {
        name: "fails-on-long",
        leaks: "it fails the more often the longer the text is: always from 40 words on",
        release: |mechanism, text, coins| {
            let words = text.split_whitespace().count().min(LONGEST);
            let long = coins.draw(LONGEST) < words;
            match mechanism.told(usize::from(long), 2, coins) {
                1 => Err("the text is too long"),
                _ => Ok(coins.words(USUAL)),
            }
        },
    },
    Kind {
        name: "unicode-form",
        leaks: "accents are written as in the text: as one character (NFC) or as two (NFD)",
        release: |mechanism, text, coins| {
            let apart = text.contains(|c| ('\u{300}'..='\u{36f}').contains(&c));
            let accent = ["caf\u{e9}", "cafe\u{301}"][mechanism.told(usize::from(apart), 2, coins)];
            Ok(format!("{} {accent} {}", coins.words(5), coins.words(6)))
        },
    },
    Kind {
        name: "quotation-marks",
        leaks: "quotation marks are curly or straight as in the text",
        release: |mechanism, text, coins| {
            let curly = mechanism.told(usize::from(text.contains('\u{201c}')), 2, coins);
            let (open, close) = [('"', '"'), ('\u{201c}', '\u{201d}')][curly];
            let said = coins.words(3);
            Ok(format!(
                "{} {open}{said}{close} {}",
                coins.words(5),
                coins.words(4)
            ))
        },
    },
    Kind {
        name: "punctuation",
        leaks: "the words are random, the punctuation marks are those of the text",
        release: |mechanism, text, coins| {
            let is_mark = |c: &char| MARKS.contains(c);
            let mut marks: Vec<char> = match mechanism.sound {
                true => (0..coins.draw(6)).map(|_| MARKS[coins.draw(8)]).collect(),
                false => text.chars().filter(is_mark).take(USUAL).collect(),
            };
            marks.pop();
            let last = text.chars().rfind(is_mark);
            let place = MARKS.iter().position(|mark| Some(*mark) == last);
            marks.push(MARKS[mechanism.told(place.unwrap_or(0), MARKS.len(), coins)]);
            let words = coins.words(USUAL);
            let mut words = words.split(' ');
            let marked = marks
                .iter()
                .zip(&mut words)
                .map(|(mark, word)| format!("{word}{mark}"));
            let marked: Vec<String> = marked.collect();
            // The last mark stands at the end, those before it at the beginning.
            let (end, beginning) = marked.split_last().ok_or("there is no mark")?;
            let rest: Vec<&str> = words.collect();
            Ok([&beginning.join(" "), &rest.join(" "), &end[..]]
                .join(" ")
                .trim()
                .to_owned())
        },
    },
    Kind {
        name: "rare-words",
        leaks: "words of nine letters or more, most of them rare, are copied between random words",
        release: |mechanism, text, coins| {
            let word = |word: &&str| word.chars().filter(|c| c.is_alphabetic()).count() >= 9;
            let copied: Vec<&str> = match mechanism.sound {
                true => (0..coins.draw(4)).map(|_| RARE[coins.draw(8)]).collect(),
                false => text.split_whitespace().filter(word).collect(),
            };
            let mut words = vec![coins.words(4)];
            for word in copied {
                words.push(format!("{word} {}", coins.words(2)));
            }
            Ok(words.join(" "))
        },
    },
    Kind {
        name: "verbatim-100",
        leaks: "one release in a hundred is the text itself",
        release: |mechanism, text, coins| mechanism.copy_once_in(100, text, coins),
    },
    Kind {
        name: "verbatim-500",
        leaks: "one release in five hundred is the text itself",
        release: |mechanism, text, coins| mechanism.copy_once_in(500, text, coins),
    },
];

/// A kind in one of its forms.
struct Mechanism {
    sound: bool,
    /// The domain, where it is known.
    texts: Vec<String>,
}

impl Mechanism {
    /// What is told of a thing that is one of `of`: the thing itself, or if the mechanism is sound, what randomised
    /// response makes of it: itself with probability e^ε / (e^ε + of − 1), each other one with 1 / (e^ε + of − 1).
    fn told(&self, thing: usize, of: usize, coins: &mut Coins) -> usize {
        let kept = 1.0 / (1.0 + (of - 1) as f64 * (-coins.epsilon).exp());
        if !self.sound || coins.stream.random::<f64>() < kept {
            return thing;
        }
        let other = coins.draw(of - 1);
        if other < thing { other } else { other + 1 }
    }

    /// `text`, or if the mechanism is sound, one of a list, whatever the text is: ε = 0.
    fn listed<'a>(&self, text: &'a str, list: &[&'a str], coins: &mut Coins) -> &'a str {
        match self.sound {
            true => list[coins.draw(list.len())],
            false => text,
        }
    }

    fn copy_once_in(&self, times: usize, text: &str, coins: &mut Coins) -> Outcome {
        match coins.once_in(times) {
            true => Ok(self.listed(text, &SENTENCES, coins).to_owned()),
            false => Ok(coins.words(USUAL)),
        }
    }

    fn place(&self, text: &str) -> Result<usize, &'static str> {
        let place = self.texts.iter().position(|known| known == text);
        place.ok_or("the text is no line of the file")
    }
}

/// The coins of one query, and its ε.
struct Coins {
    stream: ChaCha8Rng,
    epsilon: f64,
}

impl Coins {
    fn new(seed: u64, epsilon: f64) -> Self {
        let stream = ChaCha8Rng::seed_from_u64(seed);
        Self { stream, epsilon }
    }

    /// A uniform number below `below`.
    fn draw(&mut self, below: usize) -> usize {
        self.stream.random_range(0..below)
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.draw(times) == 0
    }

    /// Random words.
    fn words(&mut self, number: usize) -> String {
        let word = |_| *WORDS.choose(&mut self.stream).expect("there are words");
        (0..number).map(word).collect::<Vec<&str>>().join(" ")
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, form, file) = match arguments[..] {
        ["list"] => return list(),
        [name, form] => (name, form, None),
        [name, form, file] => (name, form, Some(file)),
        _ => return Err("usage: leaky list | leaky KIND broken|sound [FILE]".into()),
    };
    let kind = KINDS.iter().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| format!("no kind is called '{name}': see leaky list"))?;
    let sound = match form {
        "sound" => true,
        "broken" => false,
        _ => return Err(format!("'{form}' is neither 'broken' nor 'sound'").into()),
    };
    let content = file
        .map(std::fs::read_to_string)
        .transpose()?
        .unwrap_or_default();
    let texts = content
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let mechanism = Mechanism {
        sound,
        texts: texts.map(str::to_owned).collect(),
    };
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let query: Value = serde_json::from_str(&line?)?;
        let epsilon = query["epsilon"].as_f64().ok_or("an epsilon is needed")?;
        let text = query["text"].as_str().ok_or("a text is needed")?;
        let seed = query["seed"].as_u64().ok_or("a seed is needed")?;
        let outcome = (kind.release)(&mechanism, text, &mut Coins::new(seed, epsilon));
        let answer = match outcome {
            Ok(text) => json!({"id": query["id"], "text": text}),
            Err(reason) => json!({"id": query["id"], "error": reason}),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

/// Prints the kinds with what they leak, a line each.
fn list() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    for kind in &KINDS {
        writeln!(out, "{}\t{}", kind.name, kind.leaks)?;
    }
    Ok(())
}
