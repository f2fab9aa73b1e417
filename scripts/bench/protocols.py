"""Audited trials a second of randomised response over two categories: teda and ldp-audit in turn, on one core.

Inputs : teda's program, a scratch folder, rounds, mechanism calls of teda a round; ldp-audit on PYTHONPATH.
Outputs: Markdown on standard output; ends with an error where a side does not find randomised response.
Command: python protocols.py TEDA WORK ROUNDS TRIALS
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

EPSILON = 1.0
ALPHA = 0.01
# Both bounds must come this near to the truth, and not above it.
NEAR = 0.02


def ldp_audit(calls: int):
    """A function that runs ldp-audit's audit of GRR with this many mechanism calls."""
    from ldp_audit.base_auditor import LDPAuditor

    # It makes nb_trials calls for each of its two error rates.
    auditor = LDPAuditor(nb_trials=calls // 2, alpha=ALPHA, epsilon=EPSILON, k=2, n_jobs=1)
    return lambda: auditor.run_audit("GRR")


def teda(program: str, work: Path, calls: int):
    """A function that runs teda's audit of GRR with this many mechanism calls."""
    out = work / "teda-run"
    command = [program, "audit", "--mech", "grr", "--dataset", "categories:2", "--attack", "likelihood-ratio"]
    command += ["--epsilon", str(EPSILON), "--alpha", str(ALPHA), "--trials", str(calls), "--keep", "counts"]
    command += ["--threads", "1", "--format", "json", "--quiet", "--out", str(out)]

    def run():
        shutil.rmtree(out, ignore_errors=True)
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        (cell,) = json.loads(printed)["cells"]
        return cell["empirical_epsilon"]

    return run


def main() -> None:
    program, work, rounds, calls = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    # One core for both sides, and for what ldp-audit starts.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    theirs = calls // 10
    sides = {"ldp-audit": (ldp_audit(theirs), theirs), "teda": (teda(program, work, calls), calls)}
    # The first run compiles ldp-audit's client and fills caches: it does not count.
    sides["ldp-audit"][0]()
    speeds = {name: [] for name in sides}
    bounds = {}
    for _ in range(rounds):
        for name, (run, made) in sides.items():
            started = time.perf_counter()
            bounds[name] = float(run())
            speeds[name].append(made / (time.perf_counter() - started))
    for name, bound in bounds.items():
        if not EPSILON - NEAR <= bound <= EPSILON:
            sys.exit(f"{name} finds {bound} where epsilon is {EPSILON}: this is no audit of randomised response")
    version = subprocess.run([program, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    names = {"ldp-audit": "ldp-audit", "teda": version}
    best = {name: max(values) for name, values in speeds.items()}
    print(f"| GRR, 2 categories, ε = {EPSILON:g}, one core | calls a round | million calls/s | all rounds | empirical ε | teda / it |")
    print("| --- | ---: | ---: | --- | ---: | ---: |")
    for name, (_, made) in sides.items():
        rounds_shown = ", ".join(f"{speed / 1e6:.2f}" for speed in speeds[name])
        ratio = "" if name == "teda" else f"{best['teda'] / best[name]:.1f}"
        print(f"| {names[name]} | {made:,} | {best[name] / 1e6:.2f} | {rounds_shown} | {bounds[name]:.4f} | {ratio} |")


if __name__ == "__main__":
    main()
