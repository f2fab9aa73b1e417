"""Measure the exported autoencoder on held-out texts and write its card.

Inputs : OUT (exported model), OUT/../infill/tokenizer.json, WORK/adept/log.jsonl, the held-out texts.
Outputs: OUT/CARD.md. Ends with status 1 where less than 80 % of the pieces of held-out SNIPS are repeated: such a model
         must not ship.
Command: python adept_card.py --data DIR --work WORK --out OUT
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

import corpora
from adept_train import END, Autoencoder, batch, repeated, rows

NAMES = ("snips", "questions", "novels")
MOST_TEXTS = 600
GATE = 0.80


def load(folder: Path) -> tuple[Autoencoder, dict]:
    """The exported f16 file, computed in f32, and its configuration."""
    config = json.loads((folder / "config.json").read_text())
    model = Autoencoder(config["vocab_size"], config["embedding_size"], config["hidden_size"])
    model.load_state_dict({n: t.float() for n, t in load_file(str(folder / "model.safetensors")).items()})
    return model.eval(), config


def written(made: list[int]) -> list[int]:
    return made[: made.index(END)] if END in made else made


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    corpora.add_data_argument(cli)
    cli.add_argument("--work", type=Path, required=True)
    cli.add_argument("--out", type=Path, required=True)
    options = cli.parse_args()
    model, config = load(options.out)
    tokenizer = Tokenizer.from_file(str(options.out.parent / "infill" / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    data, rng = corpora.load(options.data), torch.Generator().manual_seed(63)
    table, lines, snips = [], [], 0.0
    for name, examples in zip(NAMES, (8, 4, 4), strict=True):
        texts = data[name]["test"]
        order = torch.randperm(len(texts), generator=rng)[:MOST_TEXTS].tolist()
        texts = [texts[i] for i in order]
        tokens = rows(tokenizer, texts)
        share = repeated(model, tokens)
        model.eval()
        asked, read, lengths = batch(tokens)
        with torch.no_grad():
            packed = torch.nn.utils.rnn.pack_padded_sequence(
                model.embeddings(read), lengths, batch_first=True, enforce_sorted=False
            )
            _, (h, c) = model.encoder(packed)
            norm = float(torch.cat([h[0], c[0]], dim=1).norm(dim=1).mean())
            made = [written(row) for row in model.greedy(model.latent(read, lengths)).tolist()]
        copies = sum(m == row[:-1] for m, row in zip(made, tokens, strict=True))
        table.append(f"| {name} | {len(texts)} | {100 * share:.1f} % | {100 * copies / len(texts):.1f} % | {norm:.2f} |")
        print(table[-1], flush=True)
        if name == "snips":
            snips = share
        for text, m in list(zip(texts, made, strict=True))[:examples]:
            lines += [f"- {text}", f"  - {tokenizer.decode(m).strip()}"]
    last = json.loads((options.work / "adept" / "log.jsonl").read_text().splitlines()[-1])
    template = (Path(__file__).parent / "adept_card.md").read_text(encoding="utf-8")
    card = template.format(
        parameters=sum(p.numel() for p in model.parameters()), hidden=config["hidden_size"],
        embedding=config["embedding_size"], latent=2 * config["hidden_size"],
        model_bytes=(options.out / "model.safetensors").stat().st_size,
        config_bytes=(options.out / "config.json").stat().st_size,
        steps=last["steps"], minutes=last["minutes"], loss=last["loss"], gate=f"{100 * GATE:.0f}", most=MOST_TEXTS,
        table="\n".join(table), examples="\n".join(lines).replace("<", "&lt;"),
    )
    (options.out / "CARD.md").write_text(card, encoding="utf-8")
    if snips < GATE:
        raise SystemExit(f"{snips:.4f} of the pieces of held-out SNIPS are repeated, less than {GATE}: do not ship")


if __name__ == "__main__":
    main()
