"""Rules that follow from verdicts, against a plain model of the policy."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples

from sfcperf.services.classifier.serving.policy import Limits, Policy
from sfcperf.services.classifier.verdicts import Verdict
from sfcperf.vnfs.rule_interface.rules import Flow, Rule, Source

LIMITS = Limits(
    sources=True, source_after_flows=3, source_min_ratio=0.75, ttl_s=10, max_flow_rules=8
)
SERVER = "10.0.0.9"

Step = tuple[Verdict, float]


def verdict(src: str, src_port: int, label: str, dst: str = SERVER, dst_port: int = 80) -> Verdict:
    return Verdict(
        version=1, record=(0, 0), recorded_ms=0, source="ids-1", sequence=0, kind="window",
        first_ns=0, protocol=6, src=src, src_port=src_port, dst=dst, dst_port=dst_port,
        label=label,
    )  # fmt: skip


@st.composite
def steps(draw: st.DrawFn) -> list[Step]:
    now_s, found = 0.0, []
    hosts = st.sampled_from(["10.0.0.1", "10.0.0.2", "2001:db8::1", SERVER])
    for _ in range(draw(st.integers(0, 60))):
        now_s += draw(st.sampled_from([0, 0.5, 4, 6, 11]))
        src, dst = draw(hosts), draw(hosts)
        if (":" in src) != (":" in dst):
            dst = src
        port = draw(st.integers(1, 5))
        label = draw(st.sampled_from(["benign", "flood", "flood"]))
        found.append((verdict(src, port, label, dst), now_s))
    return found


def key_of(judged: Verdict) -> Flow:
    low, high = sorted([(judged.src, judged.src_port), (judged.dst, judged.dst_port)])
    return Flow(judged.protocol, low, high)


class Model:
    """All that was ever judged, counted anew each time."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.flows: dict[Flow, tuple[str, bool]] = {}
        self.rules: dict[Rule, tuple[float, bool]] = {}

    def rules_for(self, judged: Verdict, now_s: float) -> list[Rule]:
        key, bad = key_of(judged), judged.label != "benign"
        source = self.flows.get(key, (judged.src, False))[0]
        self.flows[key] = (source, bad)
        self.rules = {r: known for r, known in self.rules.items() if known[0] > now_s}
        if not bad:
            return []
        outgoing = [flow for flow, (src, _) in self.flows.items() if src == source]
        wanted: Rule = Source(source) if self.blocks(source, len(outgoing)) else key
        until_s, _ = self.rules.get(wanted, (0.0, False))
        if until_s - now_s > self.limits.ttl_s / 2:
            return []
        self.rules.pop(wanted, None)
        lone = isinstance(wanted, Flow) and len(outgoing) == 1
        if isinstance(wanted, Flow) and not self.has_room(lone):
            return []
        self.rules[wanted] = (now_s + self.limits.ttl_s, lone)
        return [wanted]

    def blocks(self, source: str, outgoing: int) -> bool:
        attacks = sum(bad for src, bad in self.flows.values() if src == source)
        incoming = sum(source == other(flow, src) for flow, (src, _) in self.flows.items())
        enough = attacks >= self.limits.source_after_flows
        nearly_all = attacks >= self.limits.source_min_ratio * outgoing
        return self.limits.sources and enough and nearly_all and outgoing > incoming

    def has_room(self, lone: bool) -> bool:
        flows = [known for rule, known in self.rules.items() if isinstance(rule, Flow)]
        lones = [known for known in flows if known[1]]
        most = self.limits.max_flow_rules
        return len(flows) < most and not (lone and len(lones) >= most // 2)


def other(flow: Flow, address: str) -> str:
    return flow.high[0] if flow.low[0] == address else flow.low[0]


@examples(500)
@given(steps(), st.booleans())
def test_rules_are_those_of_the_model(judged: list[Step], sources: bool) -> None:
    limits = Limits(sources, 3, 0.75, 10, 8)
    policy, model = Policy(limits), Model(limits)
    for each, now_s in judged:
        assert policy.rules_for(each, now_s) == model.rules_for(each, now_s)


@examples(200)
@given(steps(), st.integers(1, 6))
def test_what_is_forgotten_leaves_nothing(judged: list[Step], remembered: int) -> None:
    policy = Policy(LIMITS, remembered)
    for each, now_s in judged:
        policy.rules_for(each, now_s)
        assert len(policy._flows) <= remembered
    counts: dict[str, list[int]] = {}
    for flow, known in policy._flows.items():
        source = counts.setdefault(known.source, [0, 0, 0])
        source[0] += known.bad
        source[1] += 1
        counts.setdefault(other(flow, known.source), [0, 0, 0])[2] += 1
    assert counts == {
        address: [a.attacks, a.outgoing, a.incoming] for address, a in policy._addresses.items()
    }


def judge(policy: Policy, judged: Sequence[Verdict], now_s: float = 0) -> list[Rule]:
    return [rule for each in judged for rule in policy.rules_for(each, now_s)]


def test_a_source_is_blocked_when_nearly_all_of_its_flows_are_attacks() -> None:
    policy = Policy(LIMITS)
    judge(policy, [verdict("10.0.0.1", 1, "benign")])
    found = judge(policy, [verdict("10.0.0.1", port, "flood") for port in (2, 3, 4)])
    assert found[-1] == Source("10.0.0.1")
    judge(policy, [verdict("10.0.0.2", port, "benign") for port in (1, 2)])
    found = judge(policy, [verdict("10.0.0.2", port, "flood") for port in (3, 4, 5)])
    assert all(isinstance(rule, Flow) for rule in found)


def test_the_server_of_a_flood_is_not_blocked() -> None:
    """Its replies are the first packets of flows that were silent for a window."""
    policy = Policy(LIMITS)
    judge(policy, [verdict("10.0.0.1", port, "flood") for port in range(1, 9)])
    late = [verdict(SERVER, 80, "flood", "10.0.0.1", port) for port in range(1, 16)]
    assert Source(SERVER) not in judge(policy, late, 20)


def test_a_refused_rule_is_tried_again() -> None:
    policy = Policy(LIMITS)
    flood = verdict("10.0.0.1", 1, "flood")
    (rule,) = judge(policy, [flood])
    assert judge(policy, [flood], 1) == []
    policy.refused(rule)
    assert judge(policy, [flood], 1) == [rule]


def test_spoofed_sources_have_half_of_the_room() -> None:
    policy = Policy(LIMITS)
    spoofed = [verdict(f"198.51.100.{number}", 1, "flood") for number in range(20)]
    assert len(judge(policy, spoofed)) == 4
    assert policy.withheld == 16
