"""Write a tiny random LSTM autoencoder and what PyTorch makes of some texts with it.

Inputs : none; every number comes from a fixed seed. The tokenizer is that of the RoBERTa fixture beside it.
Outputs: FIX/lstm/ with config.json, tokenizer.json, model.safetensors and expected.json: for each text its latent before
         clipping, and the text that greedy decoding writes from it.
Command: python adept_fixture.py --out models/tests/fixtures
"""

import argparse
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

from adept_train import BEGIN, END, Autoencoder

TEXTS = [
    "what is the weather like in Boston?",
    "the rain started at 10:45, and she was there.",
    "in",
    "",
    "what are the others doing with the water in the garden of the old house?",
]
LENGTH = 9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    folder = out / "lstm"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(out / "roberta" / "tokenizer.json", folder / "tokenizer.json")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    torch.manual_seed(3)
    model = Autoencoder(128, 8, 12)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 1.0)
    config = {
        "model_type": "lstm-autoencoder", "vocab_size": 128, "embedding_size": 8, "hidden_size": 12,
        "max_length": LENGTH, "reads_backwards": True, "bos_token_id": BEGIN, "eos_token_id": END,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    save_file({name: weight.contiguous() for name, weight in model.state_dict().items()}, folder / "model.safetensors")
    cases = []
    for text in TEXTS:
        tokens = tokenizer.encode(text, add_special_tokens=False).ids[: LENGTH - 1] + [END]
        with torch.no_grad():
            _, (h, c) = model.encoder(model.embeddings(torch.tensor([tokens[::-1]])))
        latent = torch.cat([h[0], c[0]], dim=1)
        made = model.greedy(latent)[0].tolist()[:LENGTH]
        made = made[: made.index(END)] if END in made else made
        cases.append({"text": text, "latent": latent[0].tolist(), "made": tokenizer.decode(made).strip()})
    (folder / "expected.json").write_text(json.dumps({"cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    main()
