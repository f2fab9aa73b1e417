"""Train the cased byte-level BPE tokenizer of the infilling model.

Inputs : the train texts of the corpora; vocab.txt of MiniLM (its frequent
         whole words are added to the training text, so that words which a
         mechanism draws from a general vocabulary are not shattered).
Outputs: WORK/infill/tokenizer.json (special ids <s>=0 <pad>=1 </s>=2 <unk>=3
         <mask>=4; pieces that begin a word carry the space marker).
Command: python infill_tokenizer.py --data DIR --work WORK
"""

import argparse
import random
from collections import Counter
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

import corpora
import minilm

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
VOCABULARY = 8192


def training_text(data: dict, words: list[str]):
    rng = random.Random(7)
    answers = list(data["answers"]["train"])
    rng.shuffle(answers)
    for times, texts in (
        (6, data["snips"]["train"]),
        (1, data["snips_raw"]["train"]),
        (2, data["questions"]["train"]),
        (1, answers[: len(answers) // 3]),
        (1, data["novels"]["train"]),
        (40, words[:2500]),
        (14, words[2500:4500]),
    ):
        for _ in range(times):
            yield from texts


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    corpora.add_data_argument(cli)
    cli.add_argument("--work", type=Path, required=True)
    args = cli.parse_args()
    data = corpora.load(args.data)
    # Whole words of the WordPiece vocabulary, which runs by falling frequency.
    words = [w for w in minilm.vocabulary(args.work) if w.isascii() and w.isalpha() and len(w) > 2]
    tokenizer = Tokenizer(models.BPE(unk_token=None))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIALS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(training_text(data, words), trainer)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=True
    )
    out = args.work / "infill" / "tokenizer.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(out), pretty=False)

    print("vocabulary", tokenizer.get_vocab_size(), [tokenizer.token_to_id(s) for s in SPECIALS])
    for name, sides in data.items():
        counts = Counter(w for t in sides["train"][:20000] for w in t.split() if w.isalnum())
        single = sum(c for w, c in counts.items() if len(tokenizer.encode(w).ids) == 3)
        print(name, "words that are one piece: %.3f" % (single / sum(counts.values())))
    for lo, hi in ((0, 2500), (2500, 4500), (4500, 8000)):
        part = words[lo:hi]
        print("vocabulary words", lo, hi, sum(len(tokenizer.encode(w).ids) == 3 for w in part) / len(part))


if __name__ == "__main__":
    main()
