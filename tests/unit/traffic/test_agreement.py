"""How far labels agree with true ones: counted by scikit-learn over the same packets."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap
from sklearn.metrics import matthews_corrcoef

from sfcperf.traffic.agreement import AlarmCounts, agreement, flows_mcc, matthews, table
from sfcperf.traffic.labelled import LabelledTrace
from sfcperf.traffic.labels import BENIGN, Labels, Row

COUNTS = st.integers(0, 9)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_coefficient_is_that_of_scikit_learn(found: int, missed: int, false: int, right: int):
    truth = [True] * (found + missed) + [False] * (false + right)
    alarm = [True] * found + [False] * missed + [True] * false + [False] * right
    if not found + missed or not false + right:
        assert matthews(found, missed, false, right) is None
    else:
        expected = matthews_corrcoef(truth, alarm)
        assert matthews(found, missed, false, right) == pytest.approx(expected)


def test_packets_and_flows_of_each_true_label(tmp_path: Path) -> None:
    def packet(source: str, port: int) -> Ether:
        return Ether() / IP(src=source, dst="10.0.0.9") / UDP(sport=port, dport=9)

    sources = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
    pcap = tmp_path / "trace.pcap"
    wrpcap(str(pcap), [packet(s, p) for s in sources for p in (1, 2) for _ in range(p)])
    of = {source: ip_network(source) for source in sources}
    truth = Labels([Row("flood", address=of["10.0.0.1"]), Row(BENIGN, address=of["10.0.0.2"])])
    judged = Labels(
        [
            Row("flood", address=of["10.0.0.1"], port=2, protocol=17),
            Row("scan", address=of["10.0.0.2"], port=1),
            Row(BENIGN),
        ]
    )
    found = agreement(LabelledTrace(pcap, truth), judged)
    counts = {
        label: (one.packets, one.packets_alarmed, len(one.flows), len(one.flows_alarmed))
        for label, one in found.items()
    }
    assert counts == {"flood": (3, 2, 2, 1), BENIGN: (3, 1, 2, 1), "(no label)": (3, 0, 2, 0)}
    assert flows_mcc(found) == 0
    assert "MCC of flows: 0.000" in table(found)
    assert flows_mcc({"flood": AlarmCounts()}) is None
