//! GGUF files, as written by llama.cpp's converter: weights are dequantised to `f32`; names, layouts and configuration
//! are translated to the hub's.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use candle_core::Device;
use candle_core::quantized::gguf_file::{Content, TensorInfo, Value as Entry};
use candle_core::quantized::tokenizer::TokenizerFromGguf;
use serde_json::{Value, json};
use teda_core::{Error, Result};
use tokenizers::Tokenizer;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;

use super::chat::Chat;
use super::tensors::{Tensors, check, plain};
use super::tokenizer::caught;
use super::{Checkpoint, Pooling, spm};

/// Opens the model in the file at `path`.
///
/// # Errors
/// If it is not a complete GGUF file of a supported architecture.
pub(super) fn open(name: &str, path: &Path) -> Result<Checkpoint> {
    let wrong = |what: String| Error::failed(format!("{}: {what}", path.display()));
    let file = File::open(path).map_err(|e| wrong(format!("cannot read it: {e}")))?;
    let length = file
        .metadata()
        .map_err(|e| wrong(format!("cannot read it: {e}")))?
        .len();
    let mut reader = BufReader::new(file);
    // candle divides by an alignment of 0 without checking.
    let mut content = caught(|| Content::read(&mut reader))
        .and_then(|content| content.map_err(|e| plain(&e)))
        .map_err(|e| wrong(format!("not a complete GGUF file: {e}")))?;
    let mut total: u64 = 0;
    for (tensor, info) in &content.tensor_infos {
        let (bytes, end) = extent(&content, info).ok_or_else(|| {
            wrong(format!(
                "not a complete GGUF file: tensor '{tensor}' of shape {:?} is not made of whole blocks within a file",
                info.shape.dims()
            ))
        })?;
        if end > length {
            return Err(wrong(format!(
                "not a complete GGUF file: tensor '{tensor}' should end at byte {end}, the file has {length}"
            )));
        }
        total = total.saturating_add(bytes);
    }
    // Tensors that share bytes would let a small file fill any amount of memory.
    if total > length {
        return Err(wrong(format!(
            "its tensors take {total} bytes, the file has {length}: some overlap"
        )));
    }
    let tokenizer = tokenizer(&mut content).map_err(|e| {
        wrong(format!(
            "{e}: use the model's safetensors with its tokenizer.json instead"
        ))
    })?;
    let metadata = Metadata(&content.metadata);
    let config = metadata.config(&content).map_err(wrong)?;
    let token = |key: &str| {
        let id = metadata.number(key)?;
        let whole = id.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&id);
        whole.then_some(id as u32)
    };
    let ends = ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"]
        .iter()
        .filter_map(|key| token(key))
        .collect();
    let text_of = |key: &str| token(key).and_then(|id| tokenizer.id_to_token(id));
    let chat = metadata
        .text("tokenizer.chat_template")
        .map(|template| {
            Chat::new(
                template,
                text_of("tokenizer.ggml.bos_token_id"),
                text_of("tokenizer.ggml.eos_token_id"),
            )
        })
        .transpose()?;
    let architecture = config["model_type"].as_str().unwrap_or_default().to_owned();
    let heads = |name: &str| config[name].as_u64().unwrap_or(1) as usize;
    Ok(Checkpoint {
        name: name.to_owned(),
        tensors: Box::new(Gguf {
            file: path.display().to_string(),
            heads: (heads("num_attention_heads"), heads("num_key_value_heads")),
            architecture,
            content,
            reader: Mutex::new(reader),
        }),
        config,
        tokenizer,
        chat,
        ends,
        window: None,
        pooling: Pooling::Mean,
    })
}

/// Bytes of a tensor, and where it ends; `None` if that overflows, or its numbers do not fill whole blocks.
fn extent(content: &Content, info: &TensorInfo) -> Option<(u64, u64)> {
    let mut numbers = info.shape.dims().iter().copied();
    let numbers = numbers.try_fold(1, usize::checked_mul)?;
    let block = info.ggml_dtype.block_size();
    if !numbers.is_multiple_of(block) {
        return None;
    }
    let bytes = (numbers / block).checked_mul(info.ggml_dtype.type_size())? as u64;
    let start = content.tensor_data_offset.checked_add(info.offset)?;
    Some((bytes, start.checked_add(bytes)?))
}

/// The key-value part of a file.
struct Metadata<'a>(&'a HashMap<String, Entry>);

impl Metadata<'_> {
    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_string().ok().map(String::as_str)
    }

    /// Any number; converters vary in their choice of integer types.
    fn number(&self, key: &str) -> Option<f64> {
        Some(match self.0.get(key)? {
            Entry::U8(x) => f64::from(*x),
            Entry::I8(x) => f64::from(*x),
            Entry::U16(x) => f64::from(*x),
            Entry::I16(x) => f64::from(*x),
            Entry::U32(x) => f64::from(*x),
            Entry::I32(x) => f64::from(*x),
            Entry::U64(x) => *x as f64,
            Entry::I64(x) => *x as f64,
            Entry::F32(x) => f64::from(*x),
            Entry::F64(x) => *x,
            _ => return None,
        })
    }

    /// The equivalent of `config.json`.
    fn config(&self, content: &Content) -> std::result::Result<Value, String> {
        let architecture = self
            .text("general.architecture")
            .ok_or("general.architecture is missing")?;
        let own = |key: &str| self.number(&format!("{architecture}.{key}"));
        let needed = |key: &str| own(key).ok_or(format!("{architecture}.{key} is missing"));
        let hidden = needed("embedding_length")?;
        let heads = needed("attention.head_count")?;
        let vocabulary = content
            .tensor_infos
            .get("token_embd.weight")
            .ok_or("tensor 'token_embd.weight' is missing")?
            .shape
            .dims()
            .first()
            .copied()
            .unwrap_or(0);
        let width = own("attention.key_length").unwrap_or(hidden / heads);
        let mut config = json!({
            "model_type": if architecture == "gemma3" { "gemma3_text" } else { architecture },
            "hidden_size": hidden as u64,
            "num_hidden_layers": needed("block_count")? as u64,
            "num_attention_heads": heads as u64,
            "num_key_value_heads": own("attention.head_count_kv").unwrap_or(heads) as u64,
            "head_dim": width as u64,
            "intermediate_size": needed("feed_forward_length")? as u64,
            "vocab_size": vocabulary,
            "rms_norm_eps": needed("attention.layer_norm_rms_epsilon")?,
            "max_position_embeddings": needed("context_length")? as u64,
            "tie_word_embeddings": !content.tensor_infos.contains_key("output.weight"),
            "rope_theta": own("rope.freq_base").unwrap_or(10_000.0),
        });
        if architecture == "gemma3" {
            // For fields that the converter leaves out, llama.cpp uses values from its own source.
            config["query_pre_attn_scalar"] = json!(width);
            config["rope_local_base_freq"] = json!(10_000.0);
            let pattern = own("attention.sliding_window_pattern").unwrap_or(6.0);
            config["sliding_window_pattern"] = json!(pattern as u64);
            config["sliding_window"] = json!(needed("attention.sliding_window")? as u64);
        }
        Ok(config)
    }
}

/// The tokenizer that a file describes. A file specifies how a text is cut before its pieces are merged only by a
/// name: unknown names are refused, because a wrong cut silently gives wrong tokens.
fn tokenizer(content: &mut Content) -> std::result::Result<Tokenizer, String> {
    let metadata = Metadata(&content.metadata);
    if metadata.text("tokenizer.ggml.model") == Some("llama") {
        return caught(|| spm::tokenizer(&content.metadata))?;
    }
    let cut = metadata
        .text("tokenizer.ggml.pre")
        .unwrap_or("gpt-2")
        .to_owned();
    // candle treats every name but its own two as GPT-2's, and puts a space before the text there.
    let whole = ByteLevel::new(false, true, true);
    let pre_tokenizer: Option<PreTokenizerWrapper> = match &cut[..] {
        "qwen2" | "llama3" => None,
        "llama-bpe" => {
            let name = Entry::String("llama3".to_owned());
            content
                .metadata
                .insert("tokenizer.ggml.pre".to_owned(), name);
            None
        }
        "smollm" | "starcoder" | "refact" | "codeshell" => {
            Some(Sequence::new(vec![Digits::new(true).into(), whole.into()]).into())
        }
        "gpt-2" | "gpt2" | "default" => Some(whole.into()),
        other => return Err(format!("the pre-tokenizer '{other}' is not supported")),
    };
    let mut tokenizer = caught(|| Tokenizer::from_gguf(content))?.map_err(|e| plain(&e))?;
    if pre_tokenizer.is_some() {
        tokenizer.with_pre_tokenizer(pre_tokenizer);
    }
    Ok(tokenizer)
}

/// The tensors of a file under the hub's names.
struct Gguf {
    file: String,
    architecture: String,
    /// Query heads, and heads of keys and values.
    heads: (usize, usize),
    content: Content,
    reader: Mutex<BufReader<File>>,
}

impl Gguf {
    /// The name in the file of a tensor that the hub calls `tensor`.
    fn name(&self, tensor: &str) -> Option<String> {
        let gemma = self.architecture == "gemma3_text";
        let plain = match tensor {
            "model.embed_tokens.weight" => "token_embd.weight",
            "model.norm.weight" => "output_norm.weight",
            "lm_head.weight" => "output.weight",
            "rope_factors" => "rope_freqs.weight",
            _ => {
                let (layer, part) = tensor.strip_prefix("model.layers.")?.split_once('.')?;
                let part = match part.strip_suffix(".weight")? {
                    "input_layernorm" => "attn_norm",
                    "self_attn.q_proj" => "attn_q",
                    "self_attn.k_proj" => "attn_k",
                    "self_attn.v_proj" => "attn_v",
                    "self_attn.o_proj" => "attn_output",
                    "self_attn.q_norm" => "attn_q_norm",
                    "self_attn.k_norm" => "attn_k_norm",
                    "post_attention_layernorm" if gemma => "post_attention_norm",
                    "post_attention_layernorm" | "pre_feedforward_layernorm" => "ffn_norm",
                    "post_feedforward_layernorm" => "post_ffw_norm",
                    "mlp.gate_proj" => "ffn_gate",
                    "mlp.up_proj" => "ffn_up",
                    "mlp.down_proj" => "ffn_down",
                    _ => return None,
                };
                return Some(format!("blk.{layer}.{part}.weight"));
            }
        };
        Some(plain.to_owned())
    }

    /// Undoes the converter's changes to the values.
    fn restore(&self, tensor: &str, values: Vec<f32>, shape: &[usize]) -> Vec<f32> {
        if self.architecture == "gemma3_text" && tensor.ends_with("norm.weight") {
            // The converter adds the 1 of Gemma's x·(1 + weight).
            return values.into_iter().map(|x| x - 1.0).collect();
        }
        if self.architecture == "llama" {
            if tensor.ends_with("q_proj.weight") {
                return halves(&values, self.heads.0, shape[1]);
            }
            if tensor.ends_with("k_proj.weight") {
                return halves(&values, self.heads.1, shape[1]);
            }
        }
        values
    }
}

/// Converts Llama's rows of queries and keys `[heads · width × inputs]` from pairs (2i, 2i + 1) to halves (i, i +
/// width/2) of each head.
fn halves(values: &[f32], heads: usize, inputs: usize) -> Vec<f32> {
    let mut restored = Vec::with_capacity(values.len());
    for head in values.chunks_exact(values.len() / heads) {
        for half in 0..2 {
            for pair in head.chunks_exact(2 * inputs) {
                restored.extend_from_slice(&pair[half * inputs..][..inputs]);
            }
        }
    }
    restored
}

impl Tensors for Gguf {
    fn shape(&self, tensor: &str) -> Option<Vec<usize>> {
        let info = self.content.tensor_infos.get(&self.name(tensor)?)?;
        Some(info.shape.dims().to_vec())
    }

    fn floats(&self, tensor: &str, shape: &[usize]) -> Result<Vec<f32>> {
        check(self, tensor, shape)?;
        let name = self.name(tensor).expect("a checked tensor has a name");
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let values = caught(|| {
            let tensor = self.content.tensor(&mut *reader, &name, &Device::Cpu)?;
            tensor.dequantize(&Device::Cpu)?.flatten_all()?.to_vec1()
        })
        .and_then(|values| values.map_err(|e: candle_core::Error| plain(&e)))
        .map_err(|e| Error::failed(format!("{}: tensor '{name}': {e}", self.file)))?;
        Ok(self.restore(tensor, values, shape))
    }

    fn file(&self) -> String {
        self.file.clone()
    }
}
