//! DP-GTR.

pub mod as_run;
pub mod joint_exponential;
pub mod keywords;
pub mod writer;

crate::registry::mechanisms! {
    dp_gtr,
}
