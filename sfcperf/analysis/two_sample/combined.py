"""Tests that must agree: a claim is made only if each of several tests makes it.

The level of such a combination is at most that of its best member, whatever the others assume
(intersection-union principle: Berger, "Multiparameter hypothesis testing and acceptance sampling",
Technometrics 24, 1982). Members with different assumptions so cover each other's weak places.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfcperf.analysis.two_sample.brunner_munzel import BrunnerMunzel
from sfcperf.analysis.two_sample.ranks import RankSum
from sfcperf.analysis.two_sample.shift import ShiftTest
from sfcperf.analysis.two_sample.student import WelchT

_FEW = 8
"""Sizes of the smaller group below which Welch's test joins if the groups differ in size."""
_UNEVEN = 2.0
"""Ratio of the sizes of the groups above which Welch's test joins."""


class CombinedTest(ShiftTest):
    """Several tests of one shift that must all make a claim. The first one estimates the shift."""

    def __init__(self, members: Sequence[ShiftTest]) -> None:
        self._members = list(members)

    @property
    def name(self) -> str:  # type: ignore[override]
        """Names of all members."""
        return " and ".join(member.name for member in self._members)

    @property
    def estimator(self) -> str:  # type: ignore[override]
        """Method of the first member."""
        return self._members[0].estimator

    @property
    def shift(self) -> float:
        """Shift that the first member estimates."""
        return self._members[0].shift

    @property
    def p(self) -> float | None:
        """Largest p of the members that could test; None if none could."""
        return _largest(member.p for member in self._members)

    @property
    def p_least(self) -> float:
        """Smallest possible p of the first member."""
        return self._members[0].p_least

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """Interval from the lowest end of the members' intervals to the highest; None if the first
        member has none."""
        intervals = [member.interval(confidence) for member in self._members]
        known = [ends for ends in intervals if ends is not None]
        if intervals[0] is None:
            return None
        return min(low for low, _ in known), max(high for _, high in known)

    def p_above(self, bound: float) -> float | None:
        """Largest p of the members that could test; None if none could."""
        return _largest(member.p_above(bound) for member in self._members)

    def p_below(self, bound: float) -> float | None:
        """Largest p of the members that could test; None if none could."""
        return _largest(member.p_below(bound) for member in self._members)


class RobustRanks(CombinedTest):
    """Tests the shift of two independent groups whose dispersions may differ.

    Wilcoxon's rank sum is exact for few trials, but if the smaller group is the more dispersed one
    it finds differences where there are none (17 % instead of 5 % for 20 trials of sd 2 % against 5
    of 10 %). Brunner & Munzel's test is correct there from about ten trials on. Welch's joins them
    where the groups differ in size and the smaller one is small. `p_least` is that of the rank sum.
    """

    def __init__(self, a: Sequence[float], b: Sequence[float]) -> None:
        members: list[ShiftTest] = [RankSum(a, b)]
        few, many = sorted((len(a), len(b)))
        if few >= 2:
            members.append(BrunnerMunzel(a, b))
        if few >= 2 and few != many and (few < _FEW or many > _UNEVEN * few):
            members.append(WelchT(a, b))
        super().__init__(members)


def _largest(p_values: Iterable[float | None]) -> float | None:
    """Return the largest p. A member that could not test (None) has no say; None if none could."""
    found = [p for p in p_values if p is not None]
    return max(found) if found else None
