"""The packets of a user's capture: all of them are used, or counted, or the capture is refused."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Dot1Q, Ether
from support.sfcmon import traces

from sfcperf.errors import InputError
from sfcperf.traffic import suricata
from sfcperf.traffic.labelled import LabelledTrace
from sfcperf.traffic.labels import BENIGN, Labels, Row

LABELS = Labels([Row(BENIGN)])


def test_each_frame_is_used_or_counted(tmp_path: Path) -> None:
    random = Random(1)
    packet = IP(src="10.0.0.1") / UDP(sport=1, dport=2)
    kinds = [Ether() / packet, Ether() / Dot1Q(vlan=7) / packet, Ether() / ARP()]
    chosen = random.choices(kinds, k=50)
    pcap = tmp_path / "t.pcap"
    pcap.write_bytes(traces.pcap((n, bytes(frame)) for n, frame in enumerate(chosen)))
    trace = LabelledTrace(pcap, LABELS)
    found = list(trace)
    assert len({packet.flow for packet in found}) == 1
    assert trace.left_out == {"ethertype_0x0806": chosen.count(kinds[2])}
    assert (trace.frames, len(found)) == (50, 50 - chosen.count(kinds[2]))


def test_suricata_gets_no_damaged_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would say nothing of the packets behind the damage."""
    monkeypatch.setattr(suricata, "_version", lambda: "7")
    monkeypatch.setattr(suricata, "_run", lambda *_: pytest.fail("Suricata was started"))
    frames = [(n, bytes(60)) for n in range(9)]
    pcap = tmp_path / "t.pcap"
    pcap.write_bytes(traces.pcap(frames) + b"\xff" * 16 + traces.pcap(frames))
    with pytest.raises(InputError) as caught:
        suricata.alerts(pcap)
    assert caught.value.where == f"{pcap}, byte {24 + 9 * 76}"
