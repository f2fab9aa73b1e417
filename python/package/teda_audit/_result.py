"""What an audit found."""

from __future__ import annotations

import base64
import html
import importlib
import json
import math
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any, Optional, Union

from . import _native
from ._errors import UsageError, ViolationError

# From the one that weighs most.
_VERDICTS = ["violation", "inconclusive", "saturated", "no-claim", "consistent"]


@dataclass(frozen=True)
class Cell:
    """One line of a result: a mechanism at one ε, under one attack. The fields are those of ``result.json``."""

    dataset: str
    mechanism: str
    epsilon: Optional[float]
    epsilon_unit: Optional[str]
    neighbours: str
    k: int
    #: The sampling temperature of the candidate sets.
    lambda_: float
    attack: str
    trials: int
    hits: int
    failed: int
    failed_mechanism: int
    failed_transport: int
    failed_attack: int
    success_rate: float
    success_lower: float
    alpha: float
    delta: float
    estimator: str
    empirical_epsilon: float
    ceiling: float
    claimed_epsilon: Optional[float]
    verdict: str
    seconds: Optional[float]
    explanation: str
    trained: int
    below_chance: bool
    choices: int
    chosen_epsilon: Optional[float]
    witness: Optional[str] = None
    witness_texts: Sequence[str] = ()
    signs: Sequence[dict[str, Any]] = ()
    candidates: Optional[dict[str, Any]] = None
    metric: Optional[dict[str, Any]] = None
    mean_units: Optional[float] = None

    @property
    def bound(self) -> float:
        """The lower bound on ε: ``empirical_epsilon``."""
        return self.empirical_epsilon

    @property
    def rate(self) -> float:
        """The share of trials whose secret was guessed: ``success_rate``."""
        return self.success_rate

    @property
    def claim(self) -> Optional[float]:
        """What the mechanism claims between the texts of the audit: ``claimed_epsilon``."""
        return self.claimed_epsilon

    @classmethod
    def _of(cls, document: dict[str, Any]) -> Cell:
        values = {**document, "lambda_": document["lambda"]}
        for name in ("empirical_epsilon", "ceiling", "chosen_epsilon"):
            # JSON has no infinity.
            if values[name] is not None:
                values[name] = float(values[name])
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})


class Result:
    """The result of an audit, which is kept in a directory.

    In a notebook it shows as its table and its picture.
    """

    def __init__(
        self, directory: Path, told: tuple[str, str, Sequence[tuple[str, str]]], notes: Sequence[str] = ()
    ) -> None:
        document, table, sentences = told
        self._document = json.loads(document)
        #: Where the run is kept.
        self.directory = directory
        #: One entry for each ε and attack.
        self.cells: list[Cell] = [Cell._of(cell) for cell in self._document["cells"]]
        #: What ``teda audit`` prints.
        self.table = table
        #: What it means: for each mechanism and verdict, the cell that shows most, at a level that pays for the choice.
        self.sentences = [f"{verdict}: {sentence}." for verdict, sentence in sentences]
        #: What became of the data, which attacks were left out and why.
        self.notes = list(notes)

    @classmethod
    def load(cls, run: Union[str, PathLike[str]]) -> Result:
        """The result of the complete run in a directory, counted again from its rows."""
        directory = Path(run)
        return cls(directory, _native.load(directory))

    @property
    def verdict(self) -> str:
        """The verdict that weighs most: ``violation``, ``inconclusive``, ``saturated``, ``no-claim``, ``consistent``."""
        return min((cell.verdict for cell in self.cells), key=_VERDICTS.index)

    @property
    def utilities(self) -> list[dict[str, Any]]:
        """What the releases are still good for, if it was asked for."""
        return list(self._document.get("utilities", []))

    @property
    def reproducible(self) -> bool:
        """Whether the same call gives the same numbers: no server, and a mechanism that follows its seeds."""
        return bool(self.manifest["reproducible"])

    @property
    def manifest(self) -> dict[str, Any]:
        """Configuration, versions, digests of data and weights, machine."""
        text = (self.directory / "manifest.json").read_text(encoding="utf-8")
        manifest: dict[str, Any] = json.loads(text)
        return manifest

    @property
    def trials(self) -> _native.Frame:
        """Every trial: ``polars.DataFrame(result.trials)``, ``pyarrow.table(…)``, ``pandas.DataFrame.from_arrow(…)``."""
        return _native.Frame(self.directory, "trials.parquet")

    @property
    def guesses(self) -> _native.Frame:
        """The guesses of attacks that learned from the first trials."""
        return _native.Frame(self.directory, "guesses.parquet")

    @property
    def texts(self) -> _native.Frame:
        """The texts that candidates are numbers of."""
        return _native.Frame(self.directory, "texts.parquet")

    def to_dicts(self) -> list[dict[str, Any]]:
        """The cells as dictionaries, for ``polars.DataFrame`` and ``pandas.DataFrame``."""
        return [{field.name: getattr(cell, field.name) for field in fields(Cell)} for cell in self.cells]

    def raise_for_violation(self) -> None:
        """Raises :class:`ViolationError` if a claim does not hold: a claim as one line of a test."""
        broken = [cell.explanation for cell in self.cells if cell.verdict == "violation"]
        if broken:
            raise ViolationError("; ".join(broken))

    def figure(self) -> bytes:
        """The picture as SVG: the empirical against the nominal ε, with the claim."""
        path = self.directory / "curve.svg"
        if not path.exists():
            raise UsageError(f"{self.directory}: there is no picture of this run: no bound of it can be drawn")
        return path.read_bytes()

    def report(self, path: Union[str, PathLike[str]]) -> Path:
        """Writes the page of the run: one HTML file with verdicts, curve, pairs and trials to browse. Returns its path."""
        page = self.directory / "report.html"
        if not page.exists():
            raise UsageError(f"{self.directory}: this run has no page: teda report {self.directory} --page --out NEW makes one")
        return Path(shutil.copyfile(page, path))

    def plot(self, ax: Any = None) -> Any:
        """Draws the empirical against the nominal ε with matplotlib, and returns the axes."""
        pyplot = importlib.import_module("matplotlib.pyplot")
        if ax is None:
            _, ax = pyplot.subplots()
        lines: dict[tuple[str, ...], list[Cell]] = {}
        for cell in self.cells:
            if cell.epsilon is not None and math.isfinite(cell.bound):
                lines.setdefault((cell.dataset, cell.mechanism, cell.attack, f"k = {cell.k}"), []).append(cell)
        if not lines:
            raise UsageError("there is nothing to draw: no cell has a nominal epsilon and a finite bound")
        parts = list(zip(*lines))
        differ = [place for place, values in enumerate(parts) if len(set(values)) > 1] or [1]
        for key, cells in lines.items():
            cells.sort(key=lambda cell: cell.epsilon or 0.0)
            label = ", ".join(key[place] for place in differ)
            ax.plot([cell.epsilon for cell in cells], [cell.bound for cell in cells], marker="o", label=label)
        claims = sorted({(c.epsilon, c.claim) for c in self.cells if c.epsilon is not None and c.claim is not None})
        if claims:
            style = {"color": "black", "linestyle": "--", "linewidth": 1, "label": "claim"}
            style.update({"marker": "_", "markersize": 12} if len(claims) == 1 else {})
            ax.plot([nominal for nominal, _ in claims], [claim for _, claim in claims], **style)
        ax.set_xlabel("nominal ε")
        ax.set_ylabel("empirical ε (lower bound)")
        ax.set_ylim(bottom=0)
        ax.legend()
        return ax

    def save(self, directory: Union[str, PathLike[str]]) -> Result:
        """Copies the run into a new directory, where it stays, and returns the result there."""
        kept = Path(directory)
        if kept.exists():
            raise UsageError(f"{kept}: it is there already: name a new directory")
        shutil.copytree(self.directory, kept, ignore=shutil.ignore_patterns(".lock"))
        return Result.load(kept)

    def __repr__(self) -> str:
        return f"<teda_audit.Result: {self.verdict}, {len(self.cells)} cells>"

    def __str__(self) -> str:
        return self.table

    def __reduce__(self) -> tuple[Any, ...]:
        return Result.load, (str(self.directory),)

    def _repr_html_(self) -> str:
        """A table and a picture without scripts, which notebooks show that are not trusted, too."""
        heads = ["mechanism", "nominal ε", "attack", "hits / trials", "empirical ε ≥", "claim", "verdict"]
        rows = [
            [
                cell.mechanism,
                _number(cell.epsilon),
                cell.attack,
                f"{cell.hits} / {cell.trials}",
                _number(cell.bound),
                _number(cell.claim),
                cell.verdict,
            ]
            for cell in self.cells
        ]
        shown = f"<table><thead>{_row('th', heads)}</thead><tbody>"
        shown += "".join(_row("td", row) for row in rows) + "</tbody></table>"
        shown += "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences)
        picture = self.directory / "curve.svg"
        if picture.exists():
            data = base64.b64encode(picture.read_bytes()).decode("ascii")
            shown += f'<img alt="empirical against nominal epsilon" width="100%" src="data:image/svg+xml;base64,{data}">'
        return shown


def _number(value: Optional[float]) -> str:
    return "–" if value is None else f"{value:.4g}"


def _row(tag: str, values: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(value)}</{tag}>" for value in values) + "</tr>"
