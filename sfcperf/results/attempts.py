"""Attempts at trials: how many failed, by which cause, and which functions crashed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from sfcperf.results.records import FailureKind, TrialRecord


@dataclass(frozen=True)
class AttemptCounts:
    """Counts of the attempts at some trials."""

    made: int
    """All attempts."""
    by_kind: Mapping[FailureKind, int]
    """Failed attempts of each kind that occurred."""
    crashed: Mapping[str, int]
    """SF -> attempts in which it crashed."""

    @property
    def failed(self) -> int:
        """Number of failed attempts of all kinds."""
        return sum(self.by_kind.values())

    @property
    def crashes(self) -> int:
        """Number of attempts in which at least one function crashed."""
        return self.by_kind.get("crash", 0)

    def document(self) -> dict[str, object]:
        """Return the counts as `attempts` of run.json has them."""
        return {
            "made": self.made,
            "failed": self.failed,
            "crashes": self.crashes,
            "by_kind": dict(self.by_kind),
            "crashed_functions": dict(self.crashed),
        }


NO_ATTEMPTS = AttemptCounts(0, {}, {})


def together(parts: Iterable[AttemptCounts]) -> AttemptCounts:
    """Return the sum of these counts."""
    made, kinds, crashed = 0, Counter[FailureKind](), Counter[str]()
    for part in parts:
        made += part.made
        kinds.update(part.by_kind)
        crashed.update(part.crashed)
    return _counts(made, kinds, crashed)


def attempt_counts(records: Iterable[TrialRecord]) -> AttemptCounts:
    """Count the attempts at these trials. `records` should contain trials that a rerun replaces:
    their attempts were made, too."""
    kinds: Counter[FailureKind] = Counter()
    crashed: Counter[str] = Counter()
    made = 0
    for record in records:
        # `failed_attempts` lacks the attempt that gave a result.
        made += len(record.failed_attempts) + (record.status != "failed")
        for failed in record.failed_attempts:
            kinds[failed.kind] += 1
            crashed.update(failed.functions)
    return _counts(made, kinds, crashed)


def _counts(made: int, kinds: Counter[FailureKind], crashed: Counter[str]) -> AttemptCounts:
    """Make AttemptCounts: kinds in the order of FailureKind, without zeros; SFs by name."""
    by_kind = {kind: kinds[kind] for kind in get_args(FailureKind) if kinds[kind]}
    return AttemptCounts(made, by_kind, dict(sorted(crashed.items())))
