"""Train the infilling model: a small RoBERTa masked language model.

Inputs : the train texts of the corpora; WORK/infill/tokenizer.json.
Outputs: WORK/infill/checkpoint.pt (weights, step, log; rewritten every few
         minutes) and a log on standard output.
Command: python infill_train.py --data DIR --work WORK --seconds S
         python infill_train.py --data DIR --work WORK --steps N --decay-from M
         and --one-piece SHARE, --start-from CHECKPOINT for a second stage

The learning rate rises, stays, and falls linearly to zero over the last part
of the run. With --seconds the fall starts at 70 % of that time and its length
is fixed from the throughput so far; the two step numbers are printed and go to
the card, and the second form repeats the schedule from them.

Whole words are masked at a rate drawn from [0.15, 0.5] for each text. In two
texts of three all pieces of a masked word are masked; in the third only words of
one piece are masked, as at rewriting (`--one-piece` sets that share). Batches hold
texts of one length, so nothing is padded; the head is computed only at the
masked positions. Products run in bfloat16 over f32 weights. Dropout (0.1) acts
on the embeddings only: elsewhere its random draws would cost a third of the
throughput.
"""

import argparse
import random
import time
from pathlib import Path

import torch
from transformers import RobertaConfig, RobertaForMaskedLM

import corpora
import infill_text

MIX = {"snips": 0.24, "snips_raw": 0.06, "questions": 0.15, "answers": 0.30, "novels": 0.25}
MOST = 64
MICRO_TOKENS = 2048
MICRO = 2
PEAK, WARMUP = 1.5e-3, 300
FALL_AT = 0.70


def config() -> RobertaConfig:
    return RobertaConfig(
        vocab_size=8192, hidden_size=192, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=576, hidden_act="relu", max_position_embeddings=130,
        type_vocab_size=1, layer_norm_eps=1e-5, tie_word_embeddings=True,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        bos_token_id=0, pad_token_id=1, eos_token_id=2,
    )


class Texts:
    """Encoded texts of every corpus and a stream of single-length batches."""

    def __init__(self, data, encoder, seed, one_piece=1 / 3):
        self.one_piece = one_piece
        self.rng = random.Random(seed)
        self.corpora = {}
        for name in MIX:
            encoded = []
            for text in data[name]["train"]:
                words = encoder.text(text)
                if 2 <= len(words) and sum(len(p) for p, _ in words) + 2 <= MOST:
                    encoded.append(words)
            self.corpora[name] = encoded
        self.order = {name: [] for name in MIX}

    def draw(self, name):
        if not self.order[name]:
            self.order[name] = list(range(len(self.corpora[name])))
            self.rng.shuffle(self.order[name])
        return self.corpora[name][self.order[name].pop()]

    def masked(self, words):
        """(ids, targets): targets are -1 at positions that are not masked."""
        rng = self.rng
        rate = rng.uniform(0.15, 0.5)
        single_only = rng.random() < self.one_piece
        able = [i for i, (p, n) in enumerate(words) if n == 1 or (n > 1 and not single_only)]
        chosen = set(rng.sample(able, min(len(able), max(1, round(rate * len(able))))))
        ids, targets = [infill_text.BOS], [-1]
        for i, (pieces, first) in enumerate(words):
            if i in chosen:
                ids += [infill_text.MASK] * first
                ids += pieces[first:]
                targets += pieces[:first]
                targets += [-1] * (len(pieces) - first)
            else:
                ids += pieces
                targets += [-1] * len(pieces)
        return ids + [infill_text.EOS], targets + [-1]

    def batches(self):
        names, weights = list(MIX), list(MIX.values())
        left = {}
        while True:
            ready = []
            for name in self.rng.choices(names, weights, k=20000):
                ids, targets = self.masked(self.draw(name))
                group = left.setdefault(len(ids), [])
                group.append((ids, targets))
                if len(group) * len(ids) >= MICRO_TOKENS:
                    ready.append(group)
                    left[len(ids)] = []
            self.rng.shuffle(ready)
            for group in ready:
                yield (
                    torch.tensor([g[0] for g in group]),
                    torch.tensor([g[1] for g in group]),
                )


def loss_sum(model, ids, targets):
    at = targets >= 0
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = model.roberta(input_ids=ids).last_hidden_state
        logits = model.lm_head(hidden[at])
    loss = torch.nn.functional.cross_entropy(logits.float(), targets[at], reduction="sum")
    return loss, int(at.sum())


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    corpora.add_data_argument(cli)
    cli.add_argument("--work", type=Path, required=True)
    cli.add_argument("--steps", type=int)
    cli.add_argument("--decay-from", type=int)
    cli.add_argument("--seconds", type=float)
    cli.add_argument("--one-piece", type=float, default=1 / 3)
    cli.add_argument("--start-from", type=Path, help="checkpoint whose weights to start from")
    cli.add_argument("--threads", type=int, default=2)
    args = cli.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(20 if args.start_from is None else 21)
    texts = Texts(
        corpora.load(args.data),
        infill_text.Encoder(args.work / "infill" / "tokenizer.json"),
        seed=20 if args.start_from is None else 21,
        one_piece=args.one_piece,
    )
    print({n: (len(t), sum(len(p) for w in t for p, _ in w)) for n, t in texts.corpora.items()}, flush=True)
    model = RobertaForMaskedLM(config()).train()
    model.roberta.embeddings.dropout.p = 0.1
    stages = []
    if args.start_from is not None:
        first = torch.load(args.start_from, map_location="cpu", weights_only=True)
        model.load_state_dict(first["model"])
        stages = first["stages"]
    print("parameters", sum(p.numel() for p in model.parameters()), flush=True)
    decay = [p for p in model.parameters() if p.dim() > 1]
    plain = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.03}, {"params": plain, "weight_decay": 0.0}],
        lr=PEAK, betas=(0.9, 0.98), eps=1e-6,
    )
    stream = texts.batches()
    start = saved = time.time()
    log, run_loss, run_count, tokens = [], 0.0, 0, 0
    steps, decay_from, step = args.steps, args.decay_from, 0
    while steps is None or step < steps:
        step += 1
        seconds = time.time() - start
        if steps is None and seconds > FALL_AT * args.seconds:
            decay_from = step
            steps = step + max(1, int(step * (args.seconds - seconds) / seconds))
            print("the rate falls from step %d to step %d" % (decay_from, steps), flush=True)
        rate = min(1.0, step / (WARMUP if args.start_from is None else WARMUP // 3))
        if decay_from is not None and step > decay_from:
            rate = max(0.002, (steps - step) / (steps - decay_from))
        for group in optimizer.param_groups:
            group["lr"] = PEAK * rate
        micro = [next(stream) for _ in range(MICRO)]
        total = sum(int((t >= 0).sum()) for _, t in micro)
        for ids, targets in micro:
            loss, count = loss_sum(model, ids, targets)
            (loss / total).backward()
            run_loss += float(loss.detach())
            run_count += count
            tokens += ids.numel()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 100 == 0:
            seconds = time.time() - start
            log.append((step, run_loss / run_count, tokens, seconds))
            print("step %d loss %.4f tokens %d seconds %.0f (%.0f tokens/s)"
                  % (*log[-1], tokens / seconds), flush=True)
            run_loss, run_count = 0.0, 0
        if time.time() - saved > 180 or step == steps:
            saved = time.time()
            stage = {"step": step, "steps": steps, "decay_from": decay_from, "tokens": tokens,
                     "seconds": saved - start, "one_piece": args.one_piece,
                     "loss": log[-1][1] if log else None}
            state = {"model": model.state_dict(), "stages": [*stages, stage]}
            part = args.work / "infill" / "checkpoint.part"
            torch.save(state, part)
            part.replace(args.work / "infill" / "checkpoint.pt")
    seconds = time.time() - start
    print("done: %d steps, %d tokens, %.0f s, %.0f tokens/s" % (step, tokens, seconds, tokens / seconds))


if __name__ == "__main__":
    main()
