"""Export the autoencoder's checkpoint.

Inputs : WORK/adept/{checkpoint.pt,log.jsonl}.
Outputs: OUT/model.safetensors (f16, PyTorch's tensor names) and OUT/config.json. Its tokenizer is the infilling model's.
Command: python adept_export.py --work WORK --out OUT
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from adept_train import BEGIN, END, LENGTH, PAD


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    state = torch.load(options.work / "adept" / "checkpoint.pt", weights_only=True)["model"]
    tensors = {name: tensor.half().contiguous() for name, tensor in state.items()}
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values())
    options.out.mkdir(parents=True, exist_ok=True)
    save_file(tensors, str(options.out / "model.safetensors"), metadata={"format": "pt"})
    vocabulary, embedding = state["embeddings.weight"].shape
    config = {
        "model_type": "lstm-autoencoder", "vocab_size": vocabulary, "embedding_size": embedding,
        "hidden_size": state["encoder.weight_hh_l0"].shape[1], "max_length": LENGTH, "reads_backwards": True,
        "bos_token_id": BEGIN, "pad_token_id": PAD, "eos_token_id": END,
    }
    (options.out / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    print(config, {path.name: path.stat().st_size for path in sorted(options.out.iterdir())})


if __name__ == "__main__":
    main()
