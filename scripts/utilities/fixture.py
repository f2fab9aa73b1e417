"""Record what the reference packages make of 100 pairs of texts, for the tests of `utilities`.

Inputs : the held-out texts of the data sets that ship, the tiny BERT and GPT-2 checkpoints of models/tests/fixtures.
Outputs: utilities/tests/fixtures/pairs.json: pairs of (source, release), and for each rouge1, rougeL, bleu of the pair,
         bertscore (F, all layers of the tiny BERT), cosine (the tiny BERT, mean of its tokens) and perplexity (the tiny
         GPT-2); bleu of all pairs as a corpus; versions of the packages.
Command: pip install sacrebleu rouge-score bert-score sentence-transformers transformers torch
         python scripts/utilities/fixture.py
"""

import gzip
import importlib.metadata
import json
import math
import random
import shutil
import tempfile
from pathlib import Path

import bert_score
import bert_score.utils
import sacrebleu
import torch
import transformers
from rouge_score import rouge_scorer
from sentence_transformers import SentenceTransformer, models
from tokenizers import Tokenizer

REPO = Path(__file__).resolve().parents[2]
FIXTURES = REPO / "models" / "tests" / "fixtures"
PACKAGES = ["sacrebleu", "rouge-score", "bert-score", "sentence-transformers", "transformers"]

ODD = [
    ("", ""),
    ("", "something out of nothing"),
    ("a text that becomes nothing", ""),
    (" \n\t ", "blank"),
    ("was läuft 🎵 im kino?", "was läuft im kino 🎵?"),
    ("naïve café, déjà-vu", "naive cafe deja vu"),
    ("Привет, мир! 你好，世界。", "Привет мир 你好 世界"),
    ("It costs $1,000.50 (3-4 days) &amp; more...", "It costs $1,000 & 3 - 4 days more."),
    ("<skipped> line-\nbreak and\nlines", "linebreak and lines"),
    ("don't U.S.A. state-of-the-art 50%", "do n't USA state of the art 50 %"),
    ("word", "word"),
    ("one two three", "one two three"),
    ("\u00a0no-break\u2003space\u001cseparator", "no-break space separator"),
    ("İstanbul ΣΊΣΥΦΟΣ ß", "istanbul σίσυφος ss"),
    ("a " * 60, "a b " * 30),
]


def texts(name, field, count):
    path = next(p for p in (REPO / "datasets" / "data").glob(f"{name}.jsonl*"))
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as handle:
        rows = [json.loads(line)[field] for line in handle]
    return random.Random(name).sample(rows, count)


def damaged(text, chance):
    """Words dropped, doubled, exchanged or shouted."""
    out = []
    for word in text.split():
        roll = chance.random()
        if roll < 0.15:
            continue
        out.append(word.upper() if roll > 0.95 else word)
        if roll > 0.9:
            out.append(chance.choice(["the", "song", word, "in 2019,", "(maybe)"]))
    if chance.random() < 0.2:
        chance.shuffle(out)
    return " ".join(out)


def single(name, folder):
    """A copy of a tiny checkpoint that is computed in single precision, with the names that bert-score asks for."""
    place = Path(folder) / name
    shutil.copytree(FIXTURES / name, place)
    config = json.loads((place / "config.json").read_text())
    config |= {"dtype": "float32", "torch_dtype": "float32"}
    (place / "config.json").write_text(json.dumps(config))
    settings = place / "tokenizer_config.json"
    if settings.exists():
        own = {"cls_token": "<s>", "sep_token": "</s>"}
        settings.write_text(json.dumps(json.loads(settings.read_text()) | own))
    return str(place)


def perplexities(releases, gpt2):
    """As the metric of `evaluate`: every token of the text after the model's start, without its end."""
    model = transformers.AutoModelForCausalLM.from_pretrained(gpt2).eval()
    tokenizer = Tokenizer.from_file(str(FIXTURES / "roberta" / "tokenizer.json"))
    found = []
    for text in releases:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        if not ids or len(ids) >= model.config.n_positions:
            found.append(None)
            continue
        read = torch.tensor([[model.config.bos_token_id, *ids]])
        with torch.no_grad():
            logits = model(read).logits[0, :-1]
        nats = torch.nn.functional.cross_entropy(logits, read[0, 1:], reduction="mean")
        found.append(math.exp(float(nats)))
    return found


def read(tokenizer, text):
    """bert-score's own reading of a text; for an empty one it calls what tokenizers no longer have."""
    return tokenizer.encode(text.strip(), add_special_tokens=True, truncation=True, max_length=tokenizer.model_max_length)


def main():
    with tempfile.TemporaryDirectory() as folder:
        record(single("bert", folder), single("gpt2", folder))


def record(bert, gpt2):
    bert_score.utils.sent_encode = read
    chance = random.Random(7)
    sources = texts("snips", "text", 35) + texts("medquad", "question", 25) + texts("novels", "text", 25)
    pairs = ODD + [(source, damaged(source, chance)) for source in sources]
    pairs = [(s, r) for s, r in pairs]
    scorer = rouge_scorer.RougeScorer(["rouge1", "rougeL"], use_stemmer=False)
    sentence = sacrebleu.BLEU(effective_order=True)
    corpus = sacrebleu.BLEU()
    layers = json.loads((FIXTURES / "bert" / "config.json").read_text())["num_hidden_layers"]
    sources, releases = [s for s, _ in pairs], [r for _, r in pairs]
    _, _, f = bert_score.score(releases, sources, model_type=bert, num_layers=layers, idf=False, device="cpu")
    word = models.Transformer(bert)
    encoder = SentenceTransformer(modules=[word, models.Pooling(word.get_embedding_dimension())], device="cpu")
    a, b = (encoder.encode(part, convert_to_tensor=True, normalize_embeddings=True) for part in (sources, releases))
    cosines = (a * b).sum(dim=1).tolist()
    cases = []
    for i, ((source, release), perplexity) in enumerate(zip(pairs, perplexities(releases, gpt2), strict=True)):
        rouge = scorer.score(source, release)
        cases.append({
            "source": source, "release": release,
            "rouge1": rouge["rouge1"].fmeasure, "rougeL": rouge["rougeL"].fmeasure,
            "bleu": sentence.sentence_score(release, [source]).score,
            "bertscore": float(f[i]), "cosine": cosines[i], "perplexity": perplexity,
        })
    document = {
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "corpus_bleu": corpus.corpus_score(releases, [sources]).score,
        "signature": str(corpus.get_signature()),
        "cases": cases,
    }
    out = REPO / "utilities" / "tests" / "fixtures" / "pairs.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(len(cases), document["versions"], document["signature"])


if __name__ == "__main__":
    main()
