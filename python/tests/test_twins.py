"""The same mechanism as a callable, as a program and by name gives the same table."""

from __future__ import annotations

import math
import os
import random
import sys
from pathlib import Path

import pytest
import teda_audit
from test_audit import timeless

PROGRAM = '''
import json, math, random, sys
WORDS = ["yes", "no"]
for line in sys.stdin:
    query = json.loads(line)
    keep = 1 / (1 + math.exp(-query["epsilon"]))
    other = WORDS[1 - WORDS.index(query["text"])]
    kept = random.Random(query["seed"]).random() < keep
    print(json.dumps({"id": query["id"], "text": query["text"] if kept else other}), flush=True)
'''


def test_a_callable_gives_the_table_of_the_program_that_does_the_same(tmp_path: Path) -> None:
    program = tmp_path / "response.py"
    program.write_text(PROGRAM)
    command = f"exec:{sys.executable} {program}"

    def respond(epsilon: float):
        keep = 1 / (1 + math.exp(-epsilon))

        def rewrite(texts: list[str], seeds: list[int]) -> list[str]:
            other = {"yes": "no", "no": "yes"}
            return [t if random.Random(s).random() < keep else other[t] for t, s in zip(texts, seeds)]

        return rewrite

    options = {
        "texts": ["yes", "no"], "epsilon": [0.5, 2], "claim": teda_audit.Claim(), "lambda_": 0, "trials": 2000,
        "attacks": ["overlap", "learned"], "progress": False,
    }
    called = teda_audit.audit(respond, name=command, **options)
    (tmp_path / "texts").write_text("yes\nno\n")
    run = teda_audit.audit(command, **options)
    assert timeless(called) == timeless(run)
    assert called.table.splitlines()[1:] == run.table.splitlines()[1:]


def chacha8(seed: int) -> float:
    """The first number of [0, 1) that Rust's `ChaCha8Rng::seed_from_u64(seed)` draws."""
    mask, state, key = 2**32 - 1, seed, []
    for _ in range(8):
        state = (state * 6364136223846793005 + 11634580027462260723) % 2**64
        mixed, turn = (((state >> 18) ^ state) >> 27) & mask, state >> 59
        key.append((mixed >> turn | mixed << (-turn & 31)) & mask)
    begin = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *key, 0, 0, 0, 0]
    x = list(begin)

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for to, by, of, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[to] = (x[to] + x[by]) & mask
            mixed = x[of] ^ x[to]
            x[of] = (mixed << turn | mixed >> (32 - turn)) & mask

    for _ in range(4):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    low, high = ((x[i] + begin[i]) & mask for i in range(2))
    return ((high << 32 | low) >> 11) / 2**53


@pytest.mark.skipif("TEDA_EXAMPLES" not in os.environ, reason="TEDA_EXAMPLES names no folder with the Rust examples")
def test_a_callable_gives_the_table_of_its_twin_in_rust(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.write_text("yes\nno\n")
    command = f"exec:{os.environ['TEDA_EXAMPLES']}/randomised_response {texts}"

    def respond(epsilon: float):
        keep = math.exp(epsilon) / (math.exp(epsilon) + 1)
        other = {"yes": "no", "no": "yes"}
        return lambda texts, seeds: [t if chacha8(s) < keep else other[t] for t, s in zip(texts, seeds)]

    options = {
        "texts": ["yes", "no"], "epsilon": [0.5, 2], "claim": teda_audit.Claim(), "lambda_": 0, "trials": 5000,
        "attacks": "overlap", "progress": False,
    }
    called, run = teda_audit.audit(respond, name=command, **options), teda_audit.audit(command, **options)
    assert timeless(called) == timeless(run)
    assert called.verdict == "consistent" and called.cells[1].bound > 1.5
