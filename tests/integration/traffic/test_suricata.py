"""Labels from Suricata's alerts, over captures whose attack is known."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from scapy.utils import wrpcap
from support.command import SFCPERF

from sfcperf.errors import InputError
from sfcperf.traffic import labels, suricata
from sfcperf.traffic.labels import BENIGN, Labels

pytestmark = pytest.mark.skipif(
    not suricata.requirement().met, reason="suricata is not installed (bookworm-backports)"
)
PINGS = 50


def pings(network: type[Packet], source: str, destination: str) -> Iterator[Packet]:
    for number in range(PINGS):
        packet = Ether() / network(src=source, dst=destination) / ICMP(id=7, seq=number)
        packet.time = 1_700_000_000 + number / 1000
        yield packet


def handshake(client: str, port: int) -> Iterator[Packet]:
    ends = {"src": client, "dst": "10.0.0.9"}, {"src": "10.0.0.9", "dst": client}
    ports = {"sport": port, "dport": 80}, {"sport": 80, "dport": port}
    for number, (way, flags) in enumerate(((0, "S"), (1, "SA"), (0, "A"))):
        packet = Ether() / IP(**ends[way]) / TCP(**ports[way], flags=flags, seq=1, ack=1)
        packet.time = 1_700_000_000 + number / 1000
        yield packet


@pytest.fixture
def pcap(tmp_path: Path) -> Path:
    file = tmp_path / "trace.pcap"
    packets = [*pings(IP, "10.0.0.1", "10.0.0.9"), *handshake("10.0.0.2", 4000)]
    wrpcap(str(file), sorted(packets, key=lambda packet: packet.time))
    return file


def test_flows_with_alerts_are_attacks(pcap: Path, tmp_path: Path) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text(f"{','.join(labels.COLUMNS)}\n,,,10.0.0.1,,,,icmp-flood\n,,,,,,,benign\n")
    made = tmp_path / "labels.csv"
    argv = [SFCPERF, "traffic", "label", str(pcap), str(made), "--truth", str(truth)]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"{made}: 1 attack flow" in done.stdout
    assert "MCC of flows: 1.000" in done.stdout
    rows = labels.read(made).rows
    assert [row.label for row in rows] == ["attempted-denial-of-service", BENIGN]
    assert (rows[0].protocol, str(rows[0].address), rows[0].port) == (1, "10.0.0.1/32", 0)


def test_own_rules_replace_ours(pcap: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.rules"
    own.write_text('alert tcp any any -> any 80 (msg:"web"; flags:S; sid:1;)\n')
    found = Labels(suricata.alerts(pcap, [own]).rows)
    assert [row.port for row in found.rows] == [4000, None]
    assert found.kinds == ("web",), "a rule without a class: its text"


def test_ipv6(tmp_path: Path) -> None:
    file, own = tmp_path / "trace.pcap", tmp_path / "own.rules"
    syn = Ether() / IPv6(src="2001:db8::1", dst="2001:db8::2") / TCP(sport=5, dport=80, flags="S")
    wrpcap(str(file), [syn])
    own.write_text('alert tcp any any -> any any (msg:"begun"; flags:S; sid:1;)\n')
    first = suricata.alerts(file, [own]).rows[0]
    assert (str(first.address), str(first.other_address)) == ("2001:db8::1/128", "2001:db8::2/128")


def test_labels_of_a_capture_are_kept(pcap: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.rules"
    own.write_text('alert tcp any any -> any 80 (msg:"web"; flags:S; sid:1;)\n')
    first, other = suricata.kept(pcap, [suricata.RULES]), suricata.kept(pcap, [own])
    assert first != other
    when = first.stat().st_mtime_ns
    assert suricata.kept(pcap, [suricata.RULES]).stat().st_mtime_ns == when


@pytest.mark.parametrize(
    ("rules", "said"),
    [("alert tcp any any -> any any (flagss:S; sid:1;)", "flagss"), (None, "cannot be read")],
)
def test_rules_that_are_refused(pcap: Path, tmp_path: Path, rules: str | None, said: str) -> None:
    own = tmp_path / "own.rules"
    if rules is not None:
        own.write_text(rules + "\n")
    with pytest.raises(InputError, match=said):
        suricata.alerts(pcap, [own])


def test_a_file_that_is_no_capture(tmp_path: Path) -> None:
    file = tmp_path / "trace.pcap"
    file.write_text("no capture\n")
    with pytest.raises(InputError, match="not a capture"):
        suricata.alerts(file)
