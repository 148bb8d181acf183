"""Probes measured over a cable, and what they and monitors tell."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from sfcperf.active.base import Probe, ProbeResult
from sfcperf.active.validity import loss_doubts
from sfcperf.errors import MeasurementError
from sfcperf.passive.base import Monitor
from sfcperf.results.values import Observation
from support.network.cable import Cable

T = TypeVar("T", bound="Probe | Monitor")


def made(kind: type[T], **given: Any) -> T:
    """A probe or a monitor."""
    properties = kind.parameters["properties"]
    return kind({n: p["default"] for n, p in properties.items() if "default" in p} | given)


def measure(wire: Cable, raw: Path, kind: type[Probe], **given: Any) -> ProbeResult:
    probe = made(kind, **given)
    try:
        probe.prepare(wire.deployment, raw)
        return probe.measure(wire.deployment, raw)
    finally:
        probe.cleanup()


def measure_while(
    wire: Cable, raw: Path, probe: Probe, after_s: float, happens: Callable[[], object]
) -> ProbeResult:
    """With something that happens to the cable in the middle."""
    probe.prepare(wire.deployment, raw)
    timer = threading.Timer(after_s, happens)
    timer.start()
    try:
        return probe.measure(wire.deployment, raw)
    finally:
        timer.join()
        probe.cleanup()


def measure_until(
    wire: Cable, raw: Path, probe: Probe, packets: int, happens: Callable[[], object]
) -> ProbeResult:
    """With something that happens to the cable once so many packets have reached the server."""
    probe.prepare(wire.deployment, raw)
    before, over = wire.passed(), threading.Event()

    def wait() -> None:
        while wire.passed() < before + packets and not over.wait(0.01):
            pass
        happens()

    waiting = threading.Thread(target=wait)
    waiting.start()
    try:
        return probe.measure(wire.deployment, raw)
    finally:
        over.set()
        waiting.join()
        probe.cleanup()


def measure_in_peace(wire: Cable, raw: Path, kind: type[Probe], **given: Any) -> ProbeResult:
    """A trusted result, in one of a few tries: the machine has other things to do as well."""
    for _ in range(4):
        result = measure(wire, raw, kind, **given)
        if not reasons(result):
            break
    assert reasons(result) == ()
    return result


def reasons(result: ProbeResult) -> tuple[str, ...]:
    """Why a trial with this result is untrusted."""
    return (*result.untrusted, *loss_doubts(result.loss))


def doubts(result: ProbeResult) -> list[str]:
    """Without that of a busy machine, which sends packets late."""
    return [doubt for doubt in result.untrusted if not doubt.endswith(" ms late")]


def needs_each_line_once(
    parse: Callable[[str], object], text: str, starts: tuple[str, ...]
) -> None:
    """Without a line that begins so, or with it twice, a report is not read."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.startswith(starts):
            for wrong in (lines[:number] + lines[number + 1 :], [*lines, line]):
                with pytest.raises(MeasurementError):
                    parse("\n".join(wrong))


def of(observations: Sequence[Observation], source: str, metric: str) -> list[float]:
    """Values of a metric."""
    return [o.value for o in observations if (o.source, o.metric) == (source, metric)]


def values(result: ProbeResult) -> dict[str, float]:
    return {sample.metric: sample.value for sample in result.samples}
