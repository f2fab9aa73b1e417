//! The rows of a call, checked and joined.

use teda_core::{Error, Result};

use super::roberta::{Roberta, Row};

/// The rows of a call as one run of tokens without pads.
pub(super) struct Batch {
    pub(super) tokens: Vec<u32>,
    /// Where each row ends in `tokens`.
    pub(super) ends: Vec<usize>,
    /// Positions asked for, as indices into `tokens`.
    pub(super) asked: Vec<usize>,
    /// Where each row ends in `asked`.
    pub(super) asked_ends: Vec<usize>,
}

impl Batch {
    /// Joins `rows` for `model`.
    ///
    /// # Errors
    /// Those of [`Roberta::hidden_states`].
    pub(super) fn of(rows: &[Row<'_>], model: &Roberta) -> Result<Self> {
        let mut batch = Self {
            tokens: Vec::new(),
            ends: Vec::with_capacity(rows.len()),
            asked: Vec::new(),
            asked_ends: Vec::with_capacity(rows.len()),
        };
        for (index, row) in rows.iter().enumerate() {
            batch
                .push(row, model)
                .map_err(|e| e.context(format!("row {index}")))?;
        }
        Ok(batch)
    }

    fn push(&mut self, row: &Row<'_>, model: &Roberta) -> Result<()> {
        let start = self.tokens.len();
        // Where each token went, None for a pad.
        let mut places = Vec::with_capacity(row.tokens.len());
        for token in row.tokens {
            if *token as usize >= model.vocabulary() {
                return Err(model.no_such_token(*token));
            }
            let kept = *token != model.pad;
            places.push(kept.then_some(self.tokens.len()));
            self.tokens.extend(kept.then_some(*token));
        }
        let length = self.tokens.len() - start;
        if length == 0 || length > model.longest() {
            return Err(Error::failed(format!(
                "{length} tokens, the model takes 1 to {}",
                model.longest()
            )));
        }
        for position in row.asked {
            let place = places.get(*position).copied().flatten().ok_or_else(|| {
                Error::failed(format!(
                    "position {position} is a pad or outside the row of {}",
                    row.tokens.len()
                ))
            })?;
            self.asked.push(place);
        }
        self.ends.push(self.tokens.len());
        self.asked_ends.push(self.asked.len());
        Ok(())
    }
}
