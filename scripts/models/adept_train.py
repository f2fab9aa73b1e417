"""Train the small LSTM autoencoder of `adept`, as ADePT's: clipped latents, no noise.

Inputs : the train texts of the corpora (see corpora.py), the infilling model's tokenizer (models/builtin/infill/tokenizer.json).
Outputs: WORK/adept/checkpoint.pt (every ten minutes; training goes on from it), and lines of WORK/adept/log.jsonl.
Command: python adept_train.py --work WORK --minutes 85

The model. Token vectors, a one-layer LSTM that reads a text of at most 20 tokens, its last state (h, c) clipped to an
l2 norm of 5, a one-layer LSTM that starts from it and writes, a layer from its state to a token vector, and the token
vectors again as the output layer (Krishna et al. 2021; sizes are those given here). The text is read backwards, from its
end to its first token: what is written first was then read last, and is learned sooner (Sutskever et al. 2014).

Training. Cross-entropy with the true tokens before, of which some are replaced by <unk>, so that the decoder has to read the
latent. Half of a batch is SNIPS, the rest MedQuAD questions and novels, and texts of the same words in random order: an
autoencoder has to repeat what it reads, likely or not. Held-out texts are scored by the share of tokens that greedy
decoding repeats at their place.
"""

import argparse
import json
import math
import random
import time
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import nn

import corpora

REPO = corpora.REPO
LENGTH = 20
CLIP = 5.0
BEGIN, PAD, END, UNKNOWN = 0, 1, 2, 3


class Autoencoder(nn.Module):
    def __init__(self, vocabulary, embedding, hidden):
        super().__init__()
        self.embeddings = nn.Embedding(vocabulary, embedding, padding_idx=PAD)
        self.encoder = nn.LSTM(embedding, hidden, batch_first=True)
        self.decoder = nn.LSTM(embedding, hidden, batch_first=True)
        self.dense = nn.Linear(hidden, embedding)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def latent(self, tokens, lengths):
        """Clipped (h, c) of rows that are read as they stand: see `batch`."""
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embeddings(tokens), lengths, batch_first=True, enforce_sorted=False
        )
        _, (h, c) = self.encoder(packed)
        latent = torch.cat([h[0], c[0]], dim=1)
        norm = latent.norm(dim=1, keepdim=True)
        return latent * (CLIP / norm.clamp(min=CLIP))

    def logits(self, states):
        return nn.functional.linear(torch.tanh(self.dense(states)), self.embeddings.weight, self.bias)

    def forced(self, latent, before):
        h, c = latent.chunk(2, dim=1)
        states, _ = self.decoder(self.embeddings(before), (h[None].contiguous(), c[None].contiguous()))
        return self.logits(states)

    @torch.no_grad()
    def greedy(self, latent):
        h, c = (part[None].contiguous() for part in latent.chunk(2, dim=1))
        token = torch.full((len(latent), 1), BEGIN)
        made = []
        for _ in range(LENGTH):
            state, (h, c) = self.decoder(self.embeddings(token), (h, c))
            token = self.logits(state).argmax(dim=2)
            made.append(token)
        return torch.cat(made, dim=1)


def rows(tokenizer, texts):
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    return [(e.ids[: LENGTH - 1]) + [END] for e in encoded if e.ids]


def batch(rows):
    """The rows as they are written, as they are read (backwards), and their lengths."""
    lengths = torch.tensor([len(row) for row in rows])
    written = torch.full((len(rows), int(lengths.max())), PAD)
    read = written.clone()
    for i, row in enumerate(rows):
        written[i, : len(row)] = torch.tensor(row)
        read[i, : len(row)] = torch.tensor(row[::-1])
    return written, read, lengths


def repeated(model, rows):
    """Share of tokens that come back at their place, ends included."""
    model.eval()
    right = total = 0
    for start in range(0, len(rows), 256):
        tokens, read, lengths = batch(rows[start : start + 256])
        made = model.greedy(model.latent(read, lengths))[:, : tokens.shape[1]]
        asked = tokens != PAD
        right += int(((made == tokens) & asked).sum())
        total += int(asked.sum())
    model.train()
    return right / total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    corpora.add_data_argument(parser)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=85)
    parser.add_argument("--embedding", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=384)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    work = options.work / "adept"
    work.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.from_file(str(REPO / "models/builtin/infill/tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    data = corpora.load(options.data)
    snips = rows(tokenizer, data["snips"]["train"])
    phrases = [phrase for text in data["novels"]["train"] for phrase in corpora.sentences(text, 18)]
    others = rows(tokenizer, data["questions"]["train"] + phrases)
    held_out = rows(tokenizer, data["snips"]["test"])
    # What occurs as a piece of a text, with its frequency: for texts of pieces in random order.
    pieces = [piece for row in snips for piece in row[:-1]]

    torch.manual_seed(0)
    chance = random.Random(0)
    model = Autoencoder(tokenizer.get_vocab_size(), options.embedding, options.hidden)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate, weight_decay=1e-4)
    steps, spent = 0, 0.0
    checkpoint = work / "checkpoint.pt"
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        steps, spent = saved["steps"], saved["minutes"]
        chance.seed(steps)
        torch.manual_seed(steps)

    def save(minutes):
        saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "steps": steps, "minutes": minutes}
        torch.save(saved, work / "checkpoint.tmp")
        (work / "checkpoint.tmp").replace(checkpoint)

    started = time.monotonic()
    last = logged = started
    sum_loss, count = 0.0, 0
    while True:
        now = time.monotonic()
        minutes = spent + (now - started) / 60
        if now - last > 600 or minutes > options.minutes:
            save(minutes)
            last = now
        if now - logged > 120 or minutes > options.minutes:
            share = repeated(model, held_out)
            line = {"steps": steps, "minutes": round(minutes, 1), "loss": sum_loss / max(count, 1), "repeated": share}
            with (work / "log.jsonl").open("a") as log:
                log.write(json.dumps(line) + "\n")
            print(line, flush=True)
            logged, sum_loss, count = now, 0.0, 0
        if minutes > options.minutes:
            break
        some = chance.choices(snips, k=options.batch // 2) + chance.choices(others, k=options.batch // 4)
        for _ in range(options.batch - len(some)):
            length = chance.randint(3, LENGTH - 1)
            some.append(chance.choices(pieces, k=length) + [END])
        tokens, read, lengths = batch(some)
        before = torch.cat([torch.full((len(some), 1), BEGIN), tokens[:, :-1]], dim=1)
        hidden = (torch.rand(before.shape) < 0.3) & (before != BEGIN) & (before != PAD)
        before = before.masked_fill(hidden, UNKNOWN)
        # The rate rises for 200 steps, and falls with the time that is left.
        left = max(0.0, 1 - minutes / options.minutes)
        rate = options.rate * min(1.0, steps / 200) * (0.5 - 0.5 * math.cos(math.pi * left) + 0.02)
        for group in optimizer.param_groups:
            group["lr"] = rate
        logits = model.forced(model.latent(read, lengths), before)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        steps += 1
        sum_loss += float(loss.detach())
        count += 1


if __name__ == "__main__":
    main()
