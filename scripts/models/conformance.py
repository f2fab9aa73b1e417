"""Write tiny random checkpoints and the outputs that transformers gives for them.

Inputs : none; every number comes from the fixed seeds below.
Outputs: one directory FIX/<architecture>/ each, with config.json and model.safetensors as
         transformers saves them; config-classic.json where transformers 4 wrote another layout;
         tokenizer.json and tokenizer_config.json where text is tested; GGUF files for llama,
         qwen3 and gemma3 in the layout of llama.cpp's converter; expected.json and
         expected.safetensors (f32 on the CPU); expected-gguf.safetensors (the same model with the
         dequantised tensors). The "note" of expected.json describes the arrays.
Command: python conformance.py --out models/tests/fixtures [--only ARCHITECTURE ...]
"""

import argparse
import copy
import json
import shutil
from pathlib import Path

import gguf
import numpy as np
import tokenizers
import torch
import transformers
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

VOCABULARY = 128
# The first five as in RoBERTa's and BART's vocabularies, the last two for the chat template.
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|im_start|>", "<|im_end|>"]
BOS, PAD, EOS, UNKNOWN, MASK = range(5)
# Random ids are ordinary tokens.
ORDINARY = range(len(SPECIAL), VOCABULARY)
GREEDY_STEPS = 12
# Logits are kept at every COLUMN_STEP-th vocabulary entry, from case % COLUMN_STEP on.
COLUMN_STEP = 8

SENTENCES = [
    "the old house on the hill was dark and still.",
    "she told him that the weather in the north would be better in the morning.",
    "there is another way to think about it, and then there is the rest of the world.",
    "what are the others doing with the water in the garden?",
    "I was reading in the kitchen when the rain started again.",
]
TEXTS = [
    "what is the weather like in Boston?",
    "the rain started at 10:45, and she was there.",
    "  \"It's a caf\u00e9\",\nhe said.",
]
CHAT = [
    {"role": "system", "content": "think about the weather."},
    {"role": "user", "content": "what is it like in Boston?"},
    {"role": "assistant", "content": "better."},
    {"role": "user", "content": "and in the north?"},
]
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

# So large that an implementation with another constant is noticed.
EPSILON = 1e-3
IDS = {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
ENCODER = {
    "vocab_size": VOCABULARY, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 48,
    "layer_norm_eps": EPSILON, **IDS,
}
DECODER = {
    "vocab_size": VOCABULARY, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": 64, "rms_norm_eps": EPSILON, **IDS,
}
T5 = {
    "vocab_size": VOCABULARY, "d_model": 12, "d_kv": 4, "d_ff": 20, "num_layers": 2, "num_heads": 4,
    "layer_norm_epsilon": EPSILON, "decoder_start_token_id": PAD, **IDS,
}

# The shapes are as small as they are for the sake of the repository; sides of a GGUF matrix are
# multiples of its blocks of 32. The seeds are some whose greedy tokens are varied and no near-ties.
# kind: what is recorded; model and config: classes of transformers; dtype: of the saved weights;
# embedding: their standard deviation; ends: the tokenizer's automatic tokens before and after a text.
ARCHITECTURES = {
    "bert": {
        "kind": "encoder", "model": "BertModel", "dtype": "float16", "seed": 1, "ends": ("<s>", "</s>"),
        "config": {**ENCODER, "hidden_size": 20, "intermediate_size": 36},
    },
    "mpnet": {
        "kind": "encoder", "model": "MPNetModel", "dtype": "float16", "seed": 1, "ends": ("<s>", "</s>"),
        "config": {**ENCODER, "hidden_size": 16, "intermediate_size": 40},
    },
    "roberta": {
        "kind": "masked", "model": "RobertaForMaskedLM", "dtype": "float16", "seed": 1, "ends": ("<s>", "</s>"),
        "config": {**ENCODER, "hidden_size": 16, "intermediate_size": 36, "type_vocab_size": 1},
    },
    "t5": {
        "kind": "seq2seq", "model": "T5ForConditionalGeneration", "dtype": "float16", "seed": 36, "ends": ("", "</s>"),
        # transformers 5 takes a false tie_word_embeddings to mean that the decoder's output is not
        # scaled; it ties the head unless the file holds one that differs.
        "untied": True,
        "config": {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    },
    "t5-v1": {
        "kind": "seq2seq", "model": "T5ForConditionalGeneration", "dtype": "float16", "seed": 2, "embedding": 0.6,
        "config": {**T5, "feed_forward_proj": "relu"},
    },
    "bart": {
        "kind": "seq2seq", "model": "BartForConditionalGeneration", "dtype": "float16", "seed": 34,
        "ends": ("<s>", "</s>"),
        "config": {
            "vocab_size": VOCABULARY, "d_model": 12, "max_position_embeddings": 48,
            "encoder_layers": 2, "encoder_ffn_dim": 28, "encoder_attention_heads": 4,
            "decoder_layers": 2, "decoder_ffn_dim": 28, "decoder_attention_heads": 4,
            "decoder_start_token_id": EOS, **IDS,
        },
    },
    "gpt2": {
        "kind": "decoder", "model": "GPT2LMHeadModel", "dtype": "float16", "seed": 15,
        "config": {
            "vocab_size": VOCABULARY, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64,
            "layer_norm_epsilon": EPSILON, "bos_token_id": BOS, "eos_token_id": EOS,
        },
    },
    "llama": {
        "kind": "decoder", "model": "LlamaForCausalLM", "dtype": "float16", "seed": 1, "ends": ("", ""),
        "gguf": ["q8_0", "q4_1", "f16"],
        "config": {
            **DECODER, "hidden_size": 32, "intermediate_size": 32, "tie_word_embeddings": True,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        },
    },
    "llama3": {
        "kind": "decoder", "model": "LlamaForCausalLM", "dtype": "bfloat16", "seed": 40,
        "config": {
            **DECODER, "hidden_size": 16, "intermediate_size": 40, "num_attention_heads": 2,
            "num_key_value_heads": 1, "eos_token_id": [EOS, len(SPECIAL) - 1], "tie_word_embeddings": False,
            # Wavelengths 6, 75, 889 and 10568: one kept, one in between, two divided by the factor.
            "rope_parameters": {
                "rope_type": "llama3", "rope_theta": 20000.0, "factor": 8.0, "low_freq_factor": 1.0,
                "high_freq_factor": 4.0, "original_max_position_embeddings": 128,
            },
        },
    },
    "qwen3": {
        "kind": "decoder", "model": "Qwen3ForCausalLM", "dtype": "bfloat16", "seed": 22, "gguf": ["q8_0"],
        "config": {
            **DECODER, "hidden_size": 32, "intermediate_size": 32, "head_dim": 16, "tie_word_embeddings": True,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
        },
    },
    "gemma3": {
        "kind": "decoder", "model": "Gemma3ForCausalLM", "dtype": "bfloat16", "seed": 8, "gguf": ["q8_0"],
        # Multiplied by the square root of the width before the first layer: larger ones outweigh the layers.
        "embedding": 0.1,
        "config": {
            **DECODER, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 3, "head_dim": 16,
            "num_key_value_heads": 1, "query_pre_attn_scalar": 24, "sliding_window": 8,
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
            "rope_parameters": {
                "full_attention": {"rope_type": "default", "rope_theta": 1000000.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            },
        },
    },
}

LENGTHS = {
    "encoder": [1, 2, 5, 11, 40],
    "masked": [3, 6, 12, 30],
    "decoder": [1, 2, 5, 9, 16, 40],
    "seq2seq": [1, 2, 7, 12, 33],
}
# Of all cases, those with texts last.
DECODER_LENGTHS = [1, 3, 8, 20, 5, 4, 4, 4]
# Cases whose logits are recorded for the GGUF files, too: the second is longer than gemma3's window.
GGUF_CASES = [2, 4]

TEXT = "A case with a text has the tokenizer's ids of it and no arrays. "
COLUMNS = (
    f"The columns of case k's logits are the vocabulary entries k % {COLUMN_STEP}, "
    f"k % {COLUMN_STEP} + {COLUMN_STEP}, \u2026. "
)
GREEDY = (
    f"greedy: the {GREEDY_STEPS} tokens that an argmax loop appends (</s> is a token like any other). "
    "log_prob: sum of the natural log-probabilities, in f64 from f32 logits, of "
)
NOTES = {
    "encoder": "caseK.hidden [tokens, hidden]: last hidden state; caseK.vector [hidden]: mean of its rows, "
    "divided by its Euclidean norm. Cases with a text have the vector alone.",
    "masked": "caseK.hidden [tokens, hidden]: last hidden state before the head; caseK.logits [tokens, columns]. "
    + COLUMNS
    + TEXT
    + "log_prob: sum over the positions of the log-probability of the token that stands there, in f64 from f32 logits.",
    "decoder": "caseK.hidden [tokens, hidden]: last hidden state after the final norm; caseK.logits [tokens, columns]. "
    + COLUMNS
    + TEXT
    + GREEDY
    + "ids[max(1, n / 2) ..] given ids[.. max(1, n / 2)].",
    "seq2seq": "caseK.encoder [tokens, hidden]: the encoder's last state; caseK.logits [decoder tokens, columns]. "
    + COLUMNS
    + TEXT
    + GREEDY
    + "decoder_ids[1 ..]. greedy starts from decoder_ids[.. 1].",
}
GGUF_NOTE = (
    " expected-gguf.safetensors: TYPE.caseK.logits [tokens, columns] of the model with the dequantised tensors of "
    "model-TYPE.gguf."
)
# llama.cpp reads no scale of gemma3's scores from the file: it takes the head's width (hidden / heads for 27B).
GEMMA3_NOTE = " There query_pre_attn_scalar is head_dim, which is what a GGUF file of gemma3 means."


def tokenizer(ends: tuple[str, str]) -> Tokenizer:
    """A byte-level BPE with the splits of SmolLM's and tokens around each text."""
    result = Tokenizer(models.BPE(unk_token="<unk>"))
    result.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    result.decoder = decoders.ByteLevel()
    # Printable ASCII, the line feed and the two bytes of one accented letter: 256 bytes would leave
    # no room for merges in so small a vocabulary.
    alphabet = "".join(map(chr, range(32, 127))) + "\n\u00e9"
    byte_letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(alphabet)[0][0]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIAL, initial_alphabet=list(byte_letters), show_progress=False
    )
    result.train_from_iterator(SENTENCES, trainer)
    assert result.get_vocab_size() == VOCABULARY and result.token_to_id("<mask>") == MASK
    before, after = ends
    if before or after:
        result.post_processor = processors.TemplateProcessing(
            single=f"{before} $A {after}".strip(),
            pair=f"{before} $A {after} {before} $B {after}".replace("  ", " ").strip(),
            special_tokens=[(t, result.token_to_id(t)) for t in ends if t],
        )
    return result


def save_tokenizer(encoder: Tokenizer, out: Path) -> None:
    (out / "tokenizer.json").write_text(encoder.to_str() + "\n", encoding="utf-8")
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **{f"{n}_token": t for n, t in zip(["bos", "pad", "eos", "unk", "mask"], SPECIAL)},
        "clean_up_tokenization_spaces": False,
        "model_max_length": 48,
    }
    if out.name == "llama":
        settings["chat_template"] = CHAT_TEMPLATE
    write_json(out / "tokenizer_config.json", settings)


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def randomise(model: torch.nn.Module, spec: dict, random: np.random.Generator) -> None:
    """Weights with which every bias, norm and matrix shows in the outputs."""
    buffers = [(n, b) for n, b in model.named_buffers() if n == "final_logits_bias"]
    for name, weight in list(model.named_parameters()) + buffers:
        noise = torch.from_numpy(random.standard_normal(tuple(weight.shape), dtype=np.float32))
        if "norm" in name.lower() or ".ln_" in name:
            # Gemma's norms multiply by 1 + weight.
            center = 1.0 if name.endswith("weight") and spec["model"] != "Gemma3ForCausalLM" else 0.0
            noise = center + 0.2 * noise
        elif "relative_attention_bias" in name:
            pass
        elif any(part in name for part in ["embed", "shared", "wte", "wpe", "lm_head.weight"]):
            noise *= spec.get("embedding", 0.4)
        else:
            noise *= 1.5 / weight.shape[-1] ** 0.5
        weight.data.copy_(noise)


def checkpoint(spec: dict, out: Path) -> torch.nn.Module:
    """Saves a random model and gives it back as transformers loads it, in f32."""
    cls = getattr(transformers, spec["model"])
    model = cls(cls.config_class(**spec["config"]))
    if spec.get("untied"):
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    randomise(model, spec, np.random.default_rng(spec["seed"]))
    model.to(getattr(torch, spec["dtype"])).save_pretrained(out)
    # Default settings of generation; nothing here generates.
    (out / "generation_config.json").unlink(missing_ok=True)
    return load(spec, out)


def load(spec: dict, out: Path, config: transformers.PreTrainedConfig | None = None) -> torch.nn.Module:
    cls = getattr(transformers, spec["model"])
    return cls.from_pretrained(out, config=config, dtype=torch.float32, attn_implementation="eager").eval()


def classic(config: dict) -> dict | None:
    """`config` in the layout of transformers 4, where that differs."""
    result = {k: v for k, v in config.items() if not k.startswith("_")}
    if "scale_decoder_outputs" in config:
        result["tie_word_embeddings"] = result.pop("scale_decoder_outputs")
    if rope := result.pop("rope_parameters", None):
        full = rope.get("full_attention", rope)
        scaling = {k: v for k, v in full.items() if k != "rope_theta"}
        result["rope_theta"] = full["rope_theta"]
        result["rope_scaling"] = None if scaling == {"rope_type": "default"} else scaling
        if "sliding_attention" in rope:
            result["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
            del result["layer_types"]
            result["sliding_window_pattern"] = 2
    return None if result == config else result


def columns(case: int, logits: torch.Tensor) -> np.ndarray:
    return np.ascontiguousarray(logits[:, case % COLUMN_STEP :: COLUMN_STEP].numpy())


def log_prob(logits: torch.Tensor, ids: list[int]) -> float:
    rows = torch.log_softmax(logits.double(), -1)
    return float(rows[torch.arange(len(ids)), ids].sum())


def greedy(ids: list[int], logits) -> list[int]:
    """The argmax tokens after `ids`, where `logits(ids)` are those of the last position."""
    start = len(ids)
    for _ in range(GREEDY_STEPS):
        best = torch.topk(logits(ids), 2)
        gap = float(best.values[0] - best.values[1])
        assert gap > 1e-3, f"two tokens {gap} apart: take another seed"
        ids = [*ids, int(best.indices[0])]
    return ids[start:]


def one(ids: list[int]) -> torch.Tensor:
    return torch.tensor([ids])


def record_encoder(model, k: int, case: dict, arrays: dict) -> None:
    hidden = model(input_ids=one(case["ids"])).last_hidden_state[0]
    mean = hidden.mean(0)
    arrays[f"case{k}.vector"] = (mean / mean.norm()).numpy()
    if "text" not in case:
        arrays[f"case{k}.hidden"] = hidden.numpy()


def record_masked(model, k: int, case: dict, arrays: dict) -> torch.Tensor:
    result = model(input_ids=one(case["ids"]), output_hidden_states=True)
    if "text" not in case:
        arrays[f"case{k}.hidden"] = result.hidden_states[-1][0].numpy()
        arrays[f"case{k}.logits"] = columns(k, result.logits[0])
    case["log_prob"] = log_prob(result.logits[0], case["ids"])
    return result.logits


def record_decoder(model, k: int, case: dict, arrays: dict) -> torch.Tensor:
    ids = case["ids"]
    logits = model(input_ids=one(ids)).logits[0]
    if "text" not in case:
        arrays[f"case{k}.hidden"] = model.base_model(input_ids=one(ids)).last_hidden_state[0].numpy()
        arrays[f"case{k}.logits"] = columns(k, logits)
    case["greedy"] = greedy(ids, lambda ids: model(input_ids=one(ids)).logits[0, -1])
    given = max(1, len(ids) // 2)
    case["log_prob"] = log_prob(logits[given - 1 : -1], ids[given:])
    return logits


def record_seq2seq(model, k: int, case: dict, arrays: dict) -> torch.Tensor:
    ids, decoder_ids = one(case["ids"]), case["decoder_ids"]
    result = model(input_ids=ids, decoder_input_ids=one(decoder_ids))
    logits = result.logits[0]
    if "text" not in case:
        arrays[f"case{k}.encoder"] = result.encoder_last_hidden_state[0].numpy()
        arrays[f"case{k}.logits"] = columns(k, logits)
    case["greedy"] = greedy(
        decoder_ids[:1], lambda tokens: model(input_ids=ids, decoder_input_ids=one(tokens)).logits[0, -1]
    )
    case["log_prob"] = log_prob(logits[:-1], decoder_ids[1:])
    return logits


RECORD = {
    "encoder": record_encoder, "masked": record_masked, "decoder": record_decoder, "seq2seq": record_seq2seq,
}


def random_ids(random: np.random.Generator, count: int) -> list[int]:
    return random.choice(ORDINARY, count).tolist()


def make_cases(spec: dict, encoder: Tokenizer | None) -> list[dict]:
    """Random ids of several lengths, and the ids of texts where there is a tokenizer."""
    random = np.random.default_rng(spec["seed"] + 1000)
    cases = [{"ids": random_ids(random, length)} for length in LENGTHS[spec["kind"]]]
    if spec["kind"] == "masked":
        for case in cases:
            case["ids"][len(case["ids"]) // 2] = MASK
    cases += [{"text": text, "ids": encoder.encode(text).ids} for text in TEXTS if encoder]
    if spec["kind"] == "seq2seq":
        start = spec["config"]["decoder_start_token_id"]
        for case, length in zip(cases, DECODER_LENGTHS):
            case["decoder_ids"] = [start, *random_ids(random, length - 1)]
    return cases


def record(model, spec: dict, cases: list[dict]) -> dict[str, np.ndarray]:
    arrays, logits = {}, []
    with torch.inference_mode():
        for k, case in enumerate(cases):
            logits.append(RECORD[spec["kind"]](model, k, case, arrays))
    if spec["kind"] != "encoder":
        deviation = float(torch.cat([x.flatten() for x in logits]).std())
        assert deviation > 0.5, f"standard deviation of the logits: {deviation}"
    return arrays


def check_classic(spec: dict, out: Path, model, cases: list[dict], arrays: dict[str, np.ndarray]) -> None:
    """Writes the classic configuration, with which transformers must give the same."""
    config = classic(json.loads((out / "config.json").read_text()))
    if config is None:
        return
    path = out / "config-classic.json"
    write_json(path, config)
    other = load(spec, out, type(model.config).from_json_file(path))
    again = record(other, spec, copy.deepcopy(cases))
    for name, array in arrays.items():
        assert np.array_equal(array, again[name]), f"{path}: {name} differs"


BLOCK_NAMES = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}
GEMMA_NAMES = {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
TYPES = {
    "f16": (gguf.GGMLQuantizationType.F16, gguf.LlamaFileType.MOSTLY_F16),
    "q8_0": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
    "q4_1": (gguf.GGMLQuantizationType.Q4_1, gguf.LlamaFileType.MOSTLY_Q4_1),
}


def gguf_name(name: str, arch: str) -> str:
    """llama.cpp's name of a tensor."""
    outer = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
    if name in outer:
        return outer[name]
    _, _, block, rest = name.split(".", 3)
    names = BLOCK_NAMES | (GEMMA_NAMES if arch == "gemma3" else {})
    return f"blk.{block}.{names[rest.removesuffix('.weight')]}.weight"


def interleaved(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows from rotation by halves to rotation by neighbours, which llama.cpp has for llama."""
    return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def halved(weight: np.ndarray, heads: int) -> np.ndarray:
    """The inverse of `interleaved`."""
    return weight.reshape(heads, -1, 2, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def rotated_heads(name: str, config) -> int:
    """Heads of a query's or key's projection, else 0."""
    if "q_proj" in name:
        return config.num_attention_heads
    return config.num_key_value_heads if "k_proj" in name else 0


def write_gguf(model, arch: str, kind: str, encoder: Tokenizer, path: Path) -> dict[str, torch.Tensor]:
    """Writes the file; the model's tensors as a reader gets them back."""
    config = model.config
    quantised, file_type = TYPES[kind]
    writer = gguf.GGUFWriter(path, arch)
    add_metadata(writer, config, arch, file_type)
    add_vocabulary(writer, arch, encoder)
    back = {}
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight":
            continue
        value = weight.numpy()
        if arch == "gemma3" and "norm" in name:
            value = value + np.float32(1.0)
        heads = rotated_heads(name, config) if arch == "llama" else 0
        if heads:
            value = interleaved(value, heads)
        form = quantised if value.ndim == 2 else gguf.GGMLQuantizationType.F32
        # As llama.cpp's quantiser has it: the tied output matrix is not cut to 4 bits.
        if name == "model.embed_tokens.weight" and kind == "q4_1":
            form = gguf.GGMLQuantizationType.Q8_0
        data = gguf.quants.quantize(value, form)
        writer.add_tensor(gguf_name(name, arch), data, raw_dtype=form)
        value = gguf.quants.dequantize(data, form)
        if heads:
            value = halved(value, heads)
        if arch == "gemma3" and "norm" in name:
            value = value - np.float32(1.0)
        back[name] = torch.from_numpy(value.copy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return back


def add_metadata(writer: gguf.GGUFWriter, config, arch: str, file_type: int) -> None:
    rope = config.rope_parameters
    writer.add_type("model")
    writer.add_name(f"tiny random {arch}")
    writer.add_file_type(file_type)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_vocab_size(config.vocab_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(rope.get("full_attention", rope)["rope_theta"])
    writer.add_rope_dimension_count(config.head_dim)
    if arch == "gemma3":
        writer.add_sliding_window(config.sliding_window)
        # Every second layer sees all; files of the real models lack this and mean every sixth.
        writer.add_sliding_window_pattern(2)


def add_vocabulary(writer: gguf.GGUFWriter, arch: str, encoder: Tokenizer) -> None:
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list([encoder.id_to_token(i) for i in range(VOCABULARY)])
    writer.add_token_types([control if i < len(SPECIAL) else normal for i in range(VOCABULARY)])
    writer.add_token_merges([" ".join(pair) for pair in json.loads(encoder.to_str())["model"]["merges"]])
    writer.add_bos_token_id(BOS)
    writer.add_eos_token_id(EOS)
    writer.add_unk_token_id(UNKNOWN)
    writer.add_pad_token_id(PAD)
    writer.add_add_bos_token(False)
    if arch == "llama":
        writer.add_chat_template(CHAT_TEMPLATE)


def record_gguf(model, arch: str, spec: dict, cases: list[dict], out: Path) -> None:
    config = copy.deepcopy(model.config)
    if arch == "gemma3":
        config.query_pre_attn_scalar = config.head_dim
    arrays = {}
    for kind in spec["gguf"]:
        back = write_gguf(model, arch, kind, tokenizer(("", "")), out / f"model-{kind}.gguf")
        other = load(spec, out, config)
        missing, unexpected = other.load_state_dict(back, strict=False)
        assert missing == ["lm_head.weight"] and not unexpected
        for k in GGUF_CASES:
            with torch.inference_mode():
                logits = other(input_ids=one(cases[k]["ids"])).logits[0]
            arrays[f"{kind}.case{k}.logits"] = columns(k, logits)
    save_file(arrays, out / "expected-gguf.safetensors")


def chat(encoder: Tokenizer, out: Path) -> dict:
    """The conversation as transformers renders it, with and without the answer's opening."""
    reader = transformers.AutoTokenizer.from_pretrained(out)
    rendered = [
        reader.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=opening) for opening in (False, True)
    ]
    ids = encoder.encode(rendered[1]).ids
    assert reader(rendered[1]).input_ids == ids
    return {"messages": CHAT, "text": rendered[0], "prompt": rendered[1], "prompt_ids": ids}


def build(arch: str, spec: dict, out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    encoder = tokenizer(spec["ends"]) if "ends" in spec else None
    model = checkpoint(spec, out)
    cases = make_cases(spec, encoder)
    arrays = record(model, spec, cases)
    check_classic(spec, out, model, cases, arrays)
    expected = {
        "note": NOTES[spec["kind"]], "versions": {m.__name__: m.__version__ for m in (transformers, tokenizers)},
    }
    if encoder:
        save_tokenizer(encoder, out)
    if arch == "llama":
        expected["chat"] = chat(encoder, out)
    if "gguf" in spec:
        record_gguf(model, arch, spec, cases, out)
        expected["note"] += GGUF_NOTE + (GEMMA3_NOTE if arch == "gemma3" else "")
    expected["cases"] = cases
    save_file(arrays, out / "expected.safetensors")
    (out / "expected.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cli.add_argument("--out", type=Path, required=True)
    cli.add_argument("--only", nargs="+", choices=ARCHITECTURES, default=list(ARCHITECTURES))
    args = cli.parse_args()
    # One order of summation on every machine with the same kernels.
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    for arch in args.only:
        build(arch, ARCHITECTURES[arch], args.out / arch)
    sizes = {a: sum(p.stat().st_size for p in (args.out / a).iterdir()) for a in args.only}
    for arch, size in {**sizes, "total": sum(sizes.values())}.items():
        print(f"{arch:8} {size / 1024:7.1f} KiB")


if __name__ == "__main__":
    main()
