"""Export the rewriting model's checkpoint with Hugging Face tensor names.

Inputs : WORK/rewriter/checkpoint.pt.
Outputs: OUT/model.safetensors (f16; tied vectors once), OUT/config.json and
         WORK/rewriter/training.json (steps, tokens, seconds: for the card). Its
         tokenizer is the infilling model's.
Command: python rewriter_export.py --work WORK --out OUT
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from rewriter_train import BATCH_TOKENS, MIX, config

FIELDS = (
    "vocab_size", "d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads",
    "decoder_attention_heads", "encoder_ffn_dim", "decoder_ffn_dim", "activation_function",
    "max_position_embeddings", "scale_embedding", "bos_token_id", "pad_token_id", "eos_token_id",
    "decoder_start_token_id",
)
TIED = ("lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cli.add_argument("--work", type=Path, required=True)
    cli.add_argument("--out", type=Path, required=True)
    args = cli.parse_args()
    state = torch.load(args.work / "rewriter" / "checkpoint.pt", map_location="cpu", weights_only=True)
    tensors = {
        name: tensor.half().contiguous()
        for name, tensor in state["model"].items()
        if name not in TIED and name != "final_logits_bias"
    }
    assert all(torch.isfinite(t).all() for t in tensors.values())
    args.out.mkdir(parents=True, exist_ok=True)
    save_file(tensors, str(args.out / "model.safetensors"), metadata={"format": "pt"})
    c = config()
    fields = {"architectures": ["BartForConditionalGeneration"], "model_type": "bart"}
    fields |= {name: getattr(c, name) for name in FIELDS}
    fields |= {"tie_word_embeddings": True, "torch_dtype": "float16"}
    (args.out / "config.json").write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")
    facts = {"stages": state["stages"], "batch_tokens": BATCH_TOKENS, "mix": MIX}
    (args.work / "rewriter" / "training.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")
    print(facts, {p.name: p.stat().st_size for p in sorted(args.out.iterdir())})


if __name__ == "__main__":
    main()
