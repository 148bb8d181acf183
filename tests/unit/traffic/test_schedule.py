"""A seed's schedule: the same each time, every kind in it, all within the trace."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

from hypothesis import given
from hypothesis import strategies as st

from sfcperf.packets.five_tuple import Flow
from sfcperf.traffic.activities import ACTIVITIES
from sfcperf.traffic.labels import BENIGN, Labels
from sfcperf.traffic.making import SERVERS, rows
from sfcperf.traffic.schedule import draw

SEEDS = st.integers(0, 2**32)
LENGTHS = st.floats(5, 300)


@given(SEEDS, LENGTHS)
def test_every_kind_within_the_trace(seed: int, duration_s: float):
    schedule = draw(seed, duration_s, SERVERS)
    assert schedule == draw(seed, duration_s, SERVERS)
    assert {s.activity.name for s in schedule.sessions} == {a.name for a in ACTIVITIES}
    for session in schedule.sessions:
        assert 0 < session.start_s <= session.start_s + session.duration_s <= duration_s
    addresses = list(schedule.addresses.values())
    assert len(set(addresses)) == len(addresses)
    assert all(ip_address(a) in ip_network("198.18.0.0/15") for a in addresses)


@given(SEEDS)
def test_labels_follow_the_actors(seed: int):
    schedule = draw(seed, 60, SERVERS)
    known = Labels(rows(schedule))
    web = schedule.addresses["web"]
    for session in schedule.sessions:
        flow = Flow(schedule.addresses[session.actor], 1024, web, 80, 6)
        label = session.activity.name if session.activity.attack else BENIGN
        assert known.of(flow, session.start_s) == label
    nobody = Flow("203.0.113.7", 1024, web, 80, 6)
    assert known.of(nobody, 0) == "spoofed-syn-flood"
    assert known.of(nobody._replace(destination_port=81), 0) is None


def test_another_seed_is_another_schedule():
    assert draw(1, 60, SERVERS) != draw(2, 60, SERVERS)
