//! The triples (subject, relation, object) of a text, by its words' parts of speech.
//!
//! As in ReVerb (Fader, Soderland & Etzioni 2011, Section 4) a relation begins with verbs V and is V, V P or V W* P with
//! a preposition P and nouns, adjectives, adverbs, pronouns and determiners W: the longest that a noun phrase follows,
//! its object. Its subject is the nearest noun phrase to the left that is no relative pronoun and not "there".
//!
//! Unlike there, W* has at most three words, in place of a list of the relations that are common in a large corpus; and
//! a verb that begins its sentence is a command, whose subject is "you".

use crate::text::tagger::{Tag, tags};
use crate::text::words::words;

/// A triple, in the words of its text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Triple {
    /// Whom it is about.
    pub subject: String,
    /// A verb, and what belongs to it.
    pub relation: String,
    /// What the relation is to.
    pub object: String,
}

impl Triple {
    /// Its words alone.
    #[must_use]
    pub fn phrase(&self) -> String {
        [&self.subject[..], &self.relation, &self.object].join(" ")
    }

    /// A sentence of it, by the template: its words, with a capital and a full stop.
    #[must_use]
    pub fn sentence(&self) -> String {
        let phrase = self.phrase();
        let mut letters = phrase.chars();
        let first = letters.next().map(char::to_uppercase);
        first
            .into_iter()
            .flatten()
            .chain(letters)
            .chain(['.'])
            .collect()
    }
}

/// Most words between a relation's verbs and its preposition.
const MOST_BETWEEN: usize = 3;
/// What ends a sentence.
const ENDS: [&str; 5] = [".", "!", "?", ";", ":"];
/// Noun phrases that are no subject.
const NO_SUBJECT: [&str; 7] = ["who", "whom", "which", "that", "there", "where", "when"];
/// Pronouns that a noun follows.
const POSSESSIVE: [&str; 7] = ["my", "your", "his", "her", "its", "our", "their"];
/// The subject of a command.
const COMMANDED: &str = "you";

/// The triples of `text`, in its order.
#[must_use]
pub fn triples(text: &str) -> Vec<Triple> {
    let words = words(text);
    let tags = tags(&words);
    let mut found = Vec::new();
    let mut start = 0;
    for end in 0..=words.len() {
        if words.get(end).is_none_or(|word| ENDS.contains(word)) {
            let sentence = Sentence {
                words: &words[start..end],
                tags: &tags[start..end],
            };
            sentence.extract(&mut found);
            start = end + 1;
        }
    }
    found
}

/// A sentence's words and their tags.
#[derive(Clone, Copy)]
struct Sentence<'a> {
    words: &'a [&'a str],
    tags: &'a [Tag],
}

impl Sentence<'_> {
    fn extract(self, found: &mut Vec<Triple>) {
        let mut subject: Option<String> = None;
        let mut place = 0;
        while place < self.words.len() {
            if let Some(end) = self.noun_phrase(place) {
                let phrase = self.written(place, end);
                if !NO_SUBJECT.contains(&&phrase.to_lowercase()[..]) {
                    subject = Some(phrase);
                }
                place = end;
            } else if let Some(end) = self.verbs(place) {
                let relation = self.relation(end);
                let subject = match self.is_command(place) {
                    true => Some(COMMANDED.to_owned()),
                    false => subject.clone(),
                };
                if let (Some(subject), Some((end, object))) = (subject, relation) {
                    found.push(Triple {
                        subject,
                        relation: self.written(place, end),
                        object: self.written(end, object),
                    });
                }
                // What is in a relation is no subject.
                place = relation.map_or(end, |(end, _)| end);
            } else {
                place += 1;
            }
        }
    }

    fn is(self, place: usize, tags: &[Tag]) -> bool {
        self.tags.get(place).is_some_and(|tag| tags.contains(tag))
    }

    /// Whether the verb here is a command: it is the sentence's first, and nothing that could be its subject is before.
    fn is_command(self, place: usize) -> bool {
        let before = [Tag::Adv, Tag::Intj, Tag::Cconj, Tag::Part, Tag::Punct];
        self.is(place, &[Tag::Verb]) && (0..place).all(|place| self.is(place, &before))
    }

    /// The end of the verbs that begin here: verbs, and adverbs and particles between them.
    fn verbs(self, start: usize) -> Option<usize> {
        let is_verb = |place| self.is(place, &[Tag::Verb, Tag::Aux]);
        if !is_verb(start) {
            return None;
        }
        let mut end = start + 1;
        loop {
            let next = (end..).find(|place| !self.is(*place, &[Tag::Adv, Tag::Part]))?;
            if !is_verb(next) {
                return Some(end);
            }
            end = next + 1;
        }
    }

    /// For verbs that end at `verbs`: the end of their longest relation that an object follows, and of the object.
    fn relation(self, verbs: usize) -> Option<(usize, usize)> {
        let between = [
            Tag::Noun,
            Tag::Propn,
            Tag::Adj,
            Tag::Adv,
            Tag::Pron,
            Tag::Det,
        ];
        let widest = (verbs..)
            .take_while(|place| self.is(*place, &between))
            .take(MOST_BETWEEN);
        let widest = verbs + widest.count();
        let is_end = |place: &usize| *place == verbs || self.is(place - 1, &[Tag::Adp, Tag::Part]);
        let mut ends = (verbs..=widest + 1).rev().filter(is_end);
        ends.find_map(|end| Some((end, self.noun_phrase(end)?)))
    }

    /// The end of the noun phrase that begins here.
    fn noun_phrase(self, start: usize) -> Option<usize> {
        let is_possessive = |place: usize| {
            let word = self.words[place].to_lowercase();
            POSSESSIVE.contains(&&word[..])
        };
        if self.is(start, &[Tag::Pron]) && !is_possessive(start) {
            return Some(start + 1);
        }
        let is_part = |place: usize| match self.tags.get(place) {
            Some(Tag::Det | Tag::Adj | Tag::Num | Tag::Noun | Tag::Propn) => true,
            Some(Tag::Pron) => is_possessive(place),
            // "the doctor 's house"
            Some(Tag::Part) => place > start && matches!(self.words[place], "'s" | "’s"),
            _ => false,
        };
        let end = (start..).find(|place| !is_part(*place))?;
        let heads = [Tag::Noun, Tag::Propn, Tag::Num];
        let last = (start..end).rev().find(|place| self.is(*place, &heads))?;
        Some(last + 1)
    }

    /// The words from `start` to `end`, clitics at the word before them.
    fn written(self, start: usize, end: usize) -> String {
        let mut text = String::new();
        for word in &self.words[start..end] {
            let is_clitic = word.starts_with(['\'', '’']) || word.eq_ignore_ascii_case("n't");
            if !text.is_empty() && !is_clitic {
                text.push(' ');
            }
            text.push_str(word);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<[String; 3]> {
        let parts = |t: Triple| [t.subject, t.relation, t.object];
        triples(text).into_iter().map(parts).collect()
    }

    #[test]
    fn relations_are_the_longest_that_an_object_follows() {
        for (text, expected) in [
            (
                "He opened the old door.",
                vec![["He", "opened", "the old door"]],
            ),
            (
                "The doctor had not looked at his patient; she slept.",
                vec![["The doctor", "had not looked at", "his patient"]],
            ),
            (
                "What are the symptoms of malaria?",
                vec![["What", "are the symptoms of", "malaria"]],
            ),
            ("play the song", vec![["you", "play", "the song"]]),
            ("was pumped on them", vec![]),
            ("Hello!", vec![]),
            ("😀 😀", vec![]),
            ("", vec![]),
            (". ! ?", vec![]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn the_template_writes_a_sentence() {
        let triple = &triples("he didn't open the door")[0];
        assert_eq!(triple.sentence(), "He didn't open the door.");
    }
}
