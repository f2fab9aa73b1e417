"""What a mechanism claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Claim:
    """An (ε, δ) that a mechanism promises between any two neighbours.

    Args:
        epsilon: ε, natural logarithm; the nominal one of the audit when left out.
        delta: δ, from 0 to below 1.
        neighbours: ``any-texts`` (local differential privacy), or ``one-token`` for a promise about two texts of the
            same number of tokens that differ in one.
        unit: what one ε is spent on: ``text``, or ``token`` or ``triple`` for an object that counts them (``units``).

    >>> Claim(epsilon=2).delta
    0.0
    """

    epsilon: Optional[float] = None
    delta: float = 0.0
    neighbours: str = "any-texts"
    unit: str = "text"

    def _at(self, nominal: Optional[float]) -> tuple[float, float, str, str]:
        epsilon = nominal if self.epsilon is None else self.epsilon
        if epsilon is None:
            raise ValueError("the claim has no epsilon, and the audit no nominal one: say Claim(epsilon=…)")
        return float(epsilon), float(self.delta), self.unit, self.neighbours

    def _written(self) -> str:
        epsilon = [] if self.epsilon is None else [f"epsilon={self.epsilon!r}"]
        rest = [f"delta={self.delta!r}", f"neighbours={self.neighbours}", f"unit={self.unit}"]
        return ",".join(epsilon + rest)
