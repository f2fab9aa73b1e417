"""The table of models.sh, from the figures of its runs.

Inputs : the folder of figures, the scratch folder, and what `teda --version` says.
Outputs: Markdown on standard output; ends with an error where two sides did not do the same.
Command: python table.py FIGURES WORK VERSION
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


def embedding(figures: Path, version: str) -> None:
    ours = max(found((figures / "teda-embedding.txt").read_text(), r"([\d.]+) sentences/s"))
    theirs = rows(figures / "sentence-transformers.txt")
    names = theirs[0]["versions"]
    head("embedding (MiniLM, f32, 2,000 sentences)", "how", "sentences/s", "teda / it")
    line(version, "all threads", f"{ours:,.0f}", "")
    name = f"sentence-transformers {names['sentence-transformers']}, torch {names['torch']}"
    chosen = [
        best([row for row in theirs if row["processes"] == processes], "sentences_per_second")
        for processes in sorted({row["processes"] for row in theirs})
    ]
    top = best(chosen, "sentences_per_second")
    for row in chosen:
        how = f"{row['processes']} × {row['threads']} threads, batch {row['batch']}"
        speed = row["sentences_per_second"]
        line(name, how + (", its best" if row is top else ""), f"{speed:,.0f}", ratio(ours, speed))
    print()


def generation(figures: Path, work: Path, version: str) -> None:
    text = (figures / "teda-generation.txt").read_text()
    sampled = max(found(text, r"([\d.]+) tokens/s sampled"))
    free = max(found(text, r"([\d.]+) without sampling"))
    head("generation (SmolLM2-135M, 24 new tokens a lane)", "how", "tokens/s", "teda sampled / it", "teda free / it")
    lanes = "64 lanes, f32, prefix stored"
    line(f"{version}, sampled", lanes, f"{sampled:,.0f}", "", "")
    line(f"{version}, free choice of tokens", lanes, f"{free:,.0f}", "", "")

    candle = [row for row in rows(figures / "candle.txt") if row["what"] == "candle"]
    for what, field in [
        ("whole prompts and steps, sampled", "tokens_per_second"),
        ("steps alone, sampled", "decode_tokens_per_second"),
    ]:
        row = best(candle, field)
        line(
            f"candle-transformers {candle_version()}, {what}",
            f"batch {row['batch']}, f32",
            f"{row[field]:,.0f}",
            ratio(sampled, row[field]),
            "",
        )

    llama = rows(figures / "llama-cpp.txt")
    for what, field, counts in [
        ("own parts of the prompts and steps", "tokens_per_second", True),
        ("the same with the shared prefix", "tokens_per_second_with_prefix", True),
        ("the same as first, sampled by numpy", "tokens_per_second_with_sampling", False),
        ("steps alone", "decode_tokens_per_second", True),
    ]:
        row = best(llama, field)
        how = f"64 lanes, Q8_0, cache {row['cache']}, flash attention {'on' if row['flash'] else 'off'}"
        line(
            f"llama.cpp (llama-cpp-python {row['version']}), {what}",
            how,
            f"{row[field]:,.0f}",
            ratio(sampled, row[field]),
            ratio(free, row[field]) if counts else "",
        )
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
    have = ["avx2", "avx512f", "avx512_vnni", "amx_tile", "amx_int8", "asimd"]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{model}, {cores} cores; " + ", ".join(f"{flag} {'yes' if flag in flags else 'no'}" for flag in have))
    idle = figures / "idle.txt"
    if idle.exists():
        shares = [int(share) for share in idle.read_text().split()]
        print(f"Idle before the runs: {min(shares)} to {max(shares)} % of the processor.")


def main() -> None:
    figures, work, version = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    if (figures / "teda-embedding.txt").exists():
        embedding(figures, version)
    if (figures / "teda-generation.txt").exists():
        generation(figures, work, version)
    machine(figures)


if __name__ == "__main__":
    main()
