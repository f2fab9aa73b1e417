//! Words, keywords and spellings of texts, and what a language model's answer amounts to.

pub mod answer;
pub mod keywords;
pub mod masking;
pub mod similarity;
pub mod spelling;
pub mod stopwords;
