"""Runs every notebook of a folder from a clean kernel: ``python notebooks.py FOLDER [--write]``.

A notebook whose metadata name modules that are not installed (torch and what goes with it) is skipped, with a message.
With ``--write`` what they show is stored in them.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def main() -> None:
    folder, write = Path(sys.argv[1]), "--write" in sys.argv
    notebooks = sorted(folder.glob("*.ipynb"))
    if not notebooks:
        sys.exit(f"{folder}: no notebook")
    for path in notebooks:
        notebook = nbformat.read(path, as_version=4)
        missing = [name for name in notebook.metadata["teda"]["needs"] if importlib.util.find_spec(name) is None]
        if missing:
            print(f"skipped: {path.name} needs {', '.join(missing)}")
            continue
        NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
        if write:
            for cell in notebook.cells:
                cell.metadata.pop("execution", None)
                if cell.cell_type == "code":
                    # Without what libraries say of their own progress.
                    cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
            nbformat.write(notebook, path)
        print(f"ran: {path.name}")


main()
