"""Audits on a Ray cluster: ``pip install 'teda-audit[ray]'``.

The trials are divided into shards, which workers of the cluster make, each with its own directory; the driver joins them
into the run that one process would have made. A worker that dies is started again, on another machine if its own is gone,
and its shard goes on where its files end.
"""

from __future__ import annotations

import functools
import shutil
from collections import deque
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Optional, Union

try:
    import ray
except ImportError as error:
    raise ImportError("there is no ray here: pip install 'teda-audit[ray]'") from error

from ._audit import audit as _audit
from ._audit import merge
from ._errors import UsageError
from ._mechanism import is_factory, name_of, required
from ._progress import Tell, teller
from ._result import Result

# Settings of an audit that a cluster sets itself.
_OWN = {"shard": "say how many there are to be: shards", "go_on": "it always does", "keep": "shards are joined by their rows"}


def audit(
    mechanism: Any,
    *,
    shards: int,
    out: Union[str, PathLike[str]],
    num_cpus: float = 1,
    num_gpus: float = 0,
    resources: Optional[Mapping[str, float]] = None,
    workers: Optional[int] = None,
    max_retries: int = 3,
    progress: Union[None, bool, Tell] = None,
    **settings: Any,
) -> Result:
    """Measures an empirical ε as :func:`teda_audit.audit` does, on the Ray cluster that this program is connected to.

    The result is that of one process. The same call goes on where an earlier one was stopped.

    Args:
        mechanism: as for :func:`teda_audit.audit`, or a callable without arguments that makes such a mechanism: every
            worker calls it once, and holds the model for all its shards. A factory with the argument ``epsilon`` is
            called once by every worker for each ε.
        shards: into how many parts the trials are divided: several times as many as workers, so that all end together.
        out: a directory that all machines see: shards in ``out/shards``, the whole in ``out/run``.
        num_cpus: cores of a worker, and its threads.
        num_gpus: graphics processors of a worker; a share of one, such as 0.5, lets workers divide it.
        resources: custom resources of a worker.
        workers: how many at once; as many as the cluster has room for now when left out.
        max_retries: how often a shard is tried again after its worker died.
        progress: as for :func:`teda_audit.audit`; what is counted are shards.
        settings: the other arguments of :func:`teda_audit.audit`.

    Raises:
        UsageError: for what cannot be.
        Exception: what a worker raised, or ``ray.exceptions.RayError`` where workers died too often. Complete shards stay.
    """
    for name, why in _OWN.items():
        if name in settings:
            raise UsageError(f"{name} = {settings[name]!r}: not on a cluster; {why}")
    if shards < 2:
        raise UsageError(f"shards = {shards}: at least 2 parts can be divided and joined")
    folder = Path(out).absolute()
    parts = [folder / "shards" / str(number) for number in range(1, shards + 1)]
    custom = dict(resources or {})
    wanted = {"num_cpus": num_cpus, "num_gpus": num_gpus, "resources": custom}
    room = _room(num_cpus, num_gpus, custom)
    count = min(shards, room if workers is None else workers)
    if count < 1:
        raise UsageError(f"no machine of the cluster has room for a worker of {wanted}")
    settings = {"threads": max(1, int(num_cpus)), **settings}
    loaded = ray.put((mechanism, settings))
    worker = ray.remote(**wanted)(_Worker)
    tell, end = teller(progress)
    # In a list it stays a reference, and is not copied into what starts each worker.
    team = _Team(lambda: worker.remote([loaded]), max_retries)
    try:
        team.make(parts, count, tell)
    finally:
        team.end()
        end()
    return _joined(parts, folder / "run")


class _Worker:
    """A process of the cluster that makes one shard after the other."""

    def __init__(self, loaded: list[Any]) -> None:
        mechanism, self._settings = ray.get(loaded[0])
        if _is_loader(mechanism):
            mechanism = mechanism()
        if is_factory(mechanism):
            self._settings.setdefault("name", name_of(mechanism))
            make = functools.cache(mechanism)
            mechanism = lambda epsilon: make(epsilon)  # noqa: E731
        self._mechanism = mechanism

    def make(self, number: int, shards: int, out: Path) -> None:
        _audit(self._mechanism, shard=(number, shards), out=out, go_on=True, progress=False, **self._settings)


def _is_loader(mechanism: Any) -> bool:
    """Whether it makes a mechanism of nothing: a callable, or a class, that needs no arguments."""
    return required(mechanism) == []


def _room(cpus: float, gpus: float, resources: Mapping[str, float]) -> int:
    """Workers that fit the machines of the cluster as it is."""
    wanted = {"CPU": cpus, "GPU": gpus, **resources}
    needed = {name: amount for name, amount in wanted.items() if amount > 0}
    if not needed:
        raise UsageError("num_cpus = 0 and num_gpus = 0: a worker needs something of a machine")
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return sum(min(int(machine.get(name, 0) / amount) for name, amount in needed.items()) for machine in machines)


class _Team:
    """The workers of an audit. Ray itself would count a worker that is being replaced as one try after the other."""

    def __init__(self, hire: Callable[[], Any], max_retries: int) -> None:
        self._hire = hire
        self._max_retries = max_retries
        self._workers: list[Any] = []

    def make(self, parts: list[Path], count: int, tell: Optional[Tell]) -> None:
        """Makes all shards, each by one worker at a time, and each worker one shard at a time."""
        waiting = deque(range(len(parts)))
        tries = [0] * len(parts)
        idle = [self._hired() for _ in range(count)]
        running: dict[Any, tuple[Any, int]] = {}
        while waiting or running:
            while waiting and idle:
                worker, shard = idle.pop(), waiting.popleft()
                running[worker.make.remote(shard + 1, len(parts), parts[shard])] = (worker, shard)
            while idle:
                # Nothing is left for it, and a worker whose machine is gone may wait for its place.
                self._dismiss(idle.pop())
            ended, _ = ray.wait(list(running), num_returns=1)
            for end in ended:
                worker, shard = running.pop(end)
                try:
                    ray.get(end)
                    idle.append(worker)
                except ray.exceptions.RayActorError:
                    tries[shard] += 1
                    if tries[shard] > self._max_retries:
                        raise
                    self._dismiss(worker)
                    waiting.appendleft(shard)
                    idle.append(self._hired())
            if tell is not None:
                tell(len(parts) - len(waiting) - len(running), len(parts), "shards")

    def end(self) -> None:
        """Dismisses all."""
        for worker in list(self._workers):
            self._dismiss(worker)

    def _hired(self) -> Any:
        worker = self._hire()
        self._workers.append(worker)
        return worker

    def _dismiss(self, worker: Any) -> None:
        self._workers.remove(worker)
        ray.kill(worker)


def _joined(parts: list[Path], run: Path) -> Result:
    """The whole, of the shards alone."""
    # Written last.
    if (run / "report.html").exists():
        return Result.load(run)
    # What an earlier attempt left that was killed.
    shutil.rmtree(run, ignore_errors=True)
    return merge(parts, out=run)
