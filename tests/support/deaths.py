"""Runs that die at any system call that changes the disk, and what must come of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from sfcperf.errors import InputError
from sfcperf.results.store import RunStore
from support.engine import Bench, in_child
from support.tiers import is_gate

CALLS = ("fsync", "replace", "unlink", "mkdir", "rmdir", "truncate")
"""System calls that change what is on disk: between any two of them a run can die."""


def _die_at(point: int) -> Callable[[], int]:
    """Let this process be killed at the point-th of CALLS (before it for even numbers, after it
    for odd ones); gives a function that tells how many there were so far."""
    seen = 0

    def watched(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == point and point % 2 == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return call(*args, **kwargs)
            finally:
                if seen == point:
                    os.kill(os.getpid(), signal.SIGKILL)

        return wrapper

    for name in CALLS:
        setattr(os, name, watched(getattr(os, name)))
    return lambda: seen


def killed_at(point: int, action: Callable[[], object]) -> int:
    """Run in a process that dies at this point; gives its exit status."""

    def run() -> None:
        _die_at(point)
        action()

    return in_child(run)


def points(action: Callable[[], object]) -> int:
    """How many points there are: counted in a process that survives."""
    reader, writer = os.pipe()

    def run() -> None:
        count = _die_at(-1)
        action()
        os.write(writer, str(count()).encode())

    assert in_child(run) == 0
    os.close(writer)
    with os.fdopen(reader) as result:
        return int(result.read())


def sampled_points(total: int) -> range:
    """Points of a run: four of them in the gate, even ones and odd ones, else each."""
    return range(1, total + 1, total // 4 | 1 if is_gate() else 1)


def killed_run(bench: Bench, point: int, **changes: Any) -> int:
    """A run with results of its own that dies at this point; gives its exit status."""
    bench.results = bench.results.with_name(f"results-{point}")
    bench.results.mkdir()
    return killed_at(point, lambda: bench.start(**changes))


def check_each_point(bench: Bench, check: Callable[[Bench], None], **changes: Any) -> int:
    """A run that is killed at any point is resumed to its end; gives how many points there are."""
    total = points(lambda: bench.start(**changes))
    check(bench)
    for point in sampled_points(total):
        # Two runs differ by a few calls: one of the last points may be past the end.
        assert killed_run(bench, point, **changes) == -signal.SIGKILL or point > 0.9 * total
        finish(bench)
        check(bench)
    return total


def finish(bench: Bench) -> None:
    """What a user does after a crash: resume what can be resumed, then clean."""
    folders = list(bench.results.iterdir())
    if folders and (folders[0] / "run.json").exists():
        try:
            bench.resume()
        except InputError as error:
            assert "complete" in error.message
    bench.clean()


def resumed(bench: Bench, **changes: Any) -> list[RunStore]:
    """The runs that had begun: each planned trial exactly once, complete, and nothing left."""
    assert bench.leftovers() == []
    planned = bench.planned(**changes)
    stores = []
    for folder in bench.results.iterdir():
        if not (folder / "run.json").exists():
            # Killed before the run began: it has measured nothing.
            assert not (folder / "trials.jsonl").exists()
            continue
        store = RunStore(folder)
        assert sorted(record.trial_id for record in store.trials()) == sorted(planned)
        assert store.manifest()["status"] == "complete"
        assert store.manifest()["trials"]["valid"] == len(planned)
        stores.append(store)
    return stores
