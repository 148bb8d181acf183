"""Matches the scenarios, probes and metrics of both sides by the levels of factors.

Scenario ids are not compared: the order of factors, or of their levels, may have changed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfcperf.analysis.comparison.options import Options
from sfcperf.analysis.comparison.result import UnmatchedResult
from sfcperf.analysis.comparison.sides import MeasuredSide, RunMeasurement
from sfcperf.errors import InputError
from sfcperf.results.records import TrialRecord
from sfcperf.results.values import Metric


@dataclass(frozen=True)
class Match:
    """A metric that both sides measured in the same scenario."""

    scenario: Mapping[str, Any]
    """Factor by which the sides are matched -> its level."""
    label: str
    metric: Metric
    """The metric as the baseline's probe declared it."""
    a: tuple[tuple[int, TrialRecord], ...]
    """Trials of the baseline, each with the number of its run in the side, from 0."""
    b: tuple[tuple[int, TrialRecord], ...]
    """Trials of the candidate, likewise."""
    pooled: bool
    """Whether a side's trials are of several scenarios, because a factor is ignored."""
    levels: tuple[Mapping[str, Any], Mapping[str, Any]]
    """All levels of the baseline's and of the candidate's scenario, also of ignored factors; of the
    first scenario if several are pooled."""
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Matching:
    """What two sides have in common, and what only one of them has, with the reason."""

    matches: tuple[Match, ...]
    unmatched: tuple[UnmatchedResult, ...]
    warnings: tuple[str, ...]


_Groups = dict[tuple[str, str], list[RunMeasurement]]
"""(Levels as text, probe label) -> measurements."""


def match(baseline: MeasuredSide, candidate: MeasuredSide, options: Options) -> Matching:
    """Match two sides by all factors, or by those that `options.match` and `options.ignore` leave.

    A factor that only one side has is ignored if it has a single level there. Raises InputError
    for a factor that no side has.
    """
    factors, warnings = _factors(baseline, candidate, options)
    a, b = _groups(baseline, factors), _groups(candidate, factors)
    matches: list[Match] = []
    unmatched: list[UnmatchedResult] = []
    for key, group in a.items():
        if key in b:
            found, lacking = _metrics(group, b[key], factors, (baseline.name, candidate.name))
            matches += found
            unmatched += lacking
        else:
            unmatched.append(_unmatched(group[0], baseline, candidate, factors, b))
    unmatched += [
        _unmatched(group[0], candidate, baseline, factors, a)
        for key, group in b.items()
        if key not in a
    ]
    unique = [item for i, item in enumerate(unmatched) if item not in unmatched[:i]]
    return Matching(tuple(matches), tuple(unique), tuple(warnings))


def _factors(
    baseline: MeasuredSide, candidate: MeasuredSide, options: Options
) -> tuple[list[str], list[str]]:
    """Return the factors to match by, and warnings about those that only one side has and that are
    therefore ignored."""
    sides = (baseline, candidate)
    known = list(dict.fromkeys(f for side in sides for m in side.measurements for f in m.scenario))
    for name in (*options.match, *options.ignore):
        if name not in known:
            raise InputError(
                f"no run has the factor {name!r}", allowed=", ".join(known) or "none: no factors"
            )
    factors, warnings = [], []
    for name in known:
        if name in options.ignore or (options.match and name not in options.match):
            continue
        levels = [side.levels_of(name) for side in sides]
        # A factor that one side lacks and the other varies is kept. Nothing matches then, and the
        # reasons name the factor.
        if all(levels) or max(map(len, levels)) > 1:
            factors.append(name)
            continue
        owner, other = sides if levels[0] else sides[::-1]
        warnings.append(
            f"only {owner.name} has the factor {name} (always {_text((levels[0] or levels[1])[0])})"
            f": it was ignored in matching {other.name}"
        )
    return factors, warnings


def _groups(side: MeasuredSide, factors: Sequence[str]) -> _Groups:
    """Group the measurements of a side by the levels of these factors and by probe."""
    groups: _Groups = {}
    for measurement in side.measurements:
        key = (_identity(_levels(measurement, factors)), measurement.label)
        groups.setdefault(key, []).append(measurement)
    return groups


def _levels(measurement: RunMeasurement, factors: Sequence[str]) -> dict[str, Any]:
    """Return the levels of these factors in the scenario of a measurement, which may lack some."""
    return {f: measurement.scenario[f] for f in factors if f in measurement.scenario}


def _metrics(
    a: Sequence[RunMeasurement],
    b: Sequence[RunMeasurement],
    factors: Sequence[str],
    names: tuple[str, str],
) -> tuple[list[Match], list[UnmatchedResult]]:
    """Match all metrics of one probe in one scenario; return the matches, and what only one side
    has or cannot be compared. `a` and `b`: measurements of the baseline and of the candidate;
    `names`: the names of both sides."""
    label, scenario = a[0].label, _levels(a[0], factors)
    of_a = {metric.name: metric for m in a for metric in m.metrics}
    of_b = {metric.name: metric for m in b for metric in m.metrics}
    # A run that has several measurements here has several scenarios, which are pooled.
    poolings = tuple(
        f"{name}: trials of {number} scenarios were pooled"
        for name, group in zip(names, (a, b), strict=True)
        if (number := max(Counter(m.run for m in group).values())) > 1
    )
    found, unmatched = [], []
    for name, metric in of_a.items():
        other = of_b.get(name)
        if other is None or other.unit != metric.unit:
            reason = f"{names[1]} does not report it"
            if other is not None:
                reason = f"its unit is {metric.unit}, and {other.unit} in {names[1]}"
            unmatched.append(UnmatchedResult(names[0], scenario, label, name, reason))
            continue
        warnings = poolings
        if other.better != metric.better:
            warnings += (f"better is {metric.better!r}, and {other.better!r} in {names[1]}",)
        trials_a, trials_b = (
            tuple((m.run, r) for m in group for r in m.trials) for group in (a, b)
        )
        levels = (a[0].scenario, b[0].scenario)
        found.append(
            Match(scenario, label, metric, trials_a, trials_b, bool(poolings), levels, warnings)
        )
    reason = f"{names[0]} does not report it"
    unmatched += [
        UnmatchedResult(names[1], scenario, label, n, reason) for n in of_b if n not in of_a
    ]
    return found, unmatched


def _unmatched(
    measurement: RunMeasurement,
    side: MeasuredSide,
    other: MeasuredSide,
    factors: Sequence[str],
    groups: _Groups,
) -> UnmatchedResult:
    """Describe a scenario, or a probe in it, that `side` has and `other` does not. `groups`: those
    of `other`."""
    levels = _levels(measurement, factors)
    if any(scenario == _identity(levels) for scenario, _ in groups):
        reason = f"{other.name} has no probe {measurement.label} there"
        return UnmatchedResult(side.name, levels, measurement.label, "", reason)
    return UnmatchedResult(side.name, levels, "", "", _reason(levels, side, other, factors))


def _reason(
    levels: Mapping[str, Any], side: MeasuredSide, other: MeasuredSide, factors: Sequence[str]
) -> str:
    """Say why the other side has no scenario with these levels: the first factor that differs."""
    for name in factors:
        other_levels = other.levels_of(name)
        if name not in levels:
            return f"{other.name} varies {name}, which {side.name} does not have (--ignore {name})"
        if not other_levels:
            return f"{other.name} does not have the factor {name} (--ignore {name})"
        if levels[name] not in other_levels:
            there = ", ".join(map(_text, other_levels))
            hint = ""
            if len(other_levels) == 1 and len(side.levels_of(name)) == 1:
                hint = f" (--ignore {name} compares across it)"
            return f"{name} is {_text(levels[name])}, and {there} in {other.name}{hint}"
    return f"{other.name} does not have this combination"


def _identity(levels: Mapping[str, Any]) -> str:
    """Return a text that is the same for equal levels; 2.0 and 2 are equal."""
    return json.dumps(
        {
            name: int(level) if isinstance(level, float) and level.is_integer() else level
            for name, level in levels.items()
        },
        sort_keys=True,
    )


def _text(level: Any) -> str:
    return level if isinstance(level, str) else json.dumps(level)
