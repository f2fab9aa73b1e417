//! The built-in autoencoder of teda: its weights and shape. How they were made and what they are good for is in `CARD.md`.

/// Its weights (safetensors).
pub static WEIGHTS: &[u8] = include_bytes!("model.safetensors");

/// Its shape.
pub static CONFIG: &[u8] = include_bytes!("config.json");
