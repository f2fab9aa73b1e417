"""The command ``teda``, which is the native half's own."""

from __future__ import annotations

import sys

from ._native import main as _run


def main() -> None:
    """Runs the command line, and ends with its exit status."""
    sys.exit(_run(["teda", *sys.argv[1:]]))
