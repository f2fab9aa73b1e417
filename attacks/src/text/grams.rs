//! Runs of three characters, and the cosine of their counts.

use super::hash::hash;

/// Most characters of a text that are examined: this bounds the work on long texts.
const MOST: usize = 20_000;

/// How often each run of three characters occurs in a text, in lower case and with a space on both sides.
pub(crate) struct Grams {
    /// Sorted by hash.
    counts: Vec<(u32, f32)>,
    /// √ Σ counts².
    norm: f64,
}

impl Grams {
    /// The counts of a text.
    pub(crate) fn of(text: &str) -> Self {
        let lower = text.chars().take(MOST).flat_map(char::to_lowercase);
        let characters: Vec<char> = [' '].into_iter().chain(lower).chain([' ']).collect();
        let bytes = |run: &[char]| {
            let words: Vec<[u8; 4]> = run.iter().map(|c| u32::from(*c).to_le_bytes()).collect();
            hash(words.into_iter().flatten()) as u32
        };
        let mut runs: Vec<u32> = characters.windows(3).map(bytes).collect();
        runs.sort_unstable();
        let counts: Vec<(u32, f32)> = runs
            .chunk_by(|a, b| a == b)
            .map(|same| (same[0], same.len() as f32))
            .collect();
        let squares: f64 = counts.iter().map(|(_, n)| f64::from(*n).powi(2)).sum();
        Self {
            counts,
            norm: squares.sqrt(),
        }
    }

    /// The cosine of two texts' counts; 0 if one has none.
    pub(crate) fn cosine(&self, other: &Self) -> f64 {
        let (mut mine, mut theirs) = (
            self.counts.iter().peekable(),
            other.counts.iter().peekable(),
        );
        let mut sum = 0.0;
        while let (Some(a), Some(b)) = (mine.peek(), theirs.peek()) {
            match a.0.cmp(&b.0) {
                std::cmp::Ordering::Less => drop(mine.next()),
                std::cmp::Ordering::Greater => drop(theirs.next()),
                std::cmp::Ordering::Equal => {
                    sum += f64::from(a.1) * f64::from(b.1);
                    mine.next();
                    theirs.next();
                }
            }
        }
        let norms = self.norm * other.norm;
        if norms > 0.0 { sum / norms } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_texts_have_a_cosine_of_one_and_unlike_ones_of_nothing() {
        let cosine = |a, b| Grams::of(a).cosine(&Grams::of(b));
        assert!((cosine("play a song", "Play a song") - 1.0).abs() < 1e-12);
        assert_eq!(cosine("aaaa", "bbbb"), 0.0);
        let near = cosine("play a song", "play the song");
        assert!(near > 0.5 && near < 1.0, "{near}");
        assert_eq!(cosine("", "a"), 0.0);
    }
}
