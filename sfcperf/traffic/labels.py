"""Labels of packets, which say whether a packet is an attack, and of which kind.

Labels are in a CSV file with the columns of `COLUMNS`. Each row labels the packets between two
places, in both directions and within a time; an empty field means any. The first row that matches a
packet counts. `benign` may be written in capitals; all other labels are kinds of attacks as they
are written.
"""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sfcperf import table_input
from sfcperf.errors import InputError, system_errors_as
from sfcperf.input_file import read_input
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
    """One line of a file of labels: a label, and which packets have it. None means any. `address`
    and `port` are those of one end, the source or the destination; `other_address` and `other_port`
    are those of the other end."""

    label: str
    start_s: float | None = None
    """Seconds since the first packet of the capture."""
    end_s: float | None = None
    protocol: int | None = None
    """Number of the protocol in the IP header."""
    address: Network | None = None
    port: int | None = None
    other_address: Network | None = None
    other_port: int | None = None

    def covers(self, at_s: float) -> bool:
        """Whether the row labels packets of this time; both of its ends are included."""
        return (self.start_s is None or at_s >= self.start_s) and (
            self.end_s is None or at_s <= self.end_s
        )


_Prefix = tuple[int, int] | None
"""IP version and length of a prefix; None: any address."""
_Shape = tuple[bool, _Prefix, bool, _Prefix, bool]
"""Which fields a row has: whether it names a protocol, and for each of both ends, the kind of its
prefix and whether it names a port."""
_Key = tuple[int | None, ...]
"""Values of the fields that a shape has, of a row or a flow: protocol, and for each of both ends
the bits of the prefix and the port. None stands for a field that the shape does not have."""


class Labels:
    """All rows of a file of labels, in which the label of a packet is looked up.

    A file may have a row for each of 300,000 prefixes, too many to compare one by one. So there is
    a hash table for all rows of the same shape, and a flow is looked up once in each table (tuple
    space search: Srinivasan, Suri, Varghese, SIGCOMM 1999).
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(rows)
        self._tables: defaultdict[_Shape, dict[_Key, list[int]]] = defaultdict(dict)
        """Shape -> values of its fields -> numbers of the rows that have them, in order."""
        for number, row in enumerate(self.rows):
            ends = _of_network(row.address), row.port, _of_network(row.other_address)
            key = (row.protocol, *ends, row.other_port)
            self._tables[_shape(row)].setdefault(key, []).append(number)
        self._matching: dict[Flow, tuple[Row, ...]] = {}
        """Canonical flow -> the rows that match it at any time, for flows that were looked up."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of attacks that the file has, sorted."""
        return tuple(sorted({row.label for row in self.rows} - {BENIGN}))

    def of(self, flow: Flow, at_s: float) -> str | None:
        """Return the label of a packet; None if no row matches. `at_s` is its time in seconds since
        the first packet of the capture. The rows of a flow are kept for its next packets."""
        key = flow.canonical
        found = self._matching.get(key)
        if found is None:
            # Rows match in both directions, and the first one in the file counts.
            numbers = sorted({*self._numbers(key), *self._numbers(key.reverse)})
            found = self._matching[key] = tuple(self.rows[number] for number in numbers)
        return next((row.label for row in found if row.covers(at_s)), None)

    def _numbers(self, flow: Flow) -> Iterator[int]:
        """Give the numbers of the rows that match a flow in this direction, at any time."""
        source, destination = map(ipaddress.ip_address, (flow.source, flow.destination))
        for shape, table in self._tables.items():
            protocol, prefix, port, other_prefix, other_port = shape
            key = (
                flow.protocol if protocol else None,
                _within(source, prefix),
                flow.source_port if port else None,
                _within(destination, other_prefix),
                flow.destination_port if other_port else None,
            )
            yield from table.get(key, ())


def _shape(row: Row) -> _Shape:
    """Return which fields a row has."""
    first, second = (
        None if network is None else (network.version, network.prefixlen)
        for network in (row.address, row.other_address)
    )
    return (
        row.protocol is not None, first, row.port is not None, second, row.other_port is not None
    )  # fmt: skip


def _of_network(network: Network | None) -> int | None:
    """Return the bits of a row's prefix, as `_within` gives them; None: any address."""
    if network is None:
        return None
    return _within(network.network_address, (network.version, network.prefixlen))


def _within(address: Address, prefix: _Prefix) -> int | None:
    """Return the first bits of an address, as many as the prefix has. None if there is no prefix.
    -1 for an address of the other version of IP, which is the key of no row."""
    if prefix is None:
        return None
    version, length = prefix
    return int(address) >> (address.max_prefixlen - length) if address.version == version else -1


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write a file of labels. Raises InputError when it cannot be written."""
    lines = [COLUMNS, *([_text(getattr(row, name)) for name in COLUMNS] for row in rows)]
    with system_errors_as(InputError, "the labels cannot be written", where=path):
        path.write_text(csv_text(lines), encoding="utf-8", newline="")


def _text(value: float | Network | str | None) -> str:
    """Return the field of a file for a value of a row; empty for None."""
    return "" if value is None else f"{value:.6f}" if isinstance(value, float) else str(value)


def read(path: Path) -> Labels:
    """Read a file of labels. Raises InputError, which names the line that is wrong."""
    content = read_input(path, "the file of labels", max_bytes=table_input.MAX_BYTES)
    table = table_input.parse(content, str(path))
    if table.header != COLUMNS:
        raise InputError(
            "this is not the header of a file of labels",
            where=f"{path}:{table.header_line}",
            allowed=",".join(COLUMNS),
        )
    rows: list[Row] = []
    for line, cells in table.rows:
        if len(rows) == _MOST_ROWS:
            raise InputError(f"more than {_MOST_ROWS} labels", where=str(path))
        rows.append(_row(cells, f"{path}:{line}"))
    if not rows:
        raise InputError("the file has no labels", where=str(path))
    return Labels(rows)


def _row(cells: Sequence[str], where: str) -> Row:
    """Read a line of the file. `where` names it in errors. Raises InputError."""
    row = dict(zip(COLUMNS, cells, strict=True))
    label = row["label"]
    if not label:
        raise InputError("no label", where=where, allowed=f"{BENIGN} or the kind of an attack")
    return Row(
        label=BENIGN if label.casefold() == BENIGN else label,
        start_s=_time(row, "start_s", where),
        end_s=_time(row, "end_s", where),
        protocol=_number(row, "protocol", _PROTOCOLS, where),
        address=_network(row, "address", where),
        port=_number(row, "port", _PORTS, where),
        other_address=_network(row, "other_address", where),
        other_port=_number(row, "other_port", _PORTS, where),
    )


def _time(row: dict[str, str], name: str, where: str) -> float | None:
    """Read a time in seconds; None for an empty field. Raises InputError."""
    text = row[name]
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 <= value < 1e9:
        raise InputError(f"{name} {text!r} is no time in seconds", where=where)
    return value


def _number(row: dict[str, str], name: str, allowed: range, where: str) -> int | None:
    """Read a whole number of the allowed range; None for an empty field. Raises InputError."""
    text = row[name]
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) in allowed):
        raise InputError(f"{name} {text!r}", where=where, allowed=f"0 to {allowed[-1]}")
    return int(text)


def _network(
    row: dict[str, str], name: Literal["address", "other_address"], where: str
) -> Network | None:
    """Read an address or prefix; None for an empty field. Raises InputError."""
    text = row[name]
    if not text:
        return None
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise InputError(
            f"{name} {text!r} is no address or prefix: {error}", where=where
        ) from error
