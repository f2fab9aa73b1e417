//! Rows for the model: windows of a masked text.

/// Pieces per window, not counting `<s>` and `</s>`.
pub(super) const WINDOW: usize = 120;
/// Tokens per call of the model: its activations stay in the second-level cache.
const BATCH: usize = 384;

/// Special tokens of the model.
pub(super) struct Special {
    pub(super) begin: u32,
    pub(super) end: u32,
    pub(super) mask: u32,
}

/// A row for the model.
pub(super) struct Window {
    /// The index of the draft whose text it is.
    pub(super) draft: usize,
    pub(super) tokens: Vec<u32>,
    /// Positions of masks in `tokens`.
    pub(super) asked: Vec<usize>,
    /// The units masked at those positions.
    pub(super) units: Vec<usize>,
}

impl Window {
    fn open(special: &Special, draft: usize) -> Self {
        Self {
            draft,
            tokens: vec![special.begin],
            asked: Vec::new(),
            units: Vec::new(),
        }
    }
}

/// Cuts one text into windows; windows without a mask are left out, as nothing is asked of them.
pub(super) struct Builder<'a> {
    special: &'a Special,
    window: Window,
    done: &'a mut Vec<Window>,
}

impl<'a> Builder<'a> {
    /// Starts the text of `draft`, whose windows are appended to `done`.
    pub(super) fn new(special: &'a Special, draft: usize, done: &'a mut Vec<Window>) -> Self {
        Self {
            special,
            window: Window::open(special, draft),
            done,
        }
    }

    /// Appends a mask for `unit`.
    pub(super) fn mask(&mut self, unit: usize) {
        self.fit(1);
        self.window.asked.push(self.window.tokens.len());
        self.window.units.push(unit);
        self.window.tokens.push(self.special.mask);
    }

    /// Appends a kept unit; only a unit longer than a window is cut inside.
    pub(super) fn keep(&mut self, pieces: &[u32]) {
        self.fit(pieces.len().min(WINDOW));
        for part in pieces.chunks(WINDOW) {
            self.fit(part.len());
            self.window.tokens.extend_from_slice(part);
        }
    }

    /// Ends the text.
    pub(super) fn finish(mut self) {
        self.close();
    }

    /// Opens a new window if the current one has no room for `pieces` more.
    fn fit(&mut self, pieces: usize) {
        if self.window.tokens.len() - 1 + pieces > WINDOW {
            self.close();
        }
    }

    fn close(&mut self) {
        let open = Window::open(self.special, self.window.draft);
        let mut window = std::mem::replace(&mut self.window, open);
        if !window.asked.is_empty() {
            window.tokens.push(self.special.end);
            self.done.push(window);
        }
    }
}

/// Number of leading windows that form one call of the model, at least one for a non-empty list.
pub(super) fn batch(windows: &[Window]) -> usize {
    let mut tokens = 0;
    windows
        .iter()
        .take_while(|window| {
            let first = tokens == 0;
            tokens += window.tokens.len();
            first || tokens <= BATCH
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECIAL: Special = Special {
        begin: 0,
        end: 2,
        mask: 4,
    };

    #[test]
    fn windows_hold_at_most_their_size_and_only_those_with_masks_remain() {
        let mut windows = Vec::new();
        let mut builder = Builder::new(&SPECIAL, 7, &mut windows);
        builder.mask(0);
        builder.keep(&[9; WINDOW - 2]);
        builder.mask(2);
        builder.keep(&[9; 3 * WINDOW + 5]);
        builder.mask(4);
        builder.finish();
        let found: Vec<(usize, &[usize], &[usize])> = windows
            .iter()
            .map(|w| (w.tokens.len(), w.asked.as_slice(), w.units.as_slice()))
            .collect();
        let full: (usize, &[usize], &[usize]) = (WINDOW + 2, &[1, WINDOW], &[0, 2]);
        // The last five pieces of the long unit come before the last mask.
        assert_eq!(found, [full, (1 + 5 + 1 + 1, &[6], &[4])]);
        assert!(windows.iter().all(|w| w.draft == 7 && w.tokens[0] == 0));
        assert_eq!(batch(&windows), 2);
        assert_eq!(batch(&[]), 0);
    }
}
