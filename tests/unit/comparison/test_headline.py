"""The sentence with which a comparison begins: it says what the rows say, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from support.records.comparisons import row

from sfcperf.analysis.comparison import Comparison, Options, Row
from sfcperf.analysis.comparison.result import Crashes, SideFacts
from sfcperf.comparison import headline

A = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2]
ONE = row(A, [2 * value for value in A])


def found(
    verdict: str,
    ratio: float | None = 1.0,
    label: str = "tcp",
    metric: str = "rate_bps",
    scenario: dict[str, Any] | None = None,
    candidate: str = "new",
) -> Row:
    """A row with this change: its interval is a tenth around it."""
    relative = None
    if ratio is not None:
        change = ratio - 1
        relative = replace(ONE.relative, value=change, low=change - 0.1, high=change + 0.1)
    known: Any = {"verdict": verdict, "relative": relative, "label": label, "metric": metric}
    return replace(ONE, **known, scenario=scenario or {}, candidate=candidate, paired=True)


def said(rows: Sequence[Row], crashes: Sequence[Crashes] = ()) -> str:
    names = ["old", *dict.fromkeys(row.candidate for row in rows)]
    base, *others = (SideFacts(name, name, None, "w", "", "complete", {}) for name in names)
    compared = Comparison(base, tuple(others), Options(), tuple(rows), (), (), ())
    return headline(replace(compared, crashes=tuple(crashes)))


@pytest.mark.parametrize(
    ("ratio", "verb", "change"),
    [
        (2.04, "doubled", "+104 % [+94, +114]"), (0.5, "halved", "-50.0 % [-60.0, -40.0]"),
        (1.1, "rose", "+10 % [+0, +20]"), (0.9, "fell", "-10 % [-20, +0]"),
        (5.0, "5-fold", "+400.0 % [+390.0, +410.0]"), (0.1, "10 %", "-90.0 % [-100.0, -80.0]"),
    ],
)  # fmt: skip
def test_a_change_with_its_interval_and_nothing_else(ratio: float, verb: str, change: str) -> None:
    text = said([found("better", ratio), found("undecided", 1.01, "ping", "rtt_us")])
    assert text.startswith("tcp rate ") and verb in text.partition("(")[0]
    assert f"({change}, better)" in text
    assert "no change shown elsewhere (1 undecided)" in text
    zero = row([0.0] * 6, [1.0, 2.0, 1.5, 1.2, 1.8, 2.2])  # it has no ratio
    assert "rose (0" in said([replace(zero, verdict="worse", paired=True)])


@pytest.mark.parametrize(
    ("verdict", "number", "words"),
    [
        ("equivalent", 1, "the only result is equal"),
        ("equivalent", 5, "all 5 results are equal"),
        ("undecided", 2, "both results are undecided"),
    ],
)
def test_no_change(verdict: str, number: int, words: str) -> None:
    """Equal is a finding, undecided is none."""
    text = said([found(verdict, scenario={"n": n}) for n in range(number)])
    assert words in text.lower()
    assert ("none ruled out" in text) == (verdict == "undecided")
    assert "elsewhere" not in text


def test_equal_and_undecided_are_counted_apart() -> None:
    rows = [
        found(v, scenario={"n": n}) for n, v in enumerate(["equivalent"] * 3 + ["undecided"] * 2)
    ]
    assert "(3 equal within the margin, 2 undecided)" in said(rows)
    rest = said([*rows[:3], found("worse", 1.3, "ping", "rtt_us")])
    assert "the other 3 results are equal" in rest


def test_direction_is_of_the_verdict_not_of_the_sign() -> None:
    text = said([found("worse", 0.8), found("better", 0.8, "ping", "rtt_us")])
    assert "tcp rate fell" in text
    assert "worse" in text.partition("ping rtt fell")[0]
    assert "better" in text.partition("ping rtt fell")[2]


def test_scenarios_of_a_metric_are_one_change() -> None:
    rows = [found("better", 1 + n / 10, scenario={"chain_length": n}) for n in (1, 2, 3)]
    assert "tcp rate rose in all 3 scenarios (+10 to +30 %, better)" in said(rows)
    one = said([rows[0], *(found("equivalent", scenario={"chain_length": n}) for n in (2, 3))])
    assert "tcp rate at chain_length 1 rose" in one
    two = said([*rows[:2], found("undecided", scenario={"chain_length": 3})])
    assert "in 2 of 3 scenarios" in two


def test_the_largest_are_named_and_the_rest_counted() -> None:
    ratios = {"a": 1.1, "b": 3.0, "c": 0.5, "d": 1.2, "e": 1.3}
    text = said([found("better" if r > 1 else "worse", r, label) for label, r in ratios.items()])
    named = [label for label in ratios if f"{label} rate" in text]
    assert named == ["b", "c", "e"]
    assert text.index("b rate") < text.index("c rate") < text.index("e rate")
    assert "2 smaller changes (2 better)" in text


def test_several_candidates_are_told_apart() -> None:
    rows = [found("better", 2.0, candidate="x"), found("worse", 0.5, candidate="y")]
    text = said(rows)
    assert text.startswith("With x, tcp rate about doubled")
    assert "with y, tcp rate about halved" in text


def test_what_was_lost_is_said() -> None:
    rows = [
        replace(found("equivalent", 1.01), lossy=("new",)),
        replace(found("better", 0.5, "ping", "rtt_us"), lossy=("old", "new")),
    ]
    text = said(rows)
    assert "(tcp of new, ping of old, ping of new)" in text
    assert "lost" in text
    assert "lost" not in said([replace(row, lossy=()) for row in rows])


@pytest.mark.parametrize(
    ("verdict", "words"),
    [("worse", "(new more often)"), ("better", "(new less often)"), ("undecided", "(undecided")],
)
def test_crashes_are_no_matter_of_a_row(verdict: Any, words: str) -> None:
    crashes = Crashes("new", "attempt", 0, 24, 12, 24, 0.0, 0.0, verdict)
    text = said([found("equivalent", 1.01)], [crashes])
    assert "equal within the margin" in text
    assert f"functions crashed {words}" in text
