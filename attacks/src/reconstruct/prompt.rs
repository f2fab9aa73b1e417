//! What the model is asked.

use teda_core::Prompt;

/// The request, with a place for the release.
pub(super) fn request() -> Prompt {
    Prompt::new(
        "The following text was rewritten to protect the privacy of its author: words may have been replaced, left out, \
         added or put in another order. Reconstruct the original text as closely as you can. Answer with the \
         reconstructed text alone.\n\
         Rewritten text: {}\n\
         Original text:",
    )
}
