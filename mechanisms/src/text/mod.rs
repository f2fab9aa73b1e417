//! Words, keywords and spellings of texts, what their words are, and the text in a language model's answer.

pub mod answer;
pub mod keywords;
pub mod masking;
pub mod nltk_stopwords;
pub mod similarity;
pub mod spelling;
pub mod stopwords;
pub mod tagger;
pub mod treebank;
pub mod words;
pub mod writer;
