//! SafeDP-Rewrite and its variant.

pub mod rounds;

crate::registry::mechanisms! {
    safedp_rewrite,
    safedp_rewrite_ns,
}
