"""Train the static sentence encoder against the teacher and export it.

Inputs : WORK/encoder/{texts.json,teacher.npy,tokens.npy} of encoder_teacher.py.
Outputs: OUT/model.safetensors (`embeddings` I8 [V, 160], `scales` F32 [V]; the
         vector of token i is scales[i] * embeddings[i], its weight folded into
         its norm), OUT/tokenizer.json (MiniLM's, minified, no padding or
         truncation), and WORK/encoder/baseline.safetensors (plain distillation
         in the same layout).
Command: python encoder_train.py --work WORK --out OUT

Token vector = exp(weight) * (teacher's centred vector of the token alone @ M + residual).
M is one map for all tokens, first the principal components of the token
vectors; residuals start at zero and decay to it, so a token that training never
touches stays in the common space. The loss compares the cosines of all pairs of
a batch with the teacher's: batches of texts with their teacher neighbours, and
batches of single tokens, so that token cosines keep their meaning.
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from tokenizers import Tokenizer

import minilm

WIDTH = 160
STEPS = 3000
BATCH, GROUP = 1024, 4
TOKEN_BATCH, TOKEN_SHARE = 512, 0.3
RATE_MAP, RATE_RESIDUAL, RATE_WEIGHT = 5e-4, 2e-3, 5e-3
DECAY = 0.02
SIF = 1e-3


def plain_tokenizer(work: Path) -> dict:
    tokenizer = json.loads((minilm.folder(work) / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["padding"] = tokenizer["truncation"] = None
    return tokenizer


def zero_rows(vocabulary: list[str]) -> list[int]:
    special = {"[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"}
    return [i for i, w in enumerate(vocabulary) if w in special or w.startswith("[unused")]


def centred(tokens: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Without the mean, which all single-token texts share; unit norm."""
    tokens = tokens - tokens[keep].mean(0)
    return tokens / np.maximum(np.linalg.norm(tokens, axis=1, keepdims=True), 1e-9)


def principal(tokens: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """[384, WIDTH] main directions of the centred token vectors."""
    rows = tokens[keep].astype(np.float64)
    values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
    return vectors[:, np.argsort(-values)[:WIDTH]].astype(np.float32)


def frequency_weights(ids: list[list[int]], size: int) -> np.ndarray:
    """SIF weights a / (a + p), p from the training texts, zipf for the unseen."""
    counts = Counter(t for text in ids for t in set(text))
    total = sum(counts.values())
    share = np.array([counts.get(i, 0) / total for i in range(size)])
    zipf = 1 / (np.arange(size) + 1000.0) / np.log(size)
    return (SIF / (SIF + np.maximum(share, zipf))).astype(np.float32)


def neighbours(teacher: torch.Tensor, count: int = 10) -> torch.Tensor:
    out = []
    for start in range(0, len(teacher), 512):
        scores = teacher[start : start + 512] @ teacher.T
        out.append(scores.topk(count + 1).indices[:, 1:].to(torch.int32))
    return torch.cat(out)


def quantise(vectors: np.ndarray, zero: list[int]) -> dict[str, np.ndarray]:
    vectors = vectors.astype(np.float32).copy()
    vectors[zero] = 0
    scales = np.abs(vectors).max(1) / 127
    safe = np.where(scales > 0, scales, 1)
    codes = np.clip(np.rint(vectors / safe[:, None]), -127, 127).astype(np.int8)
    return {"embeddings": codes, "scales": scales.astype(np.float32)}


class Student(torch.nn.Module):
    def __init__(self, tokens, start, weights):
        super().__init__()
        self.register_buffer("tokens", tokens)
        self.map = torch.nn.Parameter(start.clone())
        self.residual = torch.nn.Parameter(torch.zeros(len(tokens), WIDTH))
        self.weight = torch.nn.Parameter(weights.log())

    def vectors(self, ids, weighted=True):
        out = self.tokens[ids] @ self.map + self.residual[ids]
        return out * self.weight[ids].exp()[:, None] if weighted else out


def bags(rows: list[list[int]]):
    """Unique ids and, for embedding_bag, positions into them and offsets."""
    flat = torch.tensor([t for r in rows for t in r])
    unique, place = flat.unique(return_inverse=True)
    offsets = torch.tensor([0] + [len(r) for r in rows[:-1]]).cumsum(0)
    return unique, place, offsets


def pair_loss(student, teacher):
    """Squared error of the cosines; close pairs weigh more."""
    student = torch.nn.functional.normalize(student, dim=-1)
    wanted = teacher @ teacher.T
    weight = 1 + 6 * wanted.clamp(min=0) ** 2
    weight.fill_diagonal_(0)
    return (weight * (student @ student.T - wanted) ** 2).sum() / weight.sum()


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cli.add_argument("--work", type=Path, required=True)
    cli.add_argument("--out", type=Path, required=True)
    args = cli.parse_args()
    torch.set_num_threads(2)
    torch.manual_seed(30)
    rng = np.random.default_rng(30)
    source = args.work / "encoder"
    vocabulary = minilm.vocabulary(args.work)
    zero = zero_rows(vocabulary)
    json_tokenizer = json.dumps(plain_tokenizer(args.work), ensure_ascii=False, separators=(",", ":"))
    tokenizer = Tokenizer.from_str(json_tokenizer)

    texts = json.loads((source / "texts.json").read_text(encoding="utf-8"))
    ids = [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False)]
    barred = set(zero)
    ids = [[t for t in row if t not in barred] or [1012] for row in ids]
    teacher = torch.from_numpy(np.load(source / "teacher.npy").astype(np.float32))
    keep = np.setdiff1d(np.arange(len(vocabulary)), zero)
    token_array = centred(np.load(source / "tokens.npy").astype(np.float32), keep)
    start = principal(token_array, keep)
    weights = frequency_weights(ids, len(vocabulary))
    baseline = (token_array @ start) * weights[:, None]
    save_file(quantise(baseline, zero), str(source / "baseline.safetensors"))

    began = time.time()
    cache = source / "neighbours.npy"
    if not cache.exists() or cache.stat().st_mtime < (source / "teacher.npy").stat().st_mtime:
        np.save(cache, neighbours(teacher).numpy())
    near = torch.from_numpy(np.load(cache))
    print("neighbours: %.0f s" % (time.time() - began), flush=True)
    tokens = torch.from_numpy(token_array)
    student = Student(tokens, torch.from_numpy(start), torch.from_numpy(weights))
    optimizer = torch.optim.AdamW([
        {"params": [student.map], "lr": RATE_MAP, "weight_decay": 0.0},
        {"params": [student.residual], "lr": RATE_RESIDUAL, "weight_decay": DECAY},
        {"params": [student.weight], "lr": RATE_WEIGHT, "weight_decay": 0.0},
    ])
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min(1, (s + 1) / 100) * max(0.01, 1 - s / STEPS)
    )
    shown = [0.0, 0.0]
    for step in range(1, STEPS + 1):
        anchors = rng.choice(len(ids), BATCH // GROUP, replace=False)
        rows = [anchors] + [
            near[anchors, rng.integers(0, 10, len(anchors))].numpy() for _ in range(GROUP - 1)
        ]
        rows = np.unique(np.concatenate(rows))
        unique, place, offsets = bags([ids[i] for i in rows])
        summed = torch.nn.functional.embedding_bag(
            place, student.vectors(unique), offsets, mode="sum"
        )
        loss = pair_loss(summed, teacher[rows])
        some = torch.from_numpy(rng.choice(keep, TOKEN_BATCH, replace=False))
        token_loss = pair_loss(student.vectors(some, weighted=False), tokens[some])
        (loss + TOKEN_SHARE * token_loss).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        schedule.step()
        shown[0] += float(loss.detach())
        shown[1] += float(token_loss.detach())
        if step % 100 == 0:
            print("step %d texts %.5f tokens %.5f, %.0f s"
                  % (step, shown[0] / 100, shown[1] / 100, time.time() - began), flush=True)
            shown = [0.0, 0.0]

    with torch.no_grad():
        vectors = student.vectors(torch.arange(len(vocabulary))).numpy()
    args.out.mkdir(parents=True, exist_ok=True)
    save_file(quantise(vectors, zero), str(args.out / "model.safetensors"))
    (args.out / "tokenizer.json").write_text(json_tokenizer, encoding="utf-8")
    print("exported; %d texts, %.0f s" % (len(texts), time.time() - began))


if __name__ == "__main__":
    main()
