//! DP-Prompt, with the logits of a language model and without, and DP-Paraphrase, which draws as it does.

crate::registry::mechanisms! {
    dp_prompt,
    dp_prompt_black_box,
    dp_paraphrase,
}
