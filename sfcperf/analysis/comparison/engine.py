"""Compare: from the trials of the sides to rows with a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from sfcperf.analysis.comparison.options import Options
from sfcperf.analysis.comparison.result import Comparison
from sfcperf.analysis.comparison.sides import Side


def compare(baseline: Side, candidate: Side, options: Options | None = None) -> Comparison:
    """One candidate against the baseline; `compare_all` says what is raised."""
    return compare_all(baseline, [candidate], options)


def compare_all(
    baseline: Side, candidates: Sequence[Side], options: Options | None = None
) -> Comparison:
    """Each candidate against the baseline, in one family of tests.

    Raises InputError when a run folder is damaged, names of sides are not unique, or nothing of
    the sides matches.
    """
    raise NotImplementedError
