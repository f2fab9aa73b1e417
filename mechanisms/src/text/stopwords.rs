//! English words that carry little meaning: the closed word classes.

/// Pronouns, determiners, prepositions, conjunctions, auxiliaries, particles and question words, in
/// lower case and alphabetical order, with their short forms.
#[rustfmt::skip]
const STOPWORDS: &[&str] = &[
    "a", "about", "above", "across", "after", "again", "against", "ain't", "all", "almost", "along",
    "already", "also", "although", "always", "am", "among", "an", "and", "another", "any", "anybody",
    "anyone", "anything", "are", "aren't", "around", "as", "at", "be", "because", "been", "before",
    "behind", "being", "below", "beneath", "beside", "besides", "between", "beyond", "both", "but",
    "by", "can", "can't", "cannot", "could", "couldn't", "did", "didn't", "do", "does", "doesn't",
    "doing", "don't", "done", "down", "during", "each", "either", "else", "enough", "every",
    "everybody", "everyone", "everything", "except", "few", "fewer", "for", "from", "had", "hadn't",
    "has", "hasn't", "have", "haven't", "having", "he", "he'd", "he'll", "he's", "hence", "her",
    "here", "here's", "hers", "herself", "him", "himself", "his", "how", "how's", "however", "i",
    "i'd", "i'll", "i'm", "i've", "if", "in", "inside", "instead", "into", "is", "isn't", "it",
    "it'd", "it'll", "it's", "its", "itself", "just", "least", "less", "let's", "like", "many",
    "may", "me", "might", "mine", "more", "most", "much", "must", "mustn't", "my", "myself", "near",
    "neither", "never", "no", "nobody", "none", "nor", "not", "nothing", "now", "of", "off", "often",
    "on", "once", "one", "only", "onto", "or", "other", "others", "ought", "our", "ours",
    "ourselves", "out", "outside", "over", "own", "per", "perhaps", "please", "quite", "rather",
    "same", "shall", "shan't", "she", "she'd", "she'll", "she's", "should", "shouldn't", "since",
    "so", "some", "somebody", "someone", "something", "still", "such", "than", "that", "that's",
    "the", "their", "theirs", "them", "themselves", "then", "there", "there's", "therefore",
    "these", "they", "they'd", "they'll", "they're", "they've", "this", "those", "though",
    "through", "throughout", "thus", "till", "to", "too", "toward", "towards", "under", "unless",
    "until", "up", "upon", "us", "very", "was", "wasn't", "we", "we'd", "we'll", "we're", "we've",
    "were", "weren't", "what", "what's", "whatever", "when", "when's", "where", "where's",
    "whereas", "wherever", "whether", "which", "whichever", "while", "who", "who's", "whoever",
    "whom", "whose", "why", "why's", "will", "with", "within", "without", "won't", "would",
    "wouldn't", "yes", "yet", "you", "you'd", "you'll", "you're", "you've", "your", "yours",
    "yourself", "yourselves",
];

/// Whether a word in lower case is a stopword.
pub fn is_stopword(word: &str) -> bool {
    STOPWORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_in_lower_case() {
        assert!(STOPWORDS.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(STOPWORDS.iter().all(|word| *word == word.to_lowercase()));
        assert!(is_stopword("the") && is_stopword("yourselves") && !is_stopword("jazz"));
    }
}
