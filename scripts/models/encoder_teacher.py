"""Encode the encoder's training texts and every single token with the teacher.

Inputs : the train texts of the corpora, the teacher (minilm.py), and its
         vocabulary for synthetic texts of 4-14 random whole words (what a
         mechanism releases at a low epsilon looks like that): half drawn
         uniformly, half by 1 / (rank + 500).
Outputs: WORK/encoder/tokens.npy  (f16 [V, 384], each token alone, mean pooled,
         unit norm), texts.json (training texts) and teacher.npy (f16 [n, 384]).
Command: python encoder_teacher.py --data DIR --work WORK

Products run in bfloat16: these vectors are training targets only; the figures
of the card use the teacher in f32.
"""

import argparse
import json
import random
import time
from pathlib import Path

import numpy as np
import torch

import corpora
import minilm

ANSWERS, NOVELS, SYNTHETIC = 11000, 11000, 28000


def whole_words(vocabulary: list[str]) -> list[str]:
    return [w for w in vocabulary if w.isalpha() and w.isascii() and len(w) > 1]


def synthetic(vocabulary: list[str], count: int, seed: int) -> list[str]:
    words = whole_words(vocabulary)
    weights = [1 / (rank + 500) for rank in range(len(words))]
    rng = random.Random(seed)
    texts = []
    for i in range(count):
        n = rng.randint(4, 14)
        drawn = rng.choices(words, k=n) if i % 2 else rng.choices(words, weights, k=n)
        texts.append(" ".join(drawn))
    return texts


def training_texts(data: dict, vocabulary: list[str]) -> list[str]:
    rng = random.Random(11)
    short = {
        name: [t for t in data[name]["train"] if 3 <= len(t.split()) <= 32]
        for name in ("answers", "novels")
    }
    texts = (
        data["snips"]["train"]
        + data["questions"]["train"]
        + rng.sample(short["answers"], ANSWERS)
        + rng.sample(short["novels"], NOVELS)
    )
    return list(dict.fromkeys(texts)) + synthetic(vocabulary, SYNTHETIC, seed=12)


def single_tokens(teacher: minilm.Teacher, size: int) -> np.ndarray:
    cls, sep = (teacher.tokenizer.token_to_id(t) for t in ("[CLS]", "[SEP]"))
    out = np.zeros((size, 384), dtype=np.float16)
    with torch.inference_mode():
        for start in range(0, size, 1024):
            ids = torch.arange(start, min(size, start + 1024))
            rows = torch.stack([torch.full_like(ids, cls), ids, torch.full_like(ids, sep)], 1)
            pooled = teacher.model(input_ids=rows).last_hidden_state.mean(1)
            out[start : start + len(ids)] = torch.nn.functional.normalize(pooled.float(), dim=-1)
    return out


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    corpora.add_data_argument(cli)
    cli.add_argument("--work", type=Path, required=True)
    args = cli.parse_args()
    torch.set_num_threads(2)
    out = args.work / "encoder"
    out.mkdir(parents=True, exist_ok=True)
    vocabulary = minilm.vocabulary(args.work)
    teacher = minilm.Teacher(args.work)
    texts = training_texts(corpora.load(args.data), vocabulary)
    (out / "texts.json").write_text(json.dumps(texts, ensure_ascii=False), encoding="utf-8")
    start = time.time()
    say = lambda done, of: print("%d of %d, %.0f s" % (done, of, time.time() - start), flush=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        np.save(out / "tokens.npy", single_tokens(teacher, len(vocabulary)))
        say(0, len(texts))
        vectors = teacher.encode(texts, progress=say)
    np.save(out / "teacher.npy", vectors.numpy().astype(np.float16))
    say(len(texts), len(texts))


if __name__ == "__main__":
    main()
