"""Measure the exported infilling model on held-out texts and write its card.

Inputs : OUT (exported model), WORK/infill/training.json, the held-out texts, the
         teacher in f32.
Outputs: OUT/CARD.md and WORK/infill/figures.json.
Command: python infill_card.py --data DIR --work WORK --out OUT
"""

import argparse
import json
import math
from pathlib import Path

import numpy as np
import torch

import corpora
import infill_text
import minilm
from infill_rewrite import LONGEST, Rewriter, substitute

NAMES = ("snips", "questions", "answers", "novels")
REWRITTEN = ("snips", "questions", "novels")
MOST, CANDIDATES = 600, 10


def held_out(data: dict, encoder) -> dict[str, list[str]]:
    rng = np.random.default_rng(60)
    out = {}
    for name in NAMES:
        fit = [
            t for t in data[name]["test"]
            if len(t.split()) >= 4 and sum(len(p) for p, _ in encoder.text(t)) + 2 <= LONGEST
            and any(n for _, n in encoder.text(t))
        ]
        out[name] = [fit[i] for i in sorted(rng.permutation(len(fit))[:MOST])]
    return out


def masked_loss(rewriter, texts, rate, rng):
    """Nats and hits over masked pieces: all words, and words of one piece."""
    rows = []
    for text in texts:
        words = rewriter.encoder.text(text)
        able = [i for i, (_, n) in enumerate(words) if n]
        chosen = set(rng.choice(able, max(1, round(rate * len(able))), replace=False).tolist())
        ids, targets, single = [infill_text.BOS], [-1], [False]
        for i, (pieces, first) in enumerate(words):
            first = first if i in chosen else 0
            ids += [infill_text.MASK] * first + list(pieces[first:])
            targets += list(pieces[:first]) + [-1] * (len(pieces) - first)
            single += [first == 1] * len(pieces)
        if len(ids) + 1 <= LONGEST:
            rows.append((ids + [infill_text.EOS], targets + [-1], single + [False]))
    total = np.zeros(5)
    for ids, targets, single in rows:
        with torch.inference_mode():
            hidden = rewriter.model.roberta(input_ids=torch.tensor([ids])).last_hidden_state[0]
            at = torch.tensor(targets) >= 0
            logits = rewriter.model.lm_head(hidden[at])
            wanted = torch.tensor(targets)[at]
            loss = torch.nn.functional.cross_entropy(logits, wanted, reduction="none")
            hit = (logits.argmax(-1) == wanted)
            one = torch.tensor(single)[at]
        total += [len(wanted), loss.sum(), one.sum(), loss[one].sum(), hit[one].sum()]
    return {
        "perplexity": math.exp(total[1] / total[0]),
        "single_perplexity": math.exp(total[3] / total[2]),
        "single_hits": total[4] / total[2],
        "pieces": int(total[0]),
    }


def rewriting(rewriter, teacher, texts):
    """Cosines with the original: rewrite and deletion; distinct candidates."""
    words = [rewriter.encoder.text(t) for t in texts]
    masked = [rewriter.mask(w) for w in words]
    deleted = [substitute(t, m, None) or "." for t, m in zip(texts, masked)]
    rewritten = rewriter.fill(texts, masked)
    original = teacher.encode(texts).numpy()
    kept = (original * teacher.encode(deleted).numpy()).sum(1)
    filled = (original * teacher.encode(rewritten).numpy()).sum(1)
    part = texts[:200]
    runs = [rewriter.fill(part, [rewriter.mask(w) for w in words[:200]]) for _ in range(CANDIDATES)]
    distinct = [len({run[i] for run in runs}) / CANDIDATES for i in range(len(part))]
    fixed = [rewriter.fill(part, masked[:200]) for _ in range(CANDIDATES)]
    same_mask = [len({run[i] for run in fixed}) / CANDIDATES for i in range(len(part))]
    return {
        "texts": len(texts), "rewrite": filled, "deletion": kept,
        "distinct": float(np.mean(distinct)), "distinct_same_mask": float(np.mean(same_mask)),
        "unchanged": float(np.mean([a == b for a, b in zip(texts, rewritten)])),
    }


def interval(values, rng, times=1000):
    means = rng.choice(values, (times, len(values))).mean(1)
    return np.quantile(means, [0.025, 0.975])


def examples(rewriter, texts):
    lines = []
    for name, count in (("snips", 7), ("questions", 5), ("answers", 2), ("novels", 6)):
        short = [t for t in texts[name] if len(t) < 160]
        for i in rewriter.random.choice(len(short), count, replace=False):
            text = short[i]
            words = rewriter.encoder.text(text)
            lines.append(f"- {text}")
            for _ in range(3):
                lines.append("  - " + rewriter.fill([text], [rewriter.mask(words)])[0])
    return "\n".join(lines).replace("<", "&lt;")


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    corpora.add_data_argument(cli)
    cli.add_argument("--work", type=Path, required=True)
    cli.add_argument("--out", type=Path, required=True)
    args = cli.parse_args()
    torch.set_num_threads(2)
    rewriter = Rewriter(args.out)
    texts = held_out(corpora.load(args.data), rewriter.encoder)
    losses = {
        name: {rate: masked_loss(rewriter, part, rate, np.random.default_rng(61)) for rate in (0.15, 0.30)}
        for name, part in texts.items()
    }
    print(losses, flush=True)
    teacher = minilm.Teacher(args.work)
    cosine = {name: rewriting(rewriter, teacher, texts[name]) for name in REWRITTEN}
    pooled = {k: np.concatenate([c[k] for c in cosine.values()]) for k in ("rewrite", "deletion")}
    pooled |= {k: float(np.mean([c[k] for c in cosine.values()]))
               for k in ("distinct", "distinct_same_mask", "unchanged")}
    pooled["texts"] = len(pooled["rewrite"])
    rng = np.random.default_rng(62)
    loss_table = "\n".join(
        f"| {name} | {len(texts[name])} | " + " | ".join(
            f"{r['perplexity']:.1f} | {r['single_perplexity']:.1f} | {100 * r['single_hits']:.0f} %"
            for r in row.values()) + " |"
        for name, row in losses.items()
    )
    cosine_rows, figures = [], {}
    for name, c in [*cosine.items(), ("pooled", pooled)]:
        low, high = interval(c["rewrite"] - c["deletion"], rng)
        gain = float((c["rewrite"] - c["deletion"]).mean())
        cosine_rows.append(
            f"| {name} | {c['texts']} | {c['rewrite'].mean():.3f} | {c['deletion'].mean():.3f} | "
            f"{gain:+.3f} [{low:+.3f}, {high:+.3f}] | {c['distinct']:.2f} | "
            f"{c['distinct_same_mask']:.2f} | {100 * c['unchanged']:.0f} % |"
        )
        figures[name] = {"rewrite": float(c["rewrite"].mean()), "deletion": float(c["deletion"].mean())}
    print("\n".join([loss_table, *cosine_rows]), flush=True)
    (args.work / "infill" / "figures.json").write_text(json.dumps({"cosine": figures, "loss": losses}))

    facts = json.loads((args.work / "infill" / "training.json").read_text())
    stages = facts["stages"]
    finished = all(s["steps"] == s["step"] for s in stages)
    stage_rows, commands = [], []
    for i, stage in enumerate(stages, 1):
        fall = "none" if stage["decay_from"] in (None, stage["step"]) else f"{stage['decay_from']:,}"
        stage_rows.append(
            f"| {i} | {stage['one_piece']:.2f} | {stage['step']:,} | {fall} | {stage['tokens'] / 1e6:.1f} | "
            f"{stage['seconds'] / 60:.0f} | {stage['loss']:.3f} |"
        )
        command = (f"python infill_train.py --data DATA --work WORK --steps {stage['steps']} "
                   f"--decay-from {stage['decay_from']} --one-piece {stage['one_piece']:.6g}")
        if i > 1:
            commands.append(f"mv WORK/infill/checkpoint.pt WORK/infill/stage{i - 1}.pt")
            command += f" --start-from WORK/infill/stage{i - 1}.pt"
        commands.append(command)
    gains = {n: f["rewrite"] - f["deletion"] for n, f in figures.items()}
    better = [n for n in REWRITTEN if gains[n] > 0]
    worse = [n for n in REWRITTEN if gains[n] <= 0]
    verdict = "Rewrites are nearer to the original than deletion" if gains["pooled"] > 0 else \
        "Rewrites are NOT nearer to the original than deletion"
    verdict += " in the pool; above it: %s; below it: %s." % (
        ", ".join(better) or "none", ", ".join(worse) or "none")
    template = (Path(__file__).parent / "infill_card.md").read_text(encoding="utf-8")
    sizes = {f: (args.out / f).stat().st_size for f in ("model.safetensors", "config.json", "tokenizer.json")}
    card = template.format(
        model_bytes=sizes["model.safetensors"], config_bytes=sizes["config.json"],
        tokenizer_bytes=sizes["tokenizer.json"], loss_table=loss_table,
        cosine_table="\n".join(cosine_rows), verdict=verdict, most=MOST,
        examples=examples(rewriter, texts), words=len(rewriter.words),
        parameters=sum(p.numel() for p in rewriter.model.parameters()),
        stage_table="\n".join(stage_rows), commands="\n".join(commands),
        tokens=sum(s["tokens"] for s in stages) / 1e6, minutes=sum(s["seconds"] for s in stages) / 60,
        peak=facts["peak"], batch=facts["batch_tokens"],
        state="The run was finished." if finished else
        "EARLY VERSION: the run was not finished when this checkpoint was exported.",
    )
    (args.out / "CARD.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    main()
