"""The report's tables of heavy hitters: the largest flows that functions listed, and what the
listing lacks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfcperf.counts import count_text
from sfcperf.presentation import units
from sfcperf.presentation.levels import scenario_name
from sfcperf.results import flows
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.results.tables import TELEMETRY

MOST_FLOWS = 10
"""Largest number of flows in a table; flows.parquet has all of them."""

_REASONS = {
    "not_nsh": "they carry no NSH",
    "not_monitored": "they carry neither IPv4 nor IPv6, or a header is cut off",
    "nsh": "the NSH is malformed",
    "not_ip": "the NSH carries neither IPv4 nor IPv6",
    "ip": "the IP header is malformed or the packet too short for its ports",
    "truncated": "they end inside a header",
}
"""Reason in a metric's name (`unparsed_REASON`) -> why such frames were not monitored."""

_MOST = 1e15
"""Larger numbers cannot come from a counter, and are ignored."""
_KEY = "trials.scenario_id, label, function"
_FLOW = """spi, si, source_address, source_port, destination_address, destination_port,
           protocol_name"""
_LARGEST = f"""
    WITH of_trial AS (
      SELECT trial_id, function, {_FLOW}, sum(packets) AS packets, sum(bytes) AS bytes,
             count(*) AS windows, count(*) FILTER (certainty = 'at most') AS at_most,
             count(*) FILTER (certainty = 'unverified') AS unverified
      FROM flows WHERE packets <= {_MOST} AND coalesce(bytes, 0) <= {_MOST}
      GROUP BY trial_id, function, {_FLOW}
    ), monitored AS (
      SELECT trial_id, source AS function, sum(value) AS all_packets, count(*) AS all_windows
      FROM telemetry WHERE metric = '{flows.MONITORED_PACKETS}' AND value BETWEEN 0 AND {_MOST}
      GROUP BY trial_id, source
    )
    SELECT {_KEY}, {_FLOW}, sum(packets), sum(bytes), sum(windows), count(*), sum(at_most),
           sum(unverified), coalesce(sum(all_packets), 0), sum(all_windows),
           count(*) OVER (PARTITION BY {_KEY})
    FROM of_trial JOIN trials USING (trial_id) LEFT JOIN monitored USING (trial_id, function)
    GROUP BY {_KEY}, {_FLOW}
    QUALIFY row_number() OVER (PARTITION BY {_KEY} ORDER BY sum(packets) DESC, {_FLOW}) <= ?
    ORDER BY {_KEY}, sum(packets) DESC, {_FLOW}
"""
"""The largest flows of each function, as many as the parameter says. After _KEY come the columns
that `_row` takes; the last one is the number of all flows that the function listed."""
_PACKETS = 7
"""Index of a flow's packets in a row of a group, after the columns of _FLOW."""
_TOTALS = f"""
    SELECT trials.scenario_id, label, source, metric, sum(value), count(*) FILTER (value > 0),
           count(*), count(DISTINCT trial_id)
    FROM telemetry JOIN trials USING (trial_id)
    WHERE (metric IN ? OR starts_with(metric, ?)) AND value BETWEEN 0 AND {_MOST}
    GROUP BY trials.scenario_id, label, source, metric ORDER BY ALL
"""
"""A _Total for each function and metric. Parameters: names of metrics, and a prefix of others."""
_METRICS = (
    flows.MONITORED_PACKETS,
    flows.MISSING_FLOWS,
    flows.MISSING_PACKETS,
    flows.RESIDUAL_CELLS,
)


@dataclass(frozen=True)
class FlowRow:
    """A flow over the windows of all valid trials."""

    name: str
    path: str
    """The flow's service path, such as `SPI 1, SI 255`."""
    packets: str
    bytes: str
    share: str
    """Share of all packets that the function monitored, in the trials in which it listed the
    flow."""
    windows: str
    """In how many windows the flow was listed, of all windows of these trials."""
    trials: str
    """In how many trials the flow was listed, of all valid ones."""
    certainty: str


@dataclass(frozen=True)
class FlowTable:
    """The largest flows that a function listed while a probe ran on a scenario."""

    title: str
    monitored: str
    """A sentence that says how many packets were monitored."""
    rows: tuple[FlowRow, ...]
    """The flow with the most packets first; empty if none was listed."""
    more: int
    """Number of listed flows that are not in the table."""
    warnings: tuple[str, ...]
    """Sentences on flows that the listing lacks and on frames that were not monitored."""


@dataclass
class _Total:
    """Sum of a metric over all windows of the valid trials, and how many windows and trials these
    are."""

    sum: int = 0
    windows_above_0: int = 0
    windows: int = 0
    trials: int = 0


@dataclass
class _Group:
    """What a function listed and counted while a probe ran on a scenario."""

    rows: list[Sequence[Any]] = field(default_factory=list)
    """Rows of _LARGEST, without _KEY."""
    totals: dict[str, _Total] = field(default_factory=dict)
    """Metric -> its total."""

    def total(self, metric: str) -> _Total:
        """Return the total of a metric; zeros if the function did not report it."""
        return self.totals.get(metric, _Total())


def heavy_hitters(store: RunStore, trials: Sequence[TrialRecord]) -> list[FlowTable]:
    """Return a table for each scenario, probe and function that lists flows, from valid trials;
    none in a run without such functions."""
    scenarios = {record.scenario_id: record.scenario for record in trials}
    return [
        _table(_title(scenarios[scenario], label, function), group)
        for (scenario, label, function), group in sorted(_groups(store, trials).items())
    ]


def _groups(
    store: RunStore, trials: Sequence[TrialRecord]
) -> Mapping[tuple[str, str, str], _Group]:
    """Return (scenario id, label of the probe, function) -> what the function listed and counted
    while the probe ran."""
    import duckdb
    import pyarrow

    if not store.telemetry_path.is_file():
        return {}
    columns = ("trial_id", "scenario_id", "label")
    valid = [[getattr(r, name) for r in trials if r.status == "valid"] for name in columns]
    groups: dict[tuple[str, str, str], _Group] = defaultdict(_Group)
    with duckdb.connect() as connection:
        arrays = [pyarrow.array(values, pyarrow.string()) for values in valid]
        connection.register("trials", pyarrow.table(arrays, names=columns))
        connection.register("telemetry", TELEMETRY.read(store.telemetry_path))
        query = connection.execute(_TOTALS, [list(_METRICS), flows.UNPARSED])
        for scenario, label, function, metric, *counts in query.fetchall():
            groups[scenario, label, function].totals[metric] = _Total(*map(int, counts))
        # A source without this metric lists no flows: another monitor uses one of the other names.
        counted = flows.MONITORED_PACKETS
        groups = defaultdict(_Group, {k: g for k, g in groups.items() if counted in g.totals})
        if store.flows_path.is_file():
            connection.register("flows", flows.FLOWS.read(store.flows_path))
            for scenario, label, function, *row in connection.execute(
                _LARGEST, [MOST_FLOWS]
            ).fetchall():
                groups[scenario, label, function].rows.append(row)
    return groups


def _table(title: str, group: _Group) -> FlowTable:
    monitored = group.total(flows.MONITORED_PACKETS)
    listed = group.rows[0][-1] if group.rows else 0  # all flows: the same number in each row
    return FlowTable(
        title,
        f"{monitored.sum:,} packets were monitored in {count_text(monitored.windows, 'window')} "
        f"of {count_text(monitored.trials, 'valid trial')}, in both directions of the chain.",
        tuple(_row(row, monitored.trials) for row in group.rows),
        listed - len(group.rows),
        tuple(_warnings(group)),
    )


def _row(row: Sequence[Any], all_trials: int) -> FlowRow:
    """Make the row of a flow from one of _Group.rows. `all_trials`: number of all valid trials."""
    spi, si, source, source_port, destination, destination_port, protocol = row[:7]
    packets, size_bytes, windows, trials, at_most, unverified = row[7:13]
    of_packets, of_windows, _ = row[13:]
    sign = "≤ " if at_most else "≈ " if unverified else ""
    share = f"{min(100 * packets / of_packets, 100):.3g} %" if of_packets else "–"
    size = units.scale_for([size_bytes or 0], "B").quantity(size_bytes or 0)
    return FlowRow(
        flows.flow_name(source, source_port, destination, destination_port, protocol),
        "–" if spi is None else f"SPI {spi}, SI {si}",
        f"{sign}{packets:,}",
        "–" if size_bytes is None else sign + size,
        f"{sign}{share} of {of_packets:,.0f}",
        f"{windows} of {of_windows}" if of_windows else str(windows),
        f"{trials} of {all_trials}" if all_trials else str(trials),
        _certainty(windows, at_most, unverified),
    )


def _certainty(windows: int, at_most: int, unverified: int) -> str:
    """Say how sure a flow's packets are: `exact`, or `at most in 2 windows, unverified in 1
    window`."""
    doubts = {"at most": at_most, "unverified": unverified}
    if windows in doubts.values():
        return next(name for name, count in doubts.items() if count == windows)
    named = [f"{name} in {count_text(n, 'window')}" for name, n in doubts.items() if n]
    return ", ".join(named) or "exact"


def _warnings(group: _Group) -> Iterator[str]:
    """Yield sentences that say what a function's listing of flows lacks, and what would help."""
    missing, residual = group.total(flows.MISSING_FLOWS), group.total(flows.RESIDUAL_CELLS)
    unlisted = group.total(flows.MISSING_PACKETS)
    if missing.sum:
        most = unlisted.sum
        smallest = group.rows[-1][_PACKETS] if group.rows else 0
        larger = ", and may be larger than those shown" if most > smallest else ""
        yield (
            f"In {_some_windows(missing)}, not all flows could be listed: "
            f"{count_text(missing.sum, 'flow')} with together at most {most:,} packets are missing "
            f"here{larger}. More iblt_cells, a higher threshold or shorter windows leave fewer."
        )
    elif unlisted.sum:
        # A table of flows that is full counts the packets that it misses, and not their flows.
        yield (
            f"In {_some_windows(unlisted)}, the table of flows was full: "
            f"{count_text(unlisted.sum, 'packet')} of other flows are missing here. A larger "
            "table_flows has room for more."
        )
    if residual.sum:
        yield (
            f"In {_some_windows(residual)}, a flow was taken for one already stored and is not "
            "listed; its packets were added to other flows (“at most”). More bloom_bits make this "
            "rarer."
        )
    for metric, total in group.totals.items():
        if metric.startswith(flows.UNPARSED) and total.sum:
            reason = metric.removeprefix(flows.UNPARSED)
            yield (
                f"Not monitored: {count_text(total.sum, 'frame')}, because "
                f"{_REASONS.get(reason, reason)} ({metric})."
            )


def _some_windows(total: _Total) -> str:
    return f"{total.windows_above_0} of {count_text(total.windows, 'window')}"


def _title(scenario: Mapping[str, Any], label: str, function: str) -> str:
    return f"{function}: {scenario_name(scenario)}, {label}"
