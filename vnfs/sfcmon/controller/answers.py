"""What the REST interface answers, but for resources and refusals."""

from __future__ import annotations

from sfcperf.rest.answers import Answer


class MonitoringStatus(Answer):
    """How the collection of windows goes."""

    problem: str | None
    """null: windows are collected."""
    open_since_ns: int | None
    """When the open window began, Unix time in nanoseconds."""
    windows: int
    """Written so far."""
    polls: int
    missed_polls: int
    """Those that there was no time for."""
    longest_poll_ms: float


class SwitchStatus(Answer):
    """How a switch is."""

    connected: bool
    in_sync: bool
    """Whether it has all entries that it must have, and no others."""
    problem: str | None
    """Why it is not in sync."""
    since_ns: int
    """When this status began, Unix time in nanoseconds."""
    entries: int | None
    """Table entries that it has; null: not known."""
    wanted_entries: int
    monitoring: MonitoringStatus | None
    """null: it is not monitored."""


class Status(Answer):
    """How the controller's switches are."""

    switches: dict[str, SwitchStatus]


class PathCount(Answer):
    """What an SFF looked up with one SPI and SI."""

    spi: int
    si: int
    packets: int
    bytes: int


class Counters(Answer):
    """What a switch counted since its program was loaded."""

    paths: list[PathCount]
    drops: dict[str, int]
    """Packets by reason."""
    forwarded: dict[str, int]
    """Packets by how they left."""


class _Flow(Answer):
    spi: int
    si: int
    source_address: str
    destination_address: str
    protocol: int
    source_port: int
    destination_port: int


class FoundFlow(_Flow):
    """A flow of a heavy hitter in the open window. What it sent is known when the window ends."""

    found_ns: int
    """When a poll found it, Unix time in nanoseconds."""


class CountedFlow(_Flow):
    """A flow of a window that has ended."""

    packets: int
    bytes: int
    """Of IP packets."""
    certainty: str
    """`exact`, `unverified` or `at most`."""


class Window(Answer):
    """A window that has ended."""

    start_ns: int
    """Unix time, nanoseconds."""
    end_ns: int
    packets: int
    """All that were monitored, of listed flows or not."""
    unparsed: dict[str, int]
    """Frames that were not monitored, by reason."""
    flows: list[CountedFlow]
    missing_flows: int
    """Flows that could not be listed."""
    missing_packets: int
    """Upper bound for what these have together."""
    residual_cells: int
    """Cells that show packets of a flow that was never inserted."""
    threshold_packets: int
    """Least packets of a listed flow's source, when the window ended."""
