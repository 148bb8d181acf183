"""The report's tables of what chains blocked: all attacks by scenario, and each kind of attack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from sfcperf.presentation import units
from sfcperf.presentation.levels import scenario_name
from sfcperf.results.kinds import PROBE, kind_of
from sfcperf.results.records import Summary, TrialRecord

_CONFUSION = (
    "true_positive_flows", "false_positive_flows", "true_negative_flows", "false_negative_flows",
)  # fmt: skip
"""Notes of a trial that count flows: attacks and harmless ones, blocked or not."""
_SHARE = units.Scale(100.0, "%")
_MS = units.Scale(1.0, "ms")
_PLAIN = units.Scale(1.0, "")


@dataclass(frozen=True)
class KindRow:
    """A kind of attack in a scenario; shares are texts with their intervals, such as
    `97.8 % [97.1, 98.4]`."""

    kind: str
    flows: str
    recall: str
    packets: str
    packets_blocked: str
    time_to_block: str


@dataclass(frozen=True)
class ScenarioRow:
    """All attacks in a scenario, as Table I of the SFCPerf paper has them."""

    title: str
    trials: int
    confusion: tuple[str, ...]
    """TP, FP, TN, FN: flows in the median trial."""
    mcc: str
    recall: str
    fpr: str
    packets_blocked: str
    packets_lost: str
    time_to_block: str
    time_to_block_p95: str
    kinds: tuple[KindRow, ...]


_Rows = Mapping[str, Summary]
"""Metric -> its summary, all of one scenario and probe; for a kind of attack, all of that kind."""


def blocking(summaries: Sequence[Summary], trials: Sequence[TrialRecord]) -> list[ScenarioRow]:
    """Return a row for each scenario and probe that sent labelled traffic."""
    groups: dict[tuple[str, str], dict[str, Summary]] = {}
    for row in summaries:
        if row.probe == PROBE:
            groups.setdefault((row.scenario_id, row.label), {})[row.metric] = row
    labels = {label for _, label in groups}
    return [
        _scenario(rows, _counts(trials, scenario_id, label), label if len(labels) > 1 else "")
        for (scenario_id, label), rows in groups.items()
    ]


def _counts(trials: Sequence[TrialRecord], scenario_id: str, label: str) -> tuple[str, ...]:
    """Return the medians of the notes in _CONFUSION over the valid trials of a scenario and probe;
    a dash for a note that no trial has."""
    notes = [
        record.notes
        for record in trials
        if (record.scenario_id, record.label, record.status) == (scenario_id, label, "valid")
    ]
    counts = [[n[name] for n in notes if isinstance(n.get(name), int)] for name in _CONFUSION]
    return tuple(f"{median(found):,.0f}" if found else "–" for found in counts)


def _scenario(rows: _Rows, confusion: tuple[str, ...], label: str) -> ScenarioRow:
    """Make the row of a scenario. `label`: the probe's, for the title; empty if the run has only
    this one."""
    first = next(iter(rows.values()))
    shares = ("recall", "fpr", "attack_packets_blocked_ratio", "benign_packets_lost_ratio")
    recall, fpr, blocked, lost = (_shown(rows, name, _SHARE) for name in shares)
    return ScenarioRow(
        title=", ".join(filter(None, (scenario_name(first.scenario), label))),
        trials=max(row.n for row in rows.values()),
        confusion=confusion,
        mcc=_shown(rows, "mcc", _PLAIN),
        recall=recall,
        fpr=fpr,
        packets_blocked=blocked,
        packets_lost=lost,
        time_to_block=_shown(rows, "time_to_block_ms", _MS),
        time_to_block_p95=_shown(rows, "time_to_block_p95_ms", _MS),
        kinds=tuple(_kinds(rows)),
    )


def _kinds(rows: _Rows) -> Iterator[KindRow]:
    """Yield a row for each kind of attack, by name."""
    kinds: dict[str, dict[str, Summary]] = {}
    for row in rows.values():
        if (found := kind_of(row.probe, row.metric)) is not None:
            kinds.setdefault(found[0], {})[found[1]] = row
    for kind, own in sorted(kinds.items()):
        yield KindRow(
            kind,
            _count(own, "flows"),
            _shown(own, "recall", _SHARE),
            _count(own, "packets"),
            _shown(own, "packets_blocked_ratio", _SHARE),
            _shown(own, "time_to_block_ms", _MS),
        )


def _count(rows: _Rows, metric: str) -> str:
    """Return the estimate of a metric as a whole number; a dash if there is none."""
    value = rows[metric].estimate().value if metric in rows else None
    return "–" if value is None else f"{value:,.0f}"


def _shown(rows: _Rows, metric: str, scale: units.Scale) -> str:
    """Return the estimate of a metric, such as `97.8 % [97.1, 98.4]`; a dash if there is none."""
    estimate = rows[metric].estimate() if metric in rows else None
    if estimate is None or estimate.value is None:
        return "–"
    half = units.half_width(estimate.low, estimate.high)
    text = scale.with_unit(scale.number(estimate.value, half))
    return text if not half else f"{text} {scale.interval(estimate.low, estimate.high)}"
