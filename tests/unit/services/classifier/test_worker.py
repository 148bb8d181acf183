"""The serving layer's worker, with a stand-in for the broker and clocks that a test sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.services.classifier import verdicts
from sfcperf.services.classifier.engine import Broker
from sfcperf.services.classifier.serving import worker as module
from sfcperf.services.classifier.serving.offsets import Offsets
from sfcperf.services.classifier.serving.session import PolicyLimits, Session
from sfcperf.services.classifier.serving.worker import Worker
from sfcperf.services.classifier.verdicts import Verdict
from sfcperf.vnfs.rule_interface.rules import Rule

TTL_S = 10.0
BROKER = Broker("127.0.0.1:1", "records", "verdicts", "dead-letters", "group")
SESSION = Session.model_validate(
    {
        "targets": [{"url": "http://127.0.0.1:1", "token": "x" * 16}],
        "records_from": [0],
        "verdicts_from": [0],
        "dead_letters_from": [0],
        "limits": PolicyLimits(ttl_s=TTL_S).model_dump(),
    }
)


@dataclass
class Clock:
    """Stands in for the module `time`. A mock: it shows which clock is asked, not a real step."""

    wall_s: float = 1_800_000_000.0
    monotonic_s: float = 1000.0

    def time(self) -> float:
        return self.wall_s

    def time_ns(self) -> int:
        return int(self.wall_s * 1e9)

    def monotonic(self) -> float:
        return self.monotonic_s

    def pass_s(self, seconds: float, set_by_s: float = 0.0) -> None:
        """Time passes; the wall clock is set as well."""
        self.wall_s += seconds + set_by_s
        self.monotonic_s += seconds


@dataclass
class Written:
    """A message with a verdict on a flow; each is on another record."""

    at: int
    written_ms: int
    dst: str = "10.0.0.2"

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return BROKER.verdicts

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.at

    def timestamp(self) -> tuple[int, int]:
        return 1, self.written_ms

    def value(self) -> bytes:
        return verdicts.encode(
            Verdict(
                version=1, record=(0, self.at), recorded_ms=self.written_ms, source="ids-1",
                sequence=self.at, kind="window", first_ns=0, protocol=6, src="10.0.0.1",
                src_port=1, dst=self.dst, dst_port=80, label="syn-flood",
            )
        )  # fmt: skip


class Letter(Written):
    """The dead letter of a record."""

    def topic(self) -> str:
        return BROKER.dead_letters

    def headers(self) -> list[tuple[str, bytes]]:
        return [("partition", b"0"), ("offset", str(self.at).encode())]


@dataclass
class Bench:
    """A worker, and what it does with each message."""

    clock: Clock
    committed: int = 0
    """Offset: what is before had its effect in an earlier process."""
    script: list[Callable[[], Written]] = field(default_factory=list)
    set_at: list[float] = field(default_factory=list)
    """When a rule was set or renewed, by the monotonic clock."""

    def run(self) -> None:
        """All of the script."""
        self.worker = Worker(BROKER, SESSION, {})
        self.worker._setter = self  # type: ignore[assignment]
        self.worker.run()

    # --- as the consumer ---

    def poll(self, _: float) -> Any:
        if not self.script:
            self.worker.stop()
            return None
        return self.script.pop(0)()

    def consume(self, *_: object) -> list[Any]:
        return []

    def committed_places(self, places: Sequence[Any], _: float) -> Sequence[Any]:
        for place in places:
            place.offset = self.committed
        return places

    def assign(self, _: object) -> None: ...
    def commit(self, **_: object) -> None: ...
    def close(self) -> None: ...

    # --- as the client of rule interfaces ---

    retries = 0
    retrying = None

    def put(self, rules: Sequence[Rule]) -> list[Any]:
        self.set_at += [self.clock.monotonic_s] * len(rules)
        return []


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    made = Bench(Clock())
    consumer = _Consumer(made)
    monkeypatch.setattr(module, "time", made.clock)
    monkeypatch.setattr(module, "consumer", lambda *_: consumer)
    yield made


class _Consumer:
    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bench, {"committed": "committed_places"}.get(name, name))


def after(bench: Bench, at: int, seconds: float, set_by_s: float = 0.0) -> Callable[[], Written]:
    """A verdict that comes so much later."""

    def come() -> Written:
        bench.clock.pass_s(seconds, set_by_s)
        return Written(at, int(bench.clock.wall_s * 1000))

    return come


@pytest.mark.parametrize("set_by_s", [-3600.0, 3600.0])
def test_a_clock_that_is_set_changes_no_rule(bench: Bench, set_by_s: float) -> None:
    """Rules are renewed when half of their time is over, by the time that has passed."""
    began_s = bench.clock.monotonic_s
    bench.script = [
        after(bench, 0, 0),
        after(bench, 1, 1, set_by_s),
        after(bench, 2, TTL_S / 2),
        after(bench, 3, TTL_S + 1),
    ]
    bench.run()
    assert [at - began_s for at in bench.set_at] == [0, 6, 17]


@pytest.mark.parametrize("set_by_s", [-3600.0, 3600.0])
def test_after_a_restart_rules_are_renewed_in_time(bench: Bench, set_by_s: float) -> None:
    """The verdict that was written 3 s ago had its effect. Whatever the wall clock says by now, the
    rule is set again before it would end."""
    written_ms = int(bench.clock.wall_s * 1000)
    bench.committed = 1
    bench.clock.pass_s(3, set_by_s)
    began_s = bench.clock.monotonic_s
    bench.script = [lambda: Written(0, written_ms), after(bench, 1, TTL_S / 2 + 0.1)]
    bench.run()
    assert [at - began_s for at in bench.set_at] == pytest.approx([TTL_S / 2 + 0.1])


def test_a_message_is_in_one_counter(bench: Bench) -> None:
    """Also a verdict on a flow that cannot exist, and what comes again after a restart."""
    bench.script = [
        lambda: Written(0, 1),
        lambda: Written(0, 1),
        lambda: Written(1, 1, dst="::1"),
        lambda: Letter(2, 1),
        lambda: Letter(2, 1),
    ]
    bench.run()
    counters = bench.worker.counters()
    assert {name: number for name, number in counters.items() if number} == {
        "verdicts_malicious": 1,
        "verdicts_repeated": 1,
        "verdicts_malformed": 1,
        "records_poisoned": 1,
        "rules_sent": 1,
    }
    status = bench.worker._progress
    assert (status.records, status.labels) == (3, {"syn-flood": 1})


@given(st.lists(st.integers(0, 30) | st.sampled_from([2**62, 2**62 + 1])))
def test_offsets_are_a_set(added: list[int]) -> None:
    offsets, known = Offsets(), set[int]()
    for offset in added:
        assert offsets.add(offset) == (offset not in known)
        known.add(offset)
        assert offsets.next == max(known) + 1
        gaps = sum(each + 1 not in known for each in known)
        assert len(offsets._begins) == len(offsets._ends) == gaps
