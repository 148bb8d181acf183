"""Turns what `pptmon` prints, JSON Lines (README.md), into values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

VALUE_FIELDS = {"time": "time_us", "delay": "delay_us"}
"""Metric -> name of the field that holds a hop's value. The name says the unit."""


class EventError(ValueError):
    """A line that `pptmon` does not print."""


@dataclass(frozen=True)
class Flow:
    """The flow of a sampled packet, as the packet left the sink."""

    proto: str
    """`tcp`, `udp`, or the number of another protocol of IP (inside NSH)."""
    src: str
    dst: str
    sport: int | None = None
    dport: int | None = None


@dataclass(frozen=True)
class HopValue:
    """The value that one VNF wrote into the packet."""

    vnf_id: int
    value: float
    """In us."""


@dataclass(frozen=True)
class ReadyEvent:
    """`pptmon` reports that both of its programs are attached."""

    mode: str
    vnf_id: int
    ingress: str
    egress: str
    attach: str
    """`tcx` or `clsact`."""
    format: str


@dataclass(frozen=True)
class Sample:
    """What the VNFs on its path wrote into one packet."""

    ts_ns: int
    """Unix time when the packet left the sink."""
    flow: Flow | None
    """None when there is no IP packet inside (NSH)."""
    metric: str
    """`time` or `delay`."""
    hops: tuple[HopValue, ...]
    """From the first VNF to the last."""
    own_time_ns: int | None = None
    """The sink's own time; None when the sink could not add itself."""
    end_to_end_us: int | None = None
    """From the source's ingress to the sink's egress; metric `delay` and NSH alone have it."""
    flags: frozenset[str] = frozenset()
    """`truncated`, `saturated`, `segment`."""
    sample: int = 0
    """Number at the source, modulo 2^16; 0 in format `paper`."""
    carrier: str = "l4"
    """`l4` or `nsh`."""
    format: str = "paper"
    """`paper` or `rfc`."""
    spi: int | None = None
    """SPI of the packet; None without NSH."""
    si: int | None = None
    """SI of the packet when it left the sink; None without NSH."""


@dataclass(frozen=True)
class Counters:
    """Packets since the start, by what happened to them (`enum ppt_counter` in pptmon.h)."""

    values: Mapping[str, int]

    def __getitem__(self, name: str) -> int:
        return self.values[name]


@dataclass(frozen=True)
class ErrorEvent:
    """Why `pptmon` ends with an error."""

    error: str


Event = ReadyEvent | Sample | Counters | ErrorEvent


def parse(line: str) -> Event:
    """Return the event that one line of the output describes. Raises EventError when it is none."""
    try:
        event = json.loads(line)
        return _READERS[event["event"]](event)
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise EventError(f"not a line of pptmon: {line.strip()[:200]!r} ({error!r})") from error


def _value(kind: type[T], event: Mapping[str, Any], **overrides: Any) -> T:
    """Make a dataclass from an event's values of the same names, and from `overrides`. A value
    that is null or absent takes the field's default."""
    values = {
        field.name: _CONVERT[str(field.type)](event[field.name])
        for field in fields(kind)  # type: ignore[arg-type]
        if field.name not in overrides
        and (field.default is MISSING or event.get(field.name) is not None)
    }
    return kind(**values, **overrides)


def _sample(values: dict[str, Any]) -> Sample:
    """Make a sample from an event. Raises an error that `parse` catches."""
    metric = str(values["metric"])
    field = VALUE_FIELDS[metric]
    flow = values.get("flow")
    return _value(
        Sample,
        values,
        flow=None if flow is None else _value(Flow, flow),
        # `+ 0` raises TypeError for a value that is no number.
        hops=tuple(HopValue(int(hop["vnf_id"]), hop[field] + 0) for hop in values["hops"]),
        flags=frozenset(map(str, values["flags"])),
        sample=int(values["sample"]),
        carrier=str(values["carrier"]),
        format=str(values["format"]),
    )


def _counters(values: dict[str, Any]) -> Counters:
    """Make counters from an event: all its members but `event` are some."""
    return Counters({name: int(value) for name, value in values.items() if name != "event"})


_CONVERT: Mapping[str, Callable[[Any], Any]] = {"str": str, "int": int, "int | None": int}
"""Type of a field -> what converts a JSON value to it."""
_READERS: Mapping[str, Callable[[dict[str, Any]], Event]] = {
    "ready": partial(_value, ReadyEvent),
    "sample": _sample,
    "counters": _counters,
    "failed": partial(_value, ErrorEvent),
}
