//! DP-GTR.

pub mod as_run;
pub mod joint_exponential;
pub mod keywords;

crate::registry::mechanisms! {
    dp_gtr,
}
