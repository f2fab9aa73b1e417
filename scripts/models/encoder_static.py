"""Use an exported static encoder: the reference of the Rust implementation.

Vector of a text = sum of the vectors of its tokens (no special tokens; zero rows
for [UNK] and its kind), divided by its norm; the zero vector when nothing is left.

Library; writes nothing.
"""

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer


class Static:
    def __init__(self, model, tokenizer):
        tensors = load_file(str(model))
        self.table = tensors["embeddings"].astype(np.float32) * tensors["scales"][:, None]
        self.tokenizer = Tokenizer.from_file(str(tokenizer))

    def ids(self, texts: list[str]) -> list[list[int]]:
        return [e.ids for e in self.tokenizer.encode_batch(texts, add_special_tokens=False)]

    def encode(self, texts: list[str]) -> np.ndarray:
        ids = self.ids(texts)
        summed = np.zeros((len(ids), self.table.shape[1]), dtype=np.float32)
        for i, row in enumerate(ids):
            summed[i] = self.table[row].sum(0)
        norms = np.linalg.norm(summed, axis=1, keepdims=True)
        return summed / np.where(norms > 0, norms, 1)
