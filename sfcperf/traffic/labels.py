"""Labels of packets: which are attacks, and of which kind.

A CSV file with the columns of `COLUMNS`. Each row labels the packets between two places, in both
directions and within a time; an empty field means any. The first row that matches a packet counts.
"""

from __future__ import annotations

import csv
import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from sfcperf.errors import InputError, system_errors_as
from sfcperf.packets.five_tuple import Flow
from sfcperf.results.tables import csv_text

BENIGN = "benign"
"""The label of what is no attack; every other label is a kind of attack."""
COLUMNS = (
    "start_s", "end_s", "protocol", "address", "port", "other_address", "other_port", "label",
)  # fmt: skip
_MOST_ROWS = 1_000_000
_PROTOCOLS = range(256)
_PORTS = range(65536)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Row:
    """One line of the file; None means any."""

    label: str
    start_s: float | None = None
    """Seconds since the first packet of the capture."""
    end_s: float | None = None
    protocol: int | None = None
    address: Network | None = None
    port: int | None = None
    other_address: Network | None = None
    other_port: int | None = None

    def covers(self, at_s: float) -> bool:
        """Whether the time is in it."""
        return (self.start_s is None or at_s >= self.start_s) and (
            self.end_s is None or at_s <= self.end_s
        )

    def matches(self, flow: Flow) -> bool:
        """Whether packets of this flow match, at some time."""
        if self.protocol is not None and self.protocol != flow.protocol:
            return False
        return self._one_way(flow) or self._one_way(flow.reverse)

    def _one_way(self, flow: Flow) -> bool:
        return (
            (self.port is None or self.port == flow.source_port)
            and (self.other_port is None or self.other_port == flow.destination_port)
            and _within(flow.source, self.address)
            and _within(flow.destination, self.other_address)
        )

    @property
    def exact(self) -> Flow | None:
        """The one flow that it labels; None if it labels several."""
        ends = (self.address, self.other_address)
        if None in (self.protocol, self.port, self.other_port, *ends):
            return None
        if any(end is None or end.num_addresses > 1 for end in ends):
            return None
        first, second = (str(end.network_address) for end in ends if end is not None)
        return Flow(first, self.port or 0, second, self.other_port or 0, self.protocol or 0)


_parsed = lru_cache(1024)(ipaddress.ip_address)
"""A flow is compared with many rows."""


def _within(address: str, network: Network | None) -> bool:
    return network is None or _parsed(address) in network


class Labels:
    """All rows of a file."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(rows)
        self._exact: dict[Flow, list[int]] = {}
        self._others: list[int] = []
        for number, row in enumerate(self.rows):
            if (flow := row.exact) is None:
                self._others.append(number)
            else:
                self._exact.setdefault(flow.canonical, []).append(number)
        self._matching: dict[Flow, tuple[Row, ...]] = {}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attacks, sorted."""
        return tuple(sorted({row.label for row in self.rows} - {BENIGN}))

    def of(self, flow: Flow, at_s: float) -> str | None:
        """The label of a packet, None if no row matches; `at_s`: seconds since the first packet of
        the capture."""
        key = flow.canonical
        found = self._matching.get(key)
        if found is None:
            numbers = [n for n in self._others if self.rows[n].matches(key)]
            numbers += self._exact.get(key, ())
            found = self._matching[key] = tuple(self.rows[n] for n in sorted(numbers))
        return next((row.label for row in found if row.covers(at_s)), None)


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write the file. Raises InputError when it cannot be written."""
    lines = [COLUMNS, *([_text(getattr(row, name)) for name in COLUMNS] for row in rows)]
    with system_errors_as(InputError, "the labels cannot be written", where=path):
        path.write_text(csv_text(lines), newline="")


def _text(value: float | Network | str | None) -> str:
    return "" if value is None else f"{value:.6f}" if isinstance(value, float) else str(value)


def read(path: Path) -> Labels:
    """Read a file. Raises InputError that names the line."""
    with (
        system_errors_as(InputError, "the labels cannot be read", where=path),
        path.open(newline="", encoding="utf-8", errors="replace") as file,
    ):
        reader = csv.reader(file)
        header = next(reader, None)
        if header is None or tuple(header) != COLUMNS:
            raise InputError(
                "the first line is not that of a file of labels",
                where=str(path),
                allowed=",".join(COLUMNS),
            )
        rows: list[Row] = []
        for fields in reader:
            if len(rows) == _MOST_ROWS:
                raise InputError(f"more than {_MOST_ROWS} labels", where=str(path))
            rows.append(_row(fields, f"{path}, line {reader.line_num}"))
    if not rows:
        raise InputError("the file has no labels", where=str(path))
    return Labels(rows)


def _row(fields: Sequence[str], where: str) -> Row:
    if len(fields) != len(COLUMNS):
        raise InputError(f"{len(fields)} fields instead of {len(COLUMNS)}", where=where)
    given = dict(zip(COLUMNS, fields, strict=True))
    if not given["label"]:
        raise InputError("no label", where=where, allowed=f"{BENIGN} or the kind of an attack")
    return Row(
        label=given["label"],
        start_s=_time(given, "start_s", where),
        end_s=_time(given, "end_s", where),
        protocol=_number(given, "protocol", _PROTOCOLS, where),
        address=_network(given, "address", where),
        port=_number(given, "port", _PORTS, where),
        other_address=_network(given, "other_address", where),
        other_port=_number(given, "other_port", _PORTS, where),
    )


def _time(given: dict[str, str], name: str, where: str) -> float | None:
    text = given[name]
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 <= value < 1e9:
        raise InputError(f"{name} {text!r} is no time in seconds", where=where)
    return value


def _number(given: dict[str, str], name: str, allowed: range, where: str) -> int | None:
    text = given[name]
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) in allowed):
        raise InputError(f"{name} {text!r}", where=where, allowed=f"0 to {allowed[-1]}")
    return int(text)


def _network(
    given: dict[str, str], name: Literal["address", "other_address"], where: str
) -> Network | None:
    text = given[name]
    if not text:
        return None
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise InputError(
            f"{name} {text!r} is no address or prefix: {error}", where=where
        ) from error
