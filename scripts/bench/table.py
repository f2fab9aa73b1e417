"""The table of models.sh, from the figures of its runs.

Inputs : the folder of figures, the scratch folder, what `teda --version` says, and the folder of MiniLM.
Outputs: Markdown on standard output; ends with an error where two sides did not do the same.
Command: python table.py FIGURES WORK VERSION MINILM
"""

import json
import os
import platform
import re
import sys
from pathlib import Path


def rows(path: Path) -> list[dict]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.startswith("{")]


def best(candidates: list[dict], field: str) -> dict:
    return max(candidates, key=lambda row: row[field])


def found(text: str, pattern: str) -> list[float]:
    return [float(number) for number in re.findall(pattern, text)]


def line(*cells) -> None:
    print("| " + " | ".join(cells) + " |")


def head(*cells) -> None:
    line(*cells)
    line(*["---"] * 2, *["---:"] * (len(cells) - 2))


def ratio(ours: float, theirs: float) -> str:
    return f"{ours / theirs:.2f}"


def limit(figures: Path) -> dict:
    """Multiply-adds and bytes a second that this processor reaches at most, by precision."""
    row = rows(figures / "limit.txt")[0]
    half = [key for key in row if key.endswith("-bf16")]
    return {"f32": row["f32"], "bf16": row[half[0]] if half else None}


def share(rate: float, work: float, most: float) -> str:
    """How much of the limit `rate` things a second of `work` multiply-adds are."""
    return f"{100 * rate * work / most:.0f} %"


def layers(folder: Path, outside: tuple[str, ...]) -> int:
    """Numbers in a checkpoint's matrices, without those that are looked up."""
    with (folder / "model.safetensors").open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    shapes = {name: row["shape"] for name, row in header.items() if name != "__metadata__"}
    return sum(s[0] * s[1] for name, s in shapes.items() if len(s) == 2 and not any(part in name for part in outside))


def sentence(model: Path, work: Path) -> float:
    """Multiply-adds in the linear layers for one sentence, on average."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    texts = (work / "sentences.txt").read_text(encoding="utf-8").splitlines()
    tokens = sum(len(read.ids) for read in tokenizer.encode_batch(texts)) / len(texts)
    return tokens * layers(model, ("embeddings", "pooler"))


def embedding(figures: Path, work: Path, version: str, model: Path) -> None:
    theirs = rows(figures / "sentence-transformers.txt")
    names = theirs[0]["versions"]
    most, each = limit(figures), sentence(model, work)
    ours = {}
    for precision, file in [("f32", "teda-embedding.txt"), ("bf16", "teda-embedding-bf16.txt")]:
        if (figures / file).exists():
            ours[precision] = max(found((figures / file).read_text(), r"([\d.]+) sentences/s"))
    head("embedding (MiniLM, 2,000 sentences)", "how", "sentences/s", "teda f32 / it", "teda bf16 / it", "of the limit")
    for precision, speed in ours.items():
        faster = ratio(ours["bf16"], speed) if precision == "f32" and "bf16" in ours else ""
        used = share(speed, each, most[precision])
        line(f"{version}, {precision}", "all threads", f"{speed:,.0f}", "", faster, used)
    name = f"sentence-transformers {names['sentence-transformers']}, torch {names['torch']}, f32"
    chosen = [
        best([row for row in theirs if row["processes"] == processes], "sentences_per_second")
        for processes in sorted({row["processes"] for row in theirs})
    ]
    top = best(chosen, "sentences_per_second")
    others = [(name, row, row is top) for row in chosen]
    onnx = rows(figures / "onnxruntime.txt")
    if onnx:
        name = f"onnxruntime {onnx[0]['versions']['onnxruntime']}, f32"
        others.append((name, best(onnx, "sentences_per_second"), True))
    for name, row, is_best in others:
        how = f"{row['processes']} × {row['threads']} threads, batch {row['batch']}"
        how += ", fused operators" if row.get("fused") else ""
        speed = row["sentences_per_second"]
        line(
            name, how + (", its best" if is_best else ""), f"{speed:,.0f}", ratio(ours["f32"], speed),
            ratio(ours["bf16"], speed) if "bf16" in ours else "", share(speed, each, most["f32"]),
        )
    print()


# SmolLM2-135M: 30 layers of width 576 (192 for keys and values), 1,536 in between; 49,152 tokens.
LAYERS = 30 * (2 * 576 * 576 + 2 * 576 * 192 + 3 * 576 * 1536)
HEAD = 576 * 49152
NEW = 24


def generation(figures: Path, work: Path, version: str) -> None:
    prompts = json.loads((work / "prompts.json").read_text())
    own = len(prompts["lanes"][0]) - prompts["prefix"]
    # A token: the lane's own part of the prompt and its steps, over the tokens made.
    each = ((own + NEW - 1) * LAYERS + NEW * HEAD) / NEW
    most = limit(figures)
    made = {}
    for precision, file in [("f32", "teda-generation.txt"), ("bf16", "teda-generation-bf16.txt")]:
        if (figures / file).exists():
            text = (figures / file).read_text()
            sampled = max(found(text, r"([\d.]+) tokens/s sampled"))
            made[precision] = (sampled, max(found(text, r"([\d.]+) without sampling")))
    text = (figures / "teda-generation.txt").read_text()
    columns = [f"teda {precision} {how} / it" for precision in made for how in ("sampled", "free")]
    head("generation (SmolLM2-135M, 24 new tokens a lane)", "how", "tokens/s", *columns, "of the limit")
    for precision, (sampled, free) in made.items():
        lanes = f"64 lanes, {precision}, prefix stored"
        empty = [""] * len(columns)
        line(f"{version}, sampled", lanes, f"{sampled:,.0f}", *empty, share(sampled, each, most[precision]))
        line(f"{version}, free choice of tokens", lanes, f"{free:,.0f}", *empty, share(free, each, most[precision]))

    def ratios(speed: float, counts_free: bool) -> list[str]:
        return [text for sampled, free in made.values() for text in (ratio(sampled, speed), ratio(free, speed) if counts_free else "")]

    candle = [row for row in rows(figures / "candle.txt") if row["what"] == "candle"]
    for what, field in [
        ("whole prompts and steps, sampled", "tokens_per_second"),
        ("steps alone, sampled", "decode_tokens_per_second"),
    ]:
        row = best(candle, field)
        how = f"batch {row['batch']}, f32"
        line(f"candle-transformers {candle_version()}, {what}", how, f"{row[field]:,.0f}", *ratios(row[field], False), "")

    llama = rows(figures / "llama-cpp.txt")
    for what, field, counts in [
        ("own parts of the prompts and steps", "tokens_per_second", True),
        ("the same with the shared prefix", "tokens_per_second_with_prefix", True),
        ("the same as first, sampled by numpy", "tokens_per_second_with_sampling", False),
        ("steps alone", "decode_tokens_per_second", True),
    ]:
        row = best(llama, field)
        how = f"64 lanes, Q8_0, cache {row['cache']}, flash attention {'on' if row['flash'] else 'off'}"
        name = f"llama.cpp (llama-cpp-python {row['version']}), {what}"
        line(name, how, f"{row[field]:,.0f}", *ratios(row[field], counts), "")
    print()
    print(f"llama.cpp: {llama[0]['system']}")
    amx = re.search(r"AMX\w* = 1", llama[0]["system"])
    print(f"AMX in llama.cpp: {'used' if amx else 'not used'}")
    print()
    check(figures, work, text, llama[0])


def candle_version() -> str:
    lock = (Path(__file__).parent / "candle" / "Cargo.lock").read_text()
    return re.search(r'name = "candle-transformers"\nversion = "([^"]+)"', lock).group(1)


def check(figures: Path, work: Path, text: str, llama: dict) -> None:
    """Whether all sides read the same prompts, and whether candle's model is llama.cpp's."""
    prompts = json.loads((work / "prompts.json").read_text())
    ours = {int(number) for number in re.findall(r"prompt (\d+) tokens", text)}
    if ours != {len(prompts["lanes"][0])}:
        raise SystemExit(f"teda read prompts of {ours} tokens, llama.cpp of {len(prompts['lanes'][0])}")
    greedy = [
        row["tokens"]
        for name in ["candle", "llama-cpp-greedy"]
        for row in rows(figures / f"{name}.txt")
        if row["what"] == "greedy"
    ]
    same = min(len(os.path.commonprefix([greedy[0], row])) for row in greedy)
    print(
        f"Prompts of {len(prompts['lanes'][0])} tokens, {prompts['prefix']} of them shared. Greedy decoding in f32: "
        f"{same} of {len(greedy[0])} tokens of candle and llama.cpp are the same."
    )
    if same < 8:
        raise SystemExit("candle's model is not llama.cpp's")


def machine(figures: Path) -> None:
    model, flags = platform.processor() or platform.machine(), set()
    info = Path("/proc/cpuinfo")
    if info.exists():
        content = info.read_text()
        named = re.search(r"model name\s*: (.*)", content)
        model = named.group(1).strip() if named else model
        for row in re.findall(r"^(?:flags|Features)\s*: (.*)$", content, re.MULTILINE):
            flags.update(row.split())
    have = ["avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_int8", "asimd"]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{model}, {cores} cores; " + ", ".join(f"{flag} {'yes' if flag in flags else 'no'}" for flag in have))
    idle = figures / "idle.txt"
    if idle.exists():
        shares = [int(share) for share in idle.read_text().split()]
        print(f"Idle before the runs: {min(shares)} to {max(shares)} % of the processor.")


def main() -> None:
    figures, work, version = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    model = Path(sys.argv[4])
    if (figures / "teda-embedding.txt").exists():
        embedding(figures, work, version, model)
    if (figures / "teda-generation.txt").exists():
        generation(figures, work, version)
    peak = limit(figures)
    half = f", {peak['bf16'] / 1e9:.0f} in bf16" if peak["bf16"] else ""
    print(f"The limit: {peak['f32'] / 1e9:.0f} billion multiply-adds a second in f32{half}, out of registers and first cache.")
    machine(figures)


if __name__ == "__main__":
    main()
