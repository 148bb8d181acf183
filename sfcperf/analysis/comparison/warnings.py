"""Warnings about a comparison as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfcperf.analysis.comparison.differences import differences
from sfcperf.analysis.comparison.least_rounds import can_differ, least_rounds_text
from sfcperf.analysis.comparison.options import Options
from sfcperf.analysis.comparison.result import Row
from sfcperf.analysis.comparison.sides import MeasuredSide, Side
from sfcperf.analysis.planned import first_look_in
from sfcperf.analysis.statistics import at_most
from sfcperf.counts import count_text

_OF_A_REPEAT = frozenset({"design.seed", "design.runs"})
"""Settings that differ between the runs of a campaign by design, and are no reason for a
warning."""
_NAMED = 4
"""Differences that a warning names; it counts the others."""


def warnings(sides: Sequence[MeasuredSide], rows: Sequence[Row], options: Options) -> Iterator[str]:
    """Yield the warnings as sentences, the most important first."""
    for primary in (True, False):
        yield from without_power([row for row in rows if row.primary is primary], options)
    yield from _sequentially_stopped(sides, rows, options)
    for side in sides:
        for run in side.facts.runs:
            if run.status != "complete":
                name = side.name if len(side.facts.runs) == 1 else f"{run.run_id} of {side.name}"
                yield f"{name} is {run.status}: its later rounds are missing"
        yield from _unlike(side)


def _unlike(side: MeasuredSide) -> Iterator[str]:
    """Warn about runs of a side that differ in their conditions: the comparison takes all runs of a
    side for runs of the same thing."""
    # Each run becomes a side of its own, because `differences` compares sides.
    runs = [
        MeasuredSide(Side(store.run_id, store), side.facts, (manifest,), ())
        for store, manifest in zip(side.side.stores, side.manifests, strict=True)
    ]
    for run in runs[1:]:
        found = [d.name for d in differences(runs[0], run) if d.name not in _OF_A_REPEAT]
        if found:
            more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
            yield (
                f"{run.name} is taken for a run of the same thing as {runs[0].name}, but differs "
                f"in {', '.join(found[:_NAMED])}{more}"
            )


def _sequentially_stopped(
    sides: Sequence[MeasuredSide], rows: Sequence[Row], options: Options
) -> Iterator[str]:
    """Warn if a side stopped by its results: the tests assume a number of rounds that was fixed
    beforehand.

    Paired rows are robust to it: both sides stop together, and not because of the tested difference
    (docs/explanation/comparing.md has the simulated rates).
    """
    names = [s.name for s in sides if first_look_in(s.manifest["design"]) is not None]
    if not names or all(row.paired or row.replication for row in rows):
        return
    runs = f"{', '.join(names)} stopped when the results were precise enough (stop_when)"
    if options.test == "t":
        yield (
            f"{runs}: a t test then finds differences that do not exist about twice as often as "
            "alpha says (more often with many rows), and its intervals are too narrow; rank tests "
            "are robust to it"
        )
    else:
        yield (
            f"{runs}: p-values and intervals do not account for that and are wrong a little more "
            "often than alpha says (at worst 6.5 % instead of 5 %); this does not affect runs with "
            "a fixed number of rounds, or variants in one run"
        )


def without_power(rows: Sequence[Row], options: Options) -> Iterator[str]:
    """Warn if no row of a family could have been called better or worse, whatever was measured: too
    few trials for so many rows. `rows`: those of the family."""
    tests = [row for row in rows if row.p_least is not None and row.replication is None]
    # A t test has no smallest p.
    if not tests or options.test == "t":
        return
    family = sum(at_most(row.p_least, options.alpha) for row in tests)
    step = options.alpha / max(1, family)
    if any(at_most(row.p_least, step) for row in tests):
        return
    # If all values are equal, the rows say so.
    different = [row for row in tests if can_differ(row.a, row.b)]
    if not different:
        return
    best = min(different, key=lambda row: row.p_least or 0.0)
    least = least_rounds_text(options.alpha, len(different), paired=best.paired)
    rounds = count_text(best.n_a, "round")
    if not best.paired:
        rounds = f"{best.n_a} and {count_text(best.n_b, 'trial')}"
    fewer = ", fewer rows (--metric)" if len(different) > 1 else ""
    yield (
        f"no row can be called better or worse: with {rounds} the {best.test} test cannot go below "
        f"p = {best.p_least:.2g}; use {least}{fewer}, or --test t if trials are nearly normal"
    )
