"""An audit as a caller makes it: what may be handed over, and what comes back."""

from __future__ import annotations

import math
import pickle
import random

import pytest
import teda_audit
from conftest import coin, leaky
from teda_audit import Claim

QUICK = {"attacks": "overlap", "lambda_": 0, "trials": 600, "progress": False}


def timeless(result: teda_audit.Result) -> list[dict[str, object]]:
    return [{**cell, "seconds": None} for cell in result.to_dicts()]


def test_a_callable_that_leaks_is_found_out(texts: list[str]) -> None:
    result = teda_audit.audit(leaky, texts=texts, epsilon=0.5, claim=0.1, **{**QUICK, "trials": 4000})
    [cell] = result.cells
    assert (cell.mechanism, cell.epsilon, cell.claim, cell.attack) == ("leaky", 0.5, 0.1, "overlap")
    # A quarter is known, and of the rest a half is guessed; four standard deviations of Bin(4000, 5/8).
    assert abs(cell.hits - 2500) < 123
    assert cell.verdict == result.verdict == "violation" and cell.bound > 0.1
    assert result.reproducible and result.notes
    with pytest.raises(teda_audit.ViolationError, match="leaks at least"):
        result.raise_for_violation()
    with pytest.raises(AssertionError):
        result.raise_for_violation()


def test_it_is_the_same_for_any_batch_and_threads(texts: list[str]) -> None:
    results = [
        timeless(teda_audit.audit(leaky, texts=texts, batch=batch, threads=threads, **QUICK))
        for batch, threads in [(64, 1), (7, 2), (1000, 3)]
    ]
    assert results[0] == results[1] == results[2]


def test_a_name_is_what_the_command_line_makes_of_it() -> None:
    options = {"texts": "categories:3", "epsilon": [1, 2], "attacks": ["likelihood-ratio", "overlap"]}
    result = teda_audit.audit("krr", **{**QUICK, **options})
    assert [(c.epsilon, c.attack) for c in result.cells] == [
        (1, "likelihood-ratio"), (1, "overlap"), (2, "likelihood-ratio"), (2, "overlap"),
    ]
    assert all(cell.mechanism == "krr" and cell.verdict == "consistent" for cell in result.cells)


class Response:
    """Binary randomised response on the first letter of a text."""

    def __init__(self, epsilon: float) -> None:
        self.keep = 1 / (1 + math.exp(-epsilon))
        self.guarantee = Claim(epsilon)

    def rewrite(self, texts: list[str], seeds: list[int]) -> list[str | None]:
        return ["yes" if (text[0] == "I") == coin(seed, self.keep) else "no" for text, seed in zip(texts, seeds)]

    def log_likelihood(self, releases: list[str], texts: list[str]) -> list[float]:
        same = [(release == "yes") == (text[0] == "I") for release, text in zip(releases, texts)]
        return [math.log(self.keep if is_same else 1 - self.keep) for is_same in same]


def test_a_factory_runs_a_grid_with_likelihoods_and_claims() -> None:
    options = {"texts": ["I am here.", "You are there."], "epsilon": [0.5, 3], "attacks": "likelihood-ratio"}
    result = teda_audit.audit(Response, **{**QUICK, **options, "trials": 3000})
    assert [(cell.epsilon, cell.claim, cell.epsilon_unit) for cell in result.cells] == [(0.5, 0.5, "text"), (3, 3, "text")]
    assert result.verdict == "consistent" and result.cells[0].bound < 0.5 < result.cells[1].bound
    certain = teda_audit.audit(
        lambda epsilon: Response(epsilon), **{**QUICK, **options, "estimator": "certificate", "name": "Response"}
    )
    # A certificate reads the probabilities themselves, and finds what they are.
    assert [round(cell.bound, 6) for cell in certain.cells] == [0.5, 3]


def test_a_claim_for_each_word_is_composed_over_the_longest_text(texts: list[str]) -> None:
    class Words:
        guarantee = Claim(0.5, unit="token")

        def units(self, text: str) -> int:
            return len(text.split())

        def rewrite(self, texts: list[str], seeds: list[int]) -> list[str]:
            return ["nothing" for _ in texts]

    [cell] = teda_audit.audit(Words(), texts=texts, **QUICK).cells
    assert (cell.epsilon, cell.epsilon_unit, cell.claim, cell.mean_units) == (0.5, "token", 2.0, 4.0)


def test_texts_may_be_any_iterable_of_strings(texts: list[str]) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    made = [
        timeless(teda_audit.audit(leaky, texts=given, **QUICK))
        for given in (texts, tuple(texts), iter(texts), pandas.Series(texts), polars.Series(texts))
    ]
    assert all(one == made[0] for one in made)
    with pytest.raises(TypeError, match="number 1 is of type int"):
        teda_audit.audit(leaky, texts=["a", 1], **QUICK)  # type: ignore[list-item]


def test_attacks_and_encoders_may_be_python(texts: list[str]) -> None:
    def verbatim(candidates: list[list[str]], releases: list[str]) -> list[list[float] | None]:
        return [
            None if "cup" in release else [float(text == release) for text in texts]
            for texts, release in zip(candidates, releases)
        ]

    def lengths(texts: list[str]) -> list[list[float]]:
        return [[math.cos(len(text)), math.sin(len(text))] for text in texts]

    options = {**QUICK, "trials": 3000, "attacks": ["overlap", verbatim], "encoder": lengths}
    result = teda_audit.audit(leaky, texts=texts, **options)
    named, own = result.cells
    assert (named.attack, own.attack) == ("overlap", "verbatim")
    assert own.bound > 0.25 and own.failed_attack > 0 and named.failed_attack == 0
    mapped = teda_audit.audit(leaky, texts=texts, **{**options, "attacks": {"mine": verbatim}})
    assert [cell.attack for cell in mapped.cells] == ["mine"] and mapped.cells[0].hits == own.hits


def test_an_object_that_anonymises_is_a_mechanism(texts: list[str]) -> None:
    class Anonymizer:
        def anonymize_batch(self, texts: list[str]) -> list[str]:
            return [text.split()[0] for text in texts]

    result = teda_audit.audit(Anonymizer(), texts=texts, **QUICK)
    assert result.cells[0].mechanism == "Anonymizer" and result.cells[0].bound > 3


def test_none_is_a_release_that_failed(texts: list[str]) -> None:
    def fails(texts: list[str], seeds: list[int]) -> list[str | None]:
        return [None if text.startswith("I") else text for text in texts]

    [cell] = teda_audit.audit(fails, texts=texts, **QUICK).cells
    assert 0 < cell.failed == cell.failed_mechanism < cell.trials


def test_a_result_is_shown_saved_pickled_and_read_back(texts: list[str], tmp_path) -> None:
    result = teda_audit.audit(leaky, texts=texts, epsilon=1, claim=1, **QUICK)
    place = result.directory
    saved = result.save(tmp_path / "kept")
    assert timeless(saved) == timeless(result) == timeless(teda_audit.load(tmp_path / "kept"))
    assert timeless(pickle.loads(pickle.dumps(saved))) == timeless(result)
    with pytest.raises(teda_audit.UsageError, match="there already"):
        result.save(tmp_path / "kept")
    assert result.figure().lstrip().startswith(b"<svg")
    page = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>") and "leaky" in page
    shown = result._repr_html_()
    assert 'src="data:image/svg+xml;base64,' in shown and "<script" not in shown and "<svg" not in shown
    assert "leaky" in str(result) and "consistent" in repr(result)
    assert place.exists()
    del result
    assert not place.exists()


def test_html_of_a_hostile_name_is_text(texts: list[str]) -> None:
    result = teda_audit.audit(leaky, texts=texts, name="<img src=x onerror=alert(1)>", **QUICK)
    assert "<img src=x" not in result._repr_html_() and "&lt;img src=x" in result._repr_html_()


def test_parts_make_the_whole(texts: list[str], tmp_path) -> None:
    options = {"texts": texts, "epsilon": 1, **QUICK, "attacks": ["overlap", "learned"], "trials": 1001}
    for part in (1, 2):
        teda_audit.audit(leaky, **options, shard=(part, 2), out=tmp_path / str(part))
    joined = teda_audit.merge([tmp_path / "2", tmp_path / "1"], out=tmp_path / "whole")
    assert timeless(joined) == timeless(teda_audit.audit(leaky, **options))


def test_tables_are_taken_without_a_copy_by_all(texts: list[str]) -> None:
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    result = teda_audit.audit(leaky, texts=texts, **{**QUICK, "attacks": ["overlap", "learned"], "trials": 1000})
    assert len(result.trials) == 1000 and "release" in result.trials.columns
    table, frame = pyarrow.table(result.trials), polars.DataFrame(result.trials)
    assert table.num_rows == frame.height == len(pandas.DataFrame.from_arrow(result.trials)) == 1000
    assert sum(frame["hit"]) == result.cells[0].hits
    assert table["release"].to_pylist() == frame["release"].to_list()
    assert polars.DataFrame(result.texts)["text"].to_list() == texts
    guesses = polars.DataFrame(result.guesses)
    assert guesses.height == 1000 and result.cells[1].trials == 700
    assert sum(guesses["hit"][300:]) == result.cells[1].hits
    assert polars.DataFrame(result.to_dicts()).height == 2


def test_matplotlib_draws_it(texts: list[str]) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = teda_audit.audit("krr", **{**QUICK, "texts": "categories:2", "epsilon": [1, 2]}).plot()
    assert [line.get_label() for line in ax.get_lines()] == ["krr", "claim"]


@pytest.mark.parametrize(
    ("mechanism", "options", "exception", "says"),
    [
        ("privrewrit", {}, teda_audit.UsageError, "Did you mean 'privrewrite'"),
        (leaky, {"attacks": "lenght"}, teda_audit.UsageError, "unknown attack 'lenght'"),
        (leaky, {"epsilon": [1, 2]}, teda_audit.UsageError, "give a factory"),
        (Response, {}, teda_audit.UsageError, "say at which"),
        (leaky, {"epsilon": -1}, ValueError, "positive, finite"),
        (leaky, {"k": 1}, ValueError, "at least 2 candidates"),
        (leaky, {"k": 99}, ValueError, "99"),
        (leaky, {"batch": 0}, ValueError, "at least 1 trial"),
        (leaky, {"claim": Claim(delta=2, epsilon=1)}, ValueError, "delta = 2"),
        (leaky, {"claim": Claim(epsilon=1, neighbours="none")}, ValueError, "neighbours of a claim 'none'"),
        (leaky, {"claim": Claim()}, ValueError, "no epsilon"),
        (leaky, {"claim": "2"}, ValueError, "a number"),
        (leaky, {"limit": 3}, ValueError, "limit: for data sets"),
        (leaky, {"texts": "nowhere.txt"}, teda_audit.UsageError, "nowhere.txt"),
        (17, {}, TypeError, "this is a int"),
        (leaky, {"trials": "many"}, ValueError, "many"),
        (lambda texts, seeds: texts[:-1], {}, ValueError, "gave 7 answers and was asked 8"),
        (lambda texts, seeds: "abcdefgh", {}, TypeError, "type str"),
        (lambda texts, seeds: [1] * len(texts), {}, TypeError, "release 0 is of type int"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(
    texts: list[str], mechanism: object, options: dict[str, object], exception: type[Exception], says: str
) -> None:
    with pytest.raises(exception, match=says):
        teda_audit.audit(mechanism, **{"texts": texts, **QUICK, **options})  # type: ignore[arg-type]


def test_one_that_ignores_its_seeds_is_noticed(texts: list[str]) -> None:
    generator = random.Random(1)

    def careless(texts: list[str], seeds: list[int]) -> list[str]:
        return [text if generator.random() < 0.5 else f"{generator.random()}" for text in texts]

    result = teda_audit.audit(careless, texts=texts, **QUICK)
    assert not result.reproducible
    assert any("differed when they were made again" in note for note in result.notes)
    assert teda_audit.audit(careless, texts=texts, twice=0, **QUICK).reproducible


def test_what_can_be_named_is_listed() -> None:
    assert "privrewrite" in teda_audit.mechanisms() and "learned" in teda_audit.attacks()
    assert "teda" in teda_audit.estimators() and "cosine" in teda_audit.utilities()
    assert "snips" in teda_audit.datasets() and len(teda_audit.texts("snips", limit=7)) == 7
