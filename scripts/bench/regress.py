"""Paired timings of two builds of teda.

Inputs : two programs; options as in regress.sh, which says what is printed.
Outputs: a Markdown table, and the times of every run on standard error.
Command: python regress.py BEFORE AFTER [--rounds 5] [--only JOBS] [--models DIR]
"""

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Quantiles of Student's t at 99.5 %, by degrees of freedom from 1 on.
STUDENT = [63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947]

GRR = "audit --mech grr --dataset categories:2 --epsilon 1 --lambda 0 --attack likelihood-ratio --estimator teda"
JOBS = {
    # The attack is named: builds have other defaults, and what is compared is the same work.
    "main job": "audit --mech privrewrite --k 2 --trials 3000 --epsilon 1 --attack embedding",
    "candidates": "audit --mech em --trials 20000 --epsilon 1 --attack embedding",
    "protocols": f"{GRR} --trials 20000000 --keep counts",
    "em at high epsilon": "audit --mech em --epsilon 100 --dataset medquad-answers --trials 300 --attack embedding",
    "learned": "audit --mech em --epsilon 20 --trials 20000 --attack learned --limit 4000",
    "merge": "merge shard1 shard2",
    "MiniLM": "audit --mech constant --encoder minilm --limit 2000 --trials 10 --attack embedding",
    "SmolLM2": "audit --mech dp-prompt --llm smollm2-135m --epsilon 100 --limit 64 --trials 64 --attack random",
    "start": "--help",
}
MODELS = {"MiniLM": "minilm", "SmolLM2": "smollm2-135m"}


class Unknown(Exception):
    """A build does not know a job's flags or names: it is older, or newer."""


def run(program: str, job: str, folder: Path) -> float:
    """Seconds of one run in a fresh output folder; what was kept of encoded texts is taken away before it."""
    shutil.rmtree(folder / "cache" / "vectors", ignore_errors=True)
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    words = [program, *JOBS[job].split()]
    if words[1] in ("audit", "merge"):
        words += ["--out", str(out)]
    if words[1] == "audit":
        words.append("--quiet")
    environment = {**os.environ, "TEDA_CACHE": str(folder / "cache")}
    start = time.perf_counter()
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode == 2:
        raise Unknown(f"{program}: {done.stderr.strip().splitlines()[0]}")
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return seconds


def prepare(program: str, folder: Path) -> None:
    """The shards that the job `merge` joins, made by each build of its own."""
    for part in ("1", "2"):
        shutil.rmtree(folder / f"shard{part}", ignore_errors=True)
        words = [program, *GRR.split(), "--trials", "1000000", "--shard", f"{part}/2", "--out", f"shard{part}", "--quiet"]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(JOBS))
    parser.add_argument("--models", type=Path)
    given = parser.parse_args()
    if not 2 <= given.rounds <= len(STUDENT) + 1:
        parser.error(f"--rounds {given.rounds}: 2 to {len(STUDENT) + 1}")
    programs = [str(Path(program).resolve()) for program in (given.before, given.after)]
    jobs = [job.strip() for job in given.only.split(",")]
    unknown = [job for job in jobs if job not in JOBS]
    if unknown:
        parser.error(f"no job '{unknown[0]}': {', '.join(JOBS)}")
    store = given.models
    if store is None:
        found = subprocess.run([programs[1], "models", "path", "minilm"], capture_output=True, text=True)
        store = Path(found.stdout.strip()).parent if found.returncode == 0 else None

    slower = False
    print("| job | before, s | after, s | after / before | 99 % interval | |\n| --- | ---: | ---: | ---: | --- | --- |")
    with tempfile.TemporaryDirectory() as scratch:
        folders = [Path(scratch) / side for side in ("before", "after")]
        for folder, program in zip(folders, programs):
            (folder / "cache").mkdir(parents=True)
            if store is not None:
                (folder / "cache" / "models").symlink_to(store.resolve())
            if "merge" in jobs:
                prepare(program, folder)
        for job in jobs:
            if job in MODELS and (store is None or not (store / MODELS[job]).exists()):
                print(f"skipped: {job}: {MODELS[job]} is not on this machine", file=sys.stderr)
                continue
            pairs = []
            # One pair more: what the first one reads from disk counts for nobody.
            for round_ in range(given.rounds + 1):
                order = (0, 1) if round_ % 2 else (1, 0)
                try:
                    seconds = {side: run(programs[side], job, folders[side]) for side in order}
                except Unknown as reason:
                    print(f"skipped: {job}: {reason}", file=sys.stderr)
                    break
                print(f"{job}: {seconds[0]:.3f} {seconds[1]:.3f}", file=sys.stderr)
                if round_ > 0:
                    pairs.append((seconds[0], seconds[1]))
            if not pairs:
                continue
            logs = [math.log(after / before) for before, after in pairs]
            middle = statistics.mean(logs)
            half = STUDENT[len(logs) - 2] * statistics.stdev(logs) / math.sqrt(len(logs))
            low, high = math.exp(middle - half), math.exp(middle + half)
            word = "slower" if low > 1 else "faster" if high < 1 else ""
            slower |= word == "slower"
            before, after = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
            print(f"| {job} | {before:.3f} | {after:.3f} | {math.exp(middle):.3f} | {low:.3f} to {high:.3f} | {word} |", flush=True)
    raise SystemExit(1 if slower else 0)


if __name__ == "__main__":
    main()
