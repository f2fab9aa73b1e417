"""What goes wrong, as exceptions. What a callable of yours raises is raised unchanged."""

from __future__ import annotations


class Error(Exception):
    """Anything that teda itself refuses or fails at."""


class UsageError(Error, ValueError):
    """What was asked for cannot be: a wrong name, value, file or combination."""


class FailedError(Error, RuntimeError):
    """What was asked for failed: a full disk, a broken file, a dead server."""


class ViolationError(Error, AssertionError):
    """A claim does not hold, at the confidence of the audit."""
