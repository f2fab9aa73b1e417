//! The built-in sentence encoder of teda: its weights and tokenizer. How they were made and what they are good for is in `CARD.md`.

/// Its weights (safetensors).
pub static WEIGHTS: &[u8] = include_bytes!("model.safetensors");

/// Its tokenizer.
pub static TOKENIZER: &[u8] = include_bytes!("tokenizer.json");
