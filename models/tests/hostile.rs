//! Hostile model files: whatever they hold, opening and running them ends soon, in an error that names the
//! model or in a result. Nothing panics, hangs or fills the memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use teda_core::{Encoder, LanguageModel, MaxNewTokens, Prompt, Scorer, Seed, Sequence, Stream};
use teda_models::generate::Options;
use teda_models::{Backend, Checkpoint, LocalModel, MaskedLm, Row, SentenceEncoder};
use tempfile::TempDir;

/// The longest that a case may take.
const LONGEST: Duration = Duration::from_secs(10);
/// The most memory that all cases of this file may have taken together at any time, in KiB.
const MEMORY: u64 = 3 << 20;

type Outcome = teda_core::Result<()>;

fn fixture(architecture: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(architecture)
}

/// A copy of a sound model's directory, to be spoilt.
fn sound(architecture: &str) -> TempDir {
    let here = tempfile::tempdir().unwrap();
    let tokenizer = fixture("llama").join("tokenizer.json");
    fs::copy(tokenizer, here.path().join("tokenizer.json")).unwrap();
    for name in [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ] {
        let from = fixture(architecture).join(name);
        if from.exists() {
            fs::copy(from, here.path().join(name)).unwrap();
        }
    }
    here
}

fn settings(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Opens the model at `path` and does everything with it that a run does.
fn use_up(path: &Path) -> Outcome {
    let checkpoint = Checkpoint::open("mine", path)?;
    let tokens = checkpoint.encode("play some jazz music", true)?;
    checkpoint.decode(&tokens)?;
    let kind = if path.is_dir() {
        let config = fs::read(path.join("config.json")).unwrap();
        let config: Value = serde_json::from_slice(&config).unwrap_or_default();
        config["model_type"].as_str().unwrap_or("").to_owned()
    } else {
        String::new()
    };
    match &kind[..] {
        "bert" | "mpnet" => {
            let encoder = SentenceEncoder::on(checkpoint, &Backend::F32)?;
            let vectors = encoder.encode(&["play some jazz music", ""])?;
            assert!(vectors.iter().all(|x| x.is_finite()));
        }
        "roberta" => {
            let model = MaskedLm::load(&checkpoint)?;
            let tokens = [0, 5, 6, 2];
            let asked = [1, 2];
            let row = Row {
                tokens: &tokens,
                asked: &asked,
            };
            let logits = model.logits(&[row])?;
            assert!(logits.iter().all(|x| x.is_finite()));
        }
        _ => generate(LocalModel::on(
            checkpoint,
            Options::default(),
            &Backend::F32,
        )?)?,
    }
    Ok(())
}

fn generate(model: LocalModel) -> Outcome {
    let choose =
        |logits: &mut [f32], stream: &mut Stream| stream.softmax_over(logits, f64::from) as u32;
    let prompt = Prompt::new("say it again: {}");
    let banned = ["jazz".to_owned()];
    let sequence = |banned| Sequence {
        text: "play some jazz music",
        seed: Seed::root(1),
        max_new_tokens: MaxNewTokens::Tokens(3),
        banned,
    };
    model.generate(&prompt, &[sequence(&[]), sequence(&banned)], &choose)?;
    model.log_likelihood(&prompt, &[("play some jazz", "play jazz"), ("", "")])?;
    Ok(())
}

/// Runs a case on a thread of its own: what it says, or why it says nothing within the time that it may take.
fn run(case: impl FnOnce() -> Outcome + Send + 'static) -> Result<Outcome, String> {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        let _ = sender.send(case());
    });
    match receiver.recv_timeout(LONGEST) {
        Ok(outcome) => within_memory().map(|()| outcome),
        Err(mpsc::RecvTimeoutError::Timeout) => Err(format!("takes more than {LONGEST:?}")),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let panic = thread.join().unwrap_err();
            let text = panic.downcast_ref::<String>().cloned();
            Err(format!("panics: {}", text.unwrap_or_default()))
        }
    }
}

/// Linux says how much memory a process has taken at most.
fn within_memory() -> Result<(), String> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| {
        let number = line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?;
        number.trim().parse::<u64>().ok()
    });
    match peak {
        Some(peak) if peak > MEMORY => Err(format!("takes {peak} KiB")),
        _ => Ok(()),
    }
}

/// What is wrong with how cases ended.
#[derive(Default)]
struct Complaints(Vec<String>);

impl Complaints {
    /// The model at `path` is refused, and the message names it and says `part`.
    fn refused(&mut self, what: &str, path: &Path, part: &str) {
        let at = path.to_owned();
        let complaint = match run(move || use_up(&at)) {
            // The thread goes on: nothing more is to be learnt beside it.
            Err(why) if why.starts_with("takes") => panic!("{what}: {why}"),
            Err(why) => why,
            Ok(Ok(())) => "is taken".to_owned(),
            Ok(Err(error)) => {
                let text = error.to_string();
                if text.contains("'mine'") && text.contains(part) && text.len() < 2_000 {
                    return;
                }
                text.chars().take(500).collect()
            }
        };
        self.0.push(format!("{what}: {complaint}"));
    }

    /// The model at `path` is used up, or refused by its name. `TEDA_SHOW` shows the cases, which tells the
    /// one that takes the process with it.
    fn ended(&mut self, what: &str, path: &Path) {
        if std::env::var_os("TEDA_SHOW").is_some() {
            eprintln!("{what}");
        }
        let at = path.to_owned();
        let complaint = match run(move || use_up(&at)) {
            // The thread goes on: nothing more is to be learnt beside it.
            Err(why) if why.starts_with("takes") => panic!("{what}: {why}"),
            Err(why) => why,
            Ok(Ok(())) => return,
            Ok(Err(error)) => {
                let text = error.to_string();
                if text.contains("'mine'") {
                    return;
                }
                text
            }
        };
        self.0.push(format!("{what}: {complaint}"));
    }
}

impl Drop for Complaints {
    fn drop(&mut self) {
        if !thread::panicking() {
            assert!(self.0.is_empty(), "{}", self.0.join("\n"));
        }
    }
}

#[test]
fn sound_models_work() {
    for architecture in [
        "llama", "llama3", "qwen3", "gemma3", "gpt2", "t5", "t5-v1", "bart", "bert", "mpnet",
        "roberta",
    ] {
        let here = sound(architecture);
        use_up(here.path()).unwrap();
    }
    for (architecture, kind) in [
        ("llama", "f16"),
        ("llama", "q8_0"),
        ("llama", "q4_1"),
        ("qwen3", "q8_0"),
        ("gemma3", "q8_0"),
    ] {
        use_up(&fixture(architecture).join(format!("model-{kind}.gguf"))).unwrap();
    }
}

/// A safetensors file of a header and some zeros.
fn safetensors(header: &str, zeros: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.resize(bytes.len() + zeros, 0);
    bytes
}

#[test]
fn hostile_safetensors_are_refused() {
    let mut complaints = Complaints::default();
    let here = sound("llama");
    let file = here.path().join("model.safetensors");
    let tensor = |shape: &str, from: &str, to: &str| {
        format!(r#"{{"a": {{"dtype": "F32", "shape": {shape}, "data_offsets": [{from}, {to}]}}}}"#)
    };
    let most = u64::MAX.to_string();
    let near = (u64::MAX - 60).to_string();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing", vec![], "not a complete safetensors file"),
        (
            "a header length alone",
            vec![9; 8],
            "its header should have",
        ),
        (
            "a header as long as all numbers",
            [vec![255; 8], vec![0; 100]].concat(),
            "its header should have",
        ),
        (
            "offsets near 2^64",
            safetensors(&tensor("[15]", &near, &most), 64),
            "should go from byte",
        ),
        (
            "an end near 2^64",
            safetensors(&tensor("[16]", "0", &near), 64),
            "should go from byte",
        ),
        (
            "an end before its beginning",
            safetensors(&tensor("[1]", "8", "4"), 64),
            "should go from byte",
        ),
        (
            "a shape beyond all numbers",
            safetensors(
                &tensor("[4294967296, 4294967296, 4294967296]", "0", "64"),
                64,
            ),
            "none of a tensor",
        ),
        (
            "a shape that is larger than its bytes",
            safetensors(&tensor("[1000000]", "0", "64"), 64),
            "takes 4000000 bytes",
        ),
        (
            "a shape of many dimensions",
            safetensors(&tensor(&format!("{:?}", vec![1; 10_000]), "0", "4"), 64),
            "none of a tensor",
        ),
        (
            "a negative dimension",
            safetensors(&tensor("[-1]", "0", "4"), 64),
            "tensor 'a'",
        ),
        (
            "an unknown type",
            safetensors(
                r#"{"a": {"dtype": "X7", "shape": [1], "data_offsets": [0, 4]}}"#,
                64,
            ),
            "tensor 'a'",
        ),
        (
            "half a byte",
            safetensors(
                r#"{"a": {"dtype": "F4", "shape": [1], "data_offsets": [0, 1]}}"#,
                64,
            ),
            "none of a tensor",
        ),
        (
            "tensors on the same bytes",
            safetensors(
                r#"{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                    "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}"#,
                64,
            ),
            "overlap",
        ),
        (
            "a tensor twice",
            safetensors(
                r#"{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                    "a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]}}"#,
                64,
            ),
            "twice",
        ),
        ("a list", safetensors("[1, 2]", 64), "its header"),
        (
            "deep JSON",
            safetensors(&"[".repeat(100_000), 64),
            "its header",
        ),
        (
            "a deep entry",
            safetensors(&format!("{{\"a\": {}", "{\"a\":".repeat(100_000)), 64),
            "its header",
        ),
    ];
    for (what, bytes, part) in cases {
        fs::write(&file, bytes).unwrap();
        complaints.refused(what, here.path(), part);
    }
    fs::remove_file(&file).unwrap();
    complaints.refused("no weights", here.path(), "cannot read");
    let index = here.path().join("model.safetensors.index.json");
    for name in ["../../x", "/dev/zero", "", ".."] {
        let map = json!({"weight_map": {"a": name}});
        fs::write(&index, map.to_string()).unwrap();
        complaints.refused("a file elsewhere", here.path(), "names the file");
    }
}

/// Every number of a safetensors file, of half or single precision, set to one that is none.
fn spoilt(path: &Path, half: u16, single: u32) -> Vec<u8> {
    let mut bytes = fs::read(path).unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let halves = String::from_utf8_lossy(&bytes[8..header]).contains("F16");
    let brain = String::from_utf8_lossy(&bytes[8..header]).contains("BF16");
    // That type is the upper half of single precision.
    let half = if brain { (single >> 16) as u16 } else { half };
    let pair = [half.to_le_bytes(), half.to_le_bytes()].concat();
    for number in bytes[header..].as_chunks_mut::<4>().0 {
        if halves {
            number.copy_from_slice(&pair);
        } else {
            *number = single.to_le_bytes();
        }
    }
    bytes
}

#[test]
fn weights_that_are_no_numbers_end_the_call() {
    let mut complaints = Complaints::default();
    for architecture in [
        "llama", "qwen3", "gemma3", "gpt2", "t5", "bart", "bert", "mpnet", "roberta",
    ] {
        for (bad, half, single) in [
            ("NaN", 0x7e00, f32::NAN),
            ("∞", 0x7c00, f32::INFINITY),
            ("−∞", 0xfc00, f32::NEG_INFINITY),
        ] {
            let here = sound(architecture);
            let file = here.path().join("model.safetensors");
            fs::write(&file, spoilt(&file, half, single.to_bits())).unwrap();
            let what = format!("{architecture} of {bad}");
            complaints.refused(&what, here.path(), "not all finite numbers");
        }
    }
}

/// Sets one entry of a model's configuration; `null` takes it out.
fn configured(architecture: &str, key: &str, value: Value) -> TempDir {
    let here = sound(architecture);
    let path = here.path().join("config.json");
    let mut config = settings(&path);
    let entries = config.as_object_mut().unwrap();
    if value.is_null() {
        entries.remove(key);
    } else {
        entries.insert(key.to_owned(), value);
    }
    fs::write(&path, config.to_string()).unwrap();
    here
}

#[test]
fn hostile_configurations_are_refused() {
    let mut complaints = Complaints::default();
    let huge = json!(u64::MAX);
    for (architecture, key, value, part) in [
        (
            "llama",
            "num_attention_heads",
            json!(0),
            "num_attention_heads is 0",
        ),
        (
            "llama",
            "num_key_value_heads",
            json!(0),
            "num_key_value_heads is 0",
        ),
        ("llama", "num_key_value_heads", json!(3), "3 heads"),
        ("llama", "num_attention_heads", json!(-1), "config.json"),
        ("llama", "num_attention_heads", huge.clone(), "config.json"),
        ("llama", "head_dim", json!(0), "heads are 0 wide"),
        ("llama", "head_dim", json!(7), "heads are 7 wide"),
        ("llama", "head_dim", json!(u64::MAX - 1), "config.json"),
        ("llama", "head_dim", json!(1_u64 << 32), "wide: at most"),
        ("gemma3", "head_dim", json!(1_u64 << 32), "wide: at most"),
        ("llama", "hidden_size", json!(0), "hidden_size is 0"),
        ("llama", "hidden_size", huge.clone(), "has shape"),
        ("llama", "vocab_size", json!(0), "vocab_size is 0"),
        ("llama", "vocab_size", huge.clone(), "has shape"),
        (
            "llama",
            "intermediate_size",
            json!(0),
            "intermediate_size is 0",
        ),
        ("llama", "intermediate_size", huge.clone(), "has shape"),
        (
            "llama",
            "num_hidden_layers",
            json!(0),
            "num_hidden_layers is 0",
        ),
        ("llama", "num_hidden_layers", huge.clone(), "is missing"),
        ("llama", "max_position_embeddings", json!(0), "is 0"),
        (
            "llama",
            "max_position_embeddings",
            json!(1_u64 << 32),
            "at most 67108864",
        ),
        (
            "llama",
            "max_position_embeddings",
            huge.clone(),
            "at most 67108864",
        ),
        ("llama", "rms_norm_eps", json!(-1.0), "epsilon is -1"),
        ("llama", "rms_norm_eps", json!(1e300), "epsilon is inf"),
        ("llama", "rms_norm_eps", json!("NaN"), "config.json"),
        ("llama", "hidden_act", json!("sine"), "config.json"),
        ("llama", "model_type", json!("none"), "model_type 'none'"),
        (
            "llama",
            "rope_parameters",
            json!({"rope_theta": -1.0}),
            "rope_theta",
        ),
        (
            "llama",
            "rope_parameters",
            json!({"rope_theta": 0.0}),
            "rope_theta",
        ),
        (
            "llama",
            "rope_parameters",
            json!({"rope_theta": 10.0, "rope_type": "linear", "factor": 0.0}),
            "rope",
        ),
        (
            "llama",
            "rope_parameters",
            json!({"rope_theta": 10.0, "rope_type": "spiral"}),
            "spiral",
        ),
        ("gemma3", "sliding_window", json!(0), "sliding_window is 0"),
        ("gemma3", "sliding_window", json!(-1), "config.json"),
        ("gemma3", "sliding_window", Value::Null, "sliding_window"),
        (
            "gemma3",
            "query_pre_attn_scalar",
            json!(-4),
            "query_pre_attn_scalar",
        ),
        (
            "gemma3",
            "query_pre_attn_scalar",
            json!(0),
            "query_pre_attn_scalar",
        ),
        ("gpt2", "n_head", json!(0), "0 heads"),
        ("gpt2", "n_head", json!(5), "5 heads"),
        ("gpt2", "n_inner", json!(0), "n_inner is 0"),
        ("gpt2", "n_embd", huge.clone(), "config.json"),
        ("gpt2", "n_positions", huge.clone(), "has shape"),
        (
            "t5",
            "num_decoder_layers",
            json!(0),
            "num_decoder_layers is 0",
        ),
        ("t5", "num_layers", json!(0), "num_layers is 0"),
        ("t5", "num_heads", json!(0), "0 heads"),
        ("t5", "num_heads", huge.clone(), "has shape"),
        ("t5", "d_kv", json!(0), "config.json"),
        ("t5", "d_kv", huge.clone(), "config.json"),
        ("t5", "d_model", json!(0), "d_model is 0"),
        ("t5", "d_ff", json!(0), "d_ff is 0"),
        ("t5", "relative_attention_num_buckets", json!(0), "buckets"),
        ("t5", "relative_attention_num_buckets", json!(1), "buckets"),
        (
            "t5",
            "relative_attention_max_distance",
            json!(0),
            "distance",
        ),
        (
            "t5",
            "decoder_start_token_id",
            json!(4_000_000_000_u32),
            "decoder_start_token_id",
        ),
        (
            "bart",
            "decoder_start_token_id",
            json!(100_000),
            "decoder_start_token_id",
        ),
        ("bart", "max_position_embeddings", huge.clone(), "has shape"),
        ("bart", "max_position_embeddings", json!(0), "is 0"),
        ("bart", "decoder_layers", json!(0), "layers is 0"),
        ("bart", "encoder_ffn_dim", json!(0), "ffn_dim is 0"),
        ("bart", "decoder_attention_heads", json!(0), "0 heads"),
        ("bert", "pad_token_id", json!(-7), "config.json"),
        ("bert", "max_position_embeddings", json!(0), "config.json"),
        ("bert", "layer_norm_eps", json!(-0.5), "epsilon"),
        ("bert", "type_vocab_size", json!(0), "type_vocab_size is 0"),
        (
            "bert",
            "intermediate_size",
            json!(0),
            "intermediate_size is 0",
        ),
        ("mpnet", "pad_token_id", huge.clone(), "leaves no position"),
        ("mpnet", "vocab_size", json!(0), "vocab_size is 0"),
        (
            "mpnet",
            "relative_attention_num_buckets",
            json!(2),
            "buckets",
        ),
        (
            "roberta",
            "pad_token_id",
            json!(u32::MAX),
            "leaves no position",
        ),
        ("roberta", "vocab_size", huge, "has shape"),
    ] {
        let here = configured(architecture, key, value.clone());
        complaints.refused(
            &format!("{architecture} with {key} {value}"),
            here.path(),
            part,
        );
    }
    let here = sound("llama");
    let path = here.path().join("config.json");
    for (text, part) in [
        ("[".repeat(1_000_000), "not JSON"),
        (" ".repeat(17 << 20), "bytes"),
        ("3".to_owned(), "model_type"),
        (String::new(), "not JSON"),
    ] {
        fs::write(&path, text).unwrap();
        let at = here.path().to_owned();
        let error = run(move || {
            let checkpoint = Checkpoint::open("mine", &at)?;
            LocalModel::on(checkpoint, Options::default(), &Backend::F32).map(|_| ())
        });
        let error = error.unwrap().unwrap_err().to_string();
        assert!(error.contains("mine") && error.contains(part), "{error}");
    }
}

/// Settings that are odd and do no harm.
#[test]
fn odd_configurations_work() {
    for (architecture, key, value) in [
        ("llama", "eos_token_id", json!(4_000_000_000_u32)),
        ("llama", "eos_token_id", json!([-1, 1e300, "x"])),
        ("gemma3", "sliding_window", json!(u64::MAX)),
        ("llama", "max_position_embeddings", json!(1_000_000)),
        ("llama", "rms_norm_eps", json!(0.0)),
        ("t5", "relative_attention_max_distance", json!(u64::MAX)),
    ] {
        let here = configured(architecture, key, value);
        let at = here.path().to_owned();
        run(move || use_up(&at)).unwrap().unwrap();
    }
}

fn le(value: u64) -> [u8; 8] {
    value.to_le_bytes()
}

/// A small GGUF file: metadata of (key, type, bytes), tensors of (name, dimensions, type, offset).
fn gguf(metadata: &[(&str, u32, Vec<u8>)], tensors: &[(&str, &[u64], u32, u64)]) -> Vec<u8> {
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend(le(tensors.len() as u64));
    file.extend(le(metadata.len() as u64));
    let text = |file: &mut Vec<u8>, text: &str| {
        file.extend(le(text.len() as u64));
        file.extend(text.as_bytes());
    };
    for (key, kind, bytes) in metadata {
        text(&mut file, key);
        file.extend(kind.to_le_bytes());
        file.extend(bytes);
    }
    for (name, dimensions, kind, offset) in tensors {
        text(&mut file, name);
        file.extend((dimensions.len() as u32).to_le_bytes());
        dimensions.iter().for_each(|d| file.extend(le(*d)));
        file.extend(kind.to_le_bytes());
        file.extend(le(*offset));
    }
    file.resize(file.len() + 256, 0);
    file
}

#[test]
fn hostile_gguf_files_are_refused() {
    let mut complaints = Complaints::default();
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("model.gguf");
    let incomplete = "not a complete GGUF file";
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing", vec![], incomplete),
        (
            "an alignment of 0",
            gguf(&[("general.alignment", 4, vec![0; 4])], &[]),
            incomplete,
        ),
        (
            "a text as long as all numbers",
            gguf(&[("a", 8, vec![255; 8])], &[]),
            incomplete,
        ),
        (
            "a list as long as all numbers",
            gguf(
                &[("a", 9, [4, 0, 0, 0].into_iter().chain([255; 8]).collect())],
                &[],
            ),
            incomplete,
        ),
        (
            "lists in lists",
            gguf(
                &[("a", 9, [9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0].repeat(100_000))],
                &[],
            ),
            incomplete,
        ),
        (
            "an unknown kind of value",
            gguf(&[("a", 77, vec![])], &[]),
            incomplete,
        ),
        (
            "a shape beyond all numbers",
            gguf(&[], &[("a", &[1 << 40, 1 << 40], 0, 0)]),
            incomplete,
        ),
        (
            "an offset near 2^64",
            gguf(&[], &[("a", &[4], 0, u64::MAX - 64)]),
            incomplete,
        ),
        (
            "an unknown type of tensor",
            gguf(&[], &[("a", &[4], 99, 0)]),
            incomplete,
        ),
        ("half a block", gguf(&[], &[("a", &[5], 8, 0)]), incomplete),
        (
            "many dimensions",
            gguf(&[], &[("a", &[1; 9], 0, 0)]),
            incomplete,
        ),
        (
            "tensors on the same bytes",
            gguf(&[], &[("a", &[55], 0, 0), ("b", &[55], 0, 0)]),
            "overlap",
        ),
        ("no metadata", gguf(&[], &[]), "tokenizer.ggml.model"),
    ];
    for (what, bytes, part) in cases {
        fs::write(&file, bytes).unwrap();
        complaints.refused(what, &file, part);
    }
    // Weights of all bits set are no numbers in any type.
    for (architecture, kind) in [
        ("llama", "f16"),
        ("llama", "q8_0"),
        ("llama", "q4_1"),
        ("qwen3", "q8_0"),
        ("gemma3", "q8_0"),
    ] {
        let mut bytes = fs::read(fixture(architecture).join(format!("model-{kind}.gguf"))).unwrap();
        let half = bytes.len() / 2;
        bytes[half..].fill(255);
        fs::write(&file, bytes).unwrap();
        complaints.refused(kind, &file, "not all finite numbers");
    }
}

/// Bytes of a sound GGUF file with those of a metadata entry replaced by others of the same length.
fn gguf_with(key: &str, change: impl Fn(&mut [u8])) -> Vec<u8> {
    let mut bytes = fs::read(fixture("llama").join("model-q8_0.gguf")).unwrap();
    let found = bytes.windows(key.len()).position(|w| w == key.as_bytes());
    let after = found.expect(key) + key.len() + 4;
    change(&mut bytes[after..after + 4]);
    bytes
}

#[test]
fn hostile_gguf_settings_are_refused() {
    let mut complaints = Complaints::default();
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("model.gguf");
    for (key, value, part) in [
        ("llama.attention.head_count", 0_u32, "config.json"),
        ("llama.attention.head_count", u32::MAX, "config.json"),
        (
            "llama.attention.head_count_kv",
            0,
            "num_key_value_heads is 0",
        ),
        ("llama.embedding_length", 0, "config.json"),
        ("llama.embedding_length", u32::MAX, "has shape"),
        ("llama.block_count", 0, "num_hidden_layers is 0"),
        ("llama.feed_forward_length", 0, "intermediate_size is 0"),
        ("llama.feed_forward_length", u32::MAX, "has shape"),
        ("llama.context_length", u32::MAX, "at most 67108864"),
        ("llama.context_length", 0, "is 0"),
        (
            "llama.attention.layer_norm_rms_epsilon",
            f32::NAN.to_bits(),
            "config.json",
        ),
        (
            "llama.attention.layer_norm_rms_epsilon",
            (-1.0_f32).to_bits(),
            "epsilon",
        ),
        ("llama.rope.freq_base", (-1.0_f32).to_bits(), "rope_theta"),
    ] {
        let bytes = gguf_with(key, |number| number.copy_from_slice(&value.to_le_bytes()));
        fs::write(&file, bytes).unwrap();
        complaints.refused(&format!("{key} {value}"), &file, part);
    }
}

/// A sound model with another tokenizer.
fn tokenized(change: impl Fn(&mut Value)) -> TempDir {
    let here = sound("llama");
    let path = here.path().join("tokenizer.json");
    let mut tokenizer = settings(&path);
    change(&mut tokenizer);
    fs::write(&path, tokenizer.to_string()).unwrap();
    here
}

#[test]
fn hostile_tokenizers_are_refused() {
    let mut complaints = Complaints::default();
    let here = sound("llama");
    let file = here.path().join("tokenizer.json");
    for (what, text) in [
        ("nothing", String::new()),
        ("no JSON", "{".to_owned()),
        ("deep JSON", "[".repeat(1_000_000)),
        (
            "a deep normalizer",
            format!("{{\"normalizer\": {}", "{\"a\":".repeat(500_000)),
        ),
        ("a number", "3".to_owned()),
        ("no parts", "{}".to_owned()),
        ("a model twice", r#"{"model": {}, "model": {}}"#.to_owned()),
        ("an empty model", r#"{"model": {"type": "BPE"}}"#.to_owned()),
    ] {
        fs::write(&file, text).unwrap();
        complaints.refused(what, here.path(), "not a tokenizer");
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    complaints.refused("a directory", here.path(), "it is not a file");

    let replace =
        |from: Value, to: &str| json!({"type": "Replace", "pattern": from, "content": to});
    let grows = replace(json!({"String": "a"}), "aa");
    let inserts = replace(json!({"Regex": ""}), &"ab".repeat(3_000));
    let level = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": false});
    let invalid = json!({"type": "Replace", "pattern": {"Regex": "("}, "content": ""});
    for (what, part, value, says) in [
        (
            "a doubling normalizer",
            "normalizer",
            json!({"type": "Sequence", "normalizers": vec![&grows; 50]}),
            "times as long",
        ),
        (
            "an inserting normalizer",
            "normalizer",
            inserts,
            "times as long",
        ),
        (
            "a doubling decoder",
            "decoder",
            json!({"type": "Sequence", "decoders": vec![&grows; 50]}),
            "times as long",
        ),
        (
            "many byte levels",
            "pre_tokenizer",
            json!({"type": "Sequence", "pretokenizers": vec![&level; 50]}),
            "times as long",
        ),
        (
            "a long prefix",
            "normalizer",
            json!({"type": "Prepend", "prepend": "a".repeat(100_000)}),
            "times as long",
        ),
        (
            "an invalid pattern",
            "normalizer",
            invalid.clone(),
            "not a tokenizer",
        ),
        (
            "an invalid pattern to decode by",
            "decoder",
            invalid,
            "not a tokenizer",
        ),
        (
            "an unknown decoder",
            "decoder",
            json!({"type": "Nothing"}),
            "not a tokenizer",
        ),
        (
            "a decoder of no type",
            "decoder",
            json!({"add_prefix_space": "x"}),
            "not a tokenizer",
        ),
        (
            "a decoder that is a list",
            "decoder",
            json!([1, {"a": [2]}]),
            "not a tokenizer",
        ),
        (
            "a broken map of characters",
            "normalizer",
            json!({"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
            "not a tokenizer",
        ),
        (
            "a map of characters that points outside itself",
            "normalizer",
            json!({"type": "Precompiled", "precompiled_charsmap": "BAAAAP////8="}),
            "tokenizer",
        ),
        (
            "a huge word",
            "model",
            json!({"type": "WordPiece", "unk_token": "a", "continuing_subword_prefix": "##", "max_input_chars_per_word": u64::MAX, "vocab": {"a": 0}}),
            "max_input_chars_per_word",
        ),
        (
            "no vocabulary",
            "model",
            json!({"type": "Unigram", "unk_id": 7, "vocab": []}),
            "tokenizer",
        ),
        (
            "merges of unknown tokens",
            "model",
            json!({"type": "BPE", "vocab": {"a": 0}, "merges": ["b c"]}),
            "not a tokenizer",
        ),
    ] {
        let here = tokenized(|tokenizer| tokenizer[part] = value.clone());
        complaints.refused(what, here.path(), says);
    }
    let here = tokenized(|tokenizer| {
        let token = |id: u64, content: &str| json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": false});
        tokenizer["added_tokens"] = json!([token(4_000_000_000, "play"), token(5_000, "jazz")]);
    });
    complaints.refused(
        "tokens beyond the vocabulary",
        here.path(),
        "outside the model's vocabulary",
    );
    let here = tokenized(|tokenizer| {
        let vocabulary = tokenizer["model"]["vocab"].as_object_mut().unwrap();
        vocabulary
            .values_mut()
            .for_each(|id| *id = json!(id.as_u64().unwrap() + 4_000_000_000));
    });
    complaints.refused(
        "ids beyond the vocabulary",
        here.path(),
        "outside the model's vocabulary",
    );
}

/// Tokenizers that are odd and do no harm, or harm one call alone.
#[test]
fn odd_tokenizers_end_soon() {
    let mut complaints = Complaints::default();
    let split = |pattern: &str| {
        let split = json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
        json!({"type": "Sequence", "pretokenizers": [split, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]})
    };
    let many = vec![json!({"type": "Digits", "individual_digits": true}); 100];
    for (what, part, value) in [
        (
            "a pattern that blows up",
            "pre_tokenizer",
            split(r"(?=((\w|\s)*)*$)((\w|\s|a)*)*!\1"),
        ),
        ("a pattern that matches nothing", "pre_tokenizer", split("")),
        (
            "many parts",
            "pre_tokenizer",
            json!({"type": "Sequence", "pretokenizers": many}),
        ),
        (
            "pieces of no letters",
            "pre_tokenizer",
            json!({"type": "FixedLength", "length": 0}),
        ),
        (
            "a room that is cut",
            "truncation",
            json!({"direction": "Right", "max_length": 0, "strategy": "LongestFirst", "stride": 0}),
        ),
        (
            "a wide padding",
            "padding",
            json!({"strategy": {"Fixed": 1_u64 << 60}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0, "pad_token": "a"}),
        ),
        (
            "a token of no letters",
            "added_tokens",
            json!([{"id": 1, "content": "", "single_word": false, "lstrip": false, "rstrip": false, "normalized": true, "special": true}]),
        ),
        (
            "a template of unknown tokens",
            "post_processor",
            json!({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<none>", "type_id": 0}}], "pair": [], "special_tokens": {}}),
        ),
        (
            "a token of many ids",
            "post_processor",
            json!({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}], "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": vec![1; 1000], "tokens": ["<s>"]}}}),
        ),
    ] {
        let here = tokenized(|tokenizer| tokenizer[part] = value.clone());
        complaints.ended(what, here.path());
    }
}

/// Templates that ask for more than there is.
fn hostile_templates() -> Vec<(&'static str, String)> {
    let say = |program: &str| format!("{program}{{{{ messages[0].content }}}}");
    let expression = |text: String| say(&format!("{{{{ {text} }}}}"));
    let doubling = |line: &str, print: &str| {
        say(&format!(
            "{{% set a = 'abcdefgh' %}}{{% set b = [1] %}}{}{print}",
            line.repeat(60)
        ))
    };
    let many = |program: &str| {
        say(&format!(
            "{{% for i in range(9999) %}}{program}{{% endfor %}}"
        ))
    };
    let ns = "{% set ns = namespace(a='abcdefgh', b=[1]) %}";
    let lists = "{% set c = [1] %}";
    vec![
        (
            "ranges in ranges",
            say(
                "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}",
            ),
        ),
        (
            "a loop that writes",
            say(
                "{% for a in range(9999) %}{% for b in range(9999) %}some text {{ b }}{% endfor %}{% endfor %}",
            ),
        ),
        (
            "a loop that keeps what it writes",
            say(
                "{% set x %}{% for a in range(9999) %}{% for b in range(9999) %}some text {% endfor %}{% endfor %}{% endset %}",
            ),
        ),
        ("a long text in a loop", many(&"long ".repeat(20_000))),
        (
            "a long text that is kept",
            say(&format!(
                "{{% set x %}}{{% for i in range(99999) %}}{}{{% endfor %}}{{% endset %}}",
                "long ".repeat(20_000)
            )),
        ),
        (
            "100,000 dots",
            expression(format!("a{}", ".a".repeat(60_000))),
        ),
        (
            "10,000 dots",
            expression(format!("a{}", ".a".repeat(10_000))),
        ),
        (
            "not not",
            expression(format!("{} a", "not ".repeat(30_000))),
        ),
        (
            "minus minus",
            expression(format!("{}1", "-".repeat(100_000))),
        ),
        (
            "filters of filters",
            expression(format!("a{}", "|trim".repeat(20_000))),
        ),
        (
            "tests of tests",
            expression(format!("a{}", " is true".repeat(10_000))),
        ),
        (
            "brackets",
            expression(format!("{}1{}", "(".repeat(60_000), ")".repeat(60_000))),
        ),
        (
            "lists in lists",
            expression(format!("{}{}", "[".repeat(60_000), "]".repeat(60_000))),
        ),
        (
            "maps in maps",
            expression(format!("{}1{}", "{1:".repeat(30_000), "}".repeat(30_000))),
        ),
        (
            "subscripts",
            expression(format!("a{}", "[0]".repeat(30_000))),
        ),
        (
            "calls of calls",
            expression(format!("a{}", "()".repeat(50_000))),
        ),
        ("sums", expression(format!("1{}", "+1".repeat(60_000)))),
        (
            "texts joined",
            expression(format!("'a'{}", "~'a'".repeat(30_000))),
        ),
        ("powers", expression(format!("2{}", "**2".repeat(30_000)))),
        (
            "else",
            expression(format!("1{}", " if 0 else 1".repeat(10_000))),
        ),
        ("or", expression(format!("0{}", " or 0".repeat(20_000)))),
        (
            "comparisons",
            expression(format!("1{}", "<2".repeat(60_000))),
        ),
        (
            "if in if",
            say(&format!(
                "{}{}",
                "{% if 1 %}".repeat(5_000),
                "{% endif %}".repeat(5_000)
            )),
        ),
        (
            "elif",
            say(&format!(
                "{{% if 0 %}}{}{{% endif %}}",
                "{% elif 0 %}".repeat(10_000)
            )),
        ),
        (
            "for in for",
            say(&format!(
                "{}{}",
                "{% for i in [1] %}".repeat(3_000),
                "{% endfor %}".repeat(3_000)
            )),
        ),
        (
            "macros in macros",
            say(&format!(
                "{}{}",
                "{% macro m() %}".repeat(4_000),
                "{% endmacro %}".repeat(4_000)
            )),
        ),
        (
            "a macro that calls itself",
            say("{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}"),
        ),
        (
            "a loop that calls itself",
            say("{% set a = [1] %}{% for x in a recursive %}{{ loop(a) }}{% endfor %}"),
        ),
        ("a template of 2 MB", "a".repeat(2_000_000)),
        (
            "a wide number",
            expression("'%99999999999d'|format(1)".to_owned()),
        ),
        (
            "a wide number from its arguments",
            expression("'%*d'|format(99999999999, 1)".to_owned()),
        ),
        (
            "a wide text by a method",
            expression("'{:99999999999}'.format('a')".to_owned()),
        ),
        (
            "a precise number",
            expression("'%.99999999999f'|format(1.5)".to_owned()),
        ),
        (
            "an indentation",
            expression("'a\\nb'|indent(99999999999)".to_owned()),
        ),
        (
            "an indentation by name",
            expression("'a\\nb'|indent(width=99999999999)".to_owned()),
        ),
        (
            "indented JSON",
            expression("[[1]]|tojson(indent=99999999999)".to_owned()),
        ),
        (
            "indented JSON by place",
            expression("[[1]]|tojson(99999999999)".to_owned()),
        ),
        (
            "a text a billion times",
            expression("'a' * 1000000000".to_owned()),
        ),
        (
            "a billion times a text",
            expression("1000000000 * 'a'".to_owned()),
        ),
        (
            "a variable a billion times",
            say("{% set n = 99999999 %}{% set x = 'abcdefghij' * n * n %}"),
        ),
        (
            "constants many times",
            expression(vec!["('abcdefghij' * 9999999)"; 100].join(" ~ ")),
        ),
        (
            "a list a billion times",
            expression("[1] * 1000000000".to_owned()),
        ),
        (
            "batches",
            expression("[1]|batch(99999999999, 0)".to_owned()),
        ),
        ("slices", expression("[1]|slice(99999999999)".to_owned())),
        (
            "replaced",
            doubling("{% set a = a|replace('a', 'aa') %}", ""),
        ),
        (
            "replaced by much",
            many("{% set x = ('a'*9999)|replace('', 'b'*9999) %}"),
        ),
        (
            "joined by much",
            many("{% set x = range(9999)|join('b'*9999) %}"),
        ),
        (
            "joined by a method",
            many("{% set x = ('b'*9999).join(range(9999)) %}"),
        ),
        ("twice its text by ~", doubling("{% set a = a ~ a %}", "")),
        ("twice its text by +", doubling("{% set a = a + a %}", "")),
        (
            "twice its text by a block",
            doubling("{% set a %}{{ a }}{{ a }}{% endset %}", ""),
        ),
        (
            "twice its text in a namespace",
            say(&format!(
                "{ns}{{% for i in range(99) %}}{{% set ns.a = ns.a ~ ns.a %}}{{% endfor %}}"
            )),
        ),
        (
            "twice its text by a macro",
            doubling(
                "{% macro m(x) %}{{ x }}{{ x }}{% endmacro %}{% set a = m(a) %}",
                "",
            ),
        ),
        (
            "twice its text by a filter block",
            doubling(
                "{% set a %}{% filter upper %}{{ a }}{{ a }}{% endfilter %}{% endset %}",
                "",
            ),
        ),
        (
            "twice its list",
            doubling("{% set b = b + b %}", "{{ b|length }}{{ b }}"),
        ),
        (
            "a list of itself twice",
            doubling("{% set b = [b, b] %}", "{{ b }}"),
        ),
        (
            "lists that are compared",
            doubling("{% set b = [b, b] %}", "{% set c = b == b %}"),
        ),
        (
            "a tuple of itself twice",
            doubling("{% set b = (b, b) %}", "{{ b|tojson }}"),
        ),
        (
            "a map of itself twice",
            doubling("{% set b = {'x': b, 'y': b} %}", "{{ b|tojson }}"),
        ),
        (
            "a list of its own kind",
            say(&format!(
                "{lists}{{% for i in range(99) %}}{{% set c = [c, c] %}}{{{{ c }}}}{{% endfor %}}{}",
                "{% set c = [c, c, c, c] %}".repeat(40)
            )),
        ),
        (
            "a namespace in itself",
            say(&format!("{ns}{{% set ns.a = ns %}}{{{{ ns }}}}")),
        ),
        (
            "a namespace in its list",
            say(&format!(
                "{ns}{{% set x = [ns] %}}{{% set ns.a = x %}}{{{{ ns }}}}"
            )),
        ),
        (
            "a namespace in its map",
            say(&format!("{ns}{{% set ns.a = dict(x=ns) %}}{{{{ ns }}}}")),
        ),
        (
            "nested by a loop",
            say(&format!(
                "{ns}{{% for i in range(20000) %}}{{% set ns.b = [ns.b] %}}{{% endfor %}}{{{{ ns.b }}}}"
            )),
        ),
        (
            "slices of slices",
            say(&format!(
                "{ns}{{% for i in range(50000) %}}{{% set ns.b = ns.b[0:] %}}{{% endfor %}}{{{{ ns.b }}}}"
            )),
        ),
        (
            "reversed and reversed",
            say(&format!(
                "{ns}{{% for i in range(50000) %}}{{% set ns.b = ns.b|reverse %}}{{% endfor %}}{{{{ ns.b }}}}"
            )),
        ),
        (
            "sums of lists",
            say(&format!(
                "{ns}{{% for i in range(50000) %}}{{% set ns.b = ns.b + [i] %}}{{% endfor %}}{{{{ ns.b }}}}"
            )),
        ),
        (
            "mapped",
            doubling("{% set b = [b, b]|map('list')|list %}", "{{ b }}"),
        ),
        (
            "a text searched and searched",
            many("{% set x = 'b' in 'a' * 99999 %}"),
        ),
        ("sorted and sorted", many("{% set x = range(9999)|sort %}")),
        (
            "escaped and escaped",
            doubling(
                "{% set a = (a ~ '<')|string|escape|string|safe|e %}{% set a = a ~ a %}",
                "",
            ),
        ),
        ("arguments by star", expression("range(*[1, 2])".to_owned())),
        (
            "a cycle of nothing",
            say("{% for i in [1] %}{{ loop.cycle() }}{% endfor %}"),
        ),
        ("another template", say("{% include 'x' %}")),
        ("an unclosed tag", "{{ messages".to_owned()),
        ("an unknown statement", say("{% launch %}")),
        ("no message", "hello".to_owned()),
        (
            "the message twice",
            "{{ messages[0].content }}{{ messages[0].content }}".to_owned(),
        ),
        ("a failure of its own", say("{{ raise_exception('no') }}")),
    ]
}

#[test]
fn hostile_templates_are_refused() {
    let mut complaints = Complaints::default();
    let here = sound("llama");
    let file = here.path().join("chat_template.jinja");
    let templates = hostile_templates();
    assert!(templates.len() >= 41);
    for (what, template) in templates {
        fs::write(&file, template).unwrap();
        complaints.refused(what, here.path(), "chat template");
    }
    fs::write(&file, [255, 254]).unwrap();
    complaints.refused("no text", here.path(), "not UTF-8");
}

/// Templates that look worse than they are.
#[test]
fn harmless_templates_work() {
    let here = sound("llama");
    let file = here.path().join("chat_template.jinja");
    let folded = format!(
        "{{{{ (1 or 'ab' * 9999999{})|string|trim('1') }}}}",
        " ~ 'a' * 99999999".repeat(50)
    );
    for program in [
        &folded[..],
        "{% set ns = namespace(x='') %}{% for i in range(300) %}{% set ns.x = ns.x ~ 'ab' %}{% endfor %}",
        "{% set x = messages[0:] + messages[:1] %}{% for m in x[1:] %}{{ '' if m.role in ['user'] and 'x' not in m }}{% endfor %}",
        "{{ '' if '-' * 40 else 'x' }}{{ ('%5.1f'|format(1.25))|trim|replace('1.2', '')|replace('1.3', '') }}",
        "{% macro m(a, b='') %}{{ a }}{{ b }}{% endmacro %}{{ m('', b='') }}",
        "{{ ({'a': [1, {'b': 2}]}|tojson(indent=4))[:0] }}{{ 'a b'.split()|join('')|length|string|replace('2', '') }}",
        "{% for k, v in {'a': ''}.items() %}{{ v }}{% endfor %}{% set a, b = 1, 2 %}{% with c = '' %}{{ c }}{% endwith %}",
    ] {
        fs::write(&file, format!("{program}{{{{ messages[0].content }}}}")).unwrap();
        let at = here.path().to_owned();
        run(move || use_up(&at)).unwrap().unwrap();
    }
}

/// A stream of numbers for mutations; the library's own would do, but this one needs no seed tree.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % bound.max(1) as u64) as usize
    }
}

/// Spoils some bytes: others, more, fewer, or numbers that are extreme.
fn mutated(bytes: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    // Headers are what is read first; half of all changes hit them.
    let header = bytes.len().min(4_000);
    for _ in 0..=numbers.below(4) {
        let reach = if numbers.below(2) == 0 {
            header.min(bytes.len())
        } else {
            bytes.len()
        };
        let place = numbers.below(reach);
        let length = numbers.below(16).min(bytes.len() - place);
        match numbers.below(7) {
            0 if length > 0 => bytes[place] ^= 1 << numbers.below(8),
            1 if length > 0 => bytes[place] = numbers.below(256) as u8,
            2 => bytes[place..place + length].fill([0, 255, b'9', b'-'][numbers.below(4)]),
            3 => drop(bytes.drain(place..place + length)),
            4 => {
                let part = bytes[place..place + length].to_vec();
                bytes.splice(place..place, part);
            }
            5 => {
                let word: &[&str] = &[
                    "0",
                    "-1",
                    "1e308",
                    "null",
                    "[]",
                    "{}",
                    "\"\"",
                    "18446744073709551615",
                    "true",
                    "%}{%",
                    "{{",
                    "}}",
                    "*9999999",
                    "|list",
                    "~",
                    "[0]",
                ];
                let word = word[numbers.below(word.len())].as_bytes();
                bytes.splice(place..place + length, word.iter().copied());
            }
            _ => {
                // A digit where one stands: most settings are numbers.
                let from = bytes[place..].iter().position(u8::is_ascii_digit);
                if let Some(from) = from {
                    bytes[place + from] = b'0' + numbers.below(10) as u8;
                }
            }
        }
        if bytes.is_empty() {
            return bytes;
        }
    }
    bytes
}

/// How many mutations of each kind are tried, and the seed of the first: the same each time, unless
/// `TEDA_MUTATIONS` and `TEDA_SEED` say otherwise.
fn mutations() -> (u64, u64) {
    let set = |name: &str| Some(std::env::var(name).ok()?.parse().unwrap());
    (
        set("TEDA_MUTATIONS").unwrap_or(20),
        set("TEDA_SEED").unwrap_or(1),
    )
}

/// Sound files with some bytes spoilt: every one ends in an error by the model's name, or in a result.
#[test]
fn mutated_files_end_soon() {
    let mut complaints = Complaints::default();
    let (count, first) = mutations();
    let template = fs::read_to_string(fixture("llama").join("tokenizer_config.json")).unwrap();
    let template: Value = serde_json::from_str(&template).unwrap();
    let template = template["chat_template"].as_str().unwrap().to_owned();
    for architecture in [
        "llama", "qwen3", "gemma3", "gpt2", "t5", "bart", "bert", "mpnet", "roberta",
    ] {
        let here = sound(architecture);
        let template_file = here.path().join("chat_template.jinja");
        fs::write(&template_file, &template).unwrap();
        for name in [
            "config.json",
            "tokenizer.json",
            "model.safetensors",
            "chat_template.jinja",
        ] {
            let file = here.path().join(name);
            let bytes = fs::read(&file).unwrap();
            for case in 0..count {
                let mut numbers = Numbers(first << 32 | case);
                fs::write(&file, mutated(&bytes, &mut numbers)).unwrap();
                complaints.ended(&format!("{architecture} {name} {case}"), here.path());
            }
            fs::write(&file, bytes).unwrap();
        }
    }
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("model.gguf");
    for (architecture, kind) in [
        ("llama", "f16"),
        ("llama", "q8_0"),
        ("llama", "q4_1"),
        ("qwen3", "q8_0"),
        ("gemma3", "q8_0"),
    ] {
        let bytes = fs::read(fixture(architecture).join(format!("model-{kind}.gguf"))).unwrap();
        for case in 0..count {
            let mut numbers = Numbers(first << 32 | case);
            fs::write(&file, mutated(&bytes, &mut numbers)).unwrap();
            complaints.ended(&format!("{architecture} {kind} {case}"), &file);
        }
    }
}

/// Puts something else where one of the values of `json` stands, or takes it out.
fn mutate(json: &mut Value, numbers: &mut Numbers) {
    let odd = |numbers: &mut Numbers| -> Value {
        let all = [
            json!(0),
            json!(1),
            json!(2),
            json!(3),
            json!(7),
            json!(-1),
            json!(1_u64 << 31),
            json!(1_u64 << 32),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(1e300),
            json!(-0.5),
            json!(1e-300),
            json!(""),
            json!("a"),
            json!("<s>"),
            json!(null),
            json!(true),
            json!([]),
            json!({}),
            json!([1, 2, 3]),
        ];
        all[numbers.below(all.len())].clone()
    };
    let stops = numbers.below(5) == 0;
    match json {
        Value::Object(entries) if !entries.is_empty() && !stops => {
            let place = numbers.below(entries.len());
            let key = entries.keys().nth(place).unwrap().clone();
            match numbers.below(12) {
                0 => drop(entries.remove(&key)),
                1 => {
                    let value = entries.remove(&key).unwrap();
                    entries.insert("other".to_owned(), value);
                }
                _ => mutate(&mut entries[&key], numbers),
            }
        }
        Value::Array(items) if !items.is_empty() && !stops => {
            let place = numbers.below(items.len());
            match numbers.below(8) {
                0 => drop(items.remove(place)),
                1 => {
                    let item = items[place].clone();
                    items.extend(vec![item; 40]);
                }
                _ => mutate(&mut items[place], numbers),
            }
        }
        other => *other = odd(numbers),
    }
}

/// Sound settings, tokenizers and headers in which some values are others.
#[test]
fn mutated_settings_end_soon() {
    let mut complaints = Complaints::default();
    let (count, first) = mutations();
    for architecture in [
        "llama", "llama3", "qwen3", "gemma3", "gpt2", "t5", "t5-v1", "bart", "bert", "mpnet",
        "roberta",
    ] {
        let here = sound(architecture);
        for name in ["config.json", "tokenizer.json", "model.safetensors"] {
            let file = here.path().join(name);
            let bytes = fs::read(&file).unwrap();
            let is_weights = name.ends_with("safetensors");
            let split = if is_weights {
                8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize
            } else {
                bytes.len()
            };
            let start = if is_weights { 8 } else { 0 };
            for case in 0..count {
                let mut numbers = Numbers(first << 32 | case);
                let mut json: Value = serde_json::from_slice(&bytes[start..split]).unwrap();
                for _ in 0..=numbers.below(3) {
                    mutate(&mut json, &mut numbers);
                }
                let mut text = json.to_string().into_bytes();
                if is_weights {
                    text = [&le(text.len() as u64)[..], &text, &bytes[split..]].concat();
                }
                fs::write(&file, text).unwrap();
                complaints.ended(&format!("{architecture} {name} value {case}"), here.path());
            }
            fs::write(&file, bytes).unwrap();
        }
    }
}

/// Templates put together from parts of others.
#[test]
fn mixed_templates_end_soon() {
    let mut complaints = Complaints::default();
    let (count, first) = mutations();
    let short = hostile_templates().into_iter().map(|(_, text)| text);
    let short: Vec<String> = short.filter(|text| text.len() < 20_000).collect();
    // A part goes up to the next tag, operator or bracket.
    let parts: Vec<&str> = short
        .iter()
        .flat_map(|text| text.split_inclusive(['%', '{', '}', '|', '~', '+', '(', '=', ' ']))
        .collect();
    let tags: Vec<&str> = short
        .iter()
        .flat_map(|text| text.split_inclusive("%}"))
        .filter(|tag| tag.len() < 2_000)
        .collect();
    let here = sound("llama");
    let file = here.path().join("chat_template.jinja");
    for case in 0..count * 10 {
        let mut numbers = Numbers(first << 32 | case);
        let from = if numbers.below(3) == 0 { &parts } else { &tags };
        let mut text = String::new();
        for _ in 0..numbers.below(60) {
            let part = from[numbers.below(from.len())];
            text.push_str(&part.repeat(1 + 20 * usize::from(numbers.below(10) == 0)));
        }
        // Most of what is put together leaves something open.
        let closes = [
            "{% endfor %}",
            "{% endset %}",
            "{% endmacro %}",
            "{% endfilter %}",
        ];
        for _ in 0..numbers.below(6) {
            text.push_str(closes[numbers.below(closes.len())]);
        }
        fs::write(&file, format!("{text}{{{{ messages[0].content }}}}")).unwrap();
        complaints.ended(&format!("template {case}"), here.path());
    }
}
