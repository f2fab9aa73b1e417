"""Speed of sentence embedding with onnxruntime on the CPU in f32.

Inputs : a model directory (all-MiniLM-L6-v2), a file of one text a line, and a file for the exported model.
Outputs: a JSON line for every batch size, with the exporter's operators and with onnxruntime's fused ones, the best of the repeats each.
Command: python onnxruntime_speed.py MODEL FILE ONNX [--texts 2000] [--batches 8,16,32,64] [--repeats 3]

The model is exported once by torch with free sizes of batch and text. What is timed is what sentence-transformers does:
texts sorted by length, cut into tokens, padded within a batch, averaged over their tokens and normalised. Fails where a
vector is not that of torch.
"""

import argparse
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np


def export(model: str, path: Path) -> None:
    import torch
    from transformers import AutoModel

    class States(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = AutoModel.from_pretrained(model, attn_implementation="eager")

        def forward(self, ids, mask, types):
            return self.network(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state

    ids = torch.ones((2, 7), dtype=torch.int64)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    free = {name: {0: "rows", 1: "tokens"} for name in [*names, "states"]}
    torch.onnx.export(
        States().eval(), (ids, ids, torch.zeros_like(ids)), str(path), input_names=names, output_names=["states"],
        dynamic_axes=free, opset_version=17, dynamo=False,
    )
    # Its own fusions for this kind of model: attention, GELU, norms.
    from onnxruntime.transformers import optimizer

    shape = network_shape(model)
    fused = optimizer.optimize_model(str(path), model_type="bert", num_heads=shape[0], hidden_size=shape[1])
    fused.save_model_to_file(str(fused_path(path)))
    print(f"fused: {fused.get_fused_operator_statistics()}", file=sys.stderr)


def fused_path(path: Path) -> Path:
    return path.with_suffix(".fused.onnx")


def network_shape(model: str) -> tuple[int, int]:
    config = json.loads((Path(model) / "config.json").read_text())
    return config["num_attention_heads"], config["hidden_size"]


def vectors(session, tokenizer, texts: list[str], batch: int) -> np.ndarray:
    made = []
    for first in range(0, len(texts), batch):
        read = tokenizer(texts[first : first + batch], padding=True, truncation=True, max_length=256, return_tensors="np")
        mask = read["attention_mask"].astype(np.int64)
        feed = {"input_ids": read["input_ids"].astype(np.int64), "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
        states = session.run(None, feed)[0]
        sums = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        made.append(sums / np.linalg.norm(sums, axis=1, keepdims=True))
    return np.concatenate(made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("file", type=Path)
    parser.add_argument("onnx", type=Path)
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--batches", default="8,16,32,64")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    if not given.onnx.exists():
        export(given.model, given.onnx)

    import onnxruntime
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(given.model)
    texts = sorted(given.file.read_text(encoding="utf-8").splitlines()[: given.texts], key=len)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = given.threads
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL

    import torch

    few = texts[:: max(1, len(texts) // 16)]
    with torch.no_grad():
        read = tokenizer(few, padding=True, truncation=True, max_length=256, return_tensors="pt")
        states = AutoModel.from_pretrained(given.model).eval()(**read).last_hidden_state
        mask = read["attention_mask"][:, :, None]
        expected = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=1).numpy()
    for path in [given.onnx, fused_path(given.onnx)]:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        if abs(vectors(session, tokenizer, few, len(few)) - expected).max() > 1e-4:
            raise SystemExit(f"{path}: its vectors are not torch's")
        for batch in [int(part) for part in given.batches.split(",")]:
            best = float("inf")
            for run in range(given.repeats + 1):
                start = time.perf_counter()
                vectors(session, tokenizer, texts, batch)
                if run > 0:
                    best = min(best, time.perf_counter() - start)
            row = {
                "what": "onnxruntime", "versions": {"onnxruntime": version("onnxruntime")}, "processes": 1,
                "threads": given.threads, "batch": batch, "fused": path != given.onnx,
                "sentences_per_second": len(texts) / best,
            }
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
