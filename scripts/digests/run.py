#!/usr/bin/env python3
"""Shows that a refactoring changes no number: digests of what some forty commands print and write.

    cargo build --release --workspace --bin teda --example leaky
    target/release/teda models pull minilm smollm2-135m
    scripts/digests/run.py record                           # before the change
    scripts/digests/run.py check                            # after it: status 1 where anything differs
    scripts/digests/run.py check --only leaks --keep runs   # the runs of some commands, to look at

Between them, the commands below use every mechanism, attack and estimator, and the options that change results. They
take about two minutes on 2 cores. Each leaves the SHA-256 of what it printed, of each `result.json`, `cells.csv` and
`curve.svg`, and of the rows, guesses and texts of each run. Masked are the seconds of cells and nothing else: all else
is the same at every call. `leaky` is looked for beside teda and in `examples/` there. Other inputs are made here or
copied from `examples/`, `tests/leaks/` and `models/tests/fixtures/`, so a change of those is a difference, too.
"""

import argparse
import csv
import gzip
import hashlib
import io
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = pathlib.Path(__file__).with_name("recorded.json")
# Results that depend on the clock: a key of result.json, a column of cells.csv.
MASKED = "seconds"
FILES = ["result.json", "cells.csv", "trials.parquet", "guesses.parquet", "texts.parquet", "curve.svg"]
INSTRUCTIONS = re.compile(r"fma|f16c|sse4_2|avx.*|amx.*|asimd.*|sve.*|bf16|i8mm")
# Statuses of commands that did what they should: done, and a check that found something.
FINE = [0, 3]

# The steps of each command, one a line. {} is its own folder, `stop N` interrupts a step once N rows are there, and
# every step can read texts.txt from standard input.
COMMANDS = {
    # Mechanisms and models.
    "rewriters": """audit --mech all --set rounds=2,paraphrases=3 --epsilon 2 --limit 300 --trials 40
        --attack embedding,length,overlap,random,llm --out {}""",
    "rewriters-k3-lambda": """audit --mech privrewrite,em,word-perturb,krr,identity --epsilon 3,40 --limit 60
        --trials 60 --k 3 --lambda -10000,0,5 --attack embedding,overlap --dataset medquad-questions --seed 7
        --out {}""",
    "parameters": """audit --mech privrewrite --preset paper --set tau=0.9,rho=3,split=0.3 --epsilon 4 --limit 40
        --trials 30 --attack embedding --out {}/privrewrite
        audit --mech safedp-rewrite --set mask_rate=0.4,mask_numbers=0,always_mask=play+book,dispersion=0.2,tau=0.7
        --set candidates=4 --epsilon 3 --limit 40 --trials 30 --attack embedding --llm builtin:mask=0.3,rounds=2
        --out {}/safedp
        audit --mech dp-prompt,dp-prompt-black-box --preset review --set longest=12,sensitivity=20 --epsilon 20
        --limit 40 --trials 30 --attack embedding --out {}/dp-prompt
        audit --mech dp-gtr --preset jem-public --set paraphraser=em,paraphrases=4,keywords=3,spread=1,epsilon2=5
        --epsilon 50 --limit 40 --trials 20 --attack embedding --out {}/dp-gtr
        audit --mech the --set threshold=0.7 --epsilon 2 --dataset categories:3 --trials 300
        --attack likelihood-ratio --out {}/the""",
    "protocols": """audit --mech grr,sue,oue,she,the,olh,laplace,gaussian --dataset categories:5 --lambda 0
        --epsilon 1,4 --trials 1000 --attack likelihood-ratio,embedding,learned --out {}""",
    "checkpoints": """audit
        --mech privrewrite,safedp-rewrite,dp-prompt,dp-prompt-black-box,dp-gtr,dp-prompt-topk,dp-prompt-unclipped
        --set clip_low=-3,clip_high=3,longest=9,candidates=3,rounds=2,paraphrases=3,top_k=5 --llm ./t5
        --encoder ./bert --judge ./t5:by=likelihood --epsilon 20 --limit 60 --trials 40 --attack embedding,llm
        --out {}/rewriters
        audit --mech identity,em --epsilon 10 --encoder ./mpnet --judge ./llama:by=likelihood --limit 60 --trials 40
        --attack embedding,llm --out {}/llama
        audit --mech identity --judge ./bart --limit 60 --trials 40 --attack llm --out {}/bart""",
    "checkpoints-likelihoods": """audit --mech dp-prompt,dp-prompt-topk,word-perturb,em
        --set clip_low=-3,clip_high=3,top_k=5 --llm ./t5 --attack likelihood-ratio --epsilon 20 --limit 60
        --trials 40 --out {}""",
    "reconstruct": """audit --mech em,constant --epsilon 20 --limit 60 --trials 40 --attack reconstruct,embedding
        --out {}/run
        report {}/run --attack reconstruct,overlap --out {}/report
        audit --mech identity --limit 60 --trials 20 --attack embedding --out {}/plain
        report {}/plain --attack reconstruct --judge ./bart --out {}/later""",
    "judge-by-prompt": """audit --mech identity --attack embedding,llm --judge ./t5:by=prompt --limit 30 --k 2,3
        --trials 12 --out {}""",
    "pulled-models": """audit --mech privrewrite --encoder minilm --offline --epsilon 4 --limit 60 --trials 30
        --attack embedding --out {}/minilm
        audit --mech dp-prompt --llm smollm2-135m --offline --epsilon 100 --limit 60 --max-words 6 --trials 4
        --attack embedding,llm,likelihood-ratio --out {}/smollm2""",
    "rewrite": "\n".join(
        f"rewrite --mech {mechanism} --epsilon {epsilon} --seed 5"
        for mechanism, epsilon in [("privrewrite", 4), ("em", 40), ("word-perturb", 100), ("dp-prompt", 100)]
    ),
    # Attacks that learn.
    "default-attacks": "audit --mech em,krr --epsilon 2,20 --limit 60 --trials 700 --out {}",
    "learned-novels": """audit --mech privrewrite,em --epsilon 10 --dataset novels --max-words 10 --limit 300
        --trials 700 --attack learned,embedding --out {}""",
    "learned-k4": """audit --mech em,identity --epsilon 9 --k 4 --lambda 0 --limit 100 --trials 900
        --attack learned:share=0.4,most=300,length --out {}""",
    "learned-few-texts": """audit --mech krr,constant,krr-half-noise --epsilon 3 --dataset categories:4 --lambda 0
        --trials 1500 --attack learned,length,overlap,embedding,llm,likelihood-ratio,random --out {}""",
    "learned-one-token": """audit --mech em --neighbours one-token --epsilon 24 --limit 30 --trials 900
        --attack learned --estimator teda --out {}""",
    "leaks-novels": """audit --mech 'exec:leaky length broken' --mech 'exec:leaky first-word broken'
        --mech 'exec:leaky two-words broken' --mech 'exec:leaky first-half broken'
        --mech 'exec:leaky fails-on-long broken' --mech 'exec:leaky punctuation broken'
        --mech 'exec:leaky rare-words broken' --mech 'exec:leaky verbatim-100 broken'
        --mech 'exec:leaky rare-words sound' --dataset novels --limit 400 --epsilon 1 --claim neighbours=any-texts
        --lambda 0 --trials 700 --processes 1 --out {}""",
    "leaks-four": """audit --mech 'exec:leaky bijection broken four.txt'
        --mech 'exec:leaky same-coins broken four.txt' --mech 'exec:leaky fails-on-one broken four.txt'
        --mech 'exec:leaky fails-on-one sound four.txt' --dataset four.txt --epsilon 1 --claim neighbours=any-texts
        --lambda 0 --trials 800 --processes 1 --out {}""",
    "leaks-forms": """audit --mech 'exec:leaky unicode-form broken forms.txt'
        --mech 'exec:leaky quotation-marks broken forms.txt' --dataset forms.txt --epsilon 1
        --claim neighbours=any-texts --lambda 0 --k 2,3 --trials 700 --processes 1 --out {}""",
    # Estimators and what they are told.
    "abstain": """audit --mech grr,sue,oue,olh --dataset categories:2 --lambda 0 --epsilon 4
        --attack likelihood-ratio --estimator abstain --trials 20000 --out {}""",
    "certificate": """audit --mech em-half-noise,em --neighbours one-token --attack likelihood-ratio
        --estimator certificate --epsilon 4 --limit 100 --k 2,3 --trials 400 --out {}/exact
        audit --mech laplace,gaussian,krr --dataset categories:3 --attack likelihood-ratio --estimator certificate
        --delta 0.001 --epsilon 1,2 --trials 2000 --out {}/delta""",
    "rao-blackwell": """audit --mech krr,grr,oue,em --epsilon 2 --limit 6 --lambda 0 --attack likelihood-ratio
        --estimator rao-blackwell --trials 2000 --out {}""",
    "gdp": """audit --mech gaussian --set delta=0.001 --dataset categories:2 --lambda 0 --epsilon 1,2 --delta 0.001
        --attack likelihood-ratio --estimator gdp --trials 5000 --out {}""",
    "worst-pair": """audit --mech krr,word-perturb --dataset categories:4 --lambda 0 --epsilon 2 --k 2,3
        --trials 3000 --attack embedding --estimator worst-pair --out {}/all
        audit --mech krr --dataset categories:4 --lambda 0 --epsilon 2 --trials 3000 --attack likelihood-ratio,random
        --estimator worst-pair-split --out {}/split""",
    "estimators-of-rows": "audit --mech krr,em --dataset categories:3 --lambda 0 --epsilon 2 --trials 2000 "
    "--attack likelihood-ratio,embedding --out {}/run\n"
    + "\n".join(
        f"report {{}}/run --estimator {estimator} --alpha 0.05 --out {{}}/{estimator}\n"
        f"report {{}}/run --estimator {estimator} --delta 0.01 --out {{}}/{estimator}-delta"
        for estimator in "teda baseline abstain anytime rao-blackwell certificate worst-pair worst-pair-split".split()
    )
    + "\nreport {}/run --estimator joint-beta --out {}/joint-beta",
    "delta-alpha": """audit --mech krr,em,laplace --dataset categories:3 --lambda 0 --epsilon 1,3 --delta 0.05
        --alpha 0.1 --trials 1000 --attack embedding,learned --out {}""",
    "until-decided": """audit --mech krr,krr-half-noise,constant --epsilon 1,2 --dataset categories:2 --lambda 0
        --until decided --trials 30000 --attack embedding --out {}""",
    "until-width": """audit --mech krr,grr --epsilon 1,2 --dataset categories:3 --lambda 0 --until width=0.3
        --trials 30000 --attack likelihood-ratio --out {}""",
    "counts": """audit --mech grr,krr --dataset categories:4 --lambda 0 --epsilon 1 --attack likelihood-ratio
        --keep counts --estimator abstain --trials 1000003 --out {}/numbers
        audit --mech em,oue --limit 50 --epsilon 2 --attack embedding,random --keep counts --trials 3000
        --out {}/texts""",
    # The worst pair.
    "hunt": """audit --mech krr,em --epsilon 10 --limit 12 --lambda 0 --pairs hunt=20 --trials 1500
        --attack embedding --out {}/embedding
        audit --mech word-perturb --epsilon 25 --limit 12 --lambda 0 --max-words 5 --pairs hunt=10 --trials 700
        --attack learned --out {}/learned
        report {}/learned --attack length --out {}/again""",
    "hunt-one-token": """audit --mech em --neighbours one-token --epsilon 24 --pairs hunt=10 --limit 40 --trials 600
        --attack embedding --out {}""",
    # Programs and recorded releases.
    "exec": """audit --mech 'exec:python3 randomised_response.py texts.txt' --dataset texts.txt --limit 6 --lambda 0
        --epsilon 1,2 --claim neighbours=any-texts --attack likelihood-ratio,learned --trials 800 --out {}/run
        audit --mech 'exec:python3 randomised_response.py texts.txt' --dataset texts.txt --limit 6 --lambda 0
        --epsilon 2 --attack likelihood-ratio --estimator certificate --trials 500 --out {}/certificate""",
    "exec-failures": """audit --mech 'exec:python3 randomised_response.py fewer.txt' --dataset texts.txt --limit 12
        --lambda 0 --epsilon 2 --claim epsilon=3,delta=0.001,neighbours=one-token,unit=text --delta 0.001
        --attack learned,embedding,overlap --trials 800 --processes 1 --out {}""",
    "releases": """audit --releases releases.csv --claim neighbours=any-texts --out {}/csv
        audit --releases releases.jsonl.gz --claim epsilon=1,neighbours=any-texts --epsilon 2 --k 3
        --attack learned,length,overlap,random --out {}/jsonl
        audit --releases releases.csv --epsilon 2 --attack embedding --until width=0.8 --out {}/until""",
    # Parts, reports and checks.
    "shards": "\n".join(
        f"audit --mech krr,em --epsilon 3 --limit 40 --lambda 0 --trials 900 --attack learned,random "
        f"--shard {part}/3 --out {{}}/{part}"
        for part in [1, 2, 3]
    )
    + "\nmerge {}/3 {}/1 {}/2 --out {}/merged",
    "resumed": """stop 300 audit --mech privrewrite,em --epsilon 5 --limit 100 --trials 700
        --attack learned,embedding --batch 2 --out {}
        audit --resume {}""",
    "report": """audit --mech em,identity --epsilon 10 --limit 80 --trials 700 --attack random --out {}/one
        audit --mech krr-half-noise,constant --epsilon 1 --limit 2 --lambda 0 --trials 700 --attack embedding
        --out {}/two
        report {}/one
        report {}/one {}/two --alpha 0.1 --out {}/both
        report {}/one --attack auto --out {}/auto
        report {}/one --attack learned,length,overlap,likelihood-ratio --out {}/more
        report {}/two --attack llm,random --judge builtin --out {}/judged
        report {}/two --format json
        report {}/two --format csv""",
    "check": """check sound.toml --out {}/sound
        check broken.toml --out {}/broken --format json""",
    # Data sets.
    "files": """audit --mech identity,em --epsilon 30 --trials 60 --attack embedding,overlap
        --dataset table.csv:body,rows.jsonl:text,table.tsv:body,texts.txt,texts.txt.gz --out {}/files
        audit --mech identity --trials 30 --attack length --dataset {}/files/texts.parquet:text --out {}/parquet
        audit --mech em --epsilon 5 --trials 30 --attack embedding --dataset - --out {}/input""",
    "shipped-data": """audit --mech identity,krr --epsilon 4 --trials 60 --attack embedding,length --limit 500
        --dataset snips,medquad-questions,medquad-answers,novels,categories:7 --max-words 40 --out {}/default
        audit --mech word-perturb --epsilon 20 --trials 60 --attack embedding --dataset snips --split valid
        --min-words 4 --max-words 9 --k 5 --lambda 100 --out {}/valid
        audit --mech identity --trials 60 --attack overlap --dataset snips --split all --min-words 12 --out {}/all""",
}

SOUND = """[defaults]
dataset = "categories:3"
lambda = 0
trials = 2000
[[audit]]
name = "krr"
mech = ["krr", "grr"]
epsilon = [1, 2]
at-least = 0.3
at-most = "claim"
[[audit]]
name = "krr-half-noise"
mech = "krr-half-noise"
epsilon = 1
attack = "embedding"
until = "decided"
expect = "violation"
"""
BROKEN = """[defaults]
dataset = "categories:3"
lambda = 0
trials = 2000
epsilon = [1, 2]
attack = "embedding"
[[audit]]
name = "krr-half-noise"
mech = "krr-half-noise"
[[audit]]
name = "krr-again"
mech = "krr"
seed = 9
recorded = "check/sound/krr"
"""


def inputs(work):
    """Writes and copies the files that the commands name."""
    fixtures = ROOT / "models/tests/fixtures"
    for name in ["t5", "bert", "mpnet", "llama", "bart"]:
        shutil.copytree(fixtures / name, work / name)
    for name in ["examples/randomised_response.py", "tests/leaks/four.txt", "tests/leaks/forms.txt"]:
        shutil.copy(ROOT / name, work)
    wanted = ["play some jazz", "book a table", "Will it rain", "rate this novel", "find the café"]
    where = ["by the lake", "in Oslo, tomorrow", "for 4 people!", "again"]
    texts = [f"{what} {place}" for place in where for what in wanted]
    lines = "".join(f"{text}\n" for text in [*texts, "", texts[0]])
    (work / "texts.txt").write_bytes(lines.encode())
    (work / "texts.txt.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
    # The last 2 of the first 12 texts are not in the program's domain: it fails on them.
    (work / "fewer.txt").write_bytes("".join(f"{text}\n" for text in texts[:10]).encode())
    (work / "sound.toml").write_text(SOUND)
    (work / "broken.toml").write_text(BROKEN)
    for name, delimiter in [("table.csv", ","), ("table.tsv", "\t")]:
        with (work / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=delimiter).writerows([("id", "body"), *enumerate(texts)])
    rows = "".join(json.dumps({"text": text}) + "\n" for text in reversed(texts))
    (work / "rows.jsonl").write_text(rows)
    coins = random.Random(5)
    releases = []
    for row in range(4800):
        source = texts[row % 4]
        # Every 50th failed.
        release = "" if row % 50 == 0 else source if coins.random() < 0.7 else texts[coins.randrange(4)]
        releases.append({"source": source, "release": release, "epsilon": 1 + row // 4 % 2})
    with (work / "releases.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, releases[0])
        writer.writeheader()
        writer.writerows(releases)
    rows = "".join(json.dumps(row) + "\n" for row in releases)
    (work / "releases.jsonl.gz").write_bytes(gzip.compress(rows.encode(), mtime=0))


def masked(value):
    if isinstance(value, dict):
        return {key: masked(item) for key, item in value.items() if key != MASKED}
    return [masked(item) for item in value] if isinstance(value, list) else value


def canonical(content):
    """What is digested of a file or an output: documents and tables without what depends on the clock."""
    if content.startswith(b"{"):
        try:
            return json.dumps(masked(json.loads(content)), sort_keys=True).encode()
        except ValueError:
            return content
    if content.startswith(b"dataset,mechanism,"):
        rows = csv.DictReader(io.StringIO(content.decode(), newline=""))
        return json.dumps([masked(row) for row in rows]).encode()
    return content


def interrupted(command, rows, journal, **how):
    """Runs a command, interrupts it once its journal has so many rows, and returns its status."""
    with subprocess.Popen(command, **how) as process:
        while process.poll() is None:
            if journal.exists() and journal.read_bytes().count(b"\n") >= rows:
                process.send_signal(signal.SIGINT)
                break
            time.sleep(0.01)
    return process.returncode


def run(teda, work, name):
    """Runs a command in the work folder and returns the digests of what it left, and its status."""
    path = os.pathsep.join([str(teda.parent / "examples"), str(teda.parent), os.environ["PATH"]])
    # A step goes on in the lines that begin with no command.
    steps = re.split(r"\n\s*(?=(?:audit|report|merge|check|rewrite|stop) )", COMMANDS[name])
    found = {}
    for number, step in enumerate(steps, 1):
        arguments = shlex.split(step.replace("{}", name))
        file = tempfile.TemporaryFile
        with (work / "texts.txt").open("rb") as stdin, file() as stdout, file() as stderr:
            how = {"cwd": work, "env": {**os.environ, "PATH": path}}
            how |= {"stdin": stdin, "stdout": stdout, "stderr": stderr}
            if arguments[0] == "stop":
                journal = work / name / "trials.jsonl"
                status = interrupted([teda, *arguments[2:]], int(arguments[1]), journal, **how)
                fine = [130]
            else:
                status, fine = subprocess.run([teda, *arguments], **how).returncode, FINE
            stdout.seek(0)
            stderr.seek(0)
            printed, said = stdout.read(), stderr.read().decode(errors="replace")
        found[f"step {number}: status"] = status
        found[f"step {number}: printed"] = hashlib.sha256(canonical(printed)).hexdigest()
        if status not in fine:
            why = f"{name}: step {number} ended with status {status}: {shlex.join(arguments)}\n{said}"
            print(why, file=sys.stderr)
            return found, False
    for file in sorted(work.glob(f"{name}/**/*")):
        if file.name in FILES:
            content = canonical(file.read_bytes())
            found[file.relative_to(work / name).as_posix()] = hashlib.sha256(content).hexdigest()
    return found, True


def instructions():
    """The instruction sets of this processor that floating-point kernels may differ by."""
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return sorted(flag for flag in flags.split() if INSTRUCTIONS.fullmatch(flag))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("mode", choices=["record", "check"])
    where = "the digests; recorded.json beside this program when left out"
    parser.add_argument("file", nargs="?", type=pathlib.Path, default=RECORDED, help=where)
    parser.add_argument("--teda", type=pathlib.Path, metavar="PATH", default=ROOT / "target/release/teda")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="a new folder for the run directories")
    parser.add_argument("--only", metavar="PART", help="checks the commands with this in their name alone")
    options = parser.parse_args()
    teda = options.teda.resolve()
    if not os.access(teda, os.X_OK):
        parser.error(f"{teda} is no program")
    if options.mode == "record" and options.only:
        parser.error("--only is for checks")
    if options.mode == "record" and not options.file.resolve().parent.is_dir():
        parser.error(f"{options.file} is in no folder that there is")
    if options.keep and options.keep.exists():
        parser.error(f"{options.keep} is there already")
    names = [name for name in COMMANDS if (options.only or "") in name]
    if not names:
        parser.error(f"no command has '{options.only}' in its name")
    recorded = {}
    if options.mode == "check":
        try:
            recorded = json.loads(options.file.read_text())
        except (OSError, ValueError) as error:
            parser.error(f"{options.file}: {error}")

    digests, failed = {}, []
    with tempfile.TemporaryDirectory(prefix="teda-digests-") as folder:
        work = pathlib.Path(folder)
        inputs(work)
        for number, name in enumerate(names, 1):
            started = time.monotonic()
            digests[name], fine = run(teda, work, name)
            seconds = time.monotonic() - started
            print(f"{number}/{len(names)} {name}: {seconds:.1f} s", file=sys.stderr, flush=True)
            failed += [] if fine else [name]
        if options.keep:
            shutil.copytree(work, options.keep)

    here = instructions()
    if options.mode == "record":
        if failed:
            sys.exit(f"not recorded: {', '.join(failed)} failed")
        lines = [f'"instructions": {json.dumps(here)}']
        lines += [f"{json.dumps(name)}: {json.dumps(digests[name], sort_keys=True)}" for name in sorted(digests)]
        options.file.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(f"{len(digests)} commands recorded in {options.file}")
        return
    if recorded.pop("instructions", None) != here:
        print("warning: recorded on a processor with other instruction sets: real models may differ in last digits")
    different = 0
    for name in sorted({*names, *(recorded if not options.only else [])}):
        before, after = recorded.get(name), digests.get(name)
        if before is None or after is None:
            print(f"{name}: {'not recorded' if before is None else 'no command any more'}")
            different += 1
            continue
        for file in sorted({*before, *after}):
            if before.get(file) != after.get(file):
                what = "not recorded" if file not in before else "missing" if file not in after else "differs"
                print(f"{name}: {file} {what}")
                different += 1
    print(f"commands: {len(names)}, differences: {different}")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
