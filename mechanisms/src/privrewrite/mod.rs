//! PrivRewrite and its ablation.

crate::registry::mechanisms! {
    privrewrite,
    privrewrite_naive,
}
