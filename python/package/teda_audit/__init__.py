"""Audits how private differentially private text rewriting really is.

An audit draws k candidate texts, has one of them rewritten in secret, and lets an adversary guess which. How often the
guess is right over many trials gives a lower bound on ε, the *empirical* ε, which holds with a stated confidence. A
bound above what a mechanism claims refutes the claim; a bound below proves nothing, since a cleverer attack may find
more.

>>> import teda_audit
>>> result = teda_audit.audit("krr", texts="categories:2", epsilon=[1, 2], attacks="likelihood-ratio", lambda_=0,
...     trials=2000)
>>> [cell.verdict for cell in result.cells]
['consistent', 'consistent']
"""

from __future__ import annotations

from importlib.metadata import version as _version

from ._audit import audit, merge, resume
from ._claim import Claim
from ._errors import Error, FailedError, UsageError, ViolationError
from ._mechanism import Mechanism
from ._native import attacks, datasets, estimators, mechanisms, texts, utilities
from ._result import Cell, Result

load = Result.load
__version__ = _version("teda-audit")

__all__ = [
    "Cell",
    "Claim",
    "Error",
    "FailedError",
    "Mechanism",
    "Result",
    "UsageError",
    "ViolationError",
    "__version__",
    "attacks",
    "audit",
    "datasets",
    "estimators",
    "load",
    "mechanisms",
    "merge",
    "resume",
    "texts",
    "utilities",
]
