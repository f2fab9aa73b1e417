"""Train the part-of-speech tagger in the binary on tags made by wink-nlp.

Inputs : the corpora (corpora.py); tags by tagger_labels.js (wink-nlp and its
         English model, both under the MIT licence).
Outputs: WORK/tagger/words.txt, for tagger_labels.js; then OUT/tagger.bin
Commands:
  python tagger_train.py --data DATA --work WORK --words
  node tagger_labels.js < WORK/tagger/words.txt > WORK/tagger/tags.txt
  python tagger_train.py --data DATA --work WORK --out ../../mechanisms/src/text/tagger.bin

An averaged perceptron (Collins 2002) that tags from left to right. A feature's
weights stand at a place that is its hash (mechanisms/src/text/tagger.rs), one
signed byte for each tag; features may share a place. Corrections of the teacher:
a text's first word before a determiner, "my" or "me" is a verb if it was tagged
as a noun (the teacher takes "book a table" for one), and so is every lower-case
word that begins ten texts in this way; "n't" is a particle. Held out as in
corpora.py. --gold FILE also counts the words of a treebank that are tagged as
there; nothing is learned from it.
"""

import argparse
import random
from collections import Counter
from pathlib import Path

import numpy as np

from corpora import add_data_argument, load
from tagger_words import words

TAGS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
PLACES = 1 << 15
EPOCHS = 5
# Sentences of each corpus, train and test.
SIZES = {"snips": (13_084, 1400), "questions": (6000, 600), "answers": (16_000, 1600), "novels": (20_000, 2000)}


def place(text: str) -> int:
    """FNV-1a of 64 bits, folded."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return (value ^ (value >> 32)) % PLACES


def shape(word: str) -> str:
    if any(c.isnumeric() for c in word):
        return "9"
    if not word[0].isalnum():
        return "."
    return "A" if word[0].isupper() else "a"


def fixed_features(sentence: list[str], i: int) -> list[str]:
    """Those that depend on no tag."""
    lower = [w.lower() for w in sentence]
    at = lambda j: lower[j] if 0 <= j < len(lower) else "^" if j < 0 else "$"
    word = at(i)
    return [
        "0",
        "1" + word,
        "2" + word[-3:],
        "3" + word[-2:],
        "4" + word[:1],
        "5" + shape(sentence[i]) + ("^" if i == 0 else ""),
        "6" + at(i - 1),
        "7" + at(i - 2),
        "8" + at(i + 1),
        "9" + at(i + 2),
        "a" + at(i - 1)[-3:],
        "b" + at(i + 1)[-3:],
        "c" + at(i - 1) + " " + word,
        "d" + word + " " + at(i + 1),
    ]


def tag_places(before: int, before_that: int) -> list[str]:
    names = TAGS + ["^"]
    return ["e" + names[before], "f" + names[before_that] + " " + names[before]]


HISTORY = {
    (a, b): [place(f) for f in tag_places(a, b)]
    for a in range(len(TAGS) + 1)
    for b in range(len(TAGS) + 1)
}


def with_history(fixed: np.ndarray, a: int, b: int) -> np.ndarray:
    return np.concatenate([fixed, HISTORY[a, b]])


def is_command(sentence: list[str], tags: list[str]) -> bool:
    """Whether a text begins with a noun, as the teacher has it, before a determiner, "my" or "me"."""
    determiner = len(tags) > 1 and (tags[1] == "DET" or sentence[1].lower() in ("my", "me"))
    return tags[:1] == ["NOUN"] and determiner


def correct(sentence: list[str], tags: list[str], commands: set[str]) -> list[str]:
    tags = ["PART" if w.lower().replace("’", "'") == "n't" else t for w, t in zip(sentence, tags)]
    if tags[0] == "NOUN" and (is_command(sentence, tags) or sentence[0] in commands):
        tags[0] = "VERB"
    return tags


def gold(file: Path) -> list[tuple[np.ndarray, list[int]]]:
    """The sentences of a treebank in CoNLL-U, by its own words."""
    out = []
    for block in file.read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line[:1].isdigit()]
        rows = [row for row in rows if row[0].isdigit()]
        sentence = [row[1] for row in rows]
        places = [[place(f) for f in fixed_features(sentence, i)] for i in range(len(sentence))]
        if rows:
            out.append((np.array(places), [TAGS.index(row[3]) for row in rows]))
    return out


def accuracy(weights: np.ndarray, rows: list[tuple[np.ndarray, list[int]]]) -> str:
    pairs = [pair for fixed, tags in rows for pair in zip(guess(weights, fixed), tags)]
    return f"{sum(a == b for a, b in pairs) / len(pairs):.4f} of {len(pairs)} words"


def guess(weights: np.ndarray, rows: np.ndarray) -> list[int]:
    a = b = len(TAGS)
    out = []
    for fixed in rows:
        here = int(weights[with_history(fixed, a, b)].sum(0).argmax())
        out.append(here)
        a, b = here, a
    return out


def chosen(data: Path) -> dict[str, dict[str, list[list[str]]]]:
    out = {}
    for name, parts in load(data).items():
        if name not in SIZES:
            continue
        out[name] = {}
        for side, size in zip(("train", "test"), SIZES[name]):
            texts = sorted(dict.fromkeys(parts[side]))
            random.Random(name + side).shuffle(texts)
            out[name][side] = [w for t in texts[:size] if (w := words(t)) and len(w) < 80]
    return out


def train(rows: list[tuple[np.ndarray, list[int]]]) -> np.ndarray:
    weights = np.zeros((PLACES, len(TAGS)), dtype=np.float32)
    sums = np.zeros((PLACES, len(TAGS)), dtype=np.float64)
    step = 0
    for epoch in range(EPOCHS):
        random.Random(epoch).shuffle(rows)
        wrong = seen = 0
        for fixed_rows, tags in rows:
            a = b = len(TAGS)
            for fixed, tag in zip(fixed_rows, tags):
                step += 1
                at = with_history(fixed, a, b)
                here = int(weights[at].sum(0).argmax())
                seen += 1
                if here != tag:
                    wrong += 1
                    # Once for each feature: two that share a place count twice there, as in tagging.
                    np.add.at(weights, (at, tag), 1)
                    np.add.at(weights, (at, here), -1)
                    np.add.at(sums, (at, tag), step)
                    np.add.at(sums, (at, here), -step)
                a, b = here, a
        print(f"epoch {epoch}: {1 - wrong / seen:.4f}", flush=True)
    return weights - sums / step


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data_argument(cli)
    cli.add_argument("--work", type=Path, required=True)
    cli.add_argument("--words", action="store_true", help="write the words to be tagged, and end")
    cli.add_argument("--out", type=Path)
    cli.add_argument("--gold", type=Path, help="a treebank to compare with")
    args = cli.parse_args()
    texts = chosen(args.data)
    folder = args.work / "tagger"
    folder.mkdir(parents=True, exist_ok=True)
    every = [(name, side, s) for name, sides in texts.items() for side, list_ in sides.items() for s in list_]
    if args.words:
        (folder / "words.txt").write_text("".join(" ".join(s) + "\n" for _, _, s in every))
        return
    labels = (folder / "tags.txt").read_text().splitlines()
    assert len(labels) == len(every), "tags.txt is of other texts"
    numbers = {tag: i for i, tag in enumerate(TAGS)}
    tagged = [(n, side, s, t) for (n, side, s), label in zip(every, labels) if len(t := label.split()) == len(s)]
    begins = Counter(s[0] for _, _, s, t in tagged if s[0].islower() and is_command(s, t))
    commands = {word for word, count in begins.items() if count >= 10}
    print("commands:", " ".join(sorted(commands)))
    sides = {"train": [], "test": {}}
    for name, side, sentence, tags in tagged:
        tags = [numbers.get(t, numbers["X"]) for t in correct(sentence, tags, commands)]
        rows = np.array([[place(f) for f in fixed_features(sentence, i)] for i in range(len(sentence))])
        if side == "train":
            sides["train"].append((rows, tags))
        else:
            sides["test"].setdefault(name, []).append((rows, tags))
    print(len(sides["train"]), "sentences,", sum(len(t) for _, t in sides["train"]), "words", flush=True)
    weights = train(sides["train"])
    scale = 127 / np.quantile(np.abs(weights[weights != 0]), 0.9995)
    print(f"{scale:.2f} to a unit of weight, the greatest {np.abs(weights).max():.1f}")
    whole = np.clip(np.rint(weights * scale), -127, 127).astype(np.int8)
    for name, rows in sides["test"].items():
        print(f"{name}, held out: {accuracy(whole.astype(np.int32), rows)} tagged as by the teacher")
    if args.gold:
        print(f"{args.gold.name}: {accuracy(whole.astype(np.int32), gold(args.gold))} tagged as there")
    args.out.write_bytes(whole.tobytes())


if __name__ == "__main__":
    main()
