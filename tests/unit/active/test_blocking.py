"""Judging what was blocked, against a slower and plainer computation."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.active.labelled_traffic.blocking import PacketFate, attacks, blocked_by_label, measures
from sfcperf.active.labelled_traffic.probe import result_of
from sfcperf.results.kinds import PROBE, kind_of
from sfcperf.traffic.labels import BENIGN

LABELS = (BENIGN, "flood", "scan")


def flow_label(flow: int) -> str:
    return LABELS[flow % len(LABELS)]


@st.composite
def some_fates(draw: st.DrawFn) -> list[PacketFate]:
    fate = st.tuples(st.integers(0, 8), st.integers(60, 1414), st.booleans(), st.booleans())
    sent = draw(st.lists(fate))
    gaps = draw(st.lists(st.integers(0, 10**9), min_size=len(sent), max_size=len(sent)))
    times = numpy.cumsum(gaps).tolist() if gaps else []
    return [
        PacketFate(flow, flow_label(flow), size, at, passed, answer)
        for (flow, size, passed, answer), at in zip(sent, times, strict=True)
    ]


def flows_of(fates: Sequence[PacketFate], *, benign: bool) -> list[list[PacketFate]]:
    known = {fate.flow for fate in fates if (fate.label == BENIGN) == benign}
    return [[fate for fate in fates if fate.flow == flow] for flow in known]


def share(true: int, all_of_them: int) -> float | None:
    return true / all_of_them if all_of_them else None


@given(some_fates())
def test_shares_of_packets_and_bytes(fates: list[PacketFate]) -> None:
    found = measures(blocked_by_label(fates))
    bad = [fate for fate in fates if fate.label != BENIGN and not fate.answer]
    good = [fate for fate in fates if fate.label == BENIGN]
    passed = sum(fate.size_bytes for fate in bad if fate.passed)
    assert found["attack_packets_blocked_ratio"] == share(sum(not f.passed for f in bad), len(bad))
    assert found["benign_packets_lost_ratio"] == share(sum(not f.passed for f in good), len(good))
    assert found["attack_bytes_passed_ratio"] == share(passed, sum(f.size_bytes for f in bad))


def test_a_kind_of_which_only_answers_were_sent_has_no_share() -> None:
    """Its label begins in the middle of a flow, for instance."""
    answer = PacketFate(1, "flood", 100, 0, True, answer=True)
    samples, notes, _ = result_of(blocked_by_label([answer]))
    found = {kind[1]: s.value for s in samples if (kind := kind_of(PROBE, s.metric))}
    assert found == {"flows": 1, "recall": 0, "packets": 0}
    assert notes["attack_packets"] == 0


@given(some_fates())
def test_flows_and_times(fates: list[PacketFate]) -> None:
    found = measures(blocked_by_label(fates))
    bad, good = flows_of(fates, benign=False), flows_of(fates, benign=True)
    hit = [flow for flow in bad if any(not fate.passed for fate in flow)]
    cut = [
        flow
        for flow in hit
        if not any(f.passed and not f.answer for f in flow[first_stopped(flow) :])
    ]
    assert found["recall"] == share(len(hit), len(bad))
    assert found["fpr"] == share(sum(any(not f.passed for f in flow) for flow in good), len(good))
    assert found["attack_flows_blocked_ratio"] == share(len(cut), len(bad))
    short = [flow for flow in bad if flow[-1].sent_ns - flow[0].sent_ns < 2e9]
    assert found["short_flow_recall"] == share(sum(flow in hit for flow in short), len(short))
    long = [flow for flow in bad if flow not in short]
    assert found["long_flow_recall"] == share(sum(flow in hit for flow in long), len(long))
    times = [
        (flow[first_stopped(flow)].sent_ns - flow[0].sent_ns) / 1e6
        for flow in hit
        if flow[0].passed
    ]
    expected = median(times) if times else None
    assert found["time_to_block_ms"] == (pytest.approx(expected) if times else None)
    at_once = [flow for flow in hit if not flow[0].passed]
    assert attacks(blocked_by_label(fates)).flows_stopped_at_once == len(at_once)


@given(some_fates())
def test_mcc_is_the_correlation_of_labels_and_hits(fates: list[PacketFate]) -> None:
    flows = flows_of(fates, benign=False) + flows_of(fates, benign=True)
    truth = [flow[0].label != BENIGN for flow in flows]
    judged = [any(not fate.passed for fate in flow) for flow in flows]
    found = measures(blocked_by_label(fates))["mcc"]
    if len(set(truth)) < 2:
        assert found is None
    elif len(set(judged)) < 2:
        assert found == 0
    else:
        assert found == pytest.approx(numpy.corrcoef(truth, judged)[0, 1])


@given(some_fates())
def test_kinds_add_up_to_all_attacks(fates: list[PacketFate]) -> None:
    by_label = blocked_by_label(fates)
    together = attacks(by_label)
    parts = [blocked for label, blocked in by_label.items() if label != BENIGN]
    assert together.packets == sum(1 for f in fates if f.label != BENIGN and not f.answer)
    for name in ("packets", "packets_stopped", "flows", "flows_hit", "flows_cut_off"):
        assert getattr(together, name) == sum(getattr(part, name) for part in parts)


def test_nothing_blocked_is_zero_and_everything_blocked_is_one() -> None:
    packets = [(flow, at) for at, flow in enumerate([0, 1, 2, 0, 1, 2])]
    nothing = measures(
        blocked_by_label(PacketFate(f, flow_label(f), 60, at, True) for f, at in packets)
    )
    assert nothing["mcc"] == nothing["recall"] == nothing["fpr"] == 0
    assert nothing["attack_packets_blocked_ratio"] == nothing["benign_packets_lost_ratio"] == 0
    assert nothing["time_to_block_ms"] is None
    attacks_only = (
        PacketFate(f, flow_label(f), 60, at, flow_label(f) == BENIGN) for f, at in packets
    )
    found = measures(blocked_by_label(attacks_only))
    assert found["mcc"] == found["recall"] == found["attack_flows_blocked_ratio"] == 1
    assert found["attack_bytes_passed_ratio"] == found["fpr"] == 0


def first_stopped(flow: Sequence[PacketFate]) -> int:
    return next(place for place, fate in enumerate(flow) if not fate.passed)
