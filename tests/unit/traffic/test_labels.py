"""Files of labels: what is written is read, wrong ones are refused, the first match counts."""

from __future__ import annotations

import os
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.errors import InputError
from sfcperf.packets.five_tuple import Flow
from sfcperf.traffic import labels
from sfcperf.traffic.activities import ACTIVITIES
from sfcperf.traffic.labels import BENIGN, COLUMNS, Labels, Row
from sfcperf.traffic.making import SERVERS, rows
from sfcperf.traffic.schedule import draw

HEADER = ",".join(COLUMNS)
# A few values, so that rows and flows meet.
ADDRESSES = ["10.0.0.1", "10.0.0.2", "10.0.1.1", "fd00::1"]
NETWORKS = [None, *map(ip_network, (*ADDRESSES, "10.0.0.0/24", "0.0.0.0/0", "::/0"))]
PORTS = st.sampled_from([0, 80, 443])
OPTIONAL_PORTS = st.none() | PORTS
TIMES = st.none() | st.sampled_from([0.0, 1.0, 2.5])
ENDS = st.sampled_from(NETWORKS), OPTIONAL_PORTS
KINDS, PROTOCOLS = st.sampled_from([BENIGN, "scan", "flood"]), st.sampled_from([6, 17])
ROWS = st.builds(Row, KINDS, TIMES, TIMES, st.none() | PROTOCOLS, *ENDS, *ENDS)
FLOWS = st.builds(
    Flow, st.sampled_from(ADDRESSES), PORTS, st.sampled_from(ADDRESSES), PORTS,
    st.sampled_from([6, 17]),
)  # fmt: skip


def matches(row: Row, flow: Flow) -> bool:
    """The definition, one row at a time."""
    ends = (flow.source, flow.source_port), (flow.destination, flow.destination_port)
    named = (row.address, row.port), (row.other_address, row.other_port)
    return row.protocol in (None, flow.protocol) and any(
        all(
            (network is None or ip_address(address) in network) and named_port in (None, port)
            for (address, port), (network, named_port) in zip(way, named, strict=True)
        )
        for way in (ends, ends[::-1])
    )


@given(st.lists(ROWS, min_size=1, max_size=8), FLOWS, st.sampled_from([0.0, 0.5, 1.0, 3.0]))
def test_the_first_row_that_matches_counts(rows, flow, at_s):
    expected = next((r.label for r in rows if r.covers(at_s) and matches(r, flow)), None)
    known = Labels(rows)
    assert known.of(flow, at_s) == expected
    assert known.of(flow.reverse, at_s) == expected
    assert known.kinds == tuple(sorted({r.label for r in rows if r.label != BENIGN}))


def test_a_flow_is_compared_with_few_of_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    def covers(row: Row, at_s: float) -> bool:
        nonlocal compared
        compared += 1
        return True

    prefixes = [ip_network((10 << 24 | number << 8, 24)) for number in range(2000)]
    known = Labels([Row(f"kind {each}", address=each) for each in prefixes] + [Row(BENIGN)])
    monkeypatch.setattr(Row, "covers", covers)
    assert known.of(Flow("192.0.2.1", 1, "10.7.1.9", 2, 6), 0) == "kind 10.7.1.0/24"
    assert compared == 1


@given(st.lists(ROWS, min_size=1, max_size=8))
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    labels.write(path, rows)
    assert list(labels.read(path).rows) == rows


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,2,6,10.0.0.1,80,,,", "no label"),
        ("x,,,,,,,scan", "start_s 'x' is no time"),
        ("-1,,,,,,,scan", "start_s '-1' is no time"),
        (",nan,,,,,,scan", "end_s 'nan' is no time"),
        (",,256,,,,,scan", "protocol '256'"),
        (",,6,10.0.0.1/8,,,,scan", "no address or prefix: 10.0.0.1/8 has host bits set"),
        (",,6,10.0.0.1,65536,,,scan", "port '65536'"),
        (",,6,10.0.0.1,-1,,,scan", "port '-1'"),
        (",,6,10.0.0.1,²,,,scan", "port '²'"),
        ("1,2,3", "3 cells, but the header has 8"),
        (f",,,,,,,{'x' * 200_000}", "field larger than field limit"),
        (',,,,,,,"scan', "not CSV"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, message: str):
    path = tmp_path / "labels.csv"
    path.write_text(f"{HEADER}\n,,,,,,,benign\n{line}\n")
    with pytest.raises(InputError) as caught:
        labels.read(path)
    assert message in str(caught.value)
    assert caught.value.where == f"{path}:3"


def test_no_file_of_labels(tmp_path: Path):
    path = tmp_path / "labels.csv"
    with pytest.raises(InputError, match="cannot be read"):
        labels.read(path)
    for text in ("", "label\nscan\n", f"{HEADER}\n", "\0"):
        path.write_text(text)
        with pytest.raises(InputError):
            labels.read(path)
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        labels.read(pipe)


@pytest.mark.parametrize(
    "text",
    [
        f"\ufeff{HEADER}\n,,,10.0.0.1,,,,DoS Hulk\n,,,,,,,benign\n",
        f"{HEADER}\r\n,,,10.0.0.1,,,,DoS Hulk\r\n,,,,,,,BENIGN\r\n\r\n",
        f"{HEADER}\n,,, 10.0.0.1,,,,DoS Hulk \n,,,,,,, Benign\n,,,,,,,\n",
    ],
)
def test_labels_as_spreadsheets_and_public_data_sets_have_them(tmp_path: Path, text: str):
    path = tmp_path / "labels.csv"
    path.write_text(text, newline="")
    found = labels.read(path)
    assert found.kinds == ("DoS Hulk",)
    assert [row.label for row in found.rows] == ["DoS Hulk", BENIGN]
    assert found.rows[0].address == ip_network("10.0.0.1")


def test_kinds_of_another_encoding_are_never_merged(tmp_path: Path):
    path = tmp_path / "labels.csv"
    kinds = "".join(f",,,10.0.0.1,,,,Web Attack {dash} XSS\n" for dash in "–—")
    path.write_text(f"{HEADER}\n{kinds}", encoding="cp1252")
    with pytest.raises(InputError) as caught:
        labels.read(path)
    assert caught.value.where == f"{path}:2"
    path.write_text(f"{HEADER}\n{kinds}", encoding="utf-8")
    assert len(labels.read(path).kinds) == 2


SEEDS = st.integers(0, 2**32)
LENGTHS = st.floats(5, 300)


@given(SEEDS, LENGTHS)
def test_every_kind_within_the_trace(seed: int, duration_s: float):
    schedule = draw(seed, duration_s, SERVERS)
    assert schedule == draw(seed, duration_s, SERVERS) != draw(seed + 1, duration_s, SERVERS)
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
