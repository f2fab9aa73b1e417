"""What the tests share."""

from __future__ import annotations

import hashlib

import pytest

pytest_plugins = ["pytester"]

TEXTS = ["I moved to Rome.", "My knee hurts again.", "We won the cup!", "It rained all day.", "Call me at noon."]


def coin(seed: int, share: float) -> bool:
    """A coin that follows its seed alone; cheaper than a generator."""
    digest = hashlib.blake2b(seed.to_bytes(8, "little"), digest_size=8).digest()
    return int.from_bytes(digest, "little") < share * 2**64


def leaky(texts: list[str], seeds: list[int]) -> list[str | None]:
    """Releases one text in four."""
    return [text if coin(seed, 0.25) else "nothing to see" for text, seed in zip(texts, seeds)]


@pytest.fixture
def texts() -> list[str]:
    return list(TEXTS)
