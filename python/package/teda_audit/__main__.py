"""``python -m teda_audit``: the command ``teda``."""

from ._command import main

main()
