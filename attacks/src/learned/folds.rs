//! Folds: which examples were used for counting.

/// Number of folds.
pub(super) const FOLDS: usize = 5;

/// The fold of an example, by its index.
pub(super) fn fold(example: usize) -> usize {
    example % FOLDS
}

/// The folds that are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Without(usize);

impl Without {
    /// How many sets of folds there are.
    pub(super) const ALL: usize = 1 << FOLDS;
    /// No fold is left out.
    pub(super) const NOTHING: Self = Self(0);

    /// Leaves out this fold, too.
    pub(super) fn and(self, fold: usize) -> Self {
        Self(self.0 | 1 << fold)
    }

    /// A number below [`Without::ALL`].
    pub(super) fn place(self) -> usize {
        self.0
    }

    /// All sets that are ever asked for: those with zero, one or two folds.
    pub(super) fn used() -> impl Iterator<Item = Self> {
        (0..Self::ALL).filter(|set| set.count_ones() <= 2).map(Self)
    }

    /// Whether this fold is left out.
    pub(super) fn has(self, fold: usize) -> bool {
        self.0 >> fold & 1 == 1
    }

    /// The sum over the other folds.
    pub(super) fn sum(self, counts: &[u32; FOLDS]) -> u32 {
        let kept = (0..FOLDS).filter(|fold| !self.has(*fold));
        kept.map(|fold| counts[fold]).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_not_counted() {
        let counts = [1, 10, 100, 1_000, 10_000];
        assert_eq!(Without::NOTHING.sum(&counts), 11_111);
        let both = Without::NOTHING.and(1).and(3);
        assert_eq!(both.sum(&counts), 10_101);
        assert_eq!(both.and(3), both);
        assert_eq!(Without::used().count(), 16);
    }
}
