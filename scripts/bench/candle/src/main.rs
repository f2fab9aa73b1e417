//! Speed of generation with the llama of candle-transformers on the CPU in f32.
//!
//! `candle-speed GGUF PROMPTS NEW BATCHES [REPEATS]` continues prompts by NEW tokens each, for every batch
//! size of BATCHES (such as 1,8,64), after one untimed run, REPEATS times. PROMPTS is a JSON file with
//! `prompts`, rows of token ids of the same length, as many as the largest batch. It prints JSON lines: what
//! greedy decoding of the first prompt gives, then every batch with its best times. The number of threads
//! is that of RAYON_NUM_THREADS, or of the cores.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use candle_core::quantized::gguf_file::Content;
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::llama::{Cache, Config, Llama};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rayon::prelude::*;
use serde_json::{Value, json};

/// The token that ends a text, left out so that every lane makes the same number of tokens.
const END: usize = 2;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (gguf, prompts, new, batches, repeats) = match &arguments[..] {
        [gguf, prompts, new, batches] => (gguf, prompts, new, batches, "3"),
        [gguf, prompts, new, batches, repeats] => (gguf, prompts, new, batches, repeats.as_str()),
        _ => bail!("candle-speed GGUF PROMPTS NEW BATCHES [REPEATS]"),
    };
    let (new, repeats): (usize, usize) = (new.parse()?, repeats.parse()?);
    let prompts = read_prompts(prompts)?;
    let model = Model::open(gguf)?;

    let made = model.generate(&prompts[..1], new, |logits, _| greedy(logits))?;
    println!("{}", json!({"what": "greedy", "tokens": made.tokens[0]}));

    for batch in batches.split(',') {
        let batch: usize = batch.parse()?;
        let rows = prompts
            .get(..batch)
            .with_context(|| format!("there are no {batch} prompts"))?;
        model.generate(rows, new, sample)?;
        let mut best: Option<Made> = None;
        for _ in 0..repeats {
            let made = model.generate(rows, new, sample)?;
            if best.as_ref().is_none_or(|best| made.total() < best.total()) {
                best = Some(made);
            }
        }
        let best = best.context("no repeats")?;
        // The first token of a lane comes from the prefill.
        let tokens = (batch * new) as f64;
        let decoded = (batch * (new - 1)) as f64;
        println!(
            "{}",
            json!({
                "what": "candle",
                "batch": batch,
                "prompt": rows[0].len(),
                "new": new,
                "threads": candle_core::utils::get_num_threads(),
                "tokens_per_second": tokens / best.total().as_secs_f64(),
                "decode_tokens_per_second": decoded / (best.steps + best.steps_sampling).as_secs_f64(),
                "tokens_per_second_without_sampling": tokens / (best.prefill + best.steps).as_secs_f64(),
                "decode_tokens_per_second_without_sampling": decoded / best.steps.as_secs_f64(),
            })
        );
    }
    Ok(())
}

fn read_prompts(path: &str) -> Result<Vec<Vec<u32>>> {
    let value: Value = serde_json::from_reader(BufReader::new(File::open(path)?))?;
    let prompts: Vec<Vec<u32>> = serde_json::from_value(value["prompts"].clone())?;
    let length = prompts.first().context("no prompts")?.len();
    if prompts.iter().any(|row| row.len() != length) {
        bail!("the prompts differ in length, and this implementation has no mask for padding");
    }
    Ok(prompts)
}

struct Model {
    llama: Llama,
    config: Config,
}

/// Tokens of every lane, and what they took.
struct Made {
    tokens: Vec<Vec<u32>>,
    prefill: Duration,
    prefill_sampling: Duration,
    steps: Duration,
    steps_sampling: Duration,
}

impl Made {
    fn total(&self) -> Duration {
        self.prefill + self.prefill_sampling + self.steps + self.steps_sampling
    }
}

impl Model {
    fn open(path: &str) -> Result<Self> {
        let mut file = BufReader::new(File::open(path)?);
        let content = Content::read(&mut file)?;
        // SmolLM2-135M.
        let config = Config {
            hidden_size: 576,
            intermediate_size: 1536,
            vocab_size: 49152,
            num_hidden_layers: 30,
            num_attention_heads: 9,
            num_key_value_heads: 3,
            use_flash_attn: false,
            rms_norm_eps: 1e-5,
            rope_theta: 100_000.0,
            bos_token_id: None,
            eos_token_id: None,
            rope_scaling: None,
            max_position_embeddings: 8192,
            tie_word_embeddings: true,
        };
        let mut tensors = HashMap::new();
        for name in content.tensor_infos.keys() {
            let tensor = content
                .tensor(&mut file, name, &Device::Cpu)?
                .dequantize(&Device::Cpu)?;
            let tensor = match name {
                name if name.ends_with("attn_q.weight") => {
                    unpermute(&tensor, config.num_attention_heads)?
                }
                name if name.ends_with("attn_k.weight") => {
                    unpermute(&tensor, config.num_key_value_heads)?
                }
                _ => tensor,
            };
            tensors.insert(rename(name)?, tensor);
        }
        let builder = VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu);
        Ok(Self {
            llama: Llama::load(builder, &config)?,
            config,
        })
    }

    fn generate(
        &self,
        prompts: &[Vec<u32>],
        new: usize,
        choose: impl Fn(&mut [f32], &mut StdRng) -> u32 + Sync,
    ) -> Result<Made> {
        let mut coins: Vec<StdRng> = (0..prompts.len() as u64)
            .map(StdRng::seed_from_u64)
            .collect();
        let mut cache = Cache::new(true, DType::F32, &self.config, &Device::Cpu)?;
        let mut made = Made {
            tokens: vec![Vec::new(); prompts.len()],
            prefill: Duration::ZERO,
            prefill_sampling: Duration::ZERO,
            steps: Duration::ZERO,
            steps_sampling: Duration::ZERO,
        };
        let length = prompts[0].len();
        let mut input = Tensor::from_vec(prompts.concat(), (prompts.len(), length), &Device::Cpu)?;
        for step in 0..new {
            let start = Instant::now();
            let past = if step == 0 { 0 } else { length + step - 1 };
            let logits = self.llama.forward(&input, past, &mut cache)?;
            let forward = start.elapsed();

            let start = Instant::now();
            let mut logits: Vec<f32> = logits.flatten_all()?.to_vec1()?;
            let chosen: Vec<u32> = logits
                .par_chunks_exact_mut(self.config.vocab_size)
                .zip(&mut coins)
                .map(|(logits, coins)| choose(logits, coins))
                .collect();
            for (lane, token) in made.tokens.iter_mut().zip(&chosen) {
                lane.push(*token);
            }
            input = Tensor::from_vec(chosen, (prompts.len(), 1), &Device::Cpu)?;
            let sampling = start.elapsed();
            if step == 0 {
                made.prefill += forward;
                made.prefill_sampling += sampling;
            } else {
                made.steps += forward;
                made.steps_sampling += sampling;
            }
        }
        Ok(made)
    }
}

fn greedy(logits: &[f32]) -> u32 {
    let best = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    best.map_or(0, |(token, _)| token as u32)
}

/// A token by softmax over the whole vocabulary of the clipped logits at temperature 1.2.
fn sample(logits: &mut [f32], coins: &mut StdRng) -> u32 {
    logits[END] = f32::NEG_INFINITY;
    let mut sum = 0.0_f64;
    for (token, value) in logits.iter_mut().enumerate() {
        // The clipped logits are at most 20, so that the exponentials need no shift.
        *value = if token == END {
            0.0
        } else {
            (value.clamp(-5.0, 20.0) / 1.2).exp()
        };
        sum += f64::from(*value);
    }
    let mut left = coins.random::<f64>() * sum;
    for (token, weight) in logits.iter().enumerate() {
        left -= f64::from(*weight);
        if left < 0.0 && token != END {
            return token as u32;
        }
    }
    logits.len() as u32 - 1
}

/// The rows of a query or key matrix in the order of the original checkpoint: GGUF has the two halves of
/// every head interleaved.
fn unpermute(weight: &Tensor, heads: usize) -> Result<Tensor> {
    let (rows, inputs) = weight.dims2()?;
    let weight = weight.reshape((heads, rows / heads / 2, 2, inputs))?;
    Ok(weight
        .transpose(1, 2)?
        .contiguous()?
        .reshape((rows, inputs))?)
}

/// The name of the original checkpoint for a GGUF name.
fn rename(name: &str) -> Result<String> {
    let whole = match name {
        "token_embd.weight" => Some("model.embed_tokens.weight"),
        "output_norm.weight" => Some("model.norm.weight"),
        _ => None,
    };
    if let Some(whole) = whole {
        return Ok(whole.to_owned());
    }
    let parts: Vec<&str> = name.split('.').collect();
    let ["blk", layer, part, "weight"] = parts[..] else {
        bail!("unknown tensor '{name}'");
    };
    let part = match part {
        "attn_norm" => "input_layernorm",
        "attn_q" => "self_attn.q_proj",
        "attn_k" => "self_attn.k_proj",
        "attn_v" => "self_attn.v_proj",
        "attn_output" => "self_attn.o_proj",
        "ffn_norm" => "post_attention_layernorm",
        "ffn_gate" => "mlp.gate_proj",
        "ffn_up" => "mlp.up_proj",
        "ffn_down" => "mlp.down_proj",
        _ => bail!("unknown tensor '{name}'"),
    };
    Ok(format!("model.layers.{layer}.{part}.weight"))
}
