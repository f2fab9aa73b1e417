//! Mechanisms of known ε, and twins of sound ones with one planted defect, for testing audits.

crate::registry::mechanisms! {
    krr,
    krr_half_noise,
    em_half_noise,
    privrewrite_cosine,
    dp_prompt_topk,
    dp_prompt_unclipped,
    dp_bart_broadcast,
    adept_l2_laplace,
    identity,
    constant,
}
