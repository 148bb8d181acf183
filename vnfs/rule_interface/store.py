"""The rules in force, and whether another one may be."""

from __future__ import annotations

import heapq
import ipaddress
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from sfcperf.vnfs.rule_interface.policy import Policy
from sfcperf.vnfs.rule_interface.rules import Flow, Rule


class Reason(StrEnum):
    """Why a rule is refused."""

    ALLOW_LISTED = "allow-listed"
    FULL = "full"
    RATE = "rate"
    IP_VERSION = "ip-version"


class RuleRefused(Exception):
    """A rule that may not be set."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass
class ActiveRule:
    """A rule in force."""

    number: int
    """Number in the order of their first setting, from 1; for paging."""
    expires_s: float
    """When it ends, by the clock of the RuleStore."""


@dataclass
class _Kind:
    """Tokens for changes, and number of rules, of one kind: by flow, or by source. Each kind has
    its own, because strangers may cause rules of one kind, which must not take the room of the
    other."""

    tokens: float
    """Changes that may be made now."""
    filled_s: float
    """When tokens were last added."""
    count: int = 0
    """Rules in force."""


@dataclass
class Totals:
    """What was done with rules since the start."""

    added: int = 0
    renewed: int = 0
    removed: int = 0
    expired: int = 0
    refused: dict[str, int] = field(default_factory=lambda: dict.fromkeys(map(str, Reason), 0))


class RuleStore:
    """The rules in force, and when each of them ends. Times are seconds of a clock that never goes
    back; each call says what time it is, which is never earlier than in the call before."""

    def __init__(self, policy: Policy, versions: frozenset[int], now_s: float) -> None:
        """`versions`: those of IP, 4 or 6, that rules may have."""
        self._policy = policy
        self._versions = versions
        self._rules: dict[Rule, ActiveRule] = {}
        self._expiries: list[tuple[float, int, Rule]] = []
        """A heap of the end, number and key of each rule. A rule that was renewed or removed leaves
        its earlier entry there."""
        full = float(policy.max_changes_per_s)
        self._kinds = {by_flow: _Kind(full, now_s) for by_flow in (False, True)}
        self._numbers = itertools.count(1)
        self.totals = Totals()

    def put(self, rule: Rule, ttl_s: float, now_s: float) -> bool:
        """Set a rule, or renew it: it ends ttl_s from now, whatever was said before. Return whether
        it is new. Raises RuleRefused."""
        try:
            self._admit(rule, now_s)
        except RuleRefused as refused:
            self.totals.refused[refused.reason] += 1
            raise
        kept = self._rules.get(rule)
        is_new = kept is None
        if kept is None:
            kept = self._rules[rule] = ActiveRule(next(self._numbers), 0.0)
            self._kind(rule).count += 1
            self.totals.added += 1
        else:
            self.totals.renewed += 1
        kept.expires_s = now_s + ttl_s
        heapq.heappush(self._expiries, (kept.expires_s, kept.number, rule))
        self._tidy()
        return is_new

    def _tidy(self) -> None:
        """Rebuild the heap of expiries when it has become much longer than the list of rules."""
        if len(self._expiries) > 4 * len(self._rules) + 1000:
            self._expiries = [
                (kept.expires_s, kept.number, rule) for rule, kept in self._rules.items()
            ]
            heapq.heapify(self._expiries)

    def remove(self, rule: Rule) -> bool:
        """Remove a rule. Return whether it was there."""
        if not self._forget(rule):
            return False
        self.totals.removed += 1
        return True

    def expire(self, now_s: float) -> list[Rule]:
        """Remove the rules whose time is over, and return them."""
        ended = []
        while self._expiries and self._expiries[0][0] <= now_s:
            expires_s, number, rule = heapq.heappop(self._expiries)
            kept = self._rules.get(rule)
            # Otherwise the rule was renewed or removed meanwhile.
            if kept is not None and (kept.expires_s, kept.number) == (expires_s, number):
                self._forget(rule)
                self.totals.expired += 1
                ended.append(rule)
        return ended

    def after(self, number: int, limit: int) -> Iterator[tuple[Rule, ActiveRule]]:
        """Return up to `limit` rules with larger numbers than `number`, in their order."""
        # A dictionary keeps the order of insertion, which is that of the numbers.
        later = ((rule, kept) for rule, kept in self._rules.items() if kept.number > number)
        return itertools.islice(later, limit)

    def all(self) -> list[Rule]:
        """Return all rules, in the order of their numbers."""
        return list(self._rules)

    def count(self, *, by_flow: bool) -> int:
        """Return how many rules of a kind are in force."""
        return self._kinds[by_flow].count

    def _forget(self, rule: Rule) -> bool:
        """Take a rule out, whatever the reason. Return whether it was there."""
        if self._rules.pop(rule, None) is None:
            return False
        self._kind(rule).count -= 1
        return True

    def _kind(self, rule: Rule) -> _Kind:
        return self._kinds[isinstance(rule, Flow)]

    def _admit(self, rule: Rule, now_s: float) -> None:
        """Raise RuleRefused if the rule may not be set now; else take a token of its kind. Tokens
        come back at the rate `max_changes_per_s`, up to as many."""
        kind = self._kind(rule)
        if rule.version not in self._versions:
            raise RuleRefused(Reason.IP_VERSION)
        if self._policy.allow and self._is_allowed(rule):
            raise RuleRefused(Reason.ALLOW_LISTED)
        if rule not in self._rules and kind.count >= self._policy.max_rules:
            raise RuleRefused(Reason.FULL)
        most = self._policy.max_changes_per_s
        kind.tokens = min(most, kind.tokens + (now_s - kind.filled_s) * most)
        kind.filled_s = now_s
        if kind.tokens < 1:
            raise RuleRefused(Reason.RATE)
        kind.tokens -= 1

    def _is_allowed(self, rule: Rule) -> bool:
        """Whether the rule would drop packets of an address on the allow-list. A rule by flow drops
        both directions, so none of its ends may be on the list."""
        addresses = (rule.low[0], rule.high[0]) if isinstance(rule, Flow) else (rule.address,)
        return any(
            ipaddress.ip_address(address) in network
            for address in addresses
            for network in self._policy.allow
        )
