#!/usr/bin/env python3
"""Prints the release notes of a version: its section of CHANGELOG.md.

    scripts/release/notes.py 0.1.0
"""

import pathlib
import re
import sys

CHANGELOG = pathlib.Path(__file__).resolve().parents[2] / "CHANGELOG.md"


def section(text: str, version: str) -> str:
    """What stands between the heading of the version and the next one."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    for heading, body in zip(parts[1::2], parts[2::2]):
        if heading.split()[0] == version:
            if "unreleased" in heading:
                sys.exit(f"CHANGELOG.md: '## {heading}': give it the date of the release first")
            return body.strip()
    sys.exit(f"CHANGELOG.md: there is no heading '## {version}'")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(section(CHANGELOG.read_text(encoding="utf-8"), sys.argv[1]))
