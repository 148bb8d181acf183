"""Threads and tasks that a service cannot do without."""

from __future__ import annotations

import asyncio
import threading

import pytest

from sfcperf.watched import Watch, WorkerEnded


def fail() -> None:
    raise ValueError("why")


@pytest.mark.parametrize(("work", "cause"), [(fail, ValueError), (lambda: None, type(None))])
def test_a_thread_that_ends_ends_the_service(work: object, cause: type) -> None:
    ended = threading.Event()
    watch = Watch(ended.set)
    watch.check()
    watch.thread("the worker", work)  # type: ignore[arg-type]
    assert ended.wait(30)
    with pytest.raises(WorkerEnded, match="the worker has ended") as raised:
        watch.check()
    assert isinstance(raised.value.__cause__, cause)


def test_the_first_that_ends_is_said_and_the_end_is_called_once() -> None:
    calls: list[int] = []
    watch = Watch(lambda: calls.append(1))
    for name in ("first", "second"):
        watch.thread(name, fail).join()
    assert (str(watch.problem), calls) == ("first has ended: ValueError: why", [1])


def test_a_service_that_ends_is_no_problem() -> None:
    watch, go = Watch(pytest.fail), threading.Event()
    threads = [watch.thread("ends", go.wait), watch.thread("fails", lambda: go.wait() and fail())]
    watch.over()
    go.set()
    for thread in threads:
        thread.join()
    assert watch.problem is None


@pytest.mark.parametrize(
    ("how", "may_return", "problem"),
    [
        ("return", False, True),
        ("return", True, False),
        ("fail", False, True),
        ("fail", True, True),
        ("cancel", False, False),
    ],
)
def test_tasks(how: str, may_return: bool, problem: bool) -> None:
    ends: list[str] = []

    async def work() -> None:
        if how == "fail":
            fail()
        if how == "cancel":
            await asyncio.sleep(3600)

    async def main() -> None:
        watch = Watch(lambda: ends.append("end"))
        task = watch.task("the task", work(), may_return=may_return)
        await asyncio.sleep(0)
        if how == "cancel":
            task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(0)
        assert (watch.problem is not None, ends) == (problem, ["end"] * problem)

    asyncio.run(main())
