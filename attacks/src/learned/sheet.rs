//! The numbers that compare one candidate with the release, in a fixed order, and the meaning of each in words.

/// Collects numbers in order, and their names if asked for.
#[derive(Default)]
pub(super) struct Sheet {
    values: Vec<f32>,
    names: Option<Vec<Name>>,
}

/// What a number says about a candidate.
#[derive(Debug, Clone)]
pub(super) struct Name {
    pub(super) words: String,
    /// Whether the number, if it is 1, is evidence on its own: it rarely arises by chance.
    pub(super) plain: bool,
}

impl Sheet {
    /// Collects only numbers.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            values: Vec::with_capacity(capacity),
            names: None,
        }
    }

    /// Collects names, too.
    pub(super) fn named() -> Self {
        Self {
            values: Vec::new(),
            names: Some(Vec::new()),
        }
    }

    /// Adds a number, and what it says about a candidate, with `what` in place of the `{}`.
    pub(super) fn put(&mut self, says: &'static str, what: &'static str, value: f64) {
        // A value that is not finite counts as 0.
        let value = if value.is_finite() { value as f32 } else { 0.0 };
        self.values.push(value);
        if let Some(names) = &mut self.names {
            names.push(Name {
                words: says.replacen("{}", what, 1),
                plain: false,
            });
        }
    }

    /// Adds a sign that is present or not.
    pub(super) fn sign(&mut self, says: &'static str, what: &'static str, is: bool) {
        self.put(says, what, f64::from(u8::from(is)));
    }

    /// Adds a sign that is present or not, and is evidence for the candidate on its own if present.
    pub(super) fn evidence(&mut self, says: &'static str, what: &'static str, is: bool) {
        self.sign(says, what, is);
        if let Some(name) = self.names.as_mut().and_then(|names| names.last_mut()) {
            name.plain = true;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Fills up to `width` numbers with 0.
    pub(super) fn fill(&mut self, width: usize) {
        self.values.resize(width, 0.0);
    }

    pub(super) fn values(self) -> Vec<f32> {
        self.values
    }

    pub(super) fn names(self) -> Vec<Name> {
        self.names.unwrap_or_default()
    }
}
