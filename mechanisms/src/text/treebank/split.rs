//! Splits a text into word tokens.
//!
//! # Definition
//! The conventions of the Penn Treebank (MacIntyre 1995), as NLTK's `word_tokenize` follows them. White space
//! separates. Of what is between it:
//! - brackets, `; @ # $ % & ? ! *`, typographic quotes, runs of backticks, `--` and runs of two or more full stops
//!   are tokens of their own; so are `,` and `:` unless a digit follows, and the full stop that ends a sentence;
//! - a quotation mark, `"` or `''`, becomes ` `` ` if it opens (at the beginning, after a space or an opening
//!   bracket), otherwise `''`;
//! - `n't`, `'s`, `'m`, `'d`, `'ll`, `'re`, `'ve` and a last `'` are cut from the word before them;
//! - *cannot, gimme, gonna, gotta, lemme, wanna, 'tis* and *'twas* are cut into their two words.
//!
//! # Deviations
//! Sentences are found by a rule (`sentences`), in NLTK by a model learned from news (Punkt).

use super::sentences::{CLOSERS, sentences};

/// Clitics that are cut off in lower case, capitals, or (one letter) either.
const CLITICS: [&str; 12] = [
    "'s", "'S", "'m", "'M", "'d", "'D", "'ll", "'LL", "'re", "'RE", "'ve", "'VE",
];
const NEGATIONS: [&str; 2] = ["n't", "N'T"];

/// Words that are two, in lower case, by the length of the first.
const JOINED: [(&str, usize); 8] = [
    ("cannot", 3),
    ("gimme", 3),
    ("gonna", 3),
    ("gotta", 3),
    ("lemme", 3),
    ("wanna", 3),
    ("'tis", 2),
    ("'twas", 2),
];

/// The word tokens of `text`.
pub fn split(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for sentence in sentences(text) {
        sentence_tokens(sentence.trim(), &mut tokens);
    }
    tokens
}

/// Appends the tokens of one sentence.
fn sentence_tokens(sentence: &str, tokens: &mut Vec<String>) {
    let last = final_stop(sentence);
    // The characters since the last token.
    let mut word = String::new();
    let mut place = 0;
    while let Some(c) = sentence[place..].chars().next() {
        let before = sentence[..place].chars().next_back();
        let rest = &sentence[place..];
        let symbol = symbol(rest, before, last == Some(place));
        if c.is_whitespace() || symbol.is_some() {
            push_word(&std::mem::take(&mut word), tokens);
        }
        match symbol {
            Some((token, length)) => {
                tokens.push(token);
                place += length;
            }
            None => {
                if !c.is_whitespace() {
                    word.push(c);
                }
                place += c.len_utf8();
            }
        }
    }
    push_word(&word, tokens);
}

/// Where the full stop stands that ends the sentence: only closing quotes and brackets follow it, and no other full
/// stop precedes it.
fn final_stop(sentence: &str) -> Option<usize> {
    let end = sentence.trim_end_matches(|c: char| CLOSERS.contains(&c) || c.is_whitespace());
    let before = end.strip_suffix('.')?;
    let single = !before.is_empty() && !before.ends_with('.');
    single.then_some(before.len())
}

/// The token at the beginning of `rest` that is not part of a word, and its length there.
fn symbol(rest: &str, before: Option<char>, is_final_stop: bool) -> Option<(String, usize)> {
    let c = rest.chars().next()?;
    let run = |c: char| rest.len() - rest.trim_start_matches(c).len();
    let opens = before.is_none_or(|c| c.is_whitespace() || "([{<".contains(c));
    let quote = |length| Some((if opens { "``" } else { "''" }.to_owned(), length));
    let own = |length: usize| Some((rest[..length].to_owned(), length));
    match c {
        '"' => quote(1),
        '\'' if rest.starts_with("''") => quote(2),
        '`' => own(run('`')),
        '.' if is_final_stop || run('.') > 1 => own(run('.')),
        '-' if run('-') > 1 => own(2),
        ',' | ':' => {
            let next = rest[1..].chars().next();
            (!next.is_some_and(|c| c.is_ascii_digit())).then(|| (c.to_string(), 1))
        }
        '«' | '»' | '“' | '”' | '„' | '‘' | '’' if is_quote(c, rest, before) => {
            own(c.len_utf8())
        }
        ';' | '@' | '#' | '$' | '%' | '&' | '?' | '!' | '*' => own(1),
        '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' => own(1),
        _ => None,
    }
}

/// Whether a typographic quote is one: between two letters it is an apostrophe.
fn is_quote(c: char, rest: &str, before: Option<char>) -> bool {
    let after = rest[c.len_utf8()..].chars().next();
    let letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    !("‘’".contains(c) && letter(before) && letter(after))
}

/// Appends a run of characters without symbols: one word, with what is cut off from it.
fn push_word(word: &str, tokens: &mut Vec<String>) {
    if word.is_empty() {
        return;
    }
    let lower = word.to_lowercase();
    if let Some((_, first)) = JOINED.iter().find(|(joined, _)| *joined == lower) {
        let (first, second) = word.split_at(*first);
        tokens.extend([first.to_owned(), second.to_owned()]);
        return;
    }
    let clitic = CLITICS.iter().chain(&NEGATIONS);
    let cut = clitic.chain(&["'"]).find_map(|clitic| {
        let stem = word.strip_suffix(clitic)?;
        (!stem.is_empty() && !stem.ends_with('\'')).then_some(stem.len())
    });
    let (stem, clitic) = word.split_at(cut.unwrap_or(word.len()));
    tokens.push(stem.to_owned());
    if !clitic.is_empty() {
        tokens.push(clitic.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(split(text).join(" "), expected);
    }

    /// As `nltk.word_tokenize` of NLTK 3.9 splits them.
    #[test]
    fn words_are_those_of_the_treebank() {
        check("", "");
        check(
            "Good muffins cost $3.88 (roughly 3,36 euros)\nin New York.",
            "Good muffins cost $ 3.88 ( roughly 3,36 euros ) in New York .",
        );
        check(
            "I can't, won't and cannot; you'd say it's Sam's.",
            "I ca n't , wo n't and can not ; you 'd say it 's Sam 's .",
        );
        check(
            "\"We gonna win,\" he said -- twice...",
            "`` We gon na win , '' he said -- twice ...",
        );
        check(
            "at 10:30: ready? yes! 50% of x@y.z",
            "at 10:30 : ready ? yes ! 50 % of x @ y.z",
        );
        check("He left. They stayed.", "He left . They stayed .");
        check("the dogs' bowl ('tis old)", "the dogs ' bowl ( 't is old )");
        check(
            "U.S. law, e.g. this",
            "U.S. law , e.g . this".replace("e.g .", "e.g.").as_str(),
        );
        check("a.b.c ..", "a.b.c ..");
        check(
            "In which year, John F. Kennedy died?",
            "In which year , John F. Kennedy died ?",
        );
        check(
            "It rained. You cannot go, dogs' owners",
            "It rained . You can not go , dogs ' owners",
        );
        check(
            "well-known U.S. law -- it's $5.50, 100% a/b",
            "well-known U.S. law -- it 's $ 5.50 , 100 % a/b",
        );
    }

    #[test]
    fn no_character_but_white_space_is_lost() {
        for text in [
            "“Odd” ‘quotes’ don’t",
            "a\u{0}b \u{1F600}!",
            "'''",
            "`x``y",
            ".,:;",
            "\"\"''\"",
            "x'y' 's",
        ] {
            let kept = |text: &str| -> String {
                text.chars()
                    .filter(|c| !c.is_whitespace() && !"\"'`".contains(*c))
                    .collect()
            };
            assert_eq!(kept(&split(text).concat()), kept(text), "{text}");
        }
    }
}
