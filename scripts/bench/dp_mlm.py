"""DP-MLM by teda and by its authors' package (dpmlm 1.3.0), on the same weights, in one run.

    dp_mlm.py WORK --teda PROGRAM --filling PROGRAM --texts FILE [--draws N] [--trials N]

Makes a checkpoint of roberta-base's shape with random weights in WORK (its tokenizer is trained on the texts of this
repository), and compares

- forward passes: gaps that a second reads, by the package's batch function and by teda, f32, all cores, in turn;
- trials: seconds of a rewrite of the package, and of a trial of `teda audit` after the passes;
- the distribution: at 20 places, at two epsilons, teda's draws against the probabilities that the package draws from
  (chi-square). The script fails where they differ.

FILE holds one text a line. The package is run as it is; what it imports and does not use here (presidio) is replaced by
nothing, and NLTK's data, which no package registry has, by the same stopwords and by NLTK's own word tokenizer without the
model that finds sentences.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
from scipy.stats import chi2

ROOT = Path(__file__).resolve().parents[2]
CLIP = (-3.2093127, 16.304797887802124)
TEXTS = 200


def stopwords():
    """The list in the mechanism's source, so that both sides copy the same words."""
    source = (ROOT / "mechanisms/src/text/nltk_stopwords.rs").read_text()
    body = source[source.index("const STOPWORDS") :]
    body = body[body.index("= &[") : body.index("];")]
    return [part.strip(' "\n') for part in body[4:].split(",") if part.strip(' "\n')]


def package(work):
    """The authors' module."""
    data = work / "nltk_data" / "corpora" / "stopwords"
    data.mkdir(parents=True, exist_ok=True)
    (data / "english").write_text("\n".join(stopwords()) + "\n")
    os.environ["NLTK_DATA"] = str(work / "nltk_data")
    presidio = types.ModuleType("presidio_analyzer")
    presidio.AnalyzerEngine = object
    sys.modules["presidio_analyzer"] = presidio
    import nltk

    nltk.word_tokenize = nltk.tokenize.NLTKWordTokenizer().tokenize
    import dpmlm.core

    return dpmlm.core


def checkpoint(work):
    """A model of roberta-base's shape with random weights, and a tokenizer of its kind and size."""
    path = work / "roberta-random"
    if (path / "model.safetensors").exists():
        return path
    import gzip

    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaForMaskedLM, RobertaTokenizerFast

    texts = []
    for file in sorted((ROOT / "datasets/data").glob("*.gz")):
        texts += gzip.open(file, "rt", encoding="utf-8").read().splitlines()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(texts, vocab_size=50265, min_frequency=1, special_tokens=special)
    path.mkdir(parents=True, exist_ok=True)
    bpe.save(str(path / "bpe.json"))
    # As in roberta-base, a mask takes the space before it.
    saved = json.loads((path / "bpe.json").read_text())
    for token in saved["added_tokens"]:
        token["lstrip"] = token["content"] == "<mask>"
    (path / "bpe.json").write_text(json.dumps(saved))
    fast = RobertaTokenizerFast(tokenizer_file=str(path / "bpe.json"), model_max_length=512)
    fast.save_pretrained(path)
    torch.manual_seed(0)
    model = RobertaForMaskedLM(
        RobertaConfig(
            vocab_size=50265,
            max_position_embeddings=514,
            type_vocab_size=1,
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
        )
    )
    with torch.no_grad():
        # Untrained logits are all alike; spread, they are clipped at both ends as a trained model's are.
        model.lm_head.layer_norm.weight.mul_(12.0)
        model.lm_head.bias.normal_(-3.2, 1.0)
    model.save_pretrained(path)
    return path


def run(command, **options):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, **options).stdout


def passes(core, path, texts, filling, work):
    """Gaps a second by both sides, in turn."""
    import torch

    torch.set_num_threads(os.cpu_count())
    model = core.DPMLM(MODEL=str(path))
    stop = set(stopwords())
    jobs = []
    for text in texts:
        tokens = core.nltk.word_tokenize(text)
        places = [i for i, t in enumerate(tokens) if t not in stop and t not in core.string.punctuation]
        jobs.append((tokens, places))
    gaps = sum(len(places) for _, places in jobs)
    file = work / "texts.txt"
    file.write_text("\n".join(texts) + "\n")
    theirs, ours, rewrites = [], [], []
    for _ in range(2):
        start = time.perf_counter()
        for tokens, places in jobs:
            model.privatize_batch(tokens, places, [100.0] * len(places))
        theirs.append(gaps / (time.perf_counter() - start))
        rewrites.append((time.perf_counter() - start) / len(jobs))
        line = run([filling, path, file, os.cpu_count()])
        count, speed = int(line.split()[0]), float(line.split()[-2])
        if count != gaps:
            sys.exit(f"teda makes {count} gaps, the package {gaps}")
        ours.append(speed)
    return gaps, max(theirs), max(ours), min(rewrites)


def audit(teda, path, file, work, trials):
    """Seconds of an audit of this many trials, with its states on disk."""
    out = work / f"run-{trials}"
    shutil.rmtree(out, ignore_errors=True)
    start = time.perf_counter()
    run(
        [teda, "audit", "--mech", "dp-mlm", "--llm", path, "--dataset", file, "--epsilon", "100", "--attack", "embedding"]
        + ["--set", f"clip_low={CLIP[0]},clip_high={CLIP[1]}", "--trials", trials, "--out", out],
        env=os.environ | {"TEDA_CACHE": str(work / "cache")},
    )
    return time.perf_counter() - start


def one_drawn_word(core, texts):
    """Twenty texts in which one word is drawn: what stands around it is the same in every release."""
    stop = sorted(set(stopwords()) - {"s", "t", "d", "m", "o", "y", "ll", "re", "ve"})
    words = []
    for text in texts:
        words += [w for w in core.nltk.word_tokenize(text) if w.isalpha() and w not in stop]
    words = sorted(set(words))[:: max(1, len(set(words)) // 20)][:20]
    rng = np.random.default_rng(0)
    made = []
    for word in words:
        before = list(rng.choice(stop, 4))
        after = list(rng.choice(stop, 4))
        made.append((" ".join(before), word, " ".join(after)))
    return made


def same_distribution(core, path, places, teda, draws, epsilon):
    """The greatest of the places' chi-squares, as p-values."""
    model = core.DPMLM(MODEL=str(path))
    worst = 1.0
    seen = {}

    class Caught(Exception):
        pass

    def choice(count, p):
        seen["p"] = p
        raise Caught

    original, core.np.random.choice = core.np.random.choice, choice
    words = [model.tokenizer.decode([token]).strip().lower() for token in range(len(model.tokenizer))]
    try:
        for before, word, after in places:
            text = f"{before} {word} {after}"
            tokens = text.split()
            try:
                model.privatize_batch(tokens, [4], [epsilon])
            except Caught:
                pass
            exact = {}
            for written, p in zip(words, seen["p"]):
                exact[written] = exact.get(written, 0.0) + float(p)
            command = [teda, "rewrite", "--mech", "dp-mlm", "--llm", path, "--epsilon", epsilon]
            command += ["--set", f"clip_low={CLIP[0]},clip_high={CLIP[1]}"]
            out = run(command, input="\n".join([text] * draws) + "\n").splitlines()
            counts = {}
            for line in out:
                if not (line.startswith(before) and line.endswith(after)):
                    sys.exit(f"'{line}' is not '{before} … {after}'")
                drawn = line[len(before) : len(line) - len(after)].strip()
                counts[drawn] = counts.get(drawn, 0) + 1
            # Words of fewer than 5 expected draws are one cell.
            statistic, cells, rest_seen, rest_mean = 0.0, 0, 0, 0.0
            for written, p in exact.items():
                mean, count = p * draws, counts.get(written, 0)
                if mean >= 5:
                    statistic += (count - mean) ** 2 / mean
                    cells += 1
                else:
                    rest_seen += count
                    rest_mean += mean
            if rest_mean >= 5:
                statistic += (rest_seen - rest_mean) ** 2 / rest_mean
                cells += 1
            if cells < 2:
                sys.exit(f"{draws} draws are too few to compare: every word is drawn less than five times")
            p = float(chi2.sf(statistic, cells - 1))
            print(f"  epsilon {epsilon:>6}: '{word}', {cells} cells, chi-square {statistic:.1f}, p = {p:.3f}", flush=True)
            worst = min(worst, p)
    finally:
        core.np.random.choice = original
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--teda", required=True)
    parser.add_argument("--filling", required=True)
    parser.add_argument("--texts", required=True, type=Path)
    parser.add_argument("--draws", type=int, default=20_000)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--only", choices=["speed", "distribution"])
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    core = package(work)
    path = checkpoint(work)
    texts = options.texts.read_text(encoding="utf-8").splitlines()
    if options.only != "distribution":
        gaps, theirs, ours, rewrite = passes(core, path, texts[:TEXTS], options.filling, work)
        file = work / "texts.txt"
        # The first audit leaves what the model made of every gap; the others start from there, as any later run does.
        audit(options.teda, path, file, work, options.trials)
        few = min(audit(options.teda, path, file, work, 100) for _ in range(2))
        many = min(audit(options.teda, path, file, work, options.trials) for _ in range(2))
        trial = (many - few) / (options.trials - 100)
        print(f"forward passes over {gaps} gaps of {len(texts[:TEXTS])} texts: dpmlm {theirs:.2f}/s, teda {ours:.2f}/s, ratio {ours / theirs:.2f}")
        print(f"a rewrite by dpmlm {rewrite:.4f} s, a trial by teda {trial:.6f} s, ratio {rewrite / trial:.0f}")
    if options.only != "speed":
        places = one_drawn_word(core, texts)
        p = [same_distribution(core, path, places, options.teda, options.draws, epsilon) for epsilon in (50.0, 250.0)]
        print(f"least p of {2 * len(places)} chi-squares: {min(p):.4f}")
        # Of forty true hypotheses the least p is below this in one run of 10,000.
        if min(p) < 1e-4 / (2 * len(places)):
            sys.exit("the distributions differ")


if __name__ == "__main__":
    main()
