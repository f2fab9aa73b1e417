"""Train the post-processors T and T++ of "Just rewrite it again": from releases back to their texts.

Inputs : `pairs`: the train texts of the corpora that ship (corpora.py), or a file
         with one text a line; the program teda. `train`: the pairs; the rewriter
         of the binary (models/builtin), a folder that this script wrote, or an
         encoder-decoder of the hub by name (google/flan-t5-base).
Outputs: `pairs`: OUT, a line {"source": text, "release": M(text)} a pair; also
         the lines of `teda task --out` are such pairs. `train`: OUT, a folder
         that `teda ... --then OUT` takes (model.safetensors, config.json,
         tokenizer.json), and in it training.json: what was trained, on which
         pairs, and what came of it on pairs that were held out.
Command: python post_processor.py pairs --teda TEDA --out PAIRS -- --mech em --epsilon 20
         python post_processor.py train --pairs PAIRS --out T --seconds 900
         python post_processor.py train --pairs INDOMAIN --model T --out T++ --seconds 300
         python post_processor.py train --pairs PAIRS --model google/flan-t5-large --out T --rate 5e-5

T reads releases alone, and M's texts of this training are public ones: T(M(x)) claims what
M(x) claims (post-processing). T++ is trained further on pairs of its own domain; their
texts must be public, too, or be protected by other means.

The paper trains FLAN-T5-large for one epoch at a rate of 5e-5; so does this script where
neither --seconds nor --steps is given. The small rewriter of the binary needs a higher rate
(--rate, by default 1e-3 for it).
"""

import argparse
import hashlib
import json
import random
import re
import subprocess
import time
from pathlib import Path

import corpora

BUILTIN = corpora.REPO / "models" / "builtin"
PUBLIC = ("questions", "answers", "novels")
WORD = re.compile(r"[^\W_]+")
# Texts of at least so many words.
FEWEST = 3
HELD_OUT = 200


def words(text: str) -> set[str]:
    return set(WORD.findall(text.lower()))


def recall(source: str, other: str) -> float:
    return len(words(source) & words(other)) / len(words(source))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# ---- pairs


def texts(args) -> list[str]:
    if args.texts:
        found = [corpora.fold(t) for t in args.texts.read_text(encoding="utf-8").splitlines()]
    else:
        data = corpora.load(args.data, shipped=True)
        unknown = [name for name in args.corpora if name not in data]
        if unknown:
            raise SystemExit(f"--corpora {unknown[0]}: there are {', '.join(data)}")
        found = [t for name in args.corpora for t in data[name]["train"]]
    found = list(dict.fromkeys(t for t in found if FEWEST <= len(t.split()) <= args.max_words and words(t)))
    random.Random(args.seed).shuffle(found)
    found = found[: args.most]
    if not found:
        raise SystemExit(f"no texts of {FEWEST} to {args.max_words} words to make pairs of")
    return found


def pairs(args) -> None:
    sources = texts(args)
    command = [args.teda, "rewrite", "--seed", str(args.seed), *args.mechanism]
    done = subprocess.run(
        command, input="\n".join(sources) + "\n", stdout=subprocess.PIPE, encoding="utf-8"
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with status {done.returncode}")
    releases = done.stdout.split("\n")[:-1]
    assert len(releases) == len(sources), (len(releases), len(sources))
    made = [(s, r) for s, r in zip(sources, releases) if r.strip()]
    with open(args.out, "w", encoding="utf-8") as handle:
        for source, release in made:
            row = {"source": source, "release": release}
            handle.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{len(made)} pairs of {len(sources)} texts: {args.out}")


# ---- training


def read(paths: list[Path]) -> tuple[list, list]:
    """Pairs to train on, and pairs held out: by their source, so that no text is on both sides."""
    train, held = [], []
    for path in paths:
        if not path.is_file():
            raise SystemExit(f"--pairs {path}: there is no such file")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            row = json.loads(line)
            if not isinstance(row.get("source"), str) or not isinstance(row.get("release"), str):
                raise SystemExit(f"{path}, line {number}: a pair has the texts source and release")
            if row["release"].strip() and words(row["source"]):
                side = held if corpora.held_out(row["source"]) else train
                side.append((row["release"], row["source"]))
    random.Random(0).shuffle(held)
    if not train or not held:
        raise SystemExit(f"{len(train)} pairs to train on and {len(held)} held out: too few")
    return train, held[:HELD_OUT]


def load(name: str):
    """Model and tokenizer: those of the binary, of a folder, or of the hub."""
    from safetensors.torch import load_file
    from transformers import (
        AutoModelForSeq2SeqLM, AutoTokenizer, BartConfig, BartForConditionalGeneration,
        PreTrainedTokenizerFast,
    )

    folder = Path(name)
    if name == "builtin":
        config = json.loads((BUILTIN / "rewriter" / "config.json").read_text(encoding="utf-8"))
        still = {"dropout": 0.0, "forced_eos_token_id": None}
        model = BartForConditionalGeneration(BartConfig(**config | still)).float()
        tensors = load_file(str(BUILTIN / "rewriter" / "model.safetensors"))
        missing, unknown = model.load_state_dict(
            {k: t.float() for k, t in tensors.items()}, strict=False
        )
        # What is tied to the word vectors stands in the file once.
        tied = ("lm_head.", "model.encoder.embed_tokens.", "model.decoder.embed_tokens.")
        left = [m for m in missing if not m.startswith(tied) and m != "final_logits_bias"]
        assert not left and not unknown, (left, unknown)
        model.tie_weights()
        folder = BUILTIN / "infill"
    else:
        model = AutoModelForSeq2SeqLM.from_pretrained(name).float()
    if (folder / "tokenizer.json").exists():
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_file=str(folder / "tokenizer.json"),
            pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        )
    else:
        tokenizer = AutoTokenizer.from_pretrained(name)
    return model, tokenizer


def longest(model) -> int:
    """Tokens of a text at most: one position is left for the token that begins."""
    return min(getattr(model.config, "max_position_embeddings", 512), 512) - 1


def encode(tokenizer, rows, most):
    """Token ids of both sides of each pair that fits; as the tokenizer writes them, with its special tokens."""
    reads = tokenizer([r for r, _ in rows])["input_ids"]
    writes = tokenizer([w for _, w in rows])["input_ids"]
    # The small rewriter's targets begin with no <s>, as in rewriter_train.py.
    begins = tokenizer.convert_tokens_to_ids("<s>")
    writes = [w[1:] if w and w[0] == begins != tokenizer.unk_token_id else w for w in writes]
    return [(r, w) for r, w in zip(reads, writes) if len(r) <= most and len(w) <= most]


def batches(rows, tokens, rng):
    rows = sorted(rng.sample(rows, len(rows)), key=lambda p: len(p[1]) + len(p[0]))
    out, at = [], 0
    while at < len(rows):
        size = 1
        while at + size < len(rows) and (size + 1) * sum(map(len, rows[at + size])) <= tokens:
            size += 1
        out.append(rows[at : at + size])
        at += size
    rng.shuffle(out)
    return out


def loss_of(torch, model, rows, device):
    pad = model.config.pad_token_id

    def padded(rows, fill):
        width = max(map(len, rows))
        return torch.tensor([r + [fill] * (width - len(r)) for r in rows], device=device)

    reads, writes = padded([r for r, _ in rows], pad), padded([w for _, w in rows], -100)
    start = torch.full_like(writes[:, :1], model.config.decoder_start_token_id)
    begun = torch.cat([start, writes[:, :-1].masked_fill(writes[:, :-1] < 0, pad)], 1)
    with torch.autocast(device, dtype=torch.bfloat16):
        out = model(
            input_ids=reads, attention_mask=(reads != pad).long(), decoder_input_ids=begun,
            use_cache=False,
        )
    logits = out.logits.float()
    total = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), writes.flatten(), ignore_index=-100, reduction="sum"
    )
    return total, int((writes >= 0).sum())


def judge(torch, model, tokenizer, held, device, most) -> dict:
    """What T makes of held-out releases: mean loss a token, and the share of the source's words."""
    model.eval()
    nats = count = 0
    before, after = [], []
    with torch.no_grad():
        for at in range(0, len(held), 32):
            part = [p for p in held[at : at + 32] if encode(tokenizer, [p], most)]
            if not part:
                continue
            rows = encode(tokenizer, part, most)
            total, tokens = loss_of(torch, model, rows, device)
            nats, count = nats + float(total), count + tokens
            reads = tokenizer.pad({"input_ids": [r for r, _ in rows]}, return_tensors="pt")
            written = model.generate(
                input_ids=reads["input_ids"].to(device),
                attention_mask=reads["attention_mask"].to(device),
                do_sample=False, num_beams=1, max_new_tokens=min(100, most - 1),
            )
            written = tokenizer.batch_decode(written, skip_special_tokens=True)
            before += [recall(source, release) for release, source in part]
            after += [recall(source, text) for (_, source), text in zip(part, written)]
    model.train()
    mean = lambda values: round(sum(values) / len(values), 4)
    return {
        "pairs": len(after), "loss": round(nats / count, 4),
        "token_recall_of_releases": mean(before), "token_recall_after": mean(after),
    }


def train(args) -> None:
    import torch

    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rng = random.Random(args.seed)
    learn, held = read(args.pairs)
    model, tokenizer = load(args.model)
    model.to(device).train()
    most = longest(model)
    rows = encode(tokenizer, learn, most)
    if not rows:
        raise SystemExit(f"none of {len(learn)} pairs has at most {most} tokens")
    size = sum(p.numel() for p in model.parameters())
    rate = args.rate or (1e-3 if size < 10_000_000 else 5e-5)
    print(f"{args.model}: {size} parameters, {len(rows)} of {len(learn)} pairs, "
          f"{len(held)} held out, {device}, rate {rate}", flush=True)
    first = judge(torch, model, tokenizer, held, device, most)
    print("before:", first, flush=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.01)
    start, step, epochs, queue = time.time(), 0, 0, []
    steps = args.steps
    if steps is None and args.seconds is None:
        steps = len(batches(rows, args.batch_tokens, random.Random(args.seed)))
    nats = count = 0
    while True:
        # How much of the training is done: by steps, or by time.
        done = step / steps if steps else (time.time() - start) / args.seconds
        if done >= 1.0:
            break
        step += 1
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, step / 100) * max(0.002, 1.0 - done)
        if not queue:
            queue = batches(rows, args.batch_tokens, rng)
            epochs += 1
        total, tokens = loss_of(torch, model, queue.pop(), device)
        (total / tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        nats, count = nats + float(total.detach()), count + tokens
        if step % 100 == 0:
            print("step %d loss %.4f seconds %.0f" % (step, nats / count, time.time() - start), flush=True)
            nats = count = 0
    seconds = round(time.time() - start)
    last = judge(torch, model, tokenizer, held, device, most)
    print("after:", last, flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    # teda shows it a text alone, and no prompt around it, wherever it is named.
    model.config.teda_reads = "text"
    model.save_pretrained(args.out)
    tokenizer.backend_tokenizer.save(str(args.out / "tokenizer.json"))
    facts = {
        "model": args.model,
        "pairs": {p.name: digest(p) for p in args.pairs}, "trained_on": len(rows),
        "steps": step, "passes_begun": epochs, "seconds": seconds, "rate": rate, "seed": args.seed,
        "threads": args.threads, "device": device, "held_out_before": first, "held_out_after": last,
    }
    (args.out / "training.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print(f"{args.out}: {step} steps in {seconds} s")


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = cli.add_subparsers(required=True)
    one = parts.add_parser("pairs", help="rewrite public texts with a mechanism")
    corpora.add_data_argument(one)
    one.add_argument("--teda", default="teda", help="the program")
    one.add_argument("--corpora", default=",".join(PUBLIC), type=lambda t: t.split(","))
    one.add_argument("--texts", type=Path, help="a file with one text a line, instead of corpora")
    one.add_argument("--most", type=int, help="at most so many texts")
    one.add_argument(
        "--max-words", type=int, default=40,
        help="texts of more words are left out: a mechanism that divides its epsilon among a text's "
        "words treats long texts worse, so take those as long as what will be released",
    )
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--out", type=Path, required=True)
    one.add_argument("mechanism", nargs="+", help="flags of `teda rewrite`, after --")
    one.set_defaults(run=pairs)
    two = parts.add_parser("train", help="train T, or T++ with --model T")
    two.add_argument("--pairs", type=Path, nargs="+", required=True)
    two.add_argument("--model", default="builtin")
    two.add_argument("--out", type=Path, required=True)
    two.add_argument("--seconds", type=float, help="train this long")
    two.add_argument("--steps", type=int, help="train so many steps")
    two.add_argument("--rate", type=float)
    two.add_argument("--batch-tokens", type=int, default=4096)
    two.add_argument("--threads", type=int, default=2)
    two.add_argument("--seed", type=int, default=0)
    two.set_defaults(run=train)
    args = cli.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
