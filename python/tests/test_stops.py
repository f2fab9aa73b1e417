"""Audits that end before their end: exceptions, Ctrl-C, and going on."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
import teda_audit
from conftest import leaky
from test_audit import timeless

OPTIONS = {"attacks": "overlap", "lambda_": 0, "trials": 3000, "progress": False, "epsilon": 1, "claim": 1}


class Broken(Exception):
    pass


def test_an_exception_passes_unchanged_and_loses_no_finished_row(texts: list[str], tmp_path: Path) -> None:
    broken, calls = Broken("no more"), 0

    def breaks(texts: list[str], seeds: list[int]) -> list[str | None]:
        nonlocal calls
        calls += 1
        if calls == 13:
            raise broken
        return leaky(texts, seeds)

    out = tmp_path / "run"
    with pytest.raises(Broken) as caught:
        teda_audit.audit(breaks, texts=texts, name="leaky", twice=0, out=out, **OPTIONS)
    assert caught.value is broken and calls == 13
    assert "breaks" in [entry.name for entry in caught.traceback]
    if sys.version_info >= (3, 11):
        assert str(out) in caught.value.__notes__[0]
    # Twelve batches of 64 were finished.
    lines = (out / "trials.jsonl").read_text().splitlines()
    assert sum('"t":' in line for line in lines) == 12 * 64
    seen: list[int] = []

    def watched(texts: list[str], seeds: list[int]) -> list[str | None]:
        seen.extend(seeds)
        return leaky(texts, seeds)

    result = teda_audit.resume(out, watched, claim=1, progress=False)
    assert len(seen) == 3000 - 12 * 64
    assert timeless(result) == timeless(teda_audit.audit(leaky, texts=texts, **OPTIONS))
    assert timeless(teda_audit.resume(out)) == timeless(result)


def test_ctrl_c_stops_within_a_tenth_of_a_second_and_can_be_gone_on_with(texts: list[str], tmp_path: Path) -> None:
    waited = []
    # A busy machine may be late; a stop that waits for more than the running batch is late every time.
    for attempt in range(3):
        out, calls, pressed = tmp_path / str(attempt), 0, 0.0
        working = threading.Event()

        def slow(texts: list[str], seeds: list[int]) -> list[str | None]:
            nonlocal calls
            calls += 1
            if calls == 5:
                working.set()
            time.sleep(0.01)
            return leaky(texts, seeds)

        def press() -> None:
            nonlocal pressed
            working.wait()
            pressed = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)

        watcher = threading.Thread(target=press)
        watcher.start()
        options = {**OPTIONS, "texts": texts, "name": "leaky", "out": out, "trials": 100_000}
        with pytest.raises(KeyboardInterrupt):
            teda_audit.audit(slow, **options)
        waited.append(time.monotonic() - pressed)
        watcher.join()
        kept = sum('"t":' in line for line in (out / "trials.jsonl").read_text().splitlines())
        # Two calls see whether it follows its seeds; all other batches are kept.
        assert kept == (calls - 2) * 64
    assert min(waited) < 0.1, waited
    options["trials"] = 3000
    with pytest.raises(teda_audit.UsageError, match="another configuration"):
        teda_audit.audit(slow, go_on=True, **options)


def test_ctrl_c_before_the_first_trial_stops_too() -> None:
    def press() -> None:
        time.sleep(0.15)
        os.kill(os.getpid(), signal.SIGINT)

    watcher = threading.Thread(target=press)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        # The data set alone takes longer to be read and encoded.
        teda_audit.audit("identity", texts="snips", trials=10_000_000, attacks="embedding", progress=False)
    watcher.join()


def test_the_same_call_goes_on_until_it_is_done(texts: list[str], tmp_path: Path) -> None:
    calls = 0

    def tires(texts: list[str], seeds: list[int]) -> list[str | None]:
        nonlocal calls
        calls += 1
        if calls % 10 == 0:
            raise Broken
        return leaky(texts, seeds)

    options = {**OPTIONS, "texts": texts, "name": "leaky", "twice": 0, "go_on": True, "out": tmp_path / "run"}
    for _ in range(20):
        try:
            result = teda_audit.audit(tires, **options)
            break
        except Broken:
            pass
    assert timeless(result) == timeless(teda_audit.audit(leaky, texts=texts, **OPTIONS))
    assert timeless(teda_audit.audit(tires, **options)) == timeless(result)


def test_other_threads_of_python_run_meanwhile(texts: list[str]) -> None:
    ticks, over = 0, threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not over.is_set():
            ticks += 1
            time.sleep(0.001)

    watcher = threading.Thread(target=tick)
    watcher.start()
    began = time.monotonic()
    teda_audit.audit("identity", texts=texts, attacks="embedding", lambda_=0, trials=100_000, progress=False)
    took = time.monotonic() - began
    over.set()
    watcher.join()
    assert ticks > 100 * took


def test_progress_is_told_and_its_exceptions_pass(texts: list[str], tmp_path: Path) -> None:
    told: list[tuple[int, int, str]] = []

    def slow(texts: list[str], seeds: list[int]) -> list[str | None]:
        time.sleep(0.02)
        return leaky(texts, seeds)

    teda_audit.audit(slow, texts=texts, **{**OPTIONS, "progress": lambda *args: told.append(args)})
    assert len(told) > 3 and told == sorted(told, key=lambda one: one[0])
    assert told[-1][:2] == (3000, 3000) and "right" in told[-1][2]

    def stop(done: int, total: int, message: str) -> None:
        raise Broken("seen enough")

    with pytest.raises(Broken, match="seen enough"):
        teda_audit.audit(slow, texts=texts, **{**OPTIONS, "progress": stop}, out=tmp_path / "run")
    assert (tmp_path / "run" / "trials.jsonl").exists()


def test_there_is_one_bar(texts: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    teda_audit.audit(leaky, texts=texts, **{**OPTIONS, "progress": True})
    shown = capfd.readouterr().err
    assert shown.count("\n") == 1 and "3.00k/3.00k" in shown


def test_a_temporary_run_stays_where_it_can_be_gone_on_with(texts: list[str]) -> None:
    calls = 0

    def breaks(texts: list[str], seeds: list[int]) -> list[str | None]:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise Broken
        return leaky(texts, seeds)

    if sys.version_info < (3, 11):
        pytest.skip("exceptions have no notes")
    with pytest.raises(Broken) as caught:
        teda_audit.audit(breaks, texts=texts, name="leaky", twice=0, **OPTIONS)
    [note] = caught.value.__notes__
    run = note.split("'")[1]
    assert timeless(teda_audit.resume(run, leaky, claim=1)) == timeless(teda_audit.audit(leaky, texts=texts, **OPTIONS))
