"""One bar for one audit."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any, Optional, Union

Tell = Callable[[int, int, str], None]

_EVERY = 10.0


def teller(progress: Union[None, bool, Tell]) -> tuple[Optional[Tell], Callable[[], None]]:
    """What is called with trials made, trials to make and an estimate, and what is called at the end."""
    if callable(progress):
        return progress, lambda: None
    if progress is None:
        progress = _is_watched()
    if not progress:
        return None, lambda: None
    try:
        bars = importlib.import_module("tqdm.auto")
    except ImportError:
        return _Lines().tell, lambda: None
    bar = _Bar(bars.tqdm)
    return bar.tell, bar.close


def _is_watched() -> bool:
    shell = sys.modules.get("IPython")
    in_notebook = shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None
    return in_notebook or sys.stderr.isatty()


class _Bar:
    """A bar of tqdm, made once the number of trials is known."""

    def __init__(self, make: Any) -> None:
        self._make = make
        self._bar: Any = None

    def tell(self, done: int, total: int, message: str) -> None:
        if self._bar is None:
            self._bar = self._make(total=total, initial=done, unit=" trials", unit_scale=True, desc="teda")
        self._bar.n = done
        if message:
            self._bar.set_postfix_str(message, refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class _Lines:
    """Lines on standard error, where tqdm is not installed."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def tell(self, done: int, total: int, message: str) -> None:
        if time.monotonic() - self._last >= _EVERY:
            self._last = time.monotonic()
            print(f"teda: {done}/{total} trials  {message}", file=sys.stderr)
