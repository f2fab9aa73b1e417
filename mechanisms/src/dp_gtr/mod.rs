//! DP-GTR.

pub mod joint_exponential;

crate::registry::mechanisms! {
    dp_gtr,
}
