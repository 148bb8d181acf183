"""The analysis `correlate`: correlations.json (paper: analysis module).

Each pair is correlated in three ways, which answer different questions and may disagree (Simpson's
paradox): over all trials, within scenarios (the partial correlation given the scenario, hence given
all factors), and in each scenario alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal

from sfcperf.analysis.base import Analysis, list_of_names
from sfcperf.analysis.planned import planned_measurements, rules_of
from sfcperf.analysis.statistics import Coefficient, CoefficientName, correlation, holm
from sfcperf.analysis.telemetry.pairs import Pair, Selection, find_pairs
from sfcperf.plugins import number, object_schema
from sfcperf.results.store import RunFile, RunStore

Scope = Literal["all trials", "within scenarios", "one scenario"]

_COEFFICIENTS: tuple[CoefficientName, ...] = ("pearson", "spearman")


@dataclass(frozen=True)
class CorrelationRow:
    """One coefficient of one pair, or the reason why there is none."""

    label: str
    """Label of the probe."""
    metric: str
    unit: str
    source: str
    """Instance that the series is about."""
    series: str
    """Metric of the monitor."""
    series_unit: str
    scope: Scope
    scenario_id: str | None
    """Id of the scenario; None unless the scope is `one scenario`."""
    coefficient: CoefficientName
    n: int
    """Number of trials."""
    scenarios: int
    """Number of scenarios of these trials."""
    r: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    """p after Holm's correction for all rows of the same scope and coefficient."""
    method: str | None = None
    reason: str | None = None
    """Why there is no coefficient; None if there is one, and then r, interval and p are set."""


class CorrelateAnalysis(Analysis):
    """Writes correlations.json: Pearson's and Spearman's coefficients between metrics of probes
    and telemetry series, over all trials and within scenarios, with intervals and p-values
    corrected by Holm's method."""

    name: ClassVar[str] = "correlate"
    title: ClassVar[str] = "Correlation of metrics with telemetry"
    parameters = object_schema(
        {
            "probes": list_of_names("Labels of probes. Default: all."),
            "metrics": list_of_names("Metrics of these probes. Default: the primary ones."),
            "series": list_of_names("Metrics of the monitors.", default=["cpu_cores"]),
            "sources": list_of_names(
                "Sources of the series, as patterns: `fwd-*`, `sff@*`.",
                items={"type": "string", "minLength": 1},
                default=["*"],
            ),
            "min_coverage": number(
                "Smallest share of a trial that a series must cover. Trials below it are left out.",
                (0, 1),
                default=0.5,
            ),
        }
    )

    def analyse(self, run: RunStore) -> Mapping[str, Any]:
        """Write correlations.json and return its document."""
        confidence = rules_of(run).confidence
        found = find_pairs(run, self._selection(run))
        rows = _adjusted([row for pair in found.pairs for row in _rows(pair, confidence)])
        notes = [*self._not_found(found.pairs), *_paradoxes(rows)]
        document = {
            "run_id": run.run_id,
            "confidence": confidence,
            "correlations": [asdict(row) for row in rows],
            "notes": notes,
            "little_covered": list(found.little_covered),
        }
        run.write_document(RunFile.CORRELATIONS, document)
        return document

    def _selection(self, run: RunStore) -> Selection:
        """Return what the parameters select in this run. Without `metrics` they select the primary
        metrics of the chosen probes."""
        selection = self.parameters.get("metrics")
        metrics: dict[str, list[str]] = {}
        for planned in planned_measurements(run.manifest(), run.trials()):
            if planned.label in self.parameters.get("probes", [planned.label]):
                names = metrics.setdefault(planned.label, [])
                names += [
                    metric.name
                    for metric in planned.metrics
                    if (metric.primary if selection is None else metric.name in selection)
                ]
        return Selection(
            metrics,
            self.parameters["series"],
            self.parameters["sources"],
            self.parameters["min_coverage"],
        )

    def _not_found(self, pairs: Sequence[Pair]) -> Iterator[str]:
        """Yield a note for each name in the parameters that matches nothing in the run."""
        for key, found in (
            ("probes", {pair.label for pair in pairs}),
            ("metrics", {pair.metric for pair in pairs}),
            ("series", {pair.series for pair in pairs}),
        ):
            for name in self.parameters.get(key, ()):
                if name not in found:
                    yield f"{key}: nothing to correlate for {name!r} in valid trials of this run"


def _rows(pair: Pair, confidence: float) -> Iterator[CorrelationRow]:
    """Yield the rows of a pair, for each coefficient: over all trials, and, if these are of several
    scenarios, within scenarios and for each scenario alone."""
    x, y, groups = pair.series_values, pair.metric_values, pair.scenarios
    for name in _COEFFICIENTS:
        row = CorrelationRow(
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
            replace(row, scope="within scenarios"), correlation(name, x, y, confidence, groups)
        )
        for scenario in sorted(set(groups)):
            members = [i for i, group in enumerate(groups) if group == scenario]
            yield _filled(
                replace(
                    row, scope="one scenario", scenario_id=scenario, n=len(members), scenarios=1
                ),
                correlation(name, [x[i] for i in members], [y[i] for i in members], confidence),
            )


def _filled(row: CorrelationRow, result: Coefficient | str) -> CorrelationRow:
    """Return the row with its coefficient, or with the reason why there is none."""
    return (
        replace(row, reason=result) if isinstance(result, str) else replace(row, **asdict(result))
    )


def _adjusted(rows: list[CorrelationRow]) -> list[CorrelationRow]:
    """Fill in p after Holm's correction in these rows, and return them. The rows of one scope and
    coefficient are corrected together; rows without p are left as they are."""
    families: dict[tuple[str, str], list[int]] = {}
    for index, row in enumerate(rows):
        if row.p is not None:
            families.setdefault((row.scope, row.coefficient), []).append(index)
    for members in families.values():
        # No p is None here; `or` is for the type checker.
        values = [rows[index].p or 0.0 for index in members]
        for index, adjusted in zip(members, holm(values), strict=True):
            rows[index] = replace(rows[index], p_holm=adjusted)
    return rows


def _paradoxes(rows: Sequence[CorrelationRow]) -> Iterator[str]:
    """Yield a note for each pair whose correlation over all trials differs from that within
    scenarios, so that the factors may cause both metric and series."""
    overall = {_pair(row): row for row in rows if row.scope == "all trials"}
    for row in rows:
        if row.scope != "within scenarios":
            continue
        whole = overall[_pair(row)]
        if whole.r is None or row.r is None or _contains(whole, 0):
            continue
        about = f"{row.label} {row.metric} with {row.source} {row.series} ({row.coefficient})"
        numbers = f"r = {whole.r:.2f} over all trials, {row.r:.2f} within scenarios"
        if not _contains(row, 0):
            if whole.r * row.r < 0:
                yield f"{about}: the sign is reversed (Simpson's paradox): {numbers}"
        elif not _contains(row, whole.r):
            # An interval that contains both 0 and the overall r may only be wide for lack of
            # trials, and shows nothing.
            yield (
                f"{about}: {numbers}; the interval of the latter contains 0 but not the former, so "
                "the factors may cause both"
            )


def _contains(row: CorrelationRow, r: float) -> bool:
    """Whether the interval of a row contains r. The row has a coefficient."""
    assert row.ci_low is not None
    assert row.ci_high is not None
    return row.ci_low <= r <= row.ci_high


def _pair(row: CorrelationRow) -> tuple[str, ...]:
    """Return what a row has in common with the other rows of the same pair and coefficient."""
    return (row.label, row.metric, row.source, row.series, row.coefficient)
