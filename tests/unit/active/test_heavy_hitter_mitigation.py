"""heavy_hitter_mitigation: the packets of a trial, and what is told from those that arrive."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from support.probing import made

from sfcperf.active.heavy_hitter.mitigation import Mitigation, mitigation
from sfcperf.active.heavy_hitter.mitigation_probe import HeavyHitterMitigation, losses
from sfcperf.active.heavy_hitter.traffic import BACKGROUND, HEAVY, Traffic
from sfcperf.active.labelled_traffic.replay_plan import Key, ReplayPlan, replayed
from sfcperf.errors import InputError

MS = 1_000_000
DELAY_NS = 1_700_000_000_000_000_000
TRAFFIC = Traffic(
    rate_pps=1000, background_pps=200, background_flows=10, lead_s=0.1, duration_s=0.5,
    frame_bytes=64, port=9,
)  # fmt: skip


def arriving(plan: ReplayPlan, *stopped: range, lost_background: int = 0) -> list[tuple[Key, int]]:
    """As soon as sent: all but the large flow's packets of these numbers, and the first ones of the
    background."""
    number = Counter[str | None]()
    found = []
    for packet, key in zip(plan.packets, plan.keys, strict=True):
        own = number[packet.label]
        number[packet.label] += 1
        gone = (
            any(own in part for part in stopped) if packet.label == HEAVY else own < lost_background
        )
        if not gone:
            found.append((key, DELAY_NS + packet.time_ns))
    return found


def judged(*stopped: range, lost_background: int = 0, bin_s: float = 0.05) -> Mitigation:
    plan = TRAFFIC.plan(1)
    found = arriving(plan, *stopped, lost_background=lost_background)
    return mitigation(plan, found, TRAFFIC.lead_s, TRAFFIC.duration_s, bin_s)


def told(*stopped: range, blocked: int | None, lost_background: int = 0) -> list[str]:
    plan = TRAFFIC.plan(1)
    found = arriving(plan, *stopped, lost_background=lost_background)
    sent = replayed(plan, 1, arriving(plan), found)
    return list(losses(sent, judged(*stopped, lost_background=lost_background), blocked))


@pytest.mark.parametrize("size", [64, 65, 1518])
def test_frames_are_what_scapy_would_make(size: int) -> None:
    plan = replace(TRAFFIC, frame_bytes=size).plan(3)
    flows = set()
    for packet in plan.packets[:40]:
        assert len(packet.frame) == size - 4
        seen = Ether(packet.frame)
        assert (seen[IP].src, seen[IP].dst) == ("198.18.0.3", "192.0.2.1")
        assert (seen[UDP].sport, seen[UDP].dport) == (packet.flow.source_port, 9)
        again = seen.copy()
        del again[IP].chksum, again[IP].len, again[UDP].len
        assert bytes(again) == packet.frame
        flows.add((packet.label, seen[UDP].sport))
    assert flows == {(BACKGROUND, 1024 + number) for number in range(10)} | {(HEAVY, 1023)}


def test_times_are_those_of_the_rates() -> None:
    plan = TRAFFIC.plan(0)
    of_label = Counter(packet.label for packet in plan.packets)
    assert of_label == {HEAVY: 400, BACKGROUND: 100}
    times = [packet.time_ns for packet in plan.packets]
    assert times == sorted(times)
    heavy = [packet.time_ns for packet in plan.packets if packet.label == HEAVY]
    assert heavy == [100 * MS + number * MS for number in range(400)]
    assert len(set(plan.keys)) == 500


def test_trials_have_flows_of_their_own() -> None:
    plans = [TRAFFIC.plan(trial) for trial in (0, 1, 256, 70_000)]
    flows = [{packet.flow for packet in plan.packets} for plan in plans]
    assert len(set.union(*flows)) == sum(map(len, flows))


def test_what_passes_before_the_block() -> None:
    found = judged(range(100, 400))
    assert (found.let_through, found.passed_again, found.blocked) == (100, 0, True)
    assert found.time_to_block_ms == pytest.approx(99)
    # From the tenth of a second on, for a tenth.
    assert found.heavy_pps == (0, 0, 1000, 1000, 0, 0, 0, 0, 0, 0)
    assert found.background_pps == (200,) * 10
    # Steps that do not divide the time: the lead is three of them, not three and a third.
    odd = judged(range(100, 400), bin_s=0.03).heavy_pps
    assert (len(odd), [place for place, rate in enumerate(odd) if rate]) == (16, [3, 4, 5, 6])
    assert sum(odd) * 0.03 == pytest.approx(100)
    # A flow that is forgotten.
    found = judged(range(100, 200), range(300, 400))
    assert (found.let_through, found.passed_again) == (100, 100)
    assert found.time_to_block_ms == pytest.approx(99)
    assert sum(found.heavy_pps) * 0.05 == pytest.approx(200)


def test_blocked_from_its_first_packet_or_never() -> None:
    found = judged(range(400))
    assert (found.let_through, found.blocked, found.time_to_block_ms) == (0, True, None)
    assert not any(found.heavy_pps)
    assert found.background_pps == (200,) * 10
    never = judged()
    assert (never.let_through, never.blocked, never.time_to_block_ms) == (400, False, None)


def test_copies_and_packets_of_others_do_not_count() -> None:
    plan, other = TRAFFIC.plan(1), TRAFFIC.plan(2)
    arrived = arriving(plan, range(100, 400))
    late = [(key, time_ns + 300 * MS) for key, time_ns in arrived]
    found = mitigation(plan, [*arrived, *late, *arriving(other)], 0.1, 0.5, 0.05)
    assert found == judged(range(100, 400))


def test_losses_make_a_trial_untrusted() -> None:
    assert told(range(100, 400), blocked=300) == []
    # One that was lost on its way, before the block: it is not what the function says.
    [doubt] = told(range(50, 51), range(101, 400), blocked=299)
    assert doubt.startswith("300 packets did not arrive, and the functions blocked 299")
    [doubt] = told(range(100, 400), blocked=300, lost_background=5)
    assert doubt.startswith("305 packets did not arrive, and the functions blocked 300")
    [doubt] = told(blocked=0)
    assert "was not blocked: all of its 400 packets passed" in doubt
    # Flows of the background that were blocked as well are a result.
    assert told(range(100, 400), blocked=305, lost_background=5) == []
    # Without a function that blocks.
    assert told(blocked=None) == []
    [doubt] = told(range(3), blocked=None)
    assert doubt.startswith("3 of 500 packets were lost")


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"lead_s": 2}, "lead_s"),
        ({"rate_pps": 200_000, "duration_s": 10}, "duration_s"),
        ({"bin_s": 1.5}, "bin_s"),
        ({"bin_s": 0.0001, "duration_s": 20}, "bin_s"),
    ],
)
def test_parameters_that_do_not_fit(given: dict[str, float], where: str) -> None:
    parameters = made(HeavyHitterMitigation, **given).parameters
    with pytest.raises(InputError) as refused:
        HeavyHitterMitigation.check(parameters)
    assert refused.value.where == where
    HeavyHitterMitigation.check(made(HeavyHitterMitigation).parameters)


def test_what_was_not_sent_and_came_late_is_told() -> None:
    plan = TRAFFIC.plan(1)
    in_time = arriving(plan)[:-1]
    late = [(key, at + 60 * MS) for key, at in in_time[:10]] + in_time[10:]
    sent = replayed(plan, 1, late, late)
    assert list(sent.doubts()) == [
        "1 packet of the trace was not sent",
        "1 % of the packets were sent more than 60 ms late",
    ]
