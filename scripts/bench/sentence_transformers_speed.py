"""Speed of sentence embedding with sentence-transformers on the CPU in f32.

Inputs : a model directory (all-MiniLM-L6-v2) and a file of one text a line.
Outputs: a JSON line for every layout of processes and every batch size, the best of the repeats each.
Command: python sentence_transformers_speed.py MODEL FILE [--texts 2000] [--processes 1,N]
         [--batches 16,32,64,128] [--repeats 3]

A layout is a number of processes that share the cores: one with all threads, or as many as there are
cores with one thread each. The library sorts the texts of every process by length; processes get equal
shares of every length. The time runs from the moment all processes are ready to the end of the last,
without loading the model and without handing the vectors over.
"""

import argparse
import json
import multiprocessing
import os
import queue
import time
from importlib.metadata import version
from pathlib import Path


def work(model: str, texts: list[str], threads: int, batches: list[int], repeats: int, barrier, times) -> None:
    """Encodes its share once untimed, then `repeats` times, for every batch size in step with the others."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["RAYON_NUM_THREADS"] = str(threads)  # the tokenizer's threads
    os.environ["OMP_NUM_THREADS"] = str(threads)
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    encoder = SentenceTransformer(model, device="cpu", model_kwargs={"dtype": torch.float32})
    assert next(encoder.parameters()).dtype == torch.float32
    for batch in batches:
        for run in range(repeats + 1):
            barrier.wait()
            start = time.perf_counter()
            vectors = encoder.encode(texts, batch_size=batch, show_progress_bar=False)
            # The clock is the machine's, the same in all processes.
            times.put((batch, run, start, time.perf_counter()))
            assert vectors.shape == (len(texts), encoder.get_embedding_dimension())


def measure(model: str, texts: list[str], processes: int, cores: int, batches: list[int], repeats: int):
    context = multiprocessing.get_context("spawn")
    barrier, times = context.Barrier(processes), context.Queue()
    texts = sorted(texts, key=len)
    threads = cores // processes
    pool = [
        context.Process(
            target=work,
            args=(model, texts[i::processes], threads, batches, repeats, barrier, times),
            daemon=True,
        )
        for i in range(processes)
    ]
    for process in pool:
        process.start()
    runs: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for _ in range(processes * len(batches) * (repeats + 1)):
        batch, run, start, end = get(times, pool)
        runs.setdefault((batch, run), []).append((start, end))
    for process in pool:
        process.join()
    for batch in batches:
        timed = [runs[batch, run] for run in range(1, repeats + 1)]
        best = min(max(e for _, e in run) - min(s for s, _ in run) for run in timed)
        yield {"processes": processes, "threads": threads, "batch": batch, "sentences_per_second": len(texts) / best}


def get(times, pool):
    """What a process reports; ends where one of them failed."""
    while True:
        try:
            return times.get(timeout=5)
        except queue.Empty:
            if any(process.exitcode not in (None, 0) for process in pool):
                raise SystemExit("a process failed") from None


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("file", type=Path)
    parser.add_argument("--texts", type=int, default=2000)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parser.add_argument("--threads", type=int, default=cores)
    parser.add_argument("--processes", help="numbers of processes (default: 1 and that of the threads)")
    parser.add_argument("--batches", default="16,32,64,128")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    texts = given.file.read_text(encoding="utf-8").splitlines()[: given.texts]
    layouts = numbers(given.processes) if given.processes else sorted({1, given.threads})
    versions = {name: version(name) for name in ["sentence-transformers", "torch", "transformers"]}
    for processes in layouts:
        for row in measure(given.model, texts, processes, given.threads, numbers(given.batches), given.repeats):
            print(json.dumps({"what": "sentence-transformers", "versions": versions, **row}), flush=True)


if __name__ == "__main__":
    main()
