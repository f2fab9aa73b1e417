"""Measure the exported rewriting model on held-out texts and write its card.

Inputs : OUT (exported model), OUT/../infill/tokenizer.json,
         WORK/rewriter/training.json, the held-out texts.
Outputs: OUT/CARD.md. Ends with status 1 where the clean-copy accuracy on held-out
         SNIPS is below the gate of 95 %: such a model must not ship.
Command: python rewriter_card.py --data DIR --work WORK --out OUT
"""

import argparse
import json
import math
from pathlib import Path

import torch
from transformers import BartForConditionalGeneration

import corpora
import infill_text
from infill_text import EOS
from rewriter_train import MASK, MOST, config, tensors

NAMES = ("snips", "questions", "answers", "novels")
MOST_TEXTS = 600
GATE = 0.95
TEMPERATURES = (0.5, 1.0, 1.5)


def load(folder: Path) -> BartForConditionalGeneration:
    """The exported f16 file, computed in f32."""
    from safetensors.torch import load_file

    model = BartForConditionalGeneration(config())
    state = {n: t.float() for n, t in load_file(str(folder / "model.safetensors")).items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected, unexpected
    assert all("embed_tokens" in n or "lm_head" in n or "final_logits_bias" in n for n in missing), missing
    model.tie_weights()
    return model.eval()


def measure(model, rows, damage=None, empty=False):
    """(accuracy, perplexity) of the next token, teacher forced, over all target tokens."""
    right = nats = total = 0.0
    for at in range(0, len(rows), 32):
        part = rows[at : at + 32]
        pairs = [([] if empty else damage(r) if damage else r, r) for r in part]
        source, read, target = tensors(pairs)
        with torch.inference_mode():
            logits = model(
                input_ids=source, attention_mask=(source != infill_text.PAD).long(),
                decoder_input_ids=read,
            ).logits
        keep = target >= 0
        nats += float(torch.nn.functional.cross_entropy(logits[keep], target[keep], reduction="sum"))
        right += int((logits[keep].argmax(-1) == target[keep]).sum())
        total += int(keep.sum())
    return right / total, math.exp(nats / total)


def masked(ids, rng):
    count = max(1, round(0.3 * len(ids)))
    chosen = set(torch.randperm(len(ids), generator=rng)[:count].tolist())
    return [MASK if i in chosen else t for i, t in enumerate(ids)]


def write(model, ids, rng, temperature):
    """One continuation drawn at a temperature; 0 takes the most likely token."""
    source = torch.tensor([[infill_text.BOS, *ids, EOS]])
    made = [EOS]
    with torch.inference_mode():
        memory = model.model.encoder(input_ids=source)
        while len(made) <= len(ids) + 6:
            logits = model(encoder_outputs=memory, decoder_input_ids=torch.tensor([made])).logits[0, -1]
            if temperature == 0:
                token = int(logits.argmax())
            else:
                chances = torch.softmax(logits / temperature, -1)
                token = int(torch.multinomial(chances, 1, generator=rng))
            if token == EOS:
                break
            made.append(token)
    return made[1:]


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    corpora.add_data_argument(cli)
    cli.add_argument("--work", type=Path, required=True)
    cli.add_argument("--out", type=Path, required=True)
    args = cli.parse_args()
    torch.set_num_threads(2)
    model = load(args.out)
    encoder = infill_text.Encoder(args.out.parent / "infill" / "tokenizer.json")
    data, rng = corpora.load(args.data), torch.Generator().manual_seed(63)
    texts, table, snips = {}, [], 0.0
    for name in NAMES:
        rows = {t: [i for p, _ in encoder.text(t) for i in p] for t in data[name]["test"]}
        fit = [t for t in rows if 2 <= len(rows[t]) <= MOST - 2]
        order = torch.randperm(len(fit), generator=rng)[:MOST_TEXTS].tolist()
        texts[name] = [(fit[i], rows[fit[i]]) for i in order]
        ids = [r for _, r in texts[name]]
        clean, _ = measure(model, ids)
        hidden, perplexity = measure(model, ids, lambda r: masked(r, rng))
        _, alone = measure(model, ids, empty=True)
        copies = sum(write(model, r, rng, 0) == r for r in ids[:100])
        table.append(f"| {name} | {len(ids)} | {100 * clean:.2f} % | {copies} of {min(100, len(ids))} | "
                     f"{100 * hidden:.1f} % | {perplexity:.2f} | {alone:.1f} |")
        if name == "snips":
            snips = clean
        print(table[-1], flush=True)
    lines = []
    for name, count in (("snips", 6), ("questions", 3), ("novels", 3)):
        for text, ids in [t for t in texts[name] if len(t[0]) < 120][:count]:
            lines.append(f"- {text}")
            for temperature in TEMPERATURES:
                made = encoder.tokenizer.decode(write(model, ids, rng, temperature)).strip()
                lines.append(f"  - {temperature}: {made}")
    facts = json.loads((args.work / "rewriter" / "training.json").read_text())
    stage_rows, commands = [], []
    for i, stage in enumerate(facts["stages"], 1):
        stage_rows.append(
            f"| {i} | {stage['peak']} | {stage['step']:,} of {stage['steps']:,} | {stage['decay_from']:,} | "
            f"{stage['tokens'] / 1e6:.1f} | {stage['seconds'] / 60:.0f} | {stage['loss']:.3f} |"
        )
        command = (f"python rewriter_train.py --data DATA --work WORK --steps {stage['steps']} "
                   f"--decay-from {stage['decay_from']} --peak {stage['peak']}")
        if i > 1:
            commands.append(f"mv WORK/rewriter/checkpoint.pt WORK/rewriter/stage{i - 1}.pt")
            command += f" --start-from WORK/rewriter/stage{i - 1}.pt"
        commands.append(command)
    template = (Path(__file__).parent / "rewriter_card.md").read_text(encoding="utf-8")
    card = template.format(
        parameters=sum(p.numel() for p in model.parameters()),
        model_bytes=(args.out / "model.safetensors").stat().st_size,
        config_bytes=(args.out / "config.json").stat().st_size,
        table="\n".join(table), gate=f"{100 * GATE:.0f}", examples="\n".join(lines).replace("<", "&lt;"),
        most=MOST_TEXTS, batch=facts["batch_tokens"], stage_table="\n".join(stage_rows),
        commands="\n".join(commands),
    )
    (args.out / "CARD.md").write_text(card, encoding="utf-8")
    if snips < GATE:
        raise SystemExit(f"clean-copy accuracy on held-out SNIPS is {snips:.4f}, below {GATE}: do not ship")


if __name__ == "__main__":
    main()
