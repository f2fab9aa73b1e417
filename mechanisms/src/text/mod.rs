//! Words, keywords and spellings of texts, and the text in a language model's answer.

pub mod answer;
pub mod keywords;
pub mod masking;
pub mod similarity;
pub mod spelling;
pub mod stopwords;
pub mod treebank;
