"""From what a caller hands over to the parts of a mechanism."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Protocol, Union

from ._claim import Claim
from ._errors import UsageError

Rewrite = Callable[[list[str], list[int]], Sequence[Optional[str]]]


class Mechanism(Protocol):
    """An object that can be audited. Beside ``rewrite`` it may have, if it knows them:

    * ``guarantee``: a :class:`Claim`, a number (ε), or a method that returns one;
    * ``log_likelihood(releases, texts)``: ln P(release | text) of each pair, exactly;
    * ``units(text)``: the number of tokens or triples on which one ε is spent;
    * ``name``: its name in results.
    """

    def rewrite(self, texts: list[str], seeds: list[int]) -> Sequence[Optional[str]]:
        """One release for each text, in order; ``None`` where there is none. All coins come from the seeds."""


AnyMechanism = Union[str, Sequence[str], Rewrite, Mechanism, Callable[[float], Any]]


@dataclass
class Parts:
    """The parts of a mechanism as the native half takes them."""

    rewrite: Any
    log_likelihood: Any
    units: Any
    guarantee: Optional[tuple[float, float, str, str]]


def is_factory(mechanism: Any) -> bool:
    """Whether it makes a mechanism at an ε: a callable whose one required argument is named ``epsilon``."""
    return required(mechanism) == ["epsilon"]


def required(mechanism: Any) -> Optional[list[str]]:
    """The arguments that it must be called with; None if it is no callable that could make a mechanism."""
    if not callable(mechanism) or hasattr(mechanism, "rewrite") and not inspect.isclass(mechanism):
        return None
    try:
        parameters = inspect.signature(mechanism).parameters.values()
    except (TypeError, ValueError):
        return None
    return [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def name_of(mechanism: Any) -> str:
    """Its name in results."""
    for name in (getattr(mechanism, "name", None), getattr(mechanism, "__name__", None), type(mechanism).__name__):
        if isinstance(name, str) and name and name != "<lambda>":
            return name
    return "own"


def parts_of(mechanism: Any, epsilon: Optional[float], claim: Optional[Claim]) -> Parts:
    """The parts of a mechanism at a nominal ε. A claim that is given outweighs its own."""
    rewrite = getattr(mechanism, "rewrite", None)
    if rewrite is None and hasattr(mechanism, "anonymize_batch"):
        anonymize = mechanism.anonymize_batch
        rewrite = lambda texts, seeds: list(anonymize(texts))  # noqa: E731
    if rewrite is None:
        rewrite = mechanism
    if not callable(rewrite):
        raise TypeError(
            f"a mechanism is a name, a callable rewrite(texts, seeds), or an object with rewrite; this is a {type(mechanism).__name__}"
        )
    own = getattr(mechanism, "guarantee", None)
    promised = claim if claim is not None else as_claim(own() if callable(own) else own)
    return Parts(
        rewrite=rewrite,
        log_likelihood=getattr(mechanism, "log_likelihood", None),
        units=getattr(mechanism, "units", None),
        guarantee=None if promised is None else promised._at(epsilon),
    )


def as_claim(claim: Any) -> Optional[Claim]:
    """A claim as a caller may write it: nothing, an ε, or a :class:`Claim`."""
    if claim is None or isinstance(claim, Claim):
        return claim
    if isinstance(claim, (int, float)) and not isinstance(claim, bool):
        return Claim(epsilon=float(claim))
    raise UsageError(f"claim = {claim!r}: it is a number (ε) or a teda_audit.Claim")
