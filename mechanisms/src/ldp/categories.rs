//! The data set's texts as categories: the domain of protocols over finitely many values.
//!
//! # Definition
//! With K distinct texts, the category of a text is its position among them, 0 … K−1.

use std::sync::Arc;

use teda_core::{Error, Result};

use crate::entry::Context;

/// A domain of K ≥ 2 texts.
pub struct Categories {
    texts: Arc<[String]>,
    /// Categories by their texts in alphabetical order, to find a text by bisection.
    sorted: Vec<usize>,
    /// The mechanism defined on this domain, for messages.
    owner: &'static str,
}

impl Categories {
    /// The texts of `context`; `owner` is the mechanism's name in messages.
    ///
    /// # Errors
    /// Usage, for a domain of fewer than two texts, which offers nothing to hide among.
    pub fn new(context: &Context, owner: &'static str) -> Result<Self> {
        let texts = context.texts.clone();
        let size = texts.len();
        if size < 2 {
            return Err(Error::usage(format!(
                "{owner} over a data set of {size} text: it needs at least 2 texts"
            )));
        }
        let mut sorted: Vec<usize> = (0..size).collect();
        sorted.sort_unstable_by_key(|i| &texts[*i]);
        Ok(Self {
            texts,
            sorted,
            owner,
        })
    }

    /// K.
    pub fn size(&self) -> usize {
        self.texts.len()
    }

    /// The text of a category.
    pub fn text(&self, category: usize) -> &str {
        &self.texts[category]
    }

    /// The category of a text, if it has one.
    pub fn find(&self, text: &str) -> Option<usize> {
        let place = self.sorted.binary_search_by_key(&text, |i| &self.texts[*i]);
        place.ok().map(|place| self.sorted[place])
    }

    /// The category of a text that must have one.
    ///
    /// # Errors
    /// Usage, for a text outside the domain.
    pub fn of(&self, text: &str) -> Result<usize> {
        self.find(text).ok_or_else(|| {
            let shown: String = text.chars().take(60).collect();
            Error::usage(format!(
                "{} is defined on the data set's own texts only, and '{shown}' is none of its {}: give it a line of the data set",
                self.owner,
                self.size()
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::toy;

    #[test]
    fn a_category_is_a_texts_position() {
        let context = toy::context();
        let categories = Categories::new(&context, "'x'").unwrap();
        for (position, text) in context.texts.iter().enumerate() {
            assert_eq!(categories.find(text), Some(position));
            assert_eq!(categories.text(position), text);
        }
        let refused = categories.of("elsewhere").unwrap_err().to_string();
        assert!(refused.contains("'x'") && refused.contains("'elsewhere'"));
    }

    #[test]
    fn a_domain_of_one_is_refused() {
        let context = toy::over(&["alone"]);
        assert!(matches!(
            Categories::new(&context, "'x'").err(),
            Some(Error::Usage(_))
        ));
    }
}
