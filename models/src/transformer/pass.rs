//! The rows of one forward pass.

use std::collections::HashMap;

use super::memory::Prefix;
use crate::kernel::keys_values::next_room;

/// One row's new tokens.
#[derive(Clone)]
pub(crate) struct Segment<'a> {
    /// Number of new tokens.
    pub(crate) tokens: usize,
    /// What comes before everything of the row's own.
    pub(crate) prefix: Option<&'a Prefix>,
    /// Number of the row's own tokens in earlier passes.
    pub(crate) past: usize,
    /// The first slot of the row's room, a multiple of 32.
    pub(crate) region: usize,
    /// The new tokens whose output is requested, ascending.
    pub(crate) asked: Vec<usize>,
    /// So many of the last tokens only fill up the row: no token of a bidirectional layer sees them.
    pub(crate) padding: usize,
}

impl Segment<'_> {
    /// The position of its first new token.
    pub(crate) fn position(&self) -> usize {
        self.prefix.map_or(0, |prefix| prefix.tokens.len()) + self.past
    }
}

/// The segments of a pass, with everything that all layers need to know about them.
pub(crate) struct Pass<'a> {
    pub(crate) segments: Vec<Segment<'a>>,
    /// For each new token, where its key and value go.
    pub(crate) slots: Vec<usize>,
    /// For each new token, its position in its row.
    pub(crate) positions: Vec<usize>,
    /// The new tokens whose output is requested, over all segments.
    pub(crate) asked: Vec<usize>,
    /// Which new tokens enter the first layer as the same vector, if many do.
    pub(crate) distinct: Option<Distinct>,
}

/// The tokens of a pass that differ, in themselves or in their position: before tokens see each other, what is computed
/// of a token is the same for all that do not.
pub(crate) struct Distinct {
    /// One token of each kind.
    pub(crate) first: Vec<usize>,
    /// For each token, its kind.
    pub(crate) kinds: Vec<usize>,
}

impl Distinct {
    /// The kinds of `tokens` at `positions`, if there are at most half as many as tokens.
    fn of(tokens: &[u32], positions: &[usize]) -> Option<Self> {
        let mut seen = HashMap::new();
        let (mut first, mut kinds) = (Vec::new(), Vec::with_capacity(tokens.len()));
        for (index, token) in tokens.iter().zip(positions).enumerate() {
            kinds.push(*seen.entry(token).or_insert_with(|| {
                first.push(index);
                first.len() - 1
            }));
        }
        (2 * first.len() <= tokens.len()).then_some(Self { first, kinds })
    }
}

impl<'a> Pass<'a> {
    pub(crate) fn new(segments: Vec<Segment<'a>>) -> Self {
        let total = segments.iter().map(|segment| segment.tokens).sum();
        let mut pass = Self {
            segments: Vec::new(),
            slots: Vec::with_capacity(total),
            positions: Vec::with_capacity(total),
            asked: Vec::new(),
            distinct: None,
        };
        for segment in &segments {
            let first = pass.slots.len();
            let new = 0..segment.tokens;
            pass.asked.extend(segment.asked.iter().map(|i| first + i));
            pass.slots
                .extend(new.clone().map(|i| segment.region + segment.past + i));
            pass.positions.extend(new.map(|i| segment.position() + i));
        }
        pass.segments = segments;
        pass
    }

    /// Notes which of its new `tokens` are the same.
    pub(crate) fn compare(&mut self, tokens: &[u32]) {
        self.distinct = Distinct::of(tokens, &self.positions);
    }

    /// Segments of independent rows, one after the other in room for all, and the total number of slots that they
    /// take.
    pub(crate) fn alone(rows: impl IntoIterator<Item = (usize, Vec<usize>)>) -> (Self, usize) {
        let mut region = 0;
        let mut segments = Vec::new();
        for (tokens, asked) in rows {
            segments.push(Segment {
                tokens,
                prefix: None,
                past: 0,
                region,
                asked,
                padding: 0,
            });
            region += next_room(tokens);
        }
        (Self::new(segments), region)
    }
}
