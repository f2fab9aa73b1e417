//! The numbers of one candidate and the release, in a fixed order, and what each says in words.

/// Collects numbers in their order, and their names where asked for.
#[derive(Default)]
pub(super) struct Sheet {
    values: Vec<f32>,
    names: Option<Vec<Name>>,
}

/// What a number says of a candidate.
#[derive(Debug, Clone)]
pub(super) struct Name {
    pub(super) words: String,
    /// Whether the number, where it is 1, is a piece of evidence by itself: it comes by chance seldom.
    pub(super) plain: bool,
}

impl Sheet {
    /// Collects numbers alone.
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

    /// A number, and what it says of a candidate, `what` standing at the `{}`.
    pub(super) fn put(&mut self, says: &'static str, what: &'static str, value: f64) {
        // What no number can be says nothing.
        let value = if value.is_finite() { value as f32 } else { 0.0 };
        self.values.push(value);
        if let Some(names) = &mut self.names {
            names.push(Name {
                words: says.replacen("{}", what, 1),
                plain: false,
            });
        }
    }

    /// A sign that is there or not.
    pub(super) fn sign(&mut self, says: &'static str, what: &'static str, is: bool) {
        self.put(says, what, f64::from(u8::from(is)));
    }

    /// A sign that is there or not, and where it is there speaks for the candidate by itself.
    pub(super) fn evidence(&mut self, says: &'static str, what: &'static str, is: bool) {
        self.sign(says, what, is);
        if let Some(name) = self.names.as_mut().and_then(|names| names.last_mut()) {
            name.plain = true;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Goes on to `width` numbers, all 0.
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
