"""The store against a model that keeps everything and looks at all of it."""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.tiers import examples

from sfcperf.vnfs.rule_interface.policy import Policy
from sfcperf.vnfs.rule_interface.rules import Flow, Rule, Source, flow
from sfcperf.vnfs.rule_interface.store import Reason, RuleRefused, RuleStore

ADDRESSES = [f"192.0.2.{number}" for number in range(4)] + ["198.51.100.1", "2001:db8::1"]
ALLOWED = ipaddress.ip_network("198.51.100.0/24")
IPV4 = [address for address in ADDRESSES if ":" not in address]

ends = st.tuples(st.sampled_from(IPV4), st.integers(0, 1))
rules = st.one_of(
    st.sampled_from(ADDRESSES).map(Source),
    st.builds(flow, st.just(6), ends, ends),
)


def policy(max_rules: int = 100, max_changes_per_s: int = 1000) -> Policy:
    return Policy(
        fail_closed=False,
        max_rules=max_rules,
        max_changes_per_s=max_changes_per_s,
        max_ttl_s=100,
        allow=(ALLOWED,),
    )


@dataclass
class Model:
    """Of rules of one kind."""

    ends_s: dict[Rule, float] = field(default_factory=dict)
    accepted_s: list[float] = field(default_factory=list)
    """When each change was."""


class AgainstModel(RuleBasedStateMachine):
    @initialize(max_rules=st.integers(1, 4), rate=st.integers(1, 6))
    def begin(self, max_rules: int, rate: int) -> None:
        self.now_s = 1000.0
        self.policy = policy(max_rules, rate)
        self.store = RuleStore(self.policy, frozenset((4,)), self.now_s)
        self.models = {Flow: Model(), Source: Model()}

    @rule(given=rules, ttl_s=st.floats(0.001, 100))
    def put(self, given: Rule, ttl_s: float) -> None:
        model = self.models[type(given)]
        try:
            is_new = self.store.put(given, ttl_s, self.now_s)
        except RuleRefused as refused:
            self._justified(refused.reason, given, model)
            return
        assert is_new == (given not in model.ends_s)
        model.ends_s[given] = self.now_s + ttl_s
        model.accepted_s.append(self.now_s)
        addresses = [end[0] for end in given[1:]] if isinstance(given, Flow) else list(given)
        assert not any(ipaddress.ip_address(address) in ALLOWED for address in addresses)
        assert all(":" not in address for address in addresses)

    def _justified(self, reason: Reason, given: Rule, model: Model) -> None:
        match reason:
            case Reason.ALLOW_LISTED:
                assert "198.51.100.1" in str(given)
            case Reason.IP_VERSION:
                assert ":" in str(given)
            case Reason.FULL:
                assert given not in model.ends_s
                assert len(model.ends_s) == self.policy.max_rules
            case Reason.RATE:
                # A bucket that was full at some time has run empty since.
                rate = self.policy.max_changes_per_s
                assert any(
                    len([t for t in model.accepted_s if t >= start]) + 1
                    > rate * (self.now_s - start) + rate - 1e-6
                    for start in model.accepted_s
                )

    @rule(given=rules)
    def remove(self, given: Rule) -> None:
        assert self.store.remove(given) == (given in self.models[type(given)].ends_s)
        self.models[type(given)].ends_s.pop(given, None)

    @rule(passed_s=st.floats(0, 60))
    def time_passes(self, passed_s: float) -> None:
        self.now_s += passed_s
        expired = set(self.store.expire(self.now_s))
        for model in self.models.values():
            over = {rule for rule, end_s in model.ends_s.items() if end_s <= self.now_s}
            assert over <= expired
            expired -= over
            for each in over:
                del model.ends_s[each]
        assert not expired

    @invariant()
    def both_have_the_same(self) -> None:
        if not hasattr(self, "store"):
            return
        wanted = {**self.models[Flow].ends_s, **self.models[Source].ends_s}
        found = dict(self.store.after(0, 1000))
        assert {rule: kept.expires_s for rule, kept in found.items()} == wanted
        for kind, model in self.models.items():
            assert self.store.count(by_flow=kind is Flow) == len(model.ends_s)
            assert len(model.ends_s) <= self.policy.max_rules

    @invariant()
    def never_faster_than_the_rate(self) -> None:
        if not hasattr(self, "store"):
            return
        rate = self.policy.max_changes_per_s
        for model in self.models.values():
            for index, start in enumerate(model.accepted_s):
                among = len(model.accepted_s) - index
                assert among <= rate * (self.now_s - start) + rate + 1e-6


TestAgainstModel = AgainstModel.TestCase
TestAgainstModel.settings = examples(100)


def test_pages_have_every_rule_once() -> None:
    store = RuleStore(policy(), frozenset((4, 6)), 0.0)
    wanted = [Source(f"10.0.0.{number}") for number in range(50)]
    for number, each in enumerate(wanted):
        store.put(each, 50 + number, 0.0)
    store.remove(wanted[7])
    store.put(wanted[3], 99, 1.0)  # renewed: it keeps its place
    found: list[Rule] = []
    after = 0
    while page := list(store.after(after, 7)):
        found += [each for each, _ in page]
        after = page[-1][1].number
    assert found == [each for each in wanted if each != wanted[7]]


def test_renewals_leave_nothing_behind() -> None:
    store = RuleStore(policy(max_changes_per_s=10**7), frozenset((4,)), 0.0)
    for number in range(20_000):
        store.put(Source("192.0.2.1"), 1 + number / 1000, 0.0)
    assert len(store._expiries) < 2000
    assert store.expire(20.0) == []
    assert store.expire(21.0) == [Source("192.0.2.1")]


@pytest.mark.parametrize("burst", [1, 1000])
def test_the_rate_is_a_rate(burst: int) -> None:
    store = RuleStore(policy(max_rules=10**6, max_changes_per_s=100), frozenset((4,)), 0.0)
    accepted = 0
    for number in range(20_000):
        now_s = math.floor(number / burst) * burst / 2000  # 2,000 per second, for ten seconds
        try:
            store.put(Source(str(ipaddress.IPv4Address(number + 1))), 60, now_s)
        except RuleRefused as refusal:
            assert refusal.reason is Reason.RATE
        else:
            accepted += 1
    # At most one bucket, and what flowed in; some of it too late for the last of ten seconds.
    assert 100 + 900 <= accepted <= 100 + 1000
