"""Export the infilling model's checkpoint with Hugging Face tensor names.

Inputs : WORK/infill/{checkpoint.pt,tokenizer.json}.
Outputs: OUT/model.safetensors (f16; no copy of the tied decoder),
         OUT/config.json, OUT/tokenizer.json (minified) and
         WORK/infill/training.json (steps, tokens, seconds: for the card).
Command: python infill_export.py --work WORK --out OUT
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import save_file

import infill_text
from infill_train import MICRO, MICRO_TOKENS, PEAK, config


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cli.add_argument("--work", type=Path, required=True)
    cli.add_argument("--out", type=Path, required=True)
    args = cli.parse_args()
    source = args.work / "infill"
    state = torch.load(source / "checkpoint.pt", map_location="cpu", weights_only=True)
    tensors = {
        name: tensor.half().contiguous()
        for name, tensor in state["model"].items()
        if not name.startswith("lm_head.decoder") and "position_ids" not in name
    }
    assert all(torch.isfinite(t).all() for t in tensors.values())
    args.out.mkdir(parents=True, exist_ok=True)
    save_file(tensors, str(args.out / "model.safetensors"), metadata={"format": "pt"})

    c = config()
    fields = {
        "architectures": ["RobertaForMaskedLM"],
        "model_type": "roberta",
        "vocab_size": c.vocab_size,
        "hidden_size": c.hidden_size,
        "num_hidden_layers": c.num_hidden_layers,
        "num_attention_heads": c.num_attention_heads,
        "intermediate_size": c.intermediate_size,
        "hidden_act": c.hidden_act,
        "max_position_embeddings": c.max_position_embeddings,
        "type_vocab_size": c.type_vocab_size,
        "layer_norm_eps": c.layer_norm_eps,
        "tie_word_embeddings": True,
        "position_embedding_type": "absolute",
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.0,
        "initializer_range": 0.02,
        "bos_token_id": infill_text.BOS,
        "pad_token_id": infill_text.PAD,
        "eos_token_id": infill_text.EOS,
        "unk_token_id": infill_text.UNK,
        "mask_token_id": infill_text.MASK,
        "torch_dtype": "float16",
    }
    (args.out / "config.json").write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["padding"] = tokenizer["truncation"] = None
    (args.out / "tokenizer.json").write_text(
        json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")), encoding="utf-8"
    )
    facts = {"stages": state["stages"], "peak": PEAK, "batch_tokens": MICRO * MICRO_TOKENS}
    (source / "training.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")
    print(facts, {p.name: p.stat().st_size for p in sorted(args.out.iterdir())})


if __name__ == "__main__":
    main()
