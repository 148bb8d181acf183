"""The analysis `correlate`: correlations.json (paper: analysis module).

Each pair is looked at in three ways, because they answer different questions and may disagree
(Simpson's paradox): over all trials, within scenarios (the partial correlation given the scenario,
hence given all factors), and in each scenario alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal

from sfcperf.analysis.base import Analysis
from sfcperf.analysis.comparison.holm import holm
from sfcperf.analysis.confidence import confidence_of
from sfcperf.analysis.joined.coefficients import (
    Coefficient,
    Name,
    correlation,
    partial_correlation,
)
from sfcperf.analysis.joined.pairs import Pair, Wanted, find_pairs
from sfcperf.analysis.planned import planned_measurements
from sfcperf.results.store import RunStore

Scope = Literal["all trials", "within scenarios", "one scenario"]

_NAMES: tuple[Name, ...] = ("pearson", "spearman")


@dataclass(frozen=True)
class Row:
    """One coefficient of one pair, or why there is none."""

    label: str
    metric: str
    unit: str
    source: str
    series: str
    series_unit: str
    scope: Scope
    scenario_id: str | None
    """Of the scope `one scenario`."""
    coefficient: Name
    n: int
    """Trials."""
    scenarios: int
    """Scenarios that these trials are of."""
    r: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    """Adjusted for all rows of the same scope and coefficient."""
    method: str | None = None
    reason: str | None = None
    """Why there is no coefficient."""


class CorrelateAnalysis(Analysis):
    """Writes correlations.json: Pearson's and Spearman's coefficients between metrics of probes
    and telemetry series, over all trials and within scenarios, with intervals, p-values and Holm's
    correction."""

    name: ClassVar[str] = "correlate"
    title: ClassVar[str] = "Correlation of metrics with telemetry, e.g. throughput with VNF CPU"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "probes": {
                "description": "Labels of probes. Default: all.",
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "uniqueItems": True,
            },
            "metrics": {
                "description": "Metrics of these probes. Default: the primary ones.",
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "uniqueItems": True,
            },
            "series": {
                "description": "Metrics of the monitors.",
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "uniqueItems": True,
                "default": ["cpu_cores"],
            },
            "sources": {
                "description": "Sources of the series, as patterns: `fwd-*`, `sff@*`.",
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "minItems": 1,
                "uniqueItems": True,
                "default": ["*"],
            },
            "aggregate": {
                "description": "How a series becomes one number per trial. `sum` is for counts.",
                "enum": ["mean", "max", "p95", "sum"],
                "default": "mean",
            },
            "min_coverage": {
                "description": "A trial does not count for a series that covers less than this "
                "share of it.",
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "default": 0.5,
            },
        },
        "additionalProperties": False,
    }

    def analyse(self, run: RunStore) -> Mapping[str, Any]:
        """The document of correlations.json, which is written too.

        Raises InputError when the run folder is damaged.
        """
        confidence = confidence_of(run)
        found = find_pairs(run, self._wanted(run))
        rows = _adjusted([row for pair in found.pairs for row in _rows(pair, confidence)])
        notes = [*self._unknown(run, found.pairs), *_paradoxes(rows)]
        document = {
            "run_id": run.run_id,
            "confidence": confidence,
            "aggregate": self.parameters["aggregate"],
            "correlations": [asdict(row) for row in rows],
            "notes": notes,
            "little_covered": list(found.little_covered),
        }
        run.write_correlations(document)
        return document

    def _wanted(self, run: RunStore) -> Wanted:
        asked = self.parameters.get("metrics")
        metrics: dict[str, list[str]] = {}
        for planned in planned_measurements(run.manifest(), run.trials()):
            if planned.label in self.parameters.get("probes", [planned.label]):
                names = metrics.setdefault(planned.label, [])
                names += [
                    metric.name
                    for metric in planned.metrics
                    if (metric.primary if asked is None else metric.name in asked)
                ]
        return Wanted(
            metrics,
            self.parameters["series"],
            self.parameters["sources"],
            self.parameters["aggregate"],
            self.parameters["min_coverage"],
        )

    def _unknown(self, run: RunStore, pairs: Sequence[Pair]) -> Iterator[str]:
        """What was asked for and is nowhere in the run: it is not left out without a word."""
        for key, found in (
            ("probes", {pair.label for pair in pairs}),
            ("metrics", {pair.metric for pair in pairs}),
            ("series", {pair.series for pair in pairs}),
        ):
            for name in self.parameters.get(key, ()):
                if name not in found:
                    yield f"{key}: nothing to correlate for {name!r} in valid trials of this run"


def _rows(pair: Pair, confidence: float) -> Iterator[Row]:
    x, y, groups = pair.series_values, pair.metric_values, pair.scenarios
    for name in _NAMES:
        row = Row(
            *(pair.label, pair.metric, pair.unit, pair.source, pair.series, pair.series_unit),
            scope="all trials",
            scenario_id=None,
            coefficient=name,
            n=len(x),
            scenarios=len(set(groups)),
        )
        yield _filled(row, correlation(name, x, y, confidence))
        if row.scenarios == 1:
            continue
        yield _filled(
            replace(row, scope="within scenarios"),
            partial_correlation(name, x, y, groups, confidence),
        )
        for scenario in sorted(set(groups)):
            members = [i for i, group in enumerate(groups) if group == scenario]
            yield _filled(
                replace(
                    row, scope="one scenario", scenario_id=scenario, n=len(members), scenarios=1
                ),
                correlation(name, [x[i] for i in members], [y[i] for i in members], confidence),
            )


def _filled(row: Row, found: Coefficient | str) -> Row:
    return replace(row, reason=found) if isinstance(found, str) else replace(row, **asdict(found))


def _adjusted(rows: list[Row]) -> list[Row]:
    """With Holm's correction in each family: rows that answer the same question."""
    families: dict[tuple[str, str], list[int]] = {}
    for index, row in enumerate(rows):
        if row.p is not None:
            families.setdefault((row.scope, row.coefficient), []).append(index)
    for members in families.values():
        values = [rows[index].p or 0.0 for index in members]
        for index, adjusted in zip(members, holm(values), strict=True):
            rows[index] = replace(rows[index], p_holm=adjusted)
    return rows


def _paradoxes(rows: Sequence[Row]) -> Iterator[str]:
    """Where all trials together say something else than trials under the same conditions."""
    overall = {_pair(row): row for row in rows if row.scope == "all trials"}
    for row in rows:
        if row.scope != "within scenarios":
            continue
        whole = overall[_pair(row)]
        if whole.r is None or row.r is None or not _apart_from_0(whole):
            continue
        what = f"{row.label} {row.metric} with {row.source} {row.series} ({row.coefficient})"
        numbers = f"r = {whole.r:.2f} over all trials, {row.r:.2f} within scenarios"
        if _apart_from_0(row) and whole.r * row.r < 0:
            yield f"{what}: the sign turns round (Simpson's paradox): {numbers}"
        elif not _apart_from_0(row) and not _holds(row, whole.r):
            yield (
                f"{what}: {numbers}, whose interval holds 0 and not the former: "
                "the factors may be the cause of both"
            )


def _apart_from_0(row: Row) -> bool:
    return row.ci_low is not None and row.ci_high is not None and row.ci_low * row.ci_high > 0


def _holds(row: Row, r: float) -> bool:
    """Whether the row's interval holds r: then few trials, not the factors, may be the cause."""
    return row.ci_low is not None and row.ci_high is not None and row.ci_low <= r <= row.ci_high


def _pair(row: Row) -> tuple[str, ...]:
    return (row.label, row.metric, row.source, row.series, row.coefficient)
