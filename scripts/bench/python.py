"""What a callable costs beside its own time, by the installed package: ``python scripts/bench/python.py``.

The same audit twice, in turn: of `identity` by name, and of a callable that returns its texts. What the second takes longer,
less the time inside the callable, is the price of the crossing, per text. Of several repeats the median. All are seconds of
the processor, on one thread, so that what else the machine does hardly matters.
"""

import statistics
import time

import teda_audit

TRIALS, REPEATS = 300_000, 7
OPTIONS = dict(
    texts="snips", limit=1000, attacks="random", lambda_=0, trials=TRIALS, threads=1, keep="counts", progress=False
)


def seconds(audit):
    began = time.process_time()
    cell = audit().cells[0]
    return time.process_time() - began, cell.hits


def measured(batch):
    inside = 0.0

    def same(texts, seeds):
        nonlocal inside
        began = time.thread_time()
        releases = list(texts)
        inside += time.thread_time() - began
        return releases

    prices = []
    for _ in range(REPEATS):
        inside = 0.0
        named, hits = seconds(lambda: teda_audit.audit("identity", batch=batch, **OPTIONS))
        called, same_hits = seconds(lambda: teda_audit.audit(same, name="identity", batch=batch, twice=0, **OPTIONS))
        assert hits == same_hits
        prices.append((called - named - inside) / TRIALS)
    return statistics.median(prices), min(prices), max(prices), inside / TRIALS


print("batch   beyond the callable's own time, µs a text: median (least to most)   own time")
for batch in (1, 8, 64, 256):
    median, least, most, inside = (1e6 * value for value in measured(batch))
    print(f"{batch:5}   {median:.2f} ({least:.2f} to {most:.2f})   {inside:.2f}")
