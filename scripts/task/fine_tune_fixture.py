"""Write tiny random classifiers and what transformers and PyTorch make of them in two steps of training.

Inputs : none; every number comes from the fixed seeds below.
Outputs: one directory FIX/<shape>/ each for BERT, RoBERTa, DeBERTa-v3 and a DeBERTa-v2 with everything that -v3 leaves
         out: config.json and model.safetensors (f16) as transformers saves them; batch.json (token ids, classes, and
         the loss of each step); expected.safetensors (f32): gradient.NAME of the first step, and after.NAME, the
         parameters after the second. Gradients are cut to a norm of 1, the optimiser is torch.optim.AdamW without
         weight decay, the rate falls to 0 in a straight line, and nothing is dropped: `Trainer`'s defaults but for the
         rate and the dropout.
         FIX/buckets.json: make_log_bucket_position of DeBERTa-v3-base for the distances -511 ... 511.
Command: python fine_tune_fixture.py --out models/tests/fixtures/fine-tune
"""

import argparse
import json
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

CLASSES = 3
STEPS = 2
RATE = 1e-2
NORM = 1.0
PAD = 1
LENGTHS = [14, 9, 3, 12, 2]
# So wide that a term that is left out, or a wrong constant, changes the loss by more than rounding does.
DEVIATION = 0.25
SHAPE = {
    "vocab_size": 128, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 28,
    "max_position_embeddings": 24, "layer_norm_eps": 1e-3, "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0, "pad_token_id": PAD, "bos_token_id": 0, "eos_token_id": 2,
    "initializer_range": DEVIATION, "num_labels": CLASSES,
}
DEBERTA = {**SHAPE, "relative_attention": True, "pooler_hidden_size": 16, "pooler_dropout": 0.0}
SHAPES = {
    "bert": ("Bert", {**SHAPE, "type_vocab_size": 2}),
    "roberta": ("Roberta", {**SHAPE, "type_vocab_size": 1, "hidden_act": "relu"}),
    "deberta-v3": ("DebertaV2", {
        **DEBERTA, "type_vocab_size": 0, "position_biased_input": False, "pos_att_type": ["p2c", "c2p"],
        "position_buckets": 8, "share_att_key": True, "norm_rel_ebd": "layer_norm", "max_relative_positions": -1,
    }),
    "deberta-v2": ("DebertaV2", {
        **DEBERTA, "type_vocab_size": 2, "position_biased_input": True, "pos_att_type": "c2p|p2c",
        "share_att_key": False, "max_relative_positions": 9, "pooler_hidden_act": "silu",
    }),
}


def batch(generator):
    longest = max(LENGTHS)
    rows = torch.full((len(LENGTHS), longest), PAD)
    for row, length in zip(rows, LENGTHS):
        row[:length] = torch.randint(5, SHAPE["vocab_size"], (length,), generator=generator)
        row[0], row[length - 1] = 0, 2
    mask = torch.arange(longest)[None, :] < torch.tensor(LENGTHS)[:, None]
    classes = torch.randint(0, CLASSES, (len(LENGTHS),), generator=generator)
    return rows, mask.long(), classes


def write(folder, kind, settings):
    torch.manual_seed(20)
    config = getattr(transformers, f"{kind}Config")(**settings)
    model = getattr(transformers, f"{kind}ForSequenceClassification")(config)
    for name, parameter in model.named_parameters():
        # Biases and the weights of norms, which begin as 0 and 1, too.
        if parameter.dim() == 1:
            parameter.data += 0.1 * torch.randn_like(parameter)
        parameter.data = parameter.data.half().float()
    model.half().save_pretrained(folder)
    model = model.float().train()

    rows, mask, classes = batch(torch.Generator().manual_seed(42))
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    schedule = transformers.get_linear_schedule_with_warmup(optimiser, 0, STEPS)
    arrays, losses = {}, []
    for step in range(STEPS):
        loss = model(input_ids=rows, attention_mask=mask, labels=classes).loss
        loss.backward()
        losses.append(loss.item())
        for name, parameter in model.named_parameters():
            if step == 0:
                arrays[f"gradient.{name}"] = parameter.grad.clone()
        torch.nn.utils.clip_grad_norm_(model.parameters(), NORM)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
    for name, parameter in model.named_parameters():
        arrays[f"after.{name}"] = parameter.data.clone()
    save_file(arrays, folder / "expected.safetensors")
    expected = {
        "note": __doc__.splitlines()[0], "transformers": transformers.__version__, "torch": torch.__version__,
        "rate": RATE, "classes": classes.tolist(), "losses": losses,
        "rows": [row[:length].tolist() for row, length in zip(rows, LENGTHS)],
    }
    (folder / "batch.json").write_text(json.dumps(expected) + "\n")
    assert load_file(folder / "model.safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    for name, (kind, settings) in SHAPES.items():
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        write(folder, kind, settings)
    distances = torch.arange(-511, 512)
    buckets = make_log_bucket_position(distances, 256, 512).long().tolist()
    (out / "buckets.json").write_text(json.dumps(buckets) + "\n")


if __name__ == "__main__":
    main()
