"""Policy: decides which rules follow from verdicts.

- Each flow that is judged an attack is blocked by its 5-tuple. Later records of a flow bring new
  verdicts, of which the last one counts. A rule that was set is not withdrawn when a later verdict
  is benign, because that saw only what the rule had left of the flow; the rule ends with its time.
- A client is blocked by its address when enough of its flows are attacks, and nearly all. An attack
  comes from new ports, or goes to new ones, faster than rules by 5-tuple can follow. Flows from a
  blocked address need no rules of their own.
- An address that serves is never blocked as a source: one that as many flows go to as come from, or
  more. A flow that was silent for a window may seem to begin with a packet of the server. For the
  same reason the client of a flow stays the one that was seen first.
- Spoofed sources have one flow each. Rules for flows of such sources take at most half of the rules
  by flow, so there is always room for rules against other flows.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from sfcperf.traffic.labels import BENIGN
from sfcperf.vnfs.rule_interface.rules import Flow, Rule, Source, canonical, flow

if TYPE_CHECKING:
    from sfcperf.services.classifier.verdicts import Verdict

REMEMBERED_FLOWS = 200_000
"""How many flows are remembered with their last verdict, in the order of these verdicts; the oldest
are forgotten."""
_canonical = lru_cache(1 << 16)(canonical)


@dataclass(frozen=True)
class Limits:
    """When rules are set: parameters that the user may choose."""

    sources: bool
    """Whether there are rules by source."""
    source_after_flows: int
    """Least number of attacks among the flows of a source that is blocked."""
    source_min_ratio: float
    """Least share of attacks among the flows of a source that is blocked."""
    ttl_s: float
    """How long each rule lasts, seconds."""
    max_flow_rules: int
    """Most rules by flow in force at a time."""


@dataclass
class _FlowState:
    """A remembered flow: its client, and whether its last verdict was an attack."""

    source: str
    bad: bool


@dataclass
class _Address:
    """How many remembered flows an address has."""

    attacks: int = 0
    """Attacks among the flows that come from it."""
    outgoing: int = 0
    """Flows that come from it."""
    incoming: int = 0
    """Flows that go to it."""


class Policy:
    """Decides on rules in one trial. `rules_for` is called for each verdict, and `refused` for a
    rule that could not be set. Times are seconds of a clock that is never set back."""

    def __init__(self, limits: Limits, remembered_flows: int = REMEMBERED_FLOWS) -> None:
        self._limits = limits
        self._remembered_flows = remembered_flows
        self._flows: OrderedDict[Flow, _FlowState] = OrderedDict()
        self._addresses: dict[str, _Address] = {}
        self._in_force: OrderedDict[Rule, tuple[float, bool]] = OrderedDict()
        """Rule -> when it ends, and whether it is a rule by flow for a source with one flow. Rules
        are in the order in which they end."""
        self._flow_rules = self._lone_rules = 0
        """Number of rules by flow in force, and of those for sources with one flow."""
        self.withheld = 0
        """Number of rules that were not set for lack of room."""

    def rules_for(self, verdict: Verdict, now_s: float) -> list[Rule]:
        """Return the rules to set now because of a verdict; empty if there are none, or if they
        have been set. A rule that is returned again later is to be renewed. Raises ValueError for a
        flow that cannot exist, such as one between addresses of IPv4 and IPv6."""
        src, dst = _canonical(verdict.src), _canonical(verdict.dst)
        key = flow(verdict.protocol, (src, verdict.src_port), (dst, verdict.dst_port))
        bad = verdict.label != BENIGN
        known = self._note(key, src, bad)
        if not bad:
            return []
        self._expire(now_s)
        if self._is_blocked(source := Source(known.source)):
            return [source] if self._set(source, now_s) else []
        rule: Rule = key
        return [rule] if self._set(rule, now_s) else []

    def refused(self, rule: Rule) -> None:
        """Note that a rule was not set: it is tried again with the next verdict."""
        self._drop(rule)

    # --- flows ---

    def _note(self, key: Flow, src: str, bad: bool) -> _FlowState:
        """Remember a flow's last verdict, and count it for its addresses. Return the flow's
        state."""
        known = self._flows.get(key)
        if known is None:
            # At first it is no attack: the verdict is counted below, as for a flow that is known.
            known = self._flows[key] = _FlowState(src, False)
            self._address(src).outgoing += 1
            self._address(_other(key, src)).incoming += 1
            if len(self._flows) > self._remembered_flows:
                self._forget_oldest()
        else:
            self._flows.move_to_end(key)
        self._address(known.source).attacks += bad - known.bad
        known.bad = bad
        return known

    def _forget_oldest(self) -> None:
        """Forget the flow with the oldest verdict, and take it out of the counts of its
        addresses."""
        key, known = self._flows.popitem(last=False)
        source, other = known.source, _other(key, known.source)
        self._addresses[source].attacks -= known.bad
        self._addresses[source].outgoing -= 1
        self._addresses[other].incoming -= 1
        for address in {source, other}:
            if not (self._addresses[address].outgoing or self._addresses[address].incoming):
                del self._addresses[address]

    def _address(self, address: str) -> _Address:
        return self._addresses.setdefault(address, _Address())

    def _is_blocked(self, source: Source) -> bool:
        """Whether a source has so many attacks that it is blocked by its address."""
        known = self._addresses[source.address]
        return (
            self._limits.sources
            and known.attacks >= self._limits.source_after_flows
            and known.attacks >= self._limits.source_min_ratio * known.outgoing
            and known.outgoing > known.incoming
        )

    # --- rules ---

    def _set(self, rule: Rule, now_s: float) -> bool:
        """Count a rule as in force from now on, and return True. Return False if it need not be
        renewed, as less than half of its time is over, or if there is no room for it."""
        before = self._in_force.get(rule)
        if before is not None:
            if before[0] - now_s > self._limits.ttl_s / 2:
                return False
            self._drop(rule)
        lone = isinstance(rule, Flow) and self._is_lone(rule)
        if isinstance(rule, Flow) and not self._has_room(lone):
            self.withheld += 1
            return False
        self._in_force[rule] = (now_s + self._limits.ttl_s, lone)
        self._count(rule, lone, 1)
        return True

    def _is_lone(self, rule: Flow) -> bool:
        """Whether the flow's source has no other flow, as a spoofed one."""
        return self._addresses[self._flows[rule].source].outgoing == 1

    def _has_room(self, lone: bool) -> bool:
        """Whether one more rule by flow may be set. `lone`: its source has one flow."""
        most = self._limits.max_flow_rules
        return self._flow_rules < most and not (lone and self._lone_rules >= most // 2)

    def _expire(self, now_s: float) -> None:
        """Drop the rules whose time is over."""
        while self._in_force:
            rule, (until_s, lone) = next(iter(self._in_force.items()))
            if until_s > now_s:
                return
            del self._in_force[rule]
            self._count(rule, lone, -1)

    def _drop(self, rule: Rule) -> None:
        """Count a rule as not in force any more, if it is."""
        dropped = self._in_force.pop(rule, None)
        if dropped is not None:
            self._count(rule, dropped[1], -1)

    def _count(self, rule: Rule, lone: bool, change: int) -> None:
        """Add `change`, 1 or -1, to the numbers of rules. Rules by source are not limited."""
        if isinstance(rule, Flow):
            self._flow_rules += change
            self._lone_rules += change * lone


def _other(key: Flow, address: str) -> str:
    """Address at the other end of a flow."""
    return key.high[0] if key.low[0] == address else key.low[0]
