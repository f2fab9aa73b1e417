"""Rewrite texts with the exported infilling model: mask words, sample fillings.

The same steps as the tool's inference: pick round(rate * n), at least one, of
the n maskable units (see infill_text.py) at random; each becomes one <mask>; all
masks are filled in one pass from softmax(logits / temperature) over the pieces
that are whole words of letters and digits; everything else is copied verbatim.

Inputs : an exported model folder; texts on standard input, one a line.
Outputs: rewrites on standard output (also a library for the card).
Command: python infill_rewrite.py --model OUT [--rate 0.3] < texts
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import RobertaForMaskedLM

import infill_text

LONGEST = 128


def load(folder: Path):
    """The f16 weights of the export, computed in f32."""
    model = RobertaForMaskedLM.from_pretrained(folder, dtype=torch.float32).eval()
    return model, infill_text.Encoder(folder / "tokenizer.json")


class Rewriter:
    def __init__(self, folder: Path, rate=0.3, temperature=0.75, seed=40):
        self.model, self.encoder = load(folder)
        self.rate, self.temperature = rate, temperature
        self.random = np.random.default_rng(seed)
        self.allowed = torch.tensor(self.encoder.whole_words())
        self.words = [self.encoder.tokenizer.decode([int(i)]).strip() for i in self.allowed]

    def mask(self, words) -> set[int]:
        able = [i for i, (_, first) in enumerate(words) if first]
        count = max(1, round(self.rate * len(able)))
        return set(self.random.choice(able, min(count, len(able)), replace=False).tolist()) if able else set()

    def fill(self, texts: list[str], masked: list[set[int]]) -> list[str]:
        """One rewrite of each text, given the indices of its masked words."""
        encoded = [self.encoder.text(t) for t in texts]
        ids = [self.encoder.ids(w, m) for w, m in zip(encoded, masked)]
        groups = {}
        for i, row in enumerate(ids):
            groups.setdefault(len(row), []).append(i)
        out = list(texts)
        for length, rows in groups.items():
            assert length <= LONGEST
            for start in range(0, len(rows), 64):
                part = rows[start : start + 64]
                tokens = torch.tensor([ids[i] for i in part])
                at = tokens == infill_text.MASK
                if not at.any():
                    continue
                with torch.inference_mode():
                    hidden = self.model.roberta(input_ids=tokens).last_hidden_state[at]
                    logits = self.model.lm_head(hidden)[:, self.allowed] / self.temperature
                    chance = logits.double().softmax(-1).numpy()
                where = at.nonzero()[:, 0].tolist()
                drawn = {}
                for k, row in enumerate(where):
                    pick = self.random.choice(len(self.words), p=chance[k] / chance[k].sum())
                    drawn.setdefault(row, []).append(self.words[pick])
                for k, i in enumerate(part):
                    out[i] = substitute(texts[i], masked[i], drawn.get(k, []))
        return out


def substitute(text: str, masked: set[int], fillings: list[str] | None) -> str:
    """Replace the maskable units of the masked words; None deletes them."""
    out, fillings = [], iter(fillings) if fillings is not None else None
    for i, word in enumerate(text.split()):
        if i in masked:
            rest = word[infill_text.UNIT.match(word).end() :]
            word = (next(fillings) if fillings is not None else "") + rest
        if word:
            out.append(word)
    return " ".join(out)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cli.add_argument("--model", type=Path, required=True)
    cli.add_argument("--rate", type=float, default=0.3)
    args = cli.parse_args()
    rewriter = Rewriter(args.model, rate=args.rate)
    texts = [line.strip() for line in sys.stdin if line.strip()]
    for text in rewriter.fill(texts, [rewriter.mask(rewriter.encoder.text(t)) for t in texts]):
        print(text)


if __name__ == "__main__":
    main()
