"""RuleTable: where a function's data plane has its rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from sfcperf.vnfs.rule_interface.rules import Rule


class PutRule(NamedTuple):
    """Drop packets by this rule for `ttl_s` from now. If `renew`, the rule may be there already."""

    rule: Rule
    ttl_s: float
    renew: bool


class RemoveRule(NamedTuple):
    """Drop packets by this rule no longer; it need not be there."""

    rule: Rule


Operation = PutRule | RemoveRule


class RuleTable(ABC):
    """The rules of a function as its data plane has them.

    Each rule expires in the data plane itself: if SFCPerf dies, none drops packets for longer than
    its time."""

    versions: ClassVar[frozenset[int]]
    """Versions of IP whose packets the function forwards."""

    @abstractmethod
    def change(self, operations: Sequence[Operation], lease_s: float | None) -> None:
        """Do the operations in this order; when it returns, packets meet the new rules. `lease_s`:
        seconds from now for which packets pass (0: none passes any more); None leaves that as it
        is.

        Raises MeasurementError; some of the operations may have been done then.
        """
