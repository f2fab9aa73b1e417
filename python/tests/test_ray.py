"""Audits on a Ray of one machine: a head and two nodes, one of which dies, and a worker that is killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from conftest import TEXTS

import teda_audit

# Read when Ray is imported: a node that is gone is noticed soon, and nobody is called.
os.environ.update(
    RAY_USAGE_STATS_ENABLED="0",
    RAY_health_check_initial_delay_ms="1000",
    RAY_health_check_period_ms="1000",
    RAY_health_check_failure_threshold="3",
)
ray = pytest.importorskip("ray", reason="ray is not installed: pip install ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

SETTINGS = {"texts": TEXTS, "claim": 1, "lambda_": 0, "trials": 1200, "attacks": ["learned", "overlap"], "batch": 10, "seed": 3}


@pytest.fixture(scope="module")
def cluster():
    memory = {"object_store_memory": 80 * 2**20}
    cluster = cluster_utils.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **memory}
    )
    cluster.nodes = [cluster.add_node(num_cpus=1, **memory) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False)
    cluster.wait_for_nodes()
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def loader(folder: Path):
    """What makes the mechanism, and writes down each time that it does. It knows nothing of this file, which workers
    cannot import."""

    def load():
        import hashlib
        import os
        import time

        (folder / f"loaded-{os.getpid()}").write_text(os.environ.get("RAY_NODE_ID", ""))

        def rewrite(texts, seeds):
            if not (folder / "hurry").exists():
                time.sleep(0.3)
            digests = [hashlib.blake2b(seed.to_bytes(8, "little")).digest()[0] for seed in seeds]
            return [text if byte < 64 else "nothing to see" for text, byte in zip(texts, digests)]

        return rewrite

    load.__module__ = "__main__"
    return load


def rows(part: Path) -> int:
    journal = part / "trials.jsonl"
    return len(journal.read_bytes().splitlines()) if journal.exists() else 0


def until(is_so, what: str) -> None:
    start = time.monotonic()
    while not is_so():
        assert time.monotonic() - start < 60, what
        time.sleep(0.05)


def same(one: teda_audit.Result, other: teda_audit.Result) -> None:
    for name in ("trials", "guesses", "texts"):
        left, right = ((result.directory / f"{name}.parquet").read_bytes() for result in (one, other))
        assert left == right, name
    assert [cell.bound for cell in one.cells] == [cell.bound for cell in other.cells]
    # Opened again, as only an audit itself has notes.
    table, again = (str(teda_audit.load(result.directory)) for result in (one, other))
    assert table == again


def test_a_killed_worker_and_a_lost_node_change_nothing(cluster, tmp_path: Path) -> None:
    from teda_audit.ray import audit

    def disturb() -> None:
        begun = lambda: [part for part in (tmp_path / "out/shards").glob("*") if rows(part) > 10]  # noqa: E731
        until(lambda: len(begun()) >= 2, "two shards are at work")
        numbers = [int(path.name.removeprefix("loaded-")) for path in tmp_path.glob("loaded-*")]
        os.kill(numbers[0], signal.SIGKILL)
        until(lambda: len(list(tmp_path.glob("loaded-*"))) > 2, "a worker takes its place")
        cluster.remove_node(cluster.nodes[0], allow_graceful=False)
        (tmp_path / "hurry").touch()

    told: list[tuple[int, int, str]] = []
    disturber = threading.Thread(target=disturb)
    disturber.start()
    result = audit(
        loader(tmp_path), shards=6, out=tmp_path / "out", progress=lambda *done: told.append(done), **SETTINGS
    )
    disturber.join()
    assert (tmp_path / "hurry").exists()
    assert told[-1] == (6, 6, "shards")
    # Each worker loads once, however many shards it makes: two at first, and those that took their places.
    assert len(list(tmp_path.glob("loaded-*"))) <= 4
    same(result, teda_audit.audit(loader(tmp_path)(), **SETTINGS))

    # The same call again opens what is there.
    same(audit(loader(tmp_path), shards=6, out=tmp_path / "out", **SETTINGS), result)


def test_what_a_worker_raises_is_raised_and_the_same_call_goes_on(cluster, tmp_path: Path) -> None:
    from teda_audit.ray import audit

    def load():
        def rewrite(texts, seeds):
            if (tmp_path / "broken").exists():
                raise ZeroDivisionError("no luck")
            return ["a"] * len(texts)

        return rewrite

    load.__module__ = "__main__"
    (tmp_path / "broken").touch()
    settings = {**SETTINGS, "shards": 2, "out": tmp_path / "out", "workers": 1}
    with pytest.raises(ZeroDivisionError, match="no luck"):
        audit(load, **settings)
    (tmp_path / "broken").unlink()
    assert audit(load, **settings).cells[0].trials > 0


def test_factories_names_and_what_cannot_be(cluster, tmp_path: Path) -> None:
    from teda_audit.ray import audit

    result = audit("krr", shards=2, out=tmp_path / "krr", **{**SETTINGS, "claim": None, "epsilon": [1, 2]})
    same(result, teda_audit.audit("krr", **{**SETTINGS, "claim": None, "epsilon": [1, 2]}))

    made = tmp_path / "made"

    def noisy(epsilon: float):
        with made.open("a") as file:
            file.write(f"{epsilon}\n")
        return lambda texts, seeds: [text if seed % 10 < epsilon else "a" for text, seed in zip(texts, seeds)]

    noisy.__module__ = "__main__"
    settings = {**SETTINGS, "epsilon": [1, 2]}
    result = audit(noisy, shards=4, out=tmp_path / "noisy", workers=1, **settings)
    # Once for each ε, not once a shard.
    assert sorted(made.read_text().split()) == ["1.0", "2.0"]
    same(result, teda_audit.audit(noisy, **settings))

    for wrong, why in [
        ({"shards": 1}, "at least 2"),
        ({"shard": (1, 2)}, "shards"),
        ({"num_gpus": 1000}, "no machine"),
        ({"num_cpus": 0}, "needs something"),
    ]:
        with pytest.raises(teda_audit.UsageError, match=why):
            audit("krr", **{"shards": 2, "out": tmp_path / "wrong", **wrong})
    with pytest.raises(teda_audit.UsageError, match="unknown"):
        audit("no-such-mechanism", shards=2, out=tmp_path / "wrong", epsilon=1)
