//! DP-Prompt, with the logits of a language model and without.

crate::registry::mechanisms! {
    dp_prompt,
    dp_prompt_black_box,
}
