#!/usr/bin/env python3
"""Audits every planted leak of examples/leaky.rs and every sound twin, and writes docs/leaks.md.

    cargo build --release --workspace --bin teda --example leaky
    scripts/leaks/run.py WORK [--seeds 200] [--jobs 2] [--target target/release]

Every broken mechanism is audited once, with 10,000 trials (100,000 for one leak in 500); every sound twin with 700
trials, the fewest that the attack 'learned' takes, under as many seeds. WORK keeps the outcome of each audit, so an
interrupted run goes on where it was; with fewer seeds the table counts those alone. A sound audit takes about half a
second of one core, so 200 seeds should take a quarter of an hour on 2 quiet cores.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLAIM = 1
ALPHA = 0.01
SOUND_TRIALS = 700
FOUR = ["bijection", "same-coins", "fails-on-one"]
FORMS = ["unicode-form", "quotation-marks"]

TEXT = """# Planted leaks

`examples/leaky.rs` leaks in {kinds} ways, each in a broken form and in a sound one that looks alike. All of them claim ε = 1
between any two texts; the sound ones keep it, by randomised response at ε = 1 or because what they release has nothing to
do with the text. The default attack of `teda audit` must refute every broken one, and a sound one in no more than α/2 = {tail}
of its audits.

Audits of four texts are about what single texts give away, those of 48 lines about forms of writing, all others about
sentences of `novels`; k = 2, λ = 0, α = {alpha}. A violation is a bound above 1 of any attack of the audit, at the level of one
that was chosen among them. p is P[Bin(audits, {tail}) ≥ violations]: what is below 10⁻⁴ is no accident.

| kind | the broken form | texts | trials | ε ≥ | verdict | sound: violations / audits of {sound_trials} trials | p |
|---|---|---|---:|---:|---|---:|---:|
{rows}

All sound twins together: {violations} violations in {audits} audits, p = {p}.

Made by `scripts/leaks/run.py WORK --seeds {seeds}`.
"""


def data_of(kind):
    for name, kinds in [("four.txt", FOUR), ("forms.txt", FORMS)]:
        if kind in kinds:
            return name
    return "novels"


def p_value(times, audits):
    """P[Bin(audits, α/2) ≥ times]."""
    tail = ALPHA / 2
    below = sum(math.comb(audits, i) * tail**i * (1 - tail) ** (audits - i) for i in range(times))
    return max(0.0, 1 - below)


def audit(target, kind, form, trials, seed):
    """The bound of an audit at the level of a choice among its attacks, with its trials."""
    data = data_of(kind)
    texts = [] if data == "novels" else [data]
    with tempfile.TemporaryDirectory() as folder:
        for name in texts:
            content = (ROOT / "tests/leaks" / name).read_bytes()
            (pathlib.Path(folder) / name).write_bytes(content)
        # The command line is part of the seed, so it names no path.
        command = [target / "teda", "audit", "--mech", " ".join(["exec:leaky", kind, form, *texts])]
        command += ["--dataset", data, "--epsilon", str(CLAIM), "--claim", "neighbours=any-texts"]
        command += ["--lambda", "0", "--trials", str(trials), "--seed", str(seed)]
        command += ["--processes", "1", "--threads", "1", "--format", "json", "--quiet"]
        path = f"{target / 'examples'}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
    if done.returncode:
        raise SystemExit(f"{command}: {done.stderr}")
    cells = json.loads(done.stdout)["cells"]
    return max(cell["chosen_epsilon"] for cell in cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--target", type=pathlib.Path, default=ROOT / "target/release")
    options = parser.parse_args()
    target = options.target.resolve()
    listed = subprocess.run([target / "examples/leaky", "list"], capture_output=True, text=True, check=True)
    kinds = dict(line.split("\t") for line in listed.stdout.splitlines())
    options.work.mkdir(parents=True, exist_ok=True)
    log = options.work / "audits.jsonl"
    known = {}
    if log.exists():
        for line in log.read_text().splitlines():
            *what, bound = json.loads(line)
            known[tuple(what)] = bound

    def broken(kind):
        return (kind, "broken", 100_000 if kind == "verbatim-500" else 10_000, 0)

    plan = [broken(kind) for kind in kinds]
    # Seed after seed, so that an interrupted run has as many of each kind.
    plan += [(kind, "sound", SOUND_TRIALS, seed) for seed in range(options.seeds) for kind in kinds]

    def run(what):
        if what not in known:
            known[what] = audit(target, *what)
            with log.open("a") as out:
                out.write(json.dumps([*what, known[what]]) + "\n")

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(run, plan))

    rows, violations, audits = [], 0, 0
    for kind, leaks in kinds.items():
        bound = known[broken(kind)]
        bounds = [known[(kind, "sound", SOUND_TRIALS, seed)] for seed in range(options.seeds)]
        times = sum(bound > CLAIM for bound in bounds)
        violations, audits = violations + times, audits + len(bounds)
        texts = {"four.txt": "four", "forms.txt": "48 lines"}.get(data_of(kind), data_of(kind))
        verdict = "violation" if bound > CLAIM else "**missed**"
        rows.append(
            f"| {kind} | {leaks} | {texts} | {broken(kind)[2]} | {bound:.2f} | {verdict} "
            f"| {times} / {len(bounds)} | {p_value(times, len(bounds)):.2g} |"
        )
    text = TEXT.format(
        kinds=len(kinds), alpha=ALPHA, tail=ALPHA / 2, sound_trials=SOUND_TRIALS, rows="\n".join(rows),
        violations=violations, audits=audits, p=f"{p_value(violations, audits):.2g}", seeds=options.seeds,
    )
    (ROOT / "docs/leaks.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
