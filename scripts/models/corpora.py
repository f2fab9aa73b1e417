"""Load the shippable corpora and cut them into train and held-out texts.

Inputs : a folder with snips.jsonl, snips_raw.jsonl.gz, medquad.jsonl.gz and
         spooky.jsonl.gz or novels.jsonl.gz (each also accepted with or without
         .gz), one JSON object a line. All but snips_raw ship in datasets/data.
Outputs: Python lists (this file is a library; it writes nothing).
Command: python corpora.py --data DIR     # prints the sizes

Held-out rule. SNIPS: its own valid and test splits. MedQuAD and the novels
have no usable split: a row is held out when sha256(id) % 10 == 0. A training
text whose letters and digits, lower-cased, are those of a held-out text is
dropped. snips_raw is cut differently from snips: only its texts that also
occur in the train split of snips are used.
"""

import argparse
import gzip
import hashlib
import json
import re
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
SENTENCE_END = re.compile(r"(?<=[.!?;])\s+(?=[A-Z0-9\"'(])|\s+-\s+|(?<=[:])\s+(?=[A-Z])")


def add_data_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        default=REPO / "datasets" / "data",
        help="folder of the corpora (default: datasets/data of the repository)",
    )


# The novels ship in datasets/data under another name than at their source.
ALIASES = {"spooky": "novels"}


def read_rows(folder: Path, name: str) -> list[dict]:
    names = (name, ALIASES.get(name, name))
    for path in (folder / f"{n}{end}" for n in names for end in (".jsonl", ".jsonl.gz")):
        if path.exists():
            opener = gzip.open if path.suffix == ".gz" else open
            with opener(path, "rt", encoding="utf-8") as handle:
                return [json.loads(line) for line in handle if line.strip()]
    raise SystemExit(f"{name}.jsonl[.gz] is not in {folder}; pass --data DIR")


def held_out(row_id: str) -> bool:
    return int(hashlib.sha256(row_id.encode()).hexdigest(), 16) % 10 == 0


def key(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


def fold(text: str) -> str:
    return " ".join(text.split())


def sentences(text: str, most_words: int = 45) -> list[str]:
    """Cut a text into sentences; cut long sentences again by words."""
    out = []
    for piece in SENTENCE_END.split(fold(text)):
        words = piece.split()
        parts = max(1, -(-len(words) // most_words))
        size = -(-len(words) // parts)
        for i in range(0, len(words), max(size, 1)):
            out.append(" ".join(words[i : i + size]))
    return [s for s in out if key(s)]


def load(folder: Path, shipped: bool = False) -> dict[str, dict[str, list[str]]]:
    """{corpus: {"train": texts, "valid": texts, "test": texts}}.

    Where only what ships is asked for, snips_raw is empty.

    Corpora: snips, snips_raw (train only), questions, answers (sentences),
    novels (sentences). Only snips has a valid list; the held-out rows of the
    others are their test lists. Test lists carry no duplicates.
    """
    snips = read_rows(folder, "snips")
    raw = [] if shipped else read_rows(folder, "snips_raw")
    medquad = read_rows(folder, "medquad")
    spooky = read_rows(folder, "spooky")
    out = {
        "snips": {
            s: [fold(r["text"]) for r in snips if r["split"] == s]
            for s in ("train", "valid", "test")
        },
        "snips_raw": {"train": [fold(r["text"]) for r in raw], "valid": [], "test": []},
    }
    for name, rows, field in (
        ("questions", medquad, "question"),
        ("answers", medquad, "answer"),
        ("novels", spooky, "text"),
    ):
        parts = {"train": [], "valid": [], "test": []}
        for row in rows:
            side = "test" if held_out(str(row["id"])) else "train"
            text = fold(row[field])
            parts[side] += [text] if name == "questions" else sentences(text)
        out[name] = parts
    kept_out = {key(t) for c in out.values() for s in ("valid", "test") for t in c[s]}
    snips_train = {key(t) for t in out["snips"]["train"]} - kept_out
    for name, parts in out.items():
        parts["train"] = [t for t in parts["train"] if key(t) and key(t) not in kept_out]
        parts["test"] = list(dict.fromkeys(parts["test"]))
    out["snips_raw"]["train"] = [t for t in out["snips_raw"]["train"] if key(t) in snips_train]
    # Answers repeat boilerplate sentences across documents: keep each once.
    out["answers"]["train"] = list(dict.fromkeys(out["answers"]["train"]))
    out["questions"]["train"] = list(dict.fromkeys(out["questions"]["train"]))
    return out


if __name__ == "__main__":
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data_argument(cli)
    for corpus, sides in load(cli.parse_args().data).items():
        sizes = {s: (len(t), sum(len(x.split()) for x in t)) for s, t in sides.items()}
        print(corpus, {s: f"{n} texts, {w} words" for s, (n, w) in sizes.items()})
