//! The trait that autoencoders implement: a text becomes one vector, and a vector becomes a text.

use ndarray::{Array2, ArrayView2};

use crate::Result;

/// Reads a text into one vector, its latent, and writes a text from a latent.
pub trait Autoencoder: Send + Sync {
    /// Numbers in a latent.
    fn dimension(&self) -> usize;

    /// The latents of texts, `[texts × dimension]`, without clipping. Of a text longer than the model reads only the
    /// beginning counts. Row i depends on text i alone, to the bit.
    ///
    /// # Errors
    /// If the model fails.
    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>>;

    /// The text written from each latent, `[texts × dimension]`, taking the likeliest token at each step. Row i depends
    /// on latent i alone.
    ///
    /// # Errors
    /// If the model fails.
    fn decode(&self, latents: ArrayView2<'_, f32>) -> Result<Vec<String>>;
}
