"""The sentences with which a comparison ends: a row each, and what it shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.records.comparisons import row

from sfcperf.analysis.comparison import Comparison, Options, Row
from sfcperf.analysis.comparison.result import SideFacts
from sfcperf.comparison.sentences import sentences

BASE = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2]


def shown(
    verdict: str, ratio: float, *, unit: str = "us", better: str = "lower", rules: int = 1000
) -> Row:
    """A row with this change: its interval is 3 % around it."""
    made = row(BASE, [ratio * value for value in BASE])
    assert made.relative is not None
    change = ratio - 1
    relative = replace(made.relative, value=change, low=change - 0.03, high=change + 0.03)
    known: Any = {"verdict": verdict, "relative": relative, "unit": unit, "better": better}
    return replace(made, **known, scenario={"rules": rules}, candidate="v2", paired=True)


def said(*rows: Row) -> list[str]:
    base, candidate = (SideFacts(n, n, None, "w", "", "complete", {}) for n in ("v1", "v2"))
    return sentences(Comparison(base, (candidate,), Options(), rows, (), (), ()))


@pytest.mark.parametrize(
    ("given", "start"),
    [
        (shown("worse", 1.12), "v2 is 12.0 % [9.0, 15.0] slower at rules 1000 (ping rtt: 100"),
        (shown("better", 0.88), "v2 is 12.0 % [9.0, 15.0] faster at rules 1000 (ping rtt: 100"),
        (
            shown("worse", 0.88, unit="bit/s", better="higher"),
            "v2 is 12.0 % [9.0, 15.0] slower at rules 1000",
        ),
        (
            shown("better", 1.12, unit="1/s", better="higher"),
            "v2 is 12.0 % [9.0, 15.0] faster at rules 1000",
        ),
        # Neither a time that grows nor a rate that falls.
        (shown("worse", 1.12, unit="1"), "v2 is worse at rules 1000 (ping rtt: +12.0 % [+9.0,"),
        (shown("worse", 1.12, unit="1/s"), "v2 is worse at rules 1000"),
        (shown("different", 1.12, better="none"), "v2 is different at rules 1000 (ping rtt: +12"),
        (shown("equivalent", 1.01), "v2 equals v1 within 5 % at rules 1000 (ping rtt: +1"),
        (shown("undecided", 1.12), "whether v2 differs at rules 1000 is undecided (ping rtt: +12"),
    ],
)
def test_what_is_shown(given: Row, start: str) -> None:
    [sentence] = said(given)
    assert sentence.startswith(start)


def test_a_baseline_of_zero_has_numbers_instead_of_a_ratio() -> None:
    zero = row([0.0] * 6, [1.0, 2.0, 1.5, 1.2, 1.8, 2.2])
    [sentence] = said(replace(zero, verdict="worse", paired=True, candidate="v2"))
    assert sentence.startswith("v2 is worse (ping rtt: 0")


def test_each_level_has_a_verdict_and_many_rows_only_those_that_are_decided() -> None:
    few = [shown("undecided", 1.0, rules=1), shown("worse", 1.2, rules=2)]
    assert [sentence.count("at rules") for sentence in said(*few)] == [1, 1]
    many = [shown("undecided", 1.0, rules=number) for number in range(3, 9)]
    assert len(said(*few, *many)) == 1
