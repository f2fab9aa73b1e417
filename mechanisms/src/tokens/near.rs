//! For each token of a vocabulary, the released tokens nearest to it.
//!
//! # Definition
//! The n released tokens t with the greatest ⟨e(t), e(x)⟩, the first among equals; x itself is among them, if it is
//! released. A token without a vector has no list.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use teda_core::{TokenMap, dots, dots_of};

use super::missing::missing;

/// Tokens whose products with the vocabulary are computed together, so that its vectors are read from memory once for
/// all of them.
pub const SIDE_BY_SIDE: usize = 16;

/// The lists of one vocabulary, each made when it is first asked for.
pub struct Near {
    tokens: Arc<dyn TokenMap>,
    count: usize,
    lists: Vec<OnceLock<Box<[u32]>>>,
}

impl Near {
    /// Lists of `count` tokens each, or of all if there are fewer.
    pub fn new(tokens: Arc<dyn TokenMap>, count: usize) -> Self {
        let lists = vec![OnceLock::new(); tokens.vectors().nrows()];
        Self {
            tokens,
            count,
            lists,
        }
    }

    /// The list of `token`, in ascending order; `None` if it has no vector.
    pub fn of(&self, token: u32) -> Option<&[u32]> {
        let vectors = self.tokens.vectors();
        let vector = vectors.row(token as usize);
        if vector.iter().all(|value| *value == 0.0) {
            return None;
        }
        let make = || self.nearest(dots(vectors, self.tokens.released(), vector));
        Some(self.lists[token as usize].get_or_init(make))
    }

    /// Makes the lists of these tokens side by side, as far as they are not made yet.
    pub fn prepare(&self, tokens: &[u32]) {
        let vectors = self.tokens.vectors();
        for tokens in missing(&self.lists, tokens).chunks(SIDE_BY_SIDE) {
            let own: Vec<_> = tokens.iter().map(|x| vectors.row(*x as usize)).collect();
            let cosines = dots_of(vectors, self.tokens.released(), &own);
            for (token, cosines) in tokens.iter().zip(cosines) {
                self.lists[*token as usize].get_or_init(|| self.nearest(cosines));
            }
        }
    }

    /// The released tokens with the greatest of these products, in ascending order.
    fn nearest(&self, products: Vec<f32>) -> Box<[u32]> {
        let released = self.tokens.released().iter().copied();
        let mut order: Vec<(f32, u32)> = products.into_iter().zip(released).collect();
        let nearer = |a: &(f32, u32), b: &(f32, u32)| -> Ordering {
            b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
        };
        if self.count < order.len() {
            order.select_nth_unstable_by(self.count, nearer);
            order.truncate(self.count);
        }
        let mut list: Vec<u32> = order.into_iter().map(|(_, token)| token).collect();
        list.sort_unstable();
        list.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::toy;

    #[test]
    fn a_list_holds_the_nearest_tokens_and_the_token_itself() {
        let tokens = toy::tokens();
        let vectors = tokens.vectors();
        for count in [1, 3, 8, 100] {
            let near = Near::new(tokens.clone(), count);
            let prepared = Near::new(tokens.clone(), count);
            prepared.prepare(&[3, toy::UNKNOWN, 1, 3]);
            for x in 0..toy::UNKNOWN {
                let list = near.of(x).unwrap();
                assert_eq!(prepared.of(x).unwrap(), list);
                assert_eq!(list.len(), count.min(8));
                assert!(list.contains(&x) && list.is_sorted());
                let cosine = |t: u32| vectors.row(t as usize).dot(&vectors.row(x as usize));
                let least = list
                    .iter()
                    .map(|t| cosine(*t))
                    .fold(f32::INFINITY, f32::min);
                let left_out = (0..toy::UNKNOWN).filter(|t| !list.contains(t));
                assert!(left_out.map(cosine).all(|cosine| cosine <= least));
            }
            assert_eq!(near.of(toy::UNKNOWN), None);
            assert_eq!(prepared.of(toy::UNKNOWN), None);
        }
    }
}
