//! Model files: one file of a small checkpoint is another. What can be opened is run.

use std::path::{Path, PathBuf};

use teda_core::{
    Encoder, LanguageModel, MaxNewTokens, Prompt, Result, Scorer, Seed, Sequence, Stream,
};
use teda_models::generate::Options;
use teda_models::{Backend, Checkpoint, LocalModel, MaskedLm, Row, SentenceEncoder};

use super::{Kind, folder};

/// An input is the number of an architecture, and the content of a file.
const ARCHITECTURES: [&str; 9] = [
    "llama", "bert", "t5", "bart", "gpt2", "qwen3", "gemma3", "mpnet", "roberta",
];

const WEIGHTS: &str = "model.safetensors";
const CONFIG: &str = "config.json";
const TOKENIZER: &str = "tokenizer.json";
const TEMPLATE: &str = "chat_template.jinja";
const GGUF: &str = "model.gguf";

pub const SAFETENSORS: Kind = Kind {
    name: "safetensors",
    dictionary: &[
        "\"data_offsets\":[",
        "\"shape\":[",
        "\"dtype\":\"F16\"",
        "\"BF16\"",
        "\"F64\"",
    ],
    corpus: || corpus(WEIGHTS),
    run: |bytes| opens(bytes, WEIGHTS),
};

pub const CONFIGURATION: Kind = Kind {
    name: "config",
    dictionary: &[
        "\"model_type\":",
        "\"rope_theta\":",
        "\"head_dim\":",
        "\"rope_scaling\":",
        "null",
        "[]",
        "true",
    ],
    corpus: || corpus(CONFIG),
    run: |bytes| opens(bytes, CONFIG),
};

pub const TOKENS: Kind = Kind {
    name: "tokenizer",
    dictionary: &[
        "\"type\":\"Regex\"",
        "\"pattern\":",
        "(a+)+$",
        "\"vocab\":",
        "\"merges\":",
        "\"added_tokens\":",
        "null",
    ],
    corpus: || corpus(TOKENIZER),
    run: |bytes| opens(bytes, TOKENIZER),
};

pub const CHAT_TEMPLATE: Kind = Kind {
    name: "template",
    dictionary: &[
        "{% for a in range(99999) %}",
        "{% endfor %}",
        "{{ 'a' * 999999999 }}",
        "{% set a = a ~ a %}",
        "|indent(99999)",
        "|replace('a', 'aaaa')",
        "|join(a)",
        "|tojson(indent=99999)",
        "not ",
        "-",
        "((((",
        "....",
        "'%099999999d'|format(1)",
        "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
        "|batch(1)",
        "|list",
        "raise_exception('no')",
        "namespace(",
    ],
    corpus: || {
        let sound = [
            "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message['content'] | trim }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
            "{{ bos_token }}{%- set ns = namespace(first=true) -%}{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}{% if ns.first %}{% set ns.first = false %}{% endif %}[INST] {{ m.content }} [/INST]{% endfor %}",
        ];
        sound.map(|text| [&[0], text.as_bytes()].concat()).to_vec()
    },
    run: |bytes| opens(bytes, TEMPLATE),
};

pub const QUANTISED: Kind = Kind {
    name: "gguf",
    dictionary: &[
        "GGUF",
        "llama.block_count",
        "tokenizer.ggml.tokens",
        "general.alignment",
    ],
    corpus: || {
        let read = |kind| std::fs::read(fixture("llama").join(format!("model-{kind}.gguf")));
        ["f16", "q4_1", "q8_0"]
            .map(|kind| read(kind).expect("it is there"))
            .to_vec()
    },
    run: |bytes| {
        let path = folder().join(GGUF);
        std::fs::write(&path, bytes).expect("it is written");
        run(&path).is_ok()
    },
};

fn fixture(architecture: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("models/tests/fixtures")
        .join(architecture)
}

/// The file of an architecture, or the tokenizer that those without one share.
fn sound(architecture: &str, name: &str) -> Option<Vec<u8>> {
    let own = std::fs::read(fixture(architecture).join(name)).ok();
    let shared = || std::fs::read(fixture("llama").join(name)).ok();
    own.or_else(|| shared().filter(|_| name == TOKENIZER))
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let of = |(number, architecture): (u8, &&str)| {
        let content = sound(architecture, name).expect("it is there");
        [&[number], &content[..]].concat()
    };
    (0..).zip(&ARCHITECTURES).map(of).collect()
}

fn opens(bytes: &[u8], changed: &str) -> bool {
    let Some((number, content)) = bytes.split_first() else {
        return false;
    };
    let architecture = ARCHITECTURES[usize::from(*number) % ARCHITECTURES.len()];
    let model = folder().join("model");
    // The one of the input before, if there was one.
    let _ = std::fs::remove_dir_all(&model);
    std::fs::create_dir(&model).expect("it is new");
    for name in [CONFIG, TOKENIZER, WEIGHTS, "tokenizer_config.json"] {
        if let Some(sound) = sound(architecture, name) {
            std::fs::write(model.join(name), sound).expect("it is written");
        }
    }
    std::fs::write(model.join(changed), content).expect("it is written");
    run(&model).is_ok()
}

/// Opens a model and does with it what an audit does.
fn run(path: &Path) -> Result<()> {
    let checkpoint = Checkpoint::open("hostile", path)?;
    let tokens = checkpoint.encode("play some jazz music", true)?;
    checkpoint.decode(&tokens)?;
    let config = std::fs::read(path.join(CONFIG)).unwrap_or_default();
    let config: serde_json::Value = serde_json::from_slice(&config).unwrap_or_default();
    match config["model_type"].as_str().unwrap_or_default() {
        "bert" | "mpnet" => {
            let encoder = SentenceEncoder::on(checkpoint, &Backend::F32)?;
            encoder.encode(&["play some jazz music", ""]).map(|_| ())
        }
        "roberta" => {
            let row = Row {
                tokens: &[0, 5, 6, 2],
                asked: &[1, 2],
            };
            MaskedLm::load(&checkpoint)?.logits(&[row]).map(|_| ())
        }
        _ => generate(&LocalModel::on(
            checkpoint,
            Options::default(),
            &Backend::F32,
        )?),
    }
}

fn generate(model: &LocalModel) -> Result<()> {
    let choose =
        |logits: &mut [f32], stream: &mut Stream| stream.softmax_over(logits, f64::from) as u32;
    let prompt = Prompt::new("say it again: {}");
    let sequence = Sequence {
        text: "play some jazz music",
        seed: Seed::root(1),
        max_new_tokens: MaxNewTokens::Tokens(3),
        banned: &[],
    };
    model.generate(&prompt, &[sequence], &choose)?;
    model.log_likelihood(&prompt, &[("play some jazz", "play jazz")])?;
    Ok(())
}
