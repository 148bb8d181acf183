"""Files of labels: what is written is read, wrong ones are refused, the first match counts."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.errors import InputError
from sfcperf.packets.five_tuple import Flow
from sfcperf.traffic import labels
from sfcperf.traffic.labels import BENIGN, COLUMNS, Labels, Row

HEADER = ",".join(COLUMNS)
# A few values, so that rows and flows meet.
ADDRESSES = ["10.0.0.1", "10.0.0.2", "10.0.1.1", "fd00::1"]
NETWORKS = [None, *map(ip_network, (*ADDRESSES, "10.0.0.0/24", "0.0.0.0/0", "::/0"))]
PORTS = st.sampled_from([0, 80, 443])
OPTIONAL_PORTS = st.none() | PORTS
TIMES = st.none() | st.sampled_from([0.0, 1.0, 2.5])
ROWS = st.builds(
    Row,
    st.sampled_from([BENIGN, "scan", "flood"]),
    TIMES,
    TIMES,
    st.none() | st.sampled_from([6, 17]),
    st.sampled_from(NETWORKS),
    OPTIONAL_PORTS,
    st.sampled_from(NETWORKS),
    OPTIONAL_PORTS,
)
FLOWS = st.builds(
    Flow, st.sampled_from(ADDRESSES), PORTS, st.sampled_from(ADDRESSES), PORTS,
    st.sampled_from([6, 17]),
)  # fmt: skip


@given(st.lists(ROWS, min_size=1, max_size=8), FLOWS, st.sampled_from([0.0, 0.5, 1.0, 3.0]))
def test_the_first_row_that_matches_counts(rows, flow, at_s):
    expected = next((r.label for r in rows if r.covers(at_s) and r.matches(flow)), None)
    known = Labels(rows)
    assert known.of(flow, at_s) == expected
    assert known.of(flow.reverse, at_s) == expected
    assert known.kinds == tuple(sorted({r.label for r in rows if r.label != BENIGN}))


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
        ("1,2,3", "3 fields instead of 8"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, message: str):
    path = tmp_path / "labels.csv"
    path.write_text(f"{HEADER}\n,,,,,,,benign\n{line}\n")
    with pytest.raises(InputError) as caught:
        labels.read(path)
    assert message in str(caught.value)
    assert caught.value.where == f"{path}, line 3"


@pytest.mark.parametrize("text", ["", "label\nscan\n", f"{HEADER}\n", "\0"])
def test_no_file_of_labels(tmp_path: Path, text: str):
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(InputError):
        labels.read(path)


def test_no_file(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be read"):
        labels.read(tmp_path / "missing.csv")
