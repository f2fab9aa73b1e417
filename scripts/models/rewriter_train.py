"""Train the rewriting model: a small BART that repeats a text, also from a damaged copy.

Inputs : the train texts of the corpora; WORK/infill/tokenizer.json.
Outputs: WORK/rewriter/checkpoint.pt (weights, step, log; rewritten every few
         minutes) and a log on standard output, with the accuracy on clean texts.
Command: python rewriter_train.py --data DIR --work WORK --seconds S
         python rewriter_train.py --data DIR --work WORK --steps N --decay-from M
         and --start-from CHECKPOINT, --peak RATE for a second stage

A model this small learns a language long before it learns to copy: names then come
out as frequent words. Three things bring copying early:
- both position tables start as the same sinusoids and cross-attention starts as
  "look at the same place": equal query and key projections, value and output the
  identity;
- a share of the pairs are rows of tokens drawn at random, where knowing the
  language helps nothing;
- the damage rises from nothing over the first part of the run.

Damage: a rate is drawn from [0, 0.5] for each text; a damaged token is masked
(one half), replaced by a frequent token, dropped, or swapped with the next.
A share of the texts stays clean, and of some nothing is left, so that the model can also
tell how likely a text is by itself. Targets are always the undamaged texts.
"""

import argparse
import random
import time
from pathlib import Path

import torch
from transformers import BartConfig, BartForConditionalGeneration

import corpora
import infill_text
from infill_text import BOS, EOS, MASK, PAD

MIX = {"snips": 0.34, "snips_raw": 0.06, "questions": 0.15, "answers": 0.22, "novels": 0.23}
MOST = 126
BATCH_TOKENS = 4096
PEAK, WARMUP = 1.5e-3, 200
FALL_AT = 0.65
CLEAN, RANDOM, EMPTY = 0.15, 0.10, 0.06
MOST_DAMAGE = 0.5


def config() -> BartConfig:
    return BartConfig(
        vocab_size=8192, d_model=192, encoder_layers=3, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=576, decoder_ffn_dim=576, activation_function="relu",
        max_position_embeddings=128, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0,
        scale_embedding=False, tie_word_embeddings=True,
        bos_token_id=BOS, pad_token_id=PAD, eos_token_id=EOS,
        decoder_start_token_id=EOS, forced_eos_token_id=None,
    )


def prepare(model: BartForConditionalGeneration) -> None:
    """The start that makes copying near: see the head of this file."""
    width = model.config.d_model
    with torch.no_grad():
        place = torch.arange(model.config.max_position_embeddings + 2).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-6.0 / width))
        table = torch.empty(len(place), width)
        table[:, 0::2], table[:, 1::2] = torch.sin(place * rate), torch.cos(place * rate)
        for side in (model.model.encoder, model.model.decoder):
            side.embed_positions.weight.copy_(0.03 * table)
        for layer in model.model.decoder.layers:
            cross = layer.encoder_attn
            torch.nn.init.orthogonal_(cross.q_proj.weight, gain=1.5)
            cross.k_proj.weight.copy_(cross.q_proj.weight)
            for part in (cross.v_proj, cross.out_proj):
                part.weight.copy_(torch.eye(width))


class Pairs:
    """Encoded texts of every corpus and a stream of batches of like length."""

    def __init__(self, data, encoder, seed):
        self.rng = random.Random(seed)
        self.corpora, counts = {}, {}
        for name in MIX:
            rows = []
            for text in data[name]["train"]:
                ids = [i for pieces, _ in encoder.text(text) for i in pieces]
                if 2 <= len(ids) <= MOST - 2:
                    rows.append(ids)
                    for i in ids:
                        counts[i] = counts.get(i, 0) + 1
            self.corpora[name] = rows
        self.pieces = sorted(counts)
        self.weights = [counts[i] ** 0.75 for i in self.pieces]
        self.order = {name: [] for name in MIX}

    def draw(self, name):
        if not self.order[name]:
            self.order[name] = list(range(len(self.corpora[name])))
            self.rng.shuffle(self.order[name])
        return self.corpora[name][self.order[name].pop()]

    def damaged(self, ids, rate):
        rng, out = self.rng, list(ids)
        for i in range(len(out)):
            if rng.random() >= rate:
                continue
            way = rng.random()
            if way < 0.5:
                out[i] = MASK
            elif way < 0.75:
                out[i] = self.replacements.pop() if self.replacements else MASK
            elif way < 0.9:
                out[i] = -1
            elif i + 1 < len(out):
                out[i], out[i + 1] = out[i + 1], out[i]
        return [i for i in out if i >= 0] or [MASK]

    def pair(self, name, damage):
        if self.rng.random() < RANDOM:
            longest = MOST - 2 if self.rng.random() < 0.2 else 24
            ids = [self.rng.randrange(5, 8192) for _ in range(self.rng.randint(3, longest))]
            return ids, ids
        ids = self.draw(name)
        way = self.rng.random()
        if way < CLEAN:
            return ids, ids
        if way < CLEAN + EMPTY:
            return [], ids
        return self.damaged(ids, self.rng.uniform(0.0, damage)), ids

    def pool(self, damage, size=6000):
        names = self.rng.choices(list(MIX), list(MIX.values()), k=size)
        self.replacements = self.rng.choices(self.pieces, self.weights, k=size * 4)
        pairs = [self.pair(name, damage) for name in names]
        pairs.sort(key=lambda p: (len(p[1]), len(p[0])))
        batches, at = [], 0
        while at < len(pairs):
            # The pool is sorted: the last of the batch is the longest.
            rows = max(1, BATCH_TOKENS // (len(pairs[at][0]) + len(pairs[at][1]) + 4))
            batches.append(pairs[at : at + rows])
            at += rows
        self.rng.shuffle(batches)
        return batches


def tensors(pairs):
    sources = [[BOS, *s, EOS] for s, _ in pairs]
    targets = [[*t, EOS] for _, t in pairs]

    def padded(rows, fill):
        longest = max(map(len, rows))
        return torch.tensor([r + [fill] * (longest - len(r)) for r in rows])

    source, target = padded(sources, PAD), padded(targets, -100)
    start = torch.full((len(targets), 1), EOS)
    read = torch.cat([start, target[:, :-1].clamp(min=PAD)], 1)
    return source, read, target


def logits(model, source, read):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(
            input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=read,
            use_cache=False,
        )
    return out.logits.float()


def accuracy(model, encoder, texts) -> float:
    """Share of target tokens (the end counts) whose most likely token is right, the source clean."""
    rows = [[i for pieces, _ in encoder.text(t) for i in pieces] for t in texts]
    rows = [(r, r) for r in rows if len(r) <= MOST - 2]
    right = total = 0
    model.eval()
    with torch.no_grad():
        for at in range(0, len(rows), 64):
            source, read, target = tensors(rows[at : at + 64])
            best = logits(model, source, read).argmax(-1)
            keep = target >= 0
            right += int((best[keep] == target[keep]).sum())
            total += int(keep.sum())
    model.train()
    return right / total


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    corpora.add_data_argument(cli)
    cli.add_argument("--work", type=Path, required=True)
    cli.add_argument("--steps", type=int)
    cli.add_argument("--decay-from", type=int)
    cli.add_argument("--seconds", type=float)
    cli.add_argument("--start-from", type=Path, help="checkpoint whose weights to start from")
    cli.add_argument("--peak", type=float, default=PEAK, help="learning rate")
    cli.add_argument("--threads", type=int, default=2)
    args = cli.parse_args()
    torch.set_num_threads(args.threads)
    # Moments of pieces that no batch has decay into denormal numbers, which cost ten times as much.
    torch.set_flush_denormal(True)
    seed = 30 if args.start_from is None else 31
    torch.manual_seed(seed)
    data = corpora.load(args.data)
    encoder = infill_text.Encoder(args.work / "infill" / "tokenizer.json")
    pairs = Pairs(data, encoder, seed)
    print({n: (len(t), sum(map(len, t))) for n, t in pairs.corpora.items()}, flush=True)
    model = BartForConditionalGeneration(config()).train()
    prepare(model)
    stages = []
    if args.start_from is not None:
        first = torch.load(args.start_from, map_location="cpu", weights_only=True)
        model.load_state_dict(first["model"])
        stages = first["stages"]
    print("parameters", sum(p.numel() for p in model.parameters()), flush=True)
    decay = [p for p in model.parameters() if p.dim() > 1]
    plain = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}],
        lr=args.peak, betas=(0.9, 0.98), eps=1e-6,
    )
    out = args.work / "rewriter"
    out.mkdir(parents=True, exist_ok=True)
    start = saved = time.time()
    batches, log, run_loss, run_count, tokens = [], [], 0.0, 0, 0
    steps, decay_from, step = args.steps, args.decay_from, 0
    while steps is None or step < steps:
        step += 1
        seconds = time.time() - start
        if steps is None and seconds > FALL_AT * args.seconds:
            decay_from = step
            steps = step + max(1, int(step * (args.seconds - seconds) / seconds))
            print("the rate falls from step %d to step %d" % (decay_from, steps), flush=True)
        rate = min(1.0, step / WARMUP)
        if decay_from is not None and step > decay_from:
            rate = max(0.002, (steps - step) / (steps - decay_from))
        for group in optimizer.param_groups:
            group["lr"] = args.peak * rate
        if not batches:
            share = 1.0 if stages else min(1.0, step / 1500)
            batches = pairs.pool(MOST_DAMAGE * share)
        source, read, target = tensors(batches.pop())
        keep = target.flatten()
        loss = torch.nn.functional.cross_entropy(
            logits(model, source, read).flatten(0, 1), keep, ignore_index=-100
        )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        count = int((keep >= 0).sum())
        run_loss += float(loss.detach()) * count
        run_count += count
        tokens += count + int((source != PAD).sum())
        if step % 100 == 0:
            seconds = time.time() - start
            clean = accuracy(model, encoder, data["snips"]["valid"][:200])
            log.append((step, run_loss / run_count, tokens, seconds))
            print("step %d loss %.4f tokens %d seconds %.0f clean %.4f (%.0f tokens/s)"
                  % (*log[-1], clean, tokens / seconds), flush=True)
            run_loss, run_count = 0.0, 0
        if time.time() - saved > 180 or step == steps:
            saved = time.time()
            stage = {
                "step": step, "steps": steps, "decay_from": decay_from, "peak": args.peak,
                "tokens": tokens, "seconds": saved - start, "loss": log[-1][1] if log else None,
            }
            state = {"model": model.state_dict(), "stages": [*stages, stage]}
            part = out / "checkpoint.part"
            torch.save(state, part)
            part.replace(out / "checkpoint.pt")
    print("held-out SNIPS, clean: %.4f" % accuracy(model, encoder, data["snips"]["test"]))


if __name__ == "__main__":
    main()
