"""Write the conformance fixtures of the built-in models.

Inputs : models/builtin/infill, models/builtin/encoder and models/builtin/rewriter
         (exported).
Outputs: FIX/infill_logits.safetensors and .json (transformers' f32 logits from
         the f16 weights at two positions of each text, and the last hidden state
         at the first of the two), FIX/encoder.json (token ids and unit-norm vectors
         from the int8 file), FIX/rewriter.json (transformers' f32 log-likelihoods of
         continuations, and greedy rewrites, from the f16 weights).
Command: python fixtures.py --models models/builtin --out models/tests/fixtures
         [--only encoder|infill|rewriter]
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

import infill_rewrite
import rewriter_card
import infill_text
from encoder_static import Static

# Text, and the indices of its white-space words that become one <mask>.
INFILL = [
    ("hi", []),
    ("Yes.", [0]),
    ("play some jazz music", [2]),
    ("add this song to my workout playlist", [2, 5]),
    ("what is the weather like in Boston tomorrow?", [3, 7]),
    ("What are the symptoms of Adult Acute Lymphoblastic Leukemia ?", [3]),
    ("book a table for 4 at a restaurant near the beach", [2, 8]),
    ("\"I don't know,\" he said; \"it's dark.\"", [2, 4, 6]),
    ("caf\u00e9 na\u00efve \u4f60\u597d \U0001f600 x_y 3.14", [0, 5]),
    ("The treatment of asthma, (if any), depends on the patient's age.", [3, 5, 9]),
    ("It was a night of storm and the old house shook in every timber while we waited for the morning.", [3, 9, 14]),
    ("Once more the sea rose before us, and once more the sailors, who had seen many such nights, "
     "spoke in low voices of the island and of the ship that had gone there in the year of the great frost.",
     [3, 9, 16, 20, 27, 35]),
]

ENCODER = [
    "", "a", "hello world", "play some jazz music", "Play SOME Jazz music!",
    "what is the weather like in Boston tomorrow?", "add this song to my workout playlist",
    "What are the treatments for Childhood Asthma ?", "rate this book 4 out of 5",
    "It was a dark and stormy night.", "\"I don't know,\" he said; \"it's dark.\"",
    "caf\u00e9 na\u00efve r\u00e9sum\u00e9", "\u4f60\u597d \u4e16\u754c", "\U0001f600 \U0001f600", "[UNK] [MASK] unused",
    "doctor rain carpet seventeen lava quickly bishop", "3.14159 and 2,718 (see p. 12)",
    "electroencephalography hyperparathyroidism", "e-mail: someone@example.org",
    "  white   space\tis folded  ", "the the the the",
]


def infill(models: Path, out: Path) -> None:
    model, encoder = infill_rewrite.load(models / "infill")
    tensors, cases = {}, []
    logits_rows, hidden_rows = [], []
    for text, masked in INFILL:
        words = encoder.text(text)
        ids = encoder.ids(words, set(masked))
        if not masked:
            assert ids == encoder.tokenizer.encode(text).ids
        places = [i for i, t in enumerate(ids) if t == infill_text.MASK]
        positions = [places[0] if places else 1, len(ids) // 2]
        with torch.inference_mode():
            hidden = model.roberta(input_ids=torch.tensor([ids])).last_hidden_state[0]
            logits = model.lm_head(hidden)
        logits_rows += [logits[p].numpy() for p in positions]
        hidden_rows.append(hidden[positions[0]].numpy())
        cases.append({
            "text": text, "masked_words": masked, "ids": ids, "positions": positions,
            "pieces": [list(p) for p, _ in words], "unit_pieces": [n for _, n in words],
        })
    # Every third column keeps the file small; the argmax is over all columns.
    for case, first in zip(cases, range(0, len(logits_rows), 2)):
        case["argmax"] = [int(logits_rows[first].argmax()), int(logits_rows[first + 1].argmax())]
    columns = np.arange(0, 8192, 3)
    tensors["columns"] = columns.astype(np.int32)
    tensors["logits"] = np.stack([r[columns] for r in logits_rows]).astype(np.float32)
    tensors["hidden"] = np.stack(hidden_rows).astype(np.float32)
    save_file(tensors, str(out / "infill_logits.safetensors"))
    note = (
        "logits [2 * cases, columns]: rows 2k and 2k+1 are positions[0] and positions[1] of case k at "
        "the vocabulary ids in `columns`; hidden [cases, 192] at positions[0]; f32 from the f16 weights; "
        "one text at a time, no padding. ids: <s> pieces </s>; the first unit_pieces[w] pieces of each "
        "masked word are one <mask>."
    )
    (out / "infill_logits.json").write_text(
        json.dumps({"note": note, "cases": cases}, ensure_ascii=False, indent=0) + "\n", encoding="utf-8"
    )


def encoder(models: Path, out: Path) -> None:
    static = Static(models / "encoder" / "model.safetensors", models / "encoder" / "tokenizer.json")
    vectors = static.encode(ENCODER)
    cases = [
        {"text": t, "ids": i, "vector": [float(np.format_float_positional(x, precision=7)) for x in v]}
        for t, i, v in zip(ENCODER, static.ids(ENCODER), vectors)
    ]
    note = "ids without special tokens; vector = sum of scales[i] * embeddings[i], divided by its norm; f32"
    (out / "encoder.json").write_text(
        json.dumps({"note": note, "cases": cases}, ensure_ascii=False) + "\n", encoding="utf-8"
    )


# What is read, and a continuation whose likelihood is asked for.
REWRITER = [
    ("play some jazz music", "play some jazz music"),
    ("play some jazz music", "add this song to my workout playlist"),
    ("", "what is the weather like in Boston tomorrow?"),
    ("What are the treatments for Childhood Asthma ?", "What are the treatments for asthma"),
    ("caf\u00e9 \u4f60\u597d \U0001f600", "caf\u00e9 3.14"),
    ("book a table for 4 at a restaurant near the beach", "book a table for 5 near the beach"),
    ("It was a night of storm and the old house shook in every timber while we waited for the morning.",
     "It was a night of storm and the old house shook."),
]


def rewriter(models: Path, out: Path) -> None:
    model = rewriter_card.load(models / "rewriter")
    encoder = infill_text.Encoder(models / "infill" / "tokenizer.json")
    cases = []
    for text, continuation in REWRITER:
        ids, wanted = (encoder.tokenizer.encode(t, add_special_tokens=False).ids for t in (text, continuation))
        source, read, target = rewriter_card.tensors([(ids, wanted)])
        with torch.inference_mode():
            logits = model(input_ids=source, decoder_input_ids=read).logits[0]
        # The end is not part of the continuation.
        chances = torch.log_softmax(logits[:-1], -1).gather(1, target[0, :-1, None])
        greedy = encoder.tokenizer.decode(rewriter_card.write(model, ids, None, 0)).strip()
        cases.append({
            "text": text, "continuation": continuation, "tokens": len(wanted),
            "log_likelihood": float(chances.double().sum()), "greedy": greedy,
        })
    (out / "rewriter.json").write_text(json.dumps(cases, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cli.add_argument("--models", type=Path, required=True)
    cli.add_argument("--out", type=Path, required=True)
    cli.add_argument("--only", choices=["encoder", "infill", "rewriter"])
    args = cli.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name, make in (("encoder", encoder), ("infill", infill), ("rewriter", rewriter)):
        if args.only in (None, name):
            make(args.models, args.out)
    for path in sorted(args.out.iterdir()):
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
