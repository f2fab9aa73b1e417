"""Measure the exported static encoder on held-out texts and write its card.

Inputs : OUT (exported encoder), WORK/encoder/baseline.safetensors (plain
         distillation), the held-out texts, the teacher in f32.
Outputs: OUT/CARD.md; WORK/encoder/heldout.npz caches the teacher's vectors.
Command: python encoder_card.py --data DIR --work WORK --out OUT
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from scipy.stats import spearmanr

import corpora
import encoder_teacher
import minilm
from encoder_static import Static

MOST = 1600
PAIRS = 20000
PROBES = ["doctor", "music", "rain", "book", "restaurant", "pain", "tomorrow", "night"]


def held_out(data: dict, vocabulary: list[str]) -> dict[str, list[str]]:
    rng = np.random.default_rng(50)
    out = {}
    for name in ("snips", "questions", "answers", "novels"):
        texts = [t for t in data[name]["test"] if 3 <= len(t.split()) <= 60]
        pick = rng.permutation(len(texts))[:MOST]
        out[name] = [texts[i] for i in sorted(pick)]
    out["random words"] = encoder_teacher.synthetic(vocabulary, MOST, seed=51)
    return out


def cosines(vectors, left, right):
    return (vectors[left] * vectors[right]).sum(1)


def neighbour_pairs(teacher, rng):
    scores = teacher @ teacher.T
    np.fill_diagonal(scores, -2)
    top = np.argpartition(-scores, 10, axis=1)[:, :10]
    return np.arange(len(teacher)), top[np.arange(len(teacher)), rng.integers(0, 10, len(teacher))]


def random_pairs(count, rng, pairs=PAIRS):
    left, right = rng.integers(0, count, pairs), rng.integers(0, count, pairs)
    return left[left != right], right[left != right]


def overlap(teacher, student):
    """Mean share of the teacher's ten nearest texts among the student's ten."""
    top = []
    for vectors in (teacher, student):
        scores = vectors @ vectors.T
        np.fill_diagonal(scores, -2)
        top.append(np.argpartition(-scores, 10, axis=1)[:, :10])
    return float(np.mean([len(set(a) & set(b)) / 10 for a, b in zip(*top)]))


def row(name, teacher, models, rng):
    left, right = random_pairs(len(teacher), rng)
    a, b = neighbour_pairs(teacher, rng)
    cells = []
    for vectors in models:
        cells.append((
            spearmanr(cosines(teacher, left, right), cosines(vectors, left, right)).statistic,
            spearmanr(cosines(teacher, a, b), cosines(vectors, a, b)).statistic,
            overlap(teacher, vectors),
        ))
    return name, len(teacher), cells


def nearest(static, vocabulary, word, count=8):
    table = static.table
    norms = np.linalg.norm(table, axis=1)
    units = table / np.where(norms > 0, norms, 1)[:, None]
    scores = units @ units[vocabulary.index(word)]
    whole = [i for i in np.argsort(-scores)[:60] if vocabulary[i].isalpha() and vocabulary[i] != word]
    return [(vocabulary[i], float(scores[i])) for i in whole[:count]]


def spectrum(static, vocabulary, seed=52):
    """Typical cosine of two random whole-word tokens, as quantiles."""
    rng = np.random.default_rng(seed)
    whole = np.array([i for i, w in enumerate(vocabulary) if w.isalpha()])
    table = static.table / np.maximum(np.linalg.norm(static.table, axis=1, keepdims=True), 1e-9)
    return np.quantile(cosines(table, rng.choice(whole, 20000), rng.choice(whole, 20000)), [0.05, 0.5, 0.95])


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    corpora.add_data_argument(cli)
    cli.add_argument("--work", type=Path, required=True)
    cli.add_argument("--out", type=Path, required=True)
    args = cli.parse_args()
    torch.set_num_threads(1)
    vocabulary = minilm.vocabulary(args.work)
    texts = held_out(corpora.load(args.data), vocabulary)
    every = [t for part in texts.values() for t in part]
    teacher_model = minilm.Teacher(args.work)
    cache = args.work / "encoder" / "heldout.npz"
    if cache.exists() and list(np.load(cache)["texts"]) == every:
        teacher = np.load(cache)["vectors"]
    else:
        teacher = teacher_model.encode(every).numpy()
        np.savez(cache, texts=np.array(every), vectors=teacher)
    student = Static(args.out / "model.safetensors", args.out / "tokenizer.json")
    plain = Static(args.work / "encoder" / "baseline.safetensors", args.out / "tokenizer.json")
    vectors = [student.encode(every), plain.encode(every)]

    rng = np.random.default_rng(53)
    rows, start = [], 0
    for name, part in texts.items():
        span = slice(start, start + len(part))
        rows.append(row(name, teacher[span], [v[span] for v in vectors], rng))
        start += len(part)
    corpus_end = len(every) - len(texts["random words"])
    size = min(len(part) for name, part in texts.items() if name != "random words")
    chosen, start = [], 0
    for name, part in texts.items():
        if name != "random words":
            chosen += (start + rng.permutation(len(part))[:size]).tolist()
        start += len(part)
    assert max(chosen) < corpus_end
    rows.append(row("pooled", teacher[chosen], [v[chosen] for v in vectors], rng))
    print(rows, flush=True)

    some = every[:corpus_end][:: max(1, corpus_end // 800)][:800]
    times = {}
    for name, run in (("student", student.encode), ("teacher", teacher_model.encode)):
        run(some[:50])
        began = time.perf_counter()
        run(some)
        times[name] = len(some) / (time.perf_counter() - began)
    print(times, flush=True)

    probes = {w: nearest(student, vocabulary, w) for w in PROBES}
    low, middle, high = spectrum(student, vocabulary)
    for word, found in probes.items():
        print(word, found)
    print("random token cosines", low, middle, high)

    sizes = {f: (args.out / f).stat().st_size for f in ("model.safetensors", "tokenizer.json")}
    trained = len(json.loads((args.work / "encoder" / "texts.json").read_text(encoding="utf-8")))
    table = "\n".join(
        f"| {name} | {count:,} | {a[0]:.3f} | {b[0]:.3f} | {a[1]:.3f} | {b[1]:.3f} | {a[2]:.2f} | {b[2]:.2f} |"
        for name, count, (a, b) in rows
    )
    words = "\n".join(
        f"| {w} | " + ", ".join(f"{n} {s:.2f}" for n, s in found) + " |" for w, found in probes.items()
    )
    template = (Path(__file__).parent / "encoder_card.md").read_text(encoding="utf-8")
    card = template.format(
        table=table, words=words, low=low, middle=middle, high=high, trained=trained,
        student=times["student"], teacher=times["teacher"], ratio=times["student"] / times["teacher"],
        timed=len(some), pooled=size, model_bytes=sizes["model.safetensors"],
        tokenizer_bytes=sizes["tokenizer.json"], answers=encoder_teacher.ANSWERS,
        novels=encoder_teacher.NOVELS, synthetic=encoder_teacher.SYNTHETIC, pairs=PAIRS,
    )
    (args.out / "CARD.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    main()
