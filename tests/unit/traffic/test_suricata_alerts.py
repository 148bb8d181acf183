"""Labels from alerts as Suricata writes them, by a stand-in for the program."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap
from typer.testing import CliRunner

from sfcperf.cli.app import app
from sfcperf.errors import InputError
from sfcperf.traffic import labels, suricata
from sfcperf.traffic.labels import BENIGN

STAND_IN = """#!/bin/sh
[ "$1" = -V ] && { echo "This is Suricata version 7.0.10 RELEASE"; exit 0; }
while [ $# -gt 0 ]; do [ "$1" = -l ] && folder=$2; shift; done
cp "$EVE" "$folder/eve.json"
"""
ALERT = {"signature_id": 7, "signature": "some text", "category": "Misc activity"}
UDP_ENDS = {"src_ip": "192.0.2.1", "src_port": 1000, "dest_ip": "198.51.100.1", "dest_port": 53}


def event(alert: dict[str, Any] | None = None, **fields: Any) -> bytes:
    written = {"event_type": "alert", **fields, "alert": ALERT if alert is None else alert}
    return json.dumps(written, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    program = tmp_path / "suricata"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("EVE", str(tmp_path / "eve"))
    pcap = tmp_path / "trace.pcap"
    wrpcap(str(pcap), [Ether() / IP(src="192.0.2.1", dst="198.51.100.1") / UDP()])

    def alerts(content: bytes, **given: Any) -> suricata.Alerts:
        (tmp_path / "eve").write_bytes(content)
        return suricata.alerts(pcap, **given)

    return alerts


def test_an_alert_without_a_flow_is_counted(found: Any) -> None:
    known = event(proto="UDP", **UDP_ENDS)
    alerts = found(event(pkt_src="wire/pcap") + known + event(proto="no-such", **UDP_ENDS))
    assert [row.label for row in alerts.rows] == ["misc-activity", BENIGN]
    assert alerts.without_flow == 2


def test_any_protocol_of_ip(found: Any) -> None:
    for proto, number in (("GRE", 47), ("253", 253), ("IPv6-ICMP", 58)):
        alerts = found(event(proto=proto, src_ip="192.0.2.1", dest_ip="192.0.2.2"))
        (row, _) = alerts.rows
        assert (row.protocol, row.port, alerts.without_flow) == (number, 0, 0)


def test_each_alert_has_a_label_that_can_be_read(found: Any, tmp_path: Path) -> None:
    names = [{"signature": "a–b"}, {"signature": "a—b"}, {}, {"category": "", "signature": ""}]
    content = b"".join(
        event({"signature_id": port, **name}, proto="UDP", **{**UDP_ENDS, "src_port": port})
        for port, name in enumerate(names)
    )
    # In another encoding, two texts are still two.
    alerts = found(content.decode().encode("cp1252"))
    labels.write(tmp_path / "labels.csv", alerts.rows)
    assert len(labels.read(tmp_path / "labels.csv").kinds) == len(names)


def test_frames_that_no_label_is_about_are_counted(found: Any, tmp_path: Path) -> None:
    """The command says how many there are, with true labels and without."""
    behind_mpls = Ether(type=0x8847) / Raw(bytes.fromhex("00010140")) / IP() / UDP()
    wrpcap(str(tmp_path / "trace.pcap"), [Ether() / IP() / UDP(), behind_mpls, behind_mpls])
    alerts = found(b"")
    assert (alerts.frames, alerts.left_out) == (3, {"ethertype_0x8847": 2})
    done = CliRunner().invoke(
        app, ["traffic", "label", str(tmp_path / "trace.pcap"), str(tmp_path / "labels.csv")]
    )
    assert done.exit_code == 0
    assert all(line in done.stdout for line in alerts.left_out.lines(alerts.frames))


def test_a_fifo_is_not_waited_for(found: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InputError, match="not a regular file"):
        found(b"", rules=[tmp_path / "fifo"])
