//! The common beginning of all prompts of a template.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use teda_core::{Prompt, Result};

use super::LocalModel;
use crate::checkpoint::Chat;
use crate::transformer::encoder::check_tokens;
use crate::transformer::{Memory, Pass, Prefix, Segment};

/// Prefixes and chat prompts computed so far. No lock is held while waiting for another thread's work: computing a
/// prefix uses only this thread.
#[derive(Default)]
pub(super) struct Prefixes {
    stored: Mutex<HashMap<Prompt, Option<Arc<Prefix>>>>,
    wrapped: Mutex<HashMap<Prompt, Prompt>>,
}

/// Texts whose prompts share only the template's beginning.
const TEXTS: [&str; 3] = ["the", "Zebra 7", "“Ö"];

impl Prefixes {
    /// The prompt in a chat template.
    ///
    /// # Errors
    /// If the template fails.
    pub(super) fn wrapped(&self, chat: &Chat, prompt: &Prompt) -> Result<Prompt> {
        let mut wrapped = self.wrapped.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = wrapped.get(prompt) {
            return Ok(known.clone());
        }
        let new = chat.wrap(prompt)?;
        wrapped.insert(prompt.clone(), new.clone());
        Ok(new)
    }

    /// The tokens that every filled `prompt` begins with, with their keys and values; `None` if there are none or the
    /// model reads its prompts as sources.
    ///
    /// # Errors
    /// If the model fails.
    pub(super) fn of(&self, model: &LocalModel, prompt: &Prompt) -> Result<Option<Arc<Prefix>>> {
        if model.source.is_some() {
            return Ok(None);
        }
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = stored.get(prompt) {
            return Ok(known.clone());
        }
        let rows: Vec<Vec<u32>> = TEXTS
            .iter()
            .map(|text| model.read(prompt, text))
            .collect::<Result<_>>()?;
        let same = |i: &usize| {
            rows.iter()
                .all(|row| row.get(*i).is_some_and(|t| *t == rows[0][*i]))
        };
        let length = (0..rows[0].len()).take_while(same).count();
        let prefix = if length == 0 || length >= model.decoder.longest {
            None
        } else {
            Some(Arc::new(compute(model, &rows[0][..length])?))
        };
        stored.insert(prompt.clone(), prefix.clone());
        Ok(prefix)
    }
}

fn compute(model: &LocalModel, tokens: &[u32]) -> Result<Prefix> {
    let decoder = &model.decoder;
    check_tokens(tokens, decoder.vocabulary()).map_err(|e| model.named(e))?;
    let mut memory = Memory::new(&decoder.backend, decoder.shape, tokens.len())?;
    let pass = Pass::new(vec![Segment {
        tokens: tokens.len(),
        prefix: None,
        past: 0,
        region: 0,
        asked: vec![tokens.len() - 1],
        padding: 0,
    }]);
    decoder.states(tokens, &pass, &mut memory, None)?;
    Ok(Prefix {
        tokens: tokens.to_vec(),
        memory,
    })
}
