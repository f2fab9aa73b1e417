//! DP-BART: noise on the vectors between the halves of an encoder-decoder.

mod pruning;

crate::registry::mechanisms! {
    dp_bart,
}
