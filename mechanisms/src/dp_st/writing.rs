//! The text that is written of public triples: by a language model that follows instructions, or by a template.

use teda_core::{Answer, Prompt, Result, Seed};

use super::triples::Triple;
use crate::entry::Context;
use crate::text::answer::sentence;
use crate::text::writer::{Request, Writer};

/// The published request, its chat written as one prompt.
const PROMPT: &str = include_str!("prompt.txt");
/// What the examples in the prompt have before an answer.
const ANSWER: &str = "Output text:";

/// Triples to write a text of, and the coins for it.
pub struct Drawn<'a> {
    /// The triples, in the order of the text.
    pub triples: Vec<&'a Triple>,
    /// The root of the writer's coins.
    pub seed: Seed,
}

/// What writes.
pub enum Writing {
    /// A sentence for each triple.
    Template,
    /// A language model, in so many tokens at most.
    Model(Writer, Prompt, usize),
}

impl Writing {
    /// The model of `context`, if it follows instructions; a server is taken to do so.
    ///
    /// # Errors
    /// Those of [`Writer::of`].
    pub fn of(context: &Context, owner: &str, max_new_tokens: usize) -> Result<Self> {
        let model = context.language_model.as_ref();
        match model.map(|model| model.follows_instructions()) {
            Some(false) => return Ok(Self::Template),
            None if context.sampler.is_none() => return Ok(Self::Template),
            _ => {}
        }
        let prompt = Prompt::new(PROMPT.trim_end());
        let writer = Writer::of(context, owner)?;
        Ok(Self::Model(writer, prompt, max_new_tokens))
    }

    /// A text for each.
    ///
    /// # Errors
    /// If the model fails.
    pub fn write(&self, drawn: &[Drawn<'_>]) -> Result<Vec<Answer<String>>> {
        let Self::Model(writer, prompt, max_new_tokens) = self else {
            let write = |drawn: &Drawn<'_>| Ok(template(&drawn.triples));
            return Ok(drawn.iter().map(write).collect());
        };
        let request = |(row, drawn): (usize, &Drawn<'_>)| Request {
            row,
            text: listed(&drawn.triples),
            banned: Vec::new(),
            seed: drawn.seed,
        };
        let requests: Vec<Request> = drawn.iter().enumerate().map(request).collect();
        let answers = writer.write(prompt, &requests, *max_new_tokens)?;
        let text = |answer: String| {
            let answer = answer.trim_start().trim_start_matches(ANSWER);
            sentence(answer).to_owned()
        };
        Ok(answers.into_iter().map(|a| a.map(text)).collect())
    }
}

/// A sentence for each triple.
pub fn template(triples: &[&Triple]) -> String {
    let sentences: Vec<String> = triples.iter().map(|triple| triple.sentence()).collect();
    sentences.join(" ")
}

/// The triples as the prompt's examples list them.
fn listed(triples: &[&Triple]) -> String {
    let entry = |triple: &&Triple| {
        format!(
            "{{’object’: ’{}’, ’property’: ’{}’, ’subject’: ’{}’}}",
            triple.object, triple.relation, triple.subject
        )
    };
    let entries: Vec<String> = triples.iter().map(entry).collect();
    format!("[{}]", entries.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triples_are_listed_as_in_the_examples() {
        let triple = Triple {
            subject: "a dog".to_owned(),
            relation: "barks at".to_owned(),
            object: "it".to_owned(),
        };
        assert_eq!(
            listed(&[&triple, &triple]),
            "[{’object’: ’it’, ’property’: ’barks at’, ’subject’: ’a dog’}, {’object’: ’it’, ’property’: ’barks at’, ’subject’: ’a dog’}]"
        );
        assert_eq!(
            template(&[&triple, &triple]),
            "A dog barks at it. A dog barks at it."
        );
        assert!(
            Prompt::new(PROMPT.trim_end())
                .after()
                .ends_with("Output text:")
        );
    }
}
