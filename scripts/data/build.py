"""Writes the corpora that ship in the binary (`datasets/data/*.jsonl.gz`); the record of how they were made.

    python3 scripts/data/build.py --from DIR

Reads `snips.jsonl`, `medquad.jsonl.gz` and `spooky.jsonl.gz`, keeps the fields named below, in that order,
and the rows as they are, and compresses with `gzip -9n`: without name and time, the same rows give the same
bytes. Prints what `datasets/src/cards.rs` says of each file: sha256, rows, splits. Texts are not touched.

Only corpora whose licence allows it are listed here (see NOTICE). ATIS, SST-2 and CommonsenseQA do not ship.
"""

import argparse
import collections
import gzip
import hashlib
import json
import pathlib
import subprocess

# shipped name: (source file, fields kept)
CORPORA = {
    "snips": ("snips.jsonl", ["id", "split", "label", "text"]),
    # MedQuAD has no split, and one file serves two datasets: its questions and its answers.
    "medquad": ("medquad.jsonl.gz", ["id", "source", "question", "answer"]),
    "novels": ("spooky.jsonl.gz", ["id", "split", "label", "text"]),
}


def read(path: pathlib.Path) -> list[dict]:
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else open(path, encoding="utf-8")
    # Iterating splits at "\n" alone; splitlines() would also cut at U+2028 inside a text.
    with opened as lines:
        return [json.loads(line) for line in lines]


def write(path: pathlib.Path, rows: list[dict]) -> bytes:
    text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    # The gzip program, since the bytes of Python's own depend on the zlib that it was built with.
    packed = subprocess.run(["gzip", "-9n"], input=text.encode(), capture_output=True, check=True).stdout
    path.write_bytes(packed)
    return packed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", type=pathlib.Path, required=True, metavar="DIR")
    source = parser.parse_args().source
    target = pathlib.Path(__file__).resolve().parents[2] / "datasets" / "data"
    target.mkdir(parents=True, exist_ok=True)
    for name, (file, fields) in CORPORA.items():
        rows = [{field: row[field] for field in fields} for row in read(source / file)]
        packed = write(target / f"{name}.jsonl.gz", rows)
        splits = collections.Counter(row.get("split", "train") for row in rows)
        print(f"{name}: {len(packed)} bytes, sha256 {hashlib.sha256(packed).hexdigest()}, {len(rows)} rows, {dict(splits)}")


if __name__ == "__main__":
    main()
