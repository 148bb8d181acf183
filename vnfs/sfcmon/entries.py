"""Flows whose entries are in the table from the start (section 3.3 of the paper: the controller
creates the flows in advance)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from socket import IPPROTO_TCP, IPPROTO_UDP
from typing import Any

from sfcperf.dataplane.nsh.packet import Flow
from sfcperf.errors import InputError
from sfcperf.plugins import array, choice, integer, object_schema, port

PARAMETER = "table_entries"
_PROTOCOLS = {"udp": IPPROTO_UDP, "tcp": IPPROTO_TCP}
_MOST_PORT = 65_535
_MOST_SPI = (1 << 24) - 1
_RANGE = object_schema(
    {
        "count": integer("Number of flows, with one source port each.", (1, 1 << 16), default=1),
        "spi": integer("Service path of their packets.", (0, _MOST_SPI), default=1),
        "si": integer("Service index with which they reach the function.", (1, 255), default=255),
        "protocol": choice("Transport protocol.", _PROTOCOLS, default="udp"),
        "source": {"type": "string", "description": "Source address, IPv4 or IPv6."},
        "destination": {"type": "string", "description": "Destination address."},
        "source_port": port(
            "Source port of the first flow; each further flow has the next one.", 0, default=1024
        ),
        "destination_port": port("Destination port of all flows.", 0, default=9),
    },
    required=["source", "destination"],
)
SCHEMA = array(
    "Flows whose entries are written before the function forwards. The default values are those of "
    "the probe pktgen in a chain of this function alone.",
    _RANGE,
    default=[],
    maxItems=64,
)


@dataclass(frozen=True)
class Entries:
    """A group of flows that differ only in their source ports, which follow each other."""

    first: Flow
    count: int

    def flows(self) -> Iterator[Flow]:
        """Yield all flows of the group."""
        for number in range(self.count):
            yield Flow(**vars(self.first) | {"src_port": self.first.src_port + number})


def entries(specs: Sequence[Mapping[str, Any]]) -> list[Entries]:
    """Read the knob `table_entries`, defaults filled in: one group for each element. Raises
    InputError, whose `where` is `table_entries/INDEX`."""
    return [_group(spec, place) for place, spec in enumerate(specs)]


def total(groups: Sequence[Entries]) -> int:
    """Return the number of flows of all groups."""
    return sum(each.count for each in groups)


def _group(spec: Mapping[str, Any], place: int) -> Entries:
    """Read the element of the knob at this place. Raises InputError."""
    where = f"{PARAMETER}/{place}"
    try:
        source, destination = ip_address(spec["source"]), ip_address(spec["destination"])
    except ValueError as error:
        raise InputError(str(error), where=where) from error
    if source.version != destination.version:
        raise InputError(f"{source} and {destination} are of different IP versions", where=where)
    if (last := spec["source_port"] + spec["count"] - 1) > _MOST_PORT:
        raise InputError(
            f"the last of {spec['count']} flows from source port {spec['source_port']} on would "
            f"have port {last}",
            where=where,
            allowed=f"ports up to {_MOST_PORT}",
        )
    first = Flow(
        spi=spec["spi"],
        si=spec["si"],
        src=source,
        dst=destination,
        proto=_PROTOCOLS[spec["protocol"]],
        src_port=spec["source_port"],
        dst_port=spec["destination_port"],
    )
    return Entries(first, spec["count"])
