"""Speed of generation with llama.cpp, through the low-level interface of llama-cpp-python.

Inputs : a GGUF file of SmolLM2-135M, and models/examples/generation.rs, whose instruction and texts are
         used here too.
Outputs: `prepare` writes WORK/prompts.json (token rows, also for the candle side), WORK/q8_0.gguf and
         WORK/f32.gguf; `greedy` and `speed` print JSON lines.
Command: python llama_cpp_speed.py prepare GGUF GENERATION_RS WORK [--lanes 64]
         python llama_cpp_speed.py greedy WORK [--new 24]
         python llama_cpp_speed.py speed WORK [--lanes 64] [--new 24] [--threads N] [--repeats 3]

The lanes share the beginning of their prompts, which is evaluated once and copied to all of them. Every
layout of the cache (one for all lanes, or one each) is tried with and without flash attention.
"""

import argparse
import ctypes
import itertools
import json
import os
import re
import time
from pathlib import Path

import jinja2
import llama_cpp as ll
import numpy as np

# Texts that have nothing in common but the template's beginning, as teda finds it.
APART = ["the", "Zebra 7", "\u201c\u00d6"]
# The token that ends a text, left out so that every lane makes the same number of tokens.
END = 2


@ll.llama_log_callback
def quiet(level, text, _):
    if level == 4:  # errors
        print(text.decode(errors="replace"), end="", flush=True)


def literal(source: str, pattern: str) -> str:
    """The string literal of a Rust source that `pattern` finds."""
    found = re.search(pattern + r'"((?:[^"\\]|\\.)*)"', source, re.DOTALL)
    if not found:
        raise SystemExit(f"the example has no {pattern}")
    text = re.sub(r"\\\n\s*", "", found.group(1))
    return text.replace("\\n", "\n").replace('\\"', '"')


class Model:
    def __init__(self, path: Path, vocabulary_only: bool = False):
        ll.llama_log_set(quiet, ctypes.c_void_p())
        ll.llama_backend_init()
        parameters = ll.llama_model_default_params()
        parameters.n_gpu_layers = 0
        parameters.vocab_only = vocabulary_only
        self.model = ll.llama_model_load_from_file(str(path).encode(), parameters)
        if not self.model:
            raise SystemExit(f"llama.cpp cannot read {path}")
        self.vocab = ll.llama_model_get_vocab(self.model)
        self.size = ll.llama_vocab_n_tokens(self.vocab)

    def tokens(self, text: str) -> list[int]:
        raw = text.encode()
        row = (ll.llama_token * (len(raw) + 8))()
        count = ll.llama_tokenize(self.vocab, raw, len(raw), row, len(row), False, True)
        return list(row[:count])

    def template(self) -> str:
        return ll.llama_model_chat_template(self.model, None).decode()


def prepare(gguf: Path, source: Path, work: Path, lanes: int) -> None:
    source = source.read_text(encoding="utf-8")
    instruction = literal(source, r"INSTRUCTION: &str = ")
    text = literal(source, r"\.map\(\|i\| format!\(")
    model = Model(gguf, vocabulary_only=True)
    template = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(model.template())

    def row(text: str) -> list[int]:
        message = {"role": "user", "content": instruction.replace("{}", text)}
        return model.tokens(template.render(messages=[message], add_generation_prompt=True))

    rows = [row(text) for text in APART]
    prefix = len(os.path.commonprefix(rows))
    # From 10 on the numbers in the texts are of one length, and so are the prompts.
    write = {
        "prefix": prefix,
        "lanes": [row(text.replace("{i}", str(i))) for i in range(lanes)],
        "prompts": [row(text.replace("{i}", str(i))) for i in range(10, min(10 + lanes, 100))],
    }
    (work / "prompts.json").write_text(json.dumps(write))
    for name, kind in [("q8_0", ll.LLAMA_FTYPE_MOSTLY_Q8_0), ("f32", ll.LLAMA_FTYPE_ALL_F32)]:
        path, partial = work / f"{name}.gguf", work / f"{name}.partial"
        if path.exists():
            continue
        parameters = ll.llama_model_quantize_default_params()
        parameters.ftype = kind
        parameters.allow_requantize = True
        if ll.llama_model_quantize(str(gguf).encode(), str(partial).encode(), parameters) != 0:
            raise SystemExit(f"llama.cpp cannot write {path}")
        partial.rename(path)


class Run:
    """A context for a number of lanes, one of the ways to lay it out."""

    def __init__(self, model: Model, lanes: int, room: int, threads: int, unified: bool, flash: bool):
        parameters = ll.llama_context_default_params()
        parameters.n_ctx = lanes * room
        parameters.n_batch = max(lanes * room, 512)
        parameters.n_seq_max = lanes
        parameters.n_threads = parameters.n_threads_batch = threads
        parameters.kv_unified = unified
        parameters.flash_attn_type = (
            ll.LLAMA_FLASH_ATTN_TYPE_ENABLED if flash else ll.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        self.context = ll.llama_init_from_model(model.model, parameters)
        if not self.context:
            raise SystemExit("llama.cpp cannot make a context")
        self.memory = ll.llama_get_memory(self.context)
        self.batch = ll.llama_batch_init(parameters.n_batch, 0, 1)
        self.vocabulary = model.size

    def close(self) -> None:
        ll.llama_batch_free(self.batch)
        ll.llama_free(self.context)

    def decode(self, rows: list[tuple[int, int, list[int]]]) -> float:
        """Seconds of one call: (lane, place of the first token, tokens), logits after each row's last."""
        batch, n = self.batch, 0
        for lane, past, tokens in rows:
            for i, token in enumerate(tokens):
                batch.token[n] = token
                batch.pos[n] = past + i
                batch.n_seq_id[n] = 1
                batch.seq_id[n][0] = lane
                batch.logits[n] = i + 1 == len(tokens)
                n += 1
        batch.n_tokens = n
        start = time.perf_counter()
        code = ll.llama_decode(self.context, batch)
        ll.llama_synchronize(self.context)
        taken = time.perf_counter() - start
        if code != 0:
            raise SystemExit(f"llama_decode: {code}")
        return taken

    def logits(self, rows: int) -> np.ndarray:
        raw = ll.llama_get_logits(self.context)
        return np.ctypeslib.as_array(raw, shape=(rows, self.vocabulary))

    def generate(self, prompts: list[list[int]], prefix: int, new: int, choose) -> dict:
        """Tokens of every lane, and the seconds of each part."""
        ll.llama_memory_clear(self.memory, True)
        seconds = dict.fromkeys(["prefix", "own", "steps", "sampling"], 0.0)
        if prefix:
            seconds["prefix"] += self.decode([(0, 0, prompts[0][:prefix])])
            start = time.perf_counter()
            for lane in range(1, len(prompts)):
                ll.llama_memory_seq_cp(self.memory, 0, lane, -1, -1)
            seconds["prefix"] += time.perf_counter() - start
        seconds["own"] += self.decode(
            [(lane, prefix, row[prefix:]) for lane, row in enumerate(prompts)]
        )
        made = [[] for _ in prompts]
        for step in range(new):
            start = time.perf_counter()
            chosen = choose(self.logits(len(prompts)))
            seconds["sampling"] += time.perf_counter() - start
            for row, token in zip(made, chosen):
                row.append(int(token))
            if step + 1 < new:
                seconds["steps"] += self.decode(
                    [(i, len(row) + step, [made[i][-1]]) for i, row in enumerate(prompts)]
                )
        return {"made": made, "seconds": seconds}


def sampler():
    coins = np.random.default_rng(1)

    def sample(logits: np.ndarray) -> np.ndarray:
        """One token a row by softmax over the whole vocabulary at temperature 1.2."""
        # The clipped logits are at most 20, so that the exponentials need no shift.
        weights = np.exp(np.clip(logits, -5.0, 20.0) * np.float32(1 / 1.2))
        weights[:, END] = 0.0
        sums = np.cumsum(weights, axis=1, dtype=np.float64)
        places = coins.random(len(sums)) * sums[:, -1]
        return np.array([np.searchsorted(row, at, side="right") for row, at in zip(sums, places)])

    return sample


def greedy(work: Path, new: int, threads: int) -> None:
    row = json.loads((work / "prompts.json").read_text())["prompts"][0]
    run = Run(Model(work / "f32.gguf"), 1, 512, threads, unified=False, flash=False)
    made = run.generate([row], 0, new, lambda logits: logits.argmax(axis=1))["made"]
    print(json.dumps({"what": "greedy", "tokens": made[0]}))


def speed(work: Path, lanes: int, new: int, threads: int, repeats: int) -> None:
    prompts = json.loads((work / "prompts.json").read_text())
    prefix, rows = prompts["prefix"], prompts["lanes"][:lanes]
    if len(rows) < lanes:
        raise SystemExit("prepare made fewer lanes")
    room = -(-(max(map(len, rows)) + new) // 32) * 32
    model = Model(work / "q8_0.gguf")
    for unified, flash in itertools.product([False, True], repeat=2):
        run = Run(model, lanes, room, threads, unified, flash)
        made = [run.generate(rows, prefix, new, sampler()) for _ in range(repeats + 1)][1:]
        run.close()
        best = min((m["seconds"] for m in made), key=lambda s: s["own"] + s["steps"])
        tokens = lanes * new
        print(
            json.dumps(
                {
                    "what": "llama.cpp",
                    "version": ll.__version__,
                    "system": ll.llama_print_system_info().decode().strip(),
                    "lanes": lanes,
                    "prompt": len(rows[0]),
                    "prefix": prefix,
                    "new": new,
                    "threads": threads,
                    "cache": "unified" if unified else "one a lane",
                    "flash": flash,
                    "tokens_per_second": tokens / (best["own"] + best["steps"]),
                    "tokens_per_second_with_prefix": tokens
                    / (best["prefix"] + best["own"] + best["steps"]),
                    "tokens_per_second_with_sampling": tokens
                    / (best["own"] + best["steps"] + best["sampling"]),
                    "decode_tokens_per_second": lanes * (new - 1) / best["steps"],
                    "seconds": best,
                }
            ),
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    part = commands.add_parser("prepare")
    part.add_argument("gguf", type=Path)
    part.add_argument("source", type=Path)
    part.add_argument("work", type=Path)
    part.add_argument("--lanes", type=int, default=64)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for name in ["greedy", "speed"]:
        part = commands.add_parser(name)
        part.add_argument("work", type=Path)
        part.add_argument("--lanes", type=int, default=64)
        part.add_argument("--new", type=int, default=24)
        part.add_argument("--threads", type=int, default=cores)
        part.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    match given.command:
        case "prepare":
            prepare(given.gguf, given.source, given.work, given.lanes)
        case "greedy":
            greedy(given.work, given.new, given.threads)
        case _:
            speed(given.work, given.lanes, given.new, given.threads, given.repeats)


if __name__ == "__main__":
    main()
