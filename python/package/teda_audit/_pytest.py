"""A claim as one test: ``pytest --teda``, and a fixture of the name ``teda_audit``.

::

    def test_my_rewriter_keeps_its_promise(teda_audit):
        teda_audit(my_rewriter, texts=my_texts, epsilon=2, claim=2)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ._audit import audit
from ._result import Result


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--teda``."""
    group = parser.getgroup("teda", "audits of text rewriters")
    group.addoption("--teda", action="store_true", help="run the audits: tests with the fixture teda_audit")


@pytest.fixture
def teda_audit(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Result]:
    """:func:`teda_audit.audit`, which fails the test where a claim does not hold. Skipped without ``--teda``."""
    if not request.config.getoption("--teda"):
        pytest.skip("an audit takes its time: run pytest --teda")
    made = 0

    def run(mechanism: Any, **options: Any) -> Result:
        nonlocal made
        made += 1
        options.setdefault("out", tmp_path / f"audit-{made}")
        options.setdefault("progress", False)
        result = audit(mechanism, **options)
        request.node.add_report_section("call", "teda", result.table)
        result.raise_for_violation()
        return result

    return run
