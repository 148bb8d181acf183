"""Flows as Parquet: one row per flow and window in which a function listed it."""

from __future__ import annotations

from dataclasses import dataclass

from sfcperf.results.tables.trial_rows import TrialRows

_PROTOCOLS = {
    1: "icmp",
    2: "igmp",
    6: "tcp",
    17: "udp",
    33: "dccp",
    47: "gre",
    50: "esp",
    51: "ah",
    58: "icmpv6",
    89: "ospf",
    112: "vrrp",
    132: "sctp",
    136: "udplite",
}

MONITORED_PACKETS = "monitored_packets"
MISSING_FLOWS = "missing_flows"
MISSING_PACKETS = "missing_packets"
RESIDUAL_CELLS = "residual_cells"
UNPARSED = "unparsed_"
"""Metrics of telemetry, one observation per window of a function that lists flows: all packets,
flows that were not listed, the most packets that these can have, signs of Bloom filter false
positives, and (a prefix) frames that were not monitored, by reason."""

FLOWS = TrialRows(
    {
        "function": "string",
        "window_start_ns": "int64",
        "window_end_ns": "int64",
        "spi": "int64",
        "si": "int64",
        "source_address": "string",
        "destination_address": "string",
        "protocol": "int64",
        "protocol_name": "string",
        "source_port": "int64",
        "destination_port": "int64",
        "packets": "int64",
        "bytes": "int64",
        "certainty": "string",
    }
)
"""flows.parquet (schemas/flows.schema.json): rows are FlowRecords."""


@dataclass(frozen=True, kw_only=True)
class FlowCount:
    """A flow, and how many packets and bytes of it were counted."""

    spi: int | None
    si: int | None
    """Service index with which packets reached the function. None, for this and other parts of the
    flow's key: the part is not in the key, or the packets do not have it."""
    source_address: str | None
    destination_address: str | None
    protocol: int | None
    """Number of the IP protocol (RFC 5237)."""
    source_port: int | None
    """0 where the protocol has no ports."""
    destination_port: int | None
    packets: int
    bytes: int | None
    """Bytes of IP packets; with SDN-Mon, of Ethernet frames. None: they were not counted."""
    certainty: str
    """How sure the counts are: `exact`, `unverified` or `at most` (docs/reference/sfcmon.md,
    Listing)."""

    @property
    def protocol_name(self) -> str | None:
        """Name of the protocol, such as `tcp`; `protocol 200` for one without a known name."""
        if self.protocol is None:
            return None
        return _PROTOCOLS.get(self.protocol, f"protocol {self.protocol}")


@dataclass(frozen=True, kw_only=True)
class FlowRecord(FlowCount):
    """A row of flows.parquet (trial and scenario are added)."""

    function: str
    """Instance of the function that listed the flow, such as `mon-1`."""
    window_start_ns: int
    """Start of the window: Unix time, nanoseconds."""
    window_end_ns: int


def flow_name(
    source: str | None,
    source_port: int | None,
    destination: str | None,
    destination_port: int | None,
    protocol: str | None,
) -> str:
    """Return a flow as `10.0.0.1:1000 > 10.0.1.1:80 tcp` or `[fd00::1]:1000 > ...`. Ports are left
    out where the protocol has none; an address that is None becomes `*`."""
    ends = f"{_end(source, source_port)} > {_end(destination, destination_port)}"
    return f"{ends} {protocol}" if protocol else ends


def _end(address: str | None, port: int | None) -> str:
    """Return one end of a flow, see `flow_name`. A port that is 0 or None is left out."""
    address = address or "*"
    if not port:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
