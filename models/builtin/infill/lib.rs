//! The built-in infilling model of teda: its weights, shape and tokenizer. How they were made and what they are good for is in `CARD.md`.

/// Its weights (safetensors).
pub static WEIGHTS: &[u8] = include_bytes!("model.safetensors");

/// Its shape.
pub static CONFIG: &[u8] = include_bytes!("config.json");

/// Its tokenizer, which the rewriter and the autoencoder use as well.
pub static TOKENIZER: &[u8] = include_bytes!("tokenizer.json");
