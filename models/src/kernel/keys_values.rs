//! Keys and values of one attention layer, stored in the layout in which the attention kernel multiplies them.

use super::linear::{Block, PANEL};

/// The first slot at or after `slots` where a row's room may begin: rows do not share panels.
pub(crate) fn next_room(slots: usize) -> usize {
    slots.next_multiple_of(PANEL)
}

/// Room for the keys and values of a number of tokens, the *slots*.
///
/// Keys are in panels of 32 slots (`[heads][slots / 32][width]` blocks, a slot being a column), values in panels of 32
/// columns (`[heads][⌈width / 32⌉][slots]` blocks), so that both products of attention read them in order and nothing
/// is packed when a token is generated.
pub(crate) struct KeysValues {
    heads: usize,
    width: usize,
    slots: usize,
    keys: Vec<Block>,
    values: Vec<Block>,
}

impl KeysValues {
    /// Empty room for at least `slots` tokens of `heads` heads of `width` numbers.
    pub(crate) fn new(heads: usize, width: usize, slots: usize) -> Self {
        let slots = next_room(slots);
        Self {
            heads,
            width,
            slots,
            keys: vec![Block::ZERO; heads * slots / PANEL * width],
            values: vec![Block::ZERO; heads * width.div_ceil(PANEL) * slots],
        }
    }

    /// Bytes that room for `slots` tokens takes.
    pub(crate) fn bytes(heads: usize, width: usize, slots: usize) -> usize {
        let slots = next_room(slots);
        heads * slots * (width + width.next_multiple_of(PANEL)) * size_of::<f32>()
    }

    pub(crate) fn heads(&self) -> usize {
        self.heads
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Stores one token's key and value, `[heads · width]` each.
    pub(crate) fn write(&mut self, slot: usize, key: &[f32], value: &[f32]) {
        let chunks = self.width.div_ceil(PANEL);
        for head in 0..self.heads {
            let row = head * self.width..(head + 1) * self.width;
            let first = (head * self.slots + slot) / PANEL * self.width;
            let panel = &mut self.keys[first..first + self.width];
            for (block, x) in panel.iter_mut().zip(&key[row.clone()]) {
                block.0[slot % PANEL] = *x;
            }
            for (chunk, part) in value[row].chunks(PANEL).enumerate() {
                let block = &mut self.values[(head * chunks + chunk) * self.slots + slot];
                block.0[..part.len()].copy_from_slice(part);
            }
        }
    }

    /// Copies `count` slots starting at `from` to those starting at `to`; both are multiples of 32.
    pub(crate) fn copy(&mut self, from: usize, to: usize, count: usize) {
        let chunks = self.width.div_ceil(PANEL);
        let panels = count.div_ceil(PANEL) * self.width;
        for head in 0..self.heads {
            let panel = |slot: usize| (head * self.slots + slot) / PANEL * self.width;
            let (first, target) = (panel(from), panel(to));
            self.keys.copy_within(first..first + panels, target);
            for chunk in 0..chunks {
                let first = (head * chunks + chunk) * self.slots;
                let run = first + from..first + from + count;
                self.values.copy_within(run, first + to);
            }
        }
    }

    /// The key panel of 32 slots from `slot`, a multiple of 32: `[width]` blocks.
    #[inline(always)]
    pub(crate) fn key_panel(&self, head: usize, slot: usize) -> &[Block] {
        let first = (head * self.slots + slot) / PANEL * self.width;
        &self.keys[first..first + self.width]
    }

    /// Columns 32·`chunk` … of the values of `count` slots from `slot`: `[count]` blocks.
    #[inline(always)]
    pub(crate) fn value_panel(
        &self,
        head: usize,
        chunk: usize,
        slot: usize,
        count: usize,
    ) -> &[Block] {
        let first = (head * self.width.div_ceil(PANEL) + chunk) * self.slots + slot;
        &self.values[first..first + count]
    }
}
