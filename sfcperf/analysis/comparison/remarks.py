"""What a reader should know about a comparison as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfcperf.analysis.comparison.holm import at_most
from sfcperf.analysis.comparison.options import Options
from sfcperf.analysis.comparison.result import Row
from sfcperf.analysis.comparison.samplesize import least_for
from sfcperf.analysis.comparison.sides import Measured
from sfcperf.analysis.confidence import first_look_in


def remarks(sides: Sequence[Measured], rows: Sequence[Row], options: Options) -> Iterator[str]:
    """In words, the most important first."""
    for primary in (True, False):
        yield from _powerless([row for row in rows if row.primary is primary], options)
    yield from _stopped(sides, rows, options)
    for side in sides:
        if side.facts.status != "complete":
            yield f"{side.name} is {side.facts.status}: its later rounds are missing"


def _stopped(sides: Sequence[Measured], rows: Sequence[Row], options: Options) -> Iterator[str]:
    """Rounds that ended when an interval was narrow are not as many as was said beforehand.

    Pairs bear it: their sides stop together, and neither by the difference that is tested
    (docs/explanation/comparing.md has the simulated rates).
    """
    names = [s.name for s in sides if first_look_in(s.manifest.get("design") or {}) is not None]
    if not names or all(row.paired for row in rows):
        return
    runs = f"the rounds of {', '.join(names)} were ended by their results (stop_when)"
    if options.test == "t":
        yield (
            f"{runs}: a t test then calls a difference where there is none about twice as often as "
            "alpha says (more in many rows), and its intervals are too narrow; rank tests bear it"
        )
    else:
        yield (
            f"{runs}: p-values and intervals do not account for that, and err a little more often "
            "than alpha says (6.5 % instead of 5 % at worst); runs with a fixed number of rounds, "
            "or variants in one run, do not"
        )


def _powerless(rows: Sequence[Row], options: Options) -> Iterator[str]:
    """No row of a family could have been called better or worse, whatever was measured."""
    tests = [row for row in rows if row.p_least is not None]
    if not tests or options.test == "t":
        return
    family = sum(at_most(row.p_least, options.alpha) for row in tests)
    step = options.alpha / max(1, family)
    if any(at_most(row.p_least, step) for row in tests):
        return
    # All values equal is another story, which the rows tell.
    different = [row for row in tests if len({*row.a.values, *row.b.values}) > 1]
    if not different:
        return
    best = min(different, key=lambda row: row.p_least or 0.0)
    wanted = least_for(options.alpha / len(different), best.paired)
    rounds = f"{best.n_a} rounds" if best.paired else f"{best.n_a} and {best.n_b} trials"
    many = f", and {len(different)} rows ask for {options.alpha / len(different):.2g}"
    yield (
        f"no row can be called better or worse: with {rounds} the {best.test} test cannot go below "
        f"p = {best.p_least:.2g}{many if len(different) > 1 else ''}; {wanted} rounds "
        "can decide, or fewer rows (--metric), or --test t if trials are near normal"
    )
