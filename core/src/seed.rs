//! Randomness addressed by path: root → series → trial → role → …
//!
//! # Definition
//! A [`Seed`] is a 256-bit key and a 64-bit stream number. A named or numbered child has the key SHA-256(key ‖ stream
//! ‖ kind ‖ label) and stream 0; a trial's role has its series' key and the stream 8·trial + role. The leaf's
//! generator is ChaCha with 8 rounds under that key and stream. Trial 731 can therefore be re-run alone in constant
//! time, and nothing depends on batch size, order, threads or shards, because no generator is ever shared.
//!
//! A series of very cheap trials is *pooled*: word t of stream 2⁶⁴ − 1 − role is the first word of that role in trial
//! t, and the leaf's generator gives the words after it. Consecutive trials then cost one word per role instead of a
//! generator, and any trial can still be drawn alone.
//!
//! # Why separate roles
//! An attack that shares the mechanism's stream can read the mechanism's coins and "prove" far more
//! leakage than there is. Candidates, secret, mechanism, attack and ties each draw from their own.
//!
//! # Stability
//! The two elementary draws ([`Stream::below`], [`Stream::uniform`]) are defined here rather than taken from a
//! library, so that no update can change a recorded result.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use crate::{inversion, softmax};

/// What a stream of a trial is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// The draw of the candidate set.
    Candidates = 0,
    /// The draw of the secret index, uniform over the set.
    Secret = 1,
    /// The mechanism's own coins.
    Mechanism = 2,
    /// The attack's coins, if it needs any.
    Attack = 3,
    /// The fair split of tied scores.
    Ties = 4,
}

/// Streams reserved per trial; a power of two above the number of roles.
const ROLES: u64 = 8;

/// A node of the seed tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    key: [u8; 32],
    stream: u64,
    pooled: bool,
}

impl Seed {
    /// The root of a run.
    #[must_use]
    pub fn root(seed: u64) -> Self {
        let key = Sha256::new()
            .chain_update(b"teda/1")
            .chain_update(seed.to_le_bytes())
            .finalize();
        Self {
            key: key.into(),
            stream: 0,
            pooled: false,
        }
    }

    /// The child named `name`.
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        self.child(0, name.as_bytes())
    }

    /// The child numbered `index`.
    #[must_use]
    pub fn at(&self, index: u64) -> Self {
        self.child(1, &index.to_le_bytes())
    }

    fn child(&self, kind: u8, label: &[u8]) -> Self {
        let key = Sha256::new()
            .chain_update(self.key)
            .chain_update(self.stream.to_le_bytes())
            .chain_update([kind])
            .chain_update(label)
            .finalize();
        Self {
            key: key.into(),
            stream: 0,
            pooled: false,
        }
    }

    /// The seed of one role of one trial, where `self` is a series' node.
    ///
    /// # Panics
    /// If `self` is itself a role's seed, or `trial` ≥ 2⁶⁰.
    #[must_use]
    pub fn role(&self, trial: u64, role: Role) -> Self {
        assert!(
            self.stream == 0 && trial < 1 << 60,
            "only a series' node has trials"
        );
        // Stream 0 is reserved for the node itself, so that no trial uses its generator.
        Self {
            stream: trial * ROLES + role as u64 + 1,
            ..*self
        }
    }

    /// The node of a pooled series; its streams differ from those of `self`.
    #[must_use]
    pub fn pooled(&self) -> Self {
        Self {
            pooled: true,
            ..self.child(3, b"")
        }
    }

    /// The streams of one role of a pooled series, as given by [`Seed::role`], from trial `first` on.
    ///
    /// # Panics
    /// If `self` is not a pooled series' node, or `first` ≥ 2⁶⁰.
    #[must_use]
    pub fn pool(&self, first: u64, role: Role) -> Pool {
        assert!(self.pooled, "streams are pooled in pooled series");
        Pool {
            words: self.first_words(first, role as u64),
            leaf: self.role(first, role),
        }
    }

    /// The pooled words of a role, starting with that of trial `first`.
    fn first_words(&self, first: u64, role: u64) -> ChaCha8Rng {
        let stream = u64::MAX - role;
        let mut words = Self { stream, ..*self }.generator();
        // Positions count words of 32 bits.
        words.set_word_pos(2 * u128::from(first));
        words
    }

    /// Identifies this seed to a store of answers outside of this process: the key of a child that no name or number
    /// gives, so that it reveals nothing about any stream.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.child(2, b"").key
    }

    /// This node in hexadecimal, for [`Seed::parse`]: what a stored run needs to toss its own coins again.
    ///
    /// # Panics
    /// If `self` is a role's seed and not a node.
    #[must_use]
    pub fn to_text(&self) -> String {
        assert!(self.stream == 0, "a role's seed is no node");
        let key: String = self.key.iter().map(|byte| format!("{byte:02x}")).collect();
        key + if self.pooled { "-pooled" } else { "" }
    }

    /// The node that [`Seed::to_text`] wrote; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_suffix("-pooled").unwrap_or(text);
        let mut key = [0; 32];
        if hex.len() != 64 || !hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        for (byte, place) in key.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&hex[place..place + 2], 16).ok()?;
        }
        Some(Self {
            key,
            stream: 0,
            pooled: hex.len() < text.len(),
        })
    }

    /// The generator at this leaf.
    #[must_use]
    pub fn stream(&self) -> Stream {
        if self.pooled && self.stream > 0 {
            let (trial, role) = ((self.stream - 1) / ROLES, (self.stream - 1) % ROLES);
            let word = self.first_words(trial, role).next_u64();
            return Stream(State::Begun {
                word: Some(word),
                leaf: *self,
            });
        }
        Stream(State::Open(Box::new(self.generator())))
    }

    fn generator(&self) -> ChaCha8Rng {
        let mut generator = ChaCha8Rng::from_seed(self.key);
        generator.set_stream(self.stream);
        generator
    }
}

/// The streams of one role of a pooled series, trial after trial.
#[derive(Debug, Clone)]
pub struct Pool {
    words: ChaCha8Rng,
    /// The leaf of the next trial.
    leaf: Seed,
}

impl Pool {
    /// The stream of the next trial.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> Stream {
        let begun = State::Begun {
            word: Some(self.words.next_u64()),
            leaf: self.leaf,
        };
        self.leaf.stream += ROLES;
        Stream(begun)
    }
}

/// The generator at a leaf of the tree: ChaCha8 under the leaf's key and stream number.
#[derive(Debug, Clone)]
pub struct Stream(State);

#[derive(Debug, Clone)]
enum State {
    /// The pooled word, until it is taken, comes before all words of the leaf's generator.
    Begun { word: Option<u64>, leaf: Seed },
    /// The leaf's generator.
    Open(Box<ChaCha8Rng>),
}

/// By value, so that a stream from which at most one word is taken can live in registers.
#[cold]
#[inline(never)]
fn opened(leaf: Seed) -> Box<ChaCha8Rng> {
    Box::new(leaf.generator())
}

impl Stream {
    #[inline]
    fn word(&mut self) -> u64 {
        if let State::Begun { word, .. } = &mut self.0
            && let Some(word) = word.take()
        {
            return word;
        }
        self.generator().next_u64()
    }

    /// The leaf's generator, from here on.
    #[inline]
    fn generator(&mut self) -> &mut ChaCha8Rng {
        if let State::Begun { leaf, .. } = &self.0 {
            self.0 = State::Open(opened(*leaf));
        }
        match &mut self.0 {
            State::Open(generator) => generator,
            State::Begun { .. } => unreachable!("it was opened above"),
        }
    }

    /// Uniform in [0, 1): the top 53 bits of one word times 2⁻⁵³.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.word() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform over 0 … n−1, exactly (Lemire's multiplication with rejection).
    ///
    /// # Panics
    /// If `n` is 0.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "no value is below 0");
        let n = n as u64;
        loop {
            let wide = u128::from(self.word()) * u128::from(n);
            // Rejected are values below 2⁶⁴ mod n < n: the division is skipped if it cannot matter.
            if wide as u64 >= n || wide as u64 >= n.wrapping_neg() % n {
                return (wide >> 64) as usize;
            }
        }
    }

    /// Puts `items` in random order, with all orders equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// An index drawn with probability exp(wᵢ) / Σⱼ exp(wⱼ), by inversion; weights of −∞ have
    /// probability 0. The slice is overwritten with exp(wᵢ − max w).
    ///
    /// # Panics
    /// If no weight is above −∞, or one is NaN or +∞.
    pub fn softmax(&mut self, log_weights: &mut [f64]) -> usize {
        let (_, total) = inversion::weigh(log_weights);
        let remaining = self.uniform() * total;
        inversion::walk(log_weights, remaining)
    }

    /// An index of `values` with probability ∝ exp(`log_weight`(value)), without a buffer: for
    /// distributions over a language model's whole vocabulary. A log weight may be −∞.
    ///
    /// The weights are exponentials to 10⁻¹⁵; their sums run over blocks of a fixed length.
    ///
    /// # Panics
    /// If no log weight is finite, or one is +∞ or NaN.
    pub fn softmax_over(&mut self, values: &[f32], log_weight: impl Fn(f32) -> f64) -> usize {
        softmax::draw(values, log_weight, || self.uniform())
    }
}

impl RngCore for Stream {
    fn next_u32(&mut self) -> u32 {
        self.generator().next_u32()
    }

    fn next_u64(&mut self) -> u64 {
        self.word()
    }

    fn fill_bytes(&mut self, destination: &mut [u8]) {
        self.generator().fill_bytes(destination);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded results must never change: these words are part of the contract.
    #[test]
    fn a_node_reads_back() {
        for seed in [Seed::root(7), Seed::root(7).named("a").pooled()] {
            assert_eq!(Seed::parse(&seed.to_text()), Some(seed));
        }
        for wrong in ["", "00", "zz", &"é".repeat(32)] {
            assert_eq!(Seed::parse(wrong), None);
        }
    }

    #[test]
    fn the_tree_is_pinned() {
        let series = Seed::root(7).named("snips").at(3);
        let word = |role| series.role(731, role).stream().next_u64();
        assert_eq!(word(Role::Candidates), PINNED[0]);
        assert_eq!(word(Role::Mechanism), PINNED[1]);
    }
    const PINNED: [u64; 2] = [12_011_154_444_963_105_809, 9_350_160_538_271_287_207];

    /// In a row or alone, regardless of how much is taken, and after the first word the leaf's own.
    #[test]
    fn pooled_streams_are_those_of_their_trials() {
        let node = Seed::root(7).named("snips");
        let series = node.pooled();
        for role in [Role::Candidates, Role::Secret, Role::Ties] {
            for first in [0, 5, (1 << 32) - 3] {
                let mut pool = series.pool(first, role);
                for trial in first..first + 40 {
                    let (mut one, mut other) = (pool.next(), series.role(trial, role).stream());
                    for _ in 0..trial % 4 {
                        assert_eq!(one.next_u64(), other.next_u64(), "{trial}");
                    }
                    assert_eq!(one.next_u32(), other.next_u32(), "{trial}");
                    assert_eq!(one.uniform(), other.uniform(), "{trial}");
                }
            }
        }
        assert_ne!(node.digest(), series.digest());
        let word = series.role(731, Role::Mechanism).stream().next_u64();
        assert_eq!(word, POOLED);
    }
    const POOLED: u64 = 9_642_540_058_328_346_427;

    #[test]
    fn paths_that_differ_anywhere_give_different_streams() {
        let root = Seed::root(0);
        let seeds = [
            root,
            Seed::root(1),
            root.named("a"),
            root.named("b"),
            root.at(0),
            root.at(1),
            root.named("a").at(0),
            root.named("a").role(0, Role::Candidates),
            root.named("a").role(0, Role::Ties),
            root.named("a").role(1, Role::Candidates),
        ];
        let words: std::collections::BTreeSet<u64> =
            seeds.iter().map(|s| s.stream().next_u64()).collect();
        assert_eq!(words.len(), seeds.len());
    }

    #[test]
    fn a_digest_names_the_whole_path() {
        let series = Seed::root(7).named("snips");
        let first = series.role(0, Role::Mechanism);
        assert_eq!(first.digest(), series.role(0, Role::Mechanism).digest());
        assert_ne!(first.digest(), series.role(1, Role::Mechanism).digest());
        assert_ne!(first.digest(), series.role(0, Role::Attack).digest());
        assert_ne!(first.digest(), Seed::root(8).digest());
    }

    #[test]
    fn below_is_uniform_on_every_value() {
        let mut stream = Seed::root(2).stream();
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[stream.below(7)] += 1;
        }
        let chi: f64 = counts
            .iter()
            .map(|c| (f64::from(*c) - 1e4).powi(2) / 1e4)
            .sum();
        // 6 degrees of freedom: 22.46 is the 99.9 % point.
        assert!(chi < 22.46, "chi-square {chi}");
    }

    #[test]
    fn softmax_survives_extreme_weights() {
        let mut stream = Seed::root(3).stream();
        assert_eq!(stream.softmax(&mut [-1e8, -2e8, f64::NEG_INFINITY]), 0);
        assert_eq!(stream.softmax(&mut [f64::NEG_INFINITY, -1e300]), 1);
        let hits = (0..10_000)
            .filter(|_| stream.softmax(&mut [1e6, 1e6 + 3_f64.ln()]) == 1)
            .count();
        assert!((7_300..7_700).contains(&hits), "{hits} of 10,000 at 3/4");
    }
}
