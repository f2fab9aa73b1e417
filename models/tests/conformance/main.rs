//! Every architecture against transformers, on tiny random checkpoints (scripts/models/conformance.py):
//! hidden states, logits, greedy continuations and log-probabilities, on both backends; and what must
//! not change them.

mod decoders;
mod encoders;
mod fixture;
mod gguf;
