"""The command, the plugin and the examples in the documentation."""

from __future__ import annotations

import doctest
import shutil
import subprocess
import sys

import pytest
import teda_audit
import teda_audit._audit
import teda_audit._claim


def test_the_wheel_has_the_command_line() -> None:
    script = shutil.which("teda", path=str(__import__("pathlib").Path(sys.executable).parent))
    assert script is not None
    for command in ([script], [sys.executable, "-m", "teda_audit"]):
        shown = subprocess.run([*command, "list", "attacks"], capture_output=True, text=True, check=True)
        assert "likelihood-ratio" in shown.stdout
    wrong = subprocess.run([script, "audit", "--mech", "nothing"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "unknown mechanism" in wrong.stderr


@pytest.mark.parametrize("module", [teda_audit, teda_audit._audit, teda_audit._claim])
def test_examples_in_docstrings_run(module: object) -> None:
    failed, tried = doctest.testmod(module)  # type: ignore[arg-type]
    assert tried > 0 and failed == 0


CLAIMS = """
def sound(texts, seeds):
    return ["nothing" for _ in texts]

def broken(texts, seeds):
    return texts

OPTIONS = dict(texts=["a cat", "two dogs", "a bird sings"], attacks="overlap", lambda_=0, trials=300, epsilon=1, claim=1)

def test_sound(teda_audit):
    assert teda_audit(sound, **OPTIONS).verdict == "consistent"

def test_broken(teda_audit):
    teda_audit(broken, **OPTIONS)
"""


def test_a_claim_is_one_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CLAIMS)
    pytester.runpytest_subprocess().assert_outcomes(skipped=2)
    result = pytester.runpytest_subprocess("--teda")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*ViolationError*leaks at least*", "*empirical*"])
