//! What the experiments of DP-GTR ran, as parameters: the black-box ones on CommonsenseQA and DocVQA, and Llama.
//!
//! # Source
//! `exp_commenSenseQA.py`, `exp_VQA.py`, `exp_SLM_AllInOne.py` and `dpps/SLM.py` of the repository FatShion-FTD/DP-GTR
//! before it was cleared in February 2025.

/// GPT-3.5 on CommonsenseQA: a paraphrase is a line.
pub const GPT_3_5_CSQA: &[(&str, &str)] = &[
    ("paraphraser", "dp-prompt-black-box"),
    ("prompt", "question"),
    ("paraphrase_ends", "line"),
    ("ends", "either"),
    ("keywords_as", "nltk"),
    ("shuffle", "1"),
    ("max_new_tokens", "100"),
];

/// GPT-3.5 on DocVQA: a paraphrase goes up to its question mark.
pub const GPT_3_5_VQA: &[(&str, &str)] = &[
    ("paraphraser", "dp-prompt-black-box"),
    ("prompt", "question"),
    ("paraphrase_ends", "question"),
    ("ends", "either"),
    ("keywords_as", "nltk"),
    ("shuffle", "1"),
    ("max_new_tokens", "100"),
];

/// Llama-3.1-8B, with the library's top-k left on.
pub const LLAMA: &[(&str, &str)] = &[
    ("clip_low", "22.944258"),
    ("clip_high", "32.627422"),
    ("paraphraser", "dp-prompt-topk"),
    ("paraphrases", "11"),
    ("prompt", "question"),
    ("extra", "20"),
    ("paraphrase_ends", "either"),
    ("ends", "either"),
    ("keywords_as", "nltk"),
    ("shuffle", "1"),
    ("max_new_tokens", "100"),
];
