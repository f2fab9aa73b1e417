//! DP-MLM: words drawn from a masked language model.

mod places;
mod prepared;
mod writing;

pub use places::gaps;

crate::registry::mechanisms! {
    dp_mlm,
}
