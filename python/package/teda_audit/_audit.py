"""The one call: an audit."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Optional, Union

from . import _native
from ._claim import Claim
from ._errors import UsageError
from ._mechanism import AnyMechanism, as_claim, is_factory, name_of, parts_of
from ._progress import Tell, teller
from ._result import Result

Score = Callable[[list[list[str]], list[str]], Sequence[Optional[Sequence[float]]]]
Attacks = Union[None, str, Score, Sequence[Union[str, Score]], Mapping[str, Score]]
Numbers = Union[None, float, Iterable[float]]

# Rows of a callable that are made twice, to see whether it follows its seeds.
_TWICE = 8


@dataclass
class _Request:
    """What the native half is asked; its fields are those of `Request` in src/audit.rs."""

    config: Optional[str]
    out: Path
    texts: Optional[list[str]] = None
    name: Optional[str] = None
    make: Any = None
    grid: bool = False
    attacks: list[tuple[str, Any]] = field(default_factory=list)
    encoder: Any = None
    go_on: bool = False
    batch: int = 64
    twice: int = 0
    threads: int = 0
    offline: bool = False
    memory: int = 2048
    max_requests: Optional[int] = None
    max_tokens: Optional[int] = None
    processes: Optional[int] = None
    timeout: int = 600
    max_text_bytes: Optional[int] = None
    max_input_bytes: Optional[int] = None
    progress: Optional[Tell] = None


def audit(
    mechanism: AnyMechanism,
    *,
    texts: Union[None, str, Iterable[str]] = None,
    epsilon: Numbers = None,
    claim: Union[None, float, Claim] = None,
    attacks: Attacks = None,
    encoder: Any = None,
    k: Union[int, Iterable[int]] = 2,
    trials: int = 10_000,
    alpha: float = 0.01,
    delta: Optional[float] = None,
    estimator: str = "auto",
    neighbours: str = "any-texts",
    lambda_: Union[float, Iterable[float]] = -10_000.0,
    pairs: str = "drawn",
    until: str = "trials",
    seed: int = 0,
    name: Optional[str] = None,
    parameters: Optional[Mapping[str, Any]] = None,
    preset: Optional[str] = None,
    llm: str = "builtin",
    scorer: str = "auto",
    judge: str = "auto",
    then: Optional[str] = None,
    utilities: Union[str, Sequence[str]] = (),
    split: Optional[str] = None,
    limit: Optional[int] = None,
    min_words: Optional[int] = None,
    max_words: Optional[int] = None,
    shard: Optional[tuple[int, int]] = None,
    keep: str = "rows",
    out: Union[None, str, PathLike[str]] = None,
    go_on: bool = False,
    batch: int = 64,
    twice: Optional[int] = None,
    threads: int = 0,
    offline: bool = False,
    memory: int = 2048,
    max_requests: Optional[int] = None,
    max_tokens: Optional[int] = None,
    processes: Optional[int] = None,
    timeout: int = 600,
    max_text_bytes: Optional[int] = None,
    max_input_bytes: Optional[int] = None,
    progress: Union[None, bool, Tell] = None,
) -> Result:
    """Measures an empirical ε: who can tell which of k texts was rewritten?

    Args:
        mechanism: what is audited:

            * the name of a mechanism (:func:`mechanisms`), ``exec:COMMAND`` or ``releases:FILE``, or several names;
            * a callable ``rewrite(texts: list[str], seeds: list[int]) -> list[str | None]``: one release for each
              text, in order, ``None`` where it fails; its coins come from the seeds, whole numbers below 2**53;
            * an object with such a ``rewrite`` (:class:`Mechanism`), or with ``anonymize_batch``;
            * a factory, a callable or class whose one argument is named ``epsilon``, for a grid.
        texts: the texts that candidates are drawn from: any iterable of strings (a list, a column of pandas, polars
            or datasets), or the name of a data set (:func:`datasets`) or file. ``snips`` when left out.
        epsilon: the nominal ε, or several for a name or a factory.
        claim: what a callable or a program promises: ε or a :class:`Claim`. It outweighs an object's own.
        attacks: names (:func:`attacks`) and callables ``score(candidates: list[list[str]], releases: list[str]) ->
            list[list[float] | None]``, which give each candidate a score; or a mapping of names to callables.
            Those that fit when left out.
        encoder: a sentence encoder: a name, a callable ``encode(texts) -> vectors``, or an object with such an
            ``encode``.
        k: candidates a trial.
        trials: trials a cell.
        alpha: two-sided level; a bound exceeds the truth with probability alpha / 2 at most.
        out: the directory of the run, which must be new or empty. When left out it is a temporary one, which lives as
            long as the result; after an exception it stays, and a note of the exception says where.
        go_on: begin the run in ``out``, go on with it if it was stopped, open it if it is complete.
        batch: trials that a callable is handed at once.
        twice: trials that are made twice, to see whether a callable follows its seeds; 8 for a callable.
        threads: threads, all cores for 0. A callable is called by one thread at a time, in order.
        progress: whether to show a bar; where somebody watches when left out. Or a callable of trials made, trials to
            make, and an estimate.

    The other arguments are the options of ``teda audit`` of the same name (``teda audit --help``).

    Raises:
        UsageError: for what cannot be.
        FailedError: for what fails.
        Exception: what a callable raises, unchanged. Trials made before are kept (:func:`resume`).

    >>> import random
    >>> import teda_audit
    >>> def rewrite(texts, seeds):
    ...     return [text if random.Random(seed).random() < 0.25 else "nothing" for text, seed in zip(texts, seeds)]
    >>> result = teda_audit.audit(
    ...     rewrite, texts=["I moved to Rome.", "My knee hurts.", "We won!"], epsilon=1, claim=1, lambda_=0, trials=2000)
    >>> result.verdict
    'violation'
    >>> result.cells[0].attack, result.cells[0].trials
    ('learned', 1400)
    """
    fields: dict[str, Any] = {
        "ks": _list(k, int),
        "trials": trials,
        "alpha": alpha,
        "delta": delta,
        "estimator": estimator,
        "neighbours": neighbours,
        "lambdas": _list(lambda_, float),
        "pairs": pairs,
        "until": until,
        "seed": seed,
        "set": [[key, _written(value)] for key, value in (parameters or {}).items()],
        "preset": preset,
        "llm": llm,
        "scorer": scorer,
        "judge": judge,
        "then": then,
        "utilities": [utilities] if isinstance(utilities, str) else list(utilities),
        "shard": None if shard is None else list(shard),
        "keep": keep,
    }
    if epsilon is not None:
        fields["epsilons"] = _list(epsilon, float)
    request = _Request(
        config="",
        out=_place(out, go_on),
        go_on=go_on,
        batch=batch,
        threads=threads,
        offline=offline,
        memory=memory,
        max_requests=max_requests,
        max_tokens=max_tokens,
        processes=processes,
        timeout=timeout,
        max_text_bytes=max_text_bytes,
        max_input_bytes=max_input_bytes,
    )
    promised = as_claim(claim)
    named = [mechanism] if isinstance(mechanism, str) else mechanism
    if isinstance(named, Sequence):
        if name is not None:
            raise UsageError(f"name = {name!r}: a mechanism that is named has its name")
        fields["mechanisms"] = list(named)
        if promised is not None:
            fields["claim"] = promised._written()
    else:
        _own(request, mechanism, name, fields.get("epsilons"), promised)
        request.twice = _TWICE if twice is None else twice
    if texts is None or isinstance(texts, str):
        data = {"source": texts or "snips", "split": split, "limit": limit}
        fields["datasets"] = [{**data, "min_words": min_words, "max_words": max_words}]
    else:
        request.texts = _texts(texts)
        _none_of(split=split, limit=limit, min_words=min_words, max_words=max_words)
    if any(name.startswith("releases:") for name in fields.get("mechanisms", [])):
        # They come with their texts, and candidates are drawn among those uniformly.
        fields.update(datasets=[], lambdas=[0.0])
    fields.update(_attacks(request, attacks))
    if isinstance(encoder, str):
        fields["encoder"] = encoder
    elif encoder is not None:
        request.encoder = getattr(encoder, "encode", encoder)
    request.config = json.dumps(fields)
    return _run(request, progress, is_temporary=out is None)


def resume(
    run: Union[str, PathLike[str]],
    mechanism: Any = None,
    *,
    texts: Optional[Iterable[str]] = None,
    claim: Union[None, float, Claim] = None,
    attacks: Union[None, Score, Sequence[Score], Mapping[str, Score]] = None,
    encoder: Any = None,
    batch: int = 64,
    threads: int = 0,
    offline: bool = False,
    memory: int = 2048,
    progress: Union[None, bool, Tell] = None,
) -> Result:
    """Goes on with a run that was stopped, and opens one that is complete.

    What the run was made with stands in its directory, except for what a program brings: the mechanism, attacks and
    the encoder, if they are callables, and of one-token neighbours the texts. They must be the same as before.
    """
    directory = Path(run)
    request = _Request(
        config=None, out=directory, go_on=True, batch=batch, threads=threads, offline=offline, memory=memory
    )
    if mechanism is not None and not isinstance(mechanism, str):
        config = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))["config"]
        _own(request, mechanism, None, config["epsilons"], as_claim(claim))
    if texts is not None:
        request.texts = _texts(texts)
    if attacks is not None:
        _attacks(request, attacks)
    if encoder is not None:
        request.encoder = getattr(encoder, "encode", encoder)
    return _run(request, progress, is_temporary=False)


def merge(runs: Iterable[Union[str, PathLike[str]]], *, out: Union[None, str, PathLike[str]] = None) -> Result:
    """Joins all parts of a run (``audit(…, shard=(i, n))``) into the run that one process would have made."""
    parts = [Path(run) for run in runs]
    if len(parts) < 2:
        raise UsageError("one run is nothing to merge: name all parts")
    whole = _place(out, False)
    _native.merge(parts, whole)
    return _owned(Result.load(whole), out is None)


def _run(request: _Request, progress: Union[None, bool, Tell], is_temporary: bool) -> Result:
    request.progress, end = teller(progress)
    try:
        told, notes = _native.audit(request)
    except BaseException as error:
        _say_where(error, request.out, is_temporary)
        raise
    finally:
        end()
    return _owned(Result(request.out, told, notes), is_temporary)


def _say_where(error: BaseException, out: Path, is_temporary: bool) -> None:
    """Says on an exception where the trials are that were made before it."""
    if not (out / "manifest.json").exists():
        if is_temporary:
            shutil.rmtree(out.parent, ignore_errors=True)
    elif hasattr(error, "add_note"):
        error.add_note(f"The trials made so far are kept; go on with: teda_audit.resume({str(out)!r}, …)")


def _owned(result: Result, is_temporary: bool) -> Result:
    """A temporary directory goes with its result."""
    if is_temporary:
        weakref.finalize(result, shutil.rmtree, result.directory.parent, ignore_errors=True)
    return result


def _place(out: Union[None, str, PathLike[str]], go_on: bool) -> Path:
    if out is not None:
        return Path(out)
    if go_on:
        raise UsageError("to go on with a run, name its directory: out")
    return Path(tempfile.mkdtemp(prefix="teda-")) / "run"


def _own(
    request: _Request, mechanism: Any, name: Optional[str], epsilons: Optional[list[float]], claim: Optional[Claim]
) -> None:
    """A mechanism of this program."""
    factory = is_factory(mechanism)
    if factory and not epsilons:
        raise UsageError("this mechanism is made at an epsilon: say at which, such as epsilon=[1, 10, 100]")
    if not factory and epsilons and len(epsilons) > 1:
        raise UsageError(
            f"a mechanism that is made has one epsilon, and these are {len(epsilons)}: give a factory, such as lambda epsilon: Rewriter(epsilon)"
        )

    def make(epsilon: Optional[float]) -> Any:
        return parts_of(mechanism(epsilon) if factory else mechanism, epsilon, claim)

    request.name = name or name_of(mechanism)
    request.make = make
    request.grid = bool(epsilons)


def _texts(texts: Iterable[str]) -> list[str]:
    listed = list(texts)
    for place, text in enumerate(listed):
        if not isinstance(text, str):
            raise TypeError(f"texts: number {place} is of type {type(text).__name__}, and not a str")
    return listed


def _attacks(request: _Request, attacks: Attacks) -> dict[str, list[str]]:
    """The names of attacks; those that are callables go to the request."""
    if attacks is None:
        return {}
    if isinstance(attacks, Mapping):
        request.attacks = list(attacks.items())
        return {"attacks": []}
    listed = [attacks] if isinstance(attacks, str) or callable(attacks) else list(attacks)
    request.attacks = [(name_of(attack), attack) for attack in listed if not isinstance(attack, str)]
    return {"attacks": [attack for attack in listed if isinstance(attack, str)]}


def _none_of(**filters: Any) -> None:
    given = [name for name, value in filters.items() if value is not None]
    if given:
        raise UsageError(f"{', '.join(given)}: for data sets and files by name; choose among your own texts yourself")


def _list(value: Any, kind: Callable[[Any], Any]) -> list[Any]:
    if isinstance(value, (int, float, str)):
        return [kind(value)]
    return [kind(one) for one in value]


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
