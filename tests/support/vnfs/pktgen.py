"""sfc-pktgen between two namespaces, and packets as it makes them, by scapy."""

from __future__ import annotations

import json
import signal
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapReader

from sfcperf.dataplane import binaries
from support.needs import compiled
from support.network.wires import Lab, Port, eventually, ip, space

BINARY = "sfc-pktgen"
SOURCE, SINK = "198.18.0.1", "198.18.0.2"  # RFC 2544
PORT = 9
RUN = 0x12345678
MAGIC = 0x5346
_FILE_HEADER, _FRAME_HEADER = 24, 16  # bytes, of pcap


@dataclass(frozen=True)
class Ends:
    """A source and a sink, joined by one veth."""

    source: Port
    sink: Port

    def argv(self, port: Port, role: str, *options: str) -> list[str]:
        program = port.host.program(binaries.find(BINARY))
        return [program, "--role", role, "--interface", port.interface, *options]

    def send(self, *options: str) -> dict[str, Any]:
        """Run the sender to its end."""
        argv = self.argv(self.source, "send", "--to", SINK, "--run", str(RUN), *options)
        done = self.source.host.run(argv, timeout_s=30)
        sent: dict[str, Any] = json.loads(done.stdout)["sent"]
        return sent

    def captured(self, folder: Path, *options: str) -> tuple[dict[str, Any], list[bytes]]:
        """What the sender says, and all IPv4 frames that came, by tcpdump."""
        capture = folder / "sink.pcap"
        argv = ["ip", "netns", "exec", space(self.sink.host), "tcpdump", "-i", self.sink.interface]
        # By default libpcap takes so much room for each frame that 64 MiB hold hundreds.
        argv += ["-B", "65536", "-s", "2048", "--immediate-mode", "-U", "-w", str(capture)]
        argv += ["ip", "and", "dst", SINK]
        tcpdump = subprocess.Popen(argv, stderr=subprocess.PIPE)
        assert tcpdump.stderr is not None
        try:
            while b"listening on" not in tcpdump.stderr.readline():
                assert tcpdump.poll() is None
            sent = self.send(*options)
            whole = _FILE_HEADER + sent["packets"] * _FRAME_HEADER + sent["bytes"]
            eventually(lambda: capture.stat().st_size >= whole)
        finally:
            tcpdump.send_signal(signal.SIGINT)
            said = tcpdump.communicate(timeout=10)[1]
        assert b"\n0 packets dropped by kernel" in said
        with RawPcapReader(str(capture)) as reader:
            return sent, [frame for frame, _ in reader]

    @contextmanager
    def spawned(self, port: Port, folder: Path, role: str, *options: str) -> Iterator[Any]:
        """A role that says when it is ready; gives its process and its standard output."""
        stdout = folder / f"{role}.json"
        stdout.unlink(missing_ok=True)
        process = port.host.spawn(self.argv(port, role, *options), stdout=stdout)
        try:
            assert eventually(lambda: stdout.exists() and b"\n" in stdout.read_bytes())
            yield process, stdout
        finally:
            process.stop()

    def received(self, folder: Path, frames: Sequence[bytes], *options: str) -> dict[str, Any]:
        """What the receiver counts of these frames."""
        asked = ["--run", str(RUN), *options]
        with self.spawned(self.sink, folder, "receive", *asked) as (process, stdout):
            wire = self.source.wire()
            wire.send(frames)
            wire.close()
            process.stop()
        document: dict[str, Any] = json.loads(stdout.read_text().splitlines()[-1])["received"]
        return document


def attached(port: Port) -> bool:
    """Whether an XDP program is attached, as `ip` sees it."""
    shown = json.loads(ip("-j", "-n", space(port.host), "link", "show", "dev", port.interface))
    return "xdp" in shown[0]


@contextmanager
def ends(folder: Path) -> Iterator[Ends]:
    compiled(BINARY)
    with Lab(folder) as lab:
        source, sink = lab.join((lab.host("source"), "eth0"), (lab.host("sink"), "eth0"))
        for port, address in ((source, SOURCE), (sink, SINK)):
            ip("-n", space(port.host), "address", "add", f"{address}/24", "dev", "eth0")
        yield Ends(source, sink)


def packet(
    made: Ends, protocol: str, sequence: int, flow: int = 0, run: int = RUN, age_ns: int = 0
) -> bytes:
    """As docs and README describe it, written with scapy."""
    time_ns = time.monotonic_ns() - age_ns
    frame = Ether(src=made.source.mac, dst=made.sink.mac)
    if protocol == "udp":
        stamp = struct.pack(">HIIH", MAGIC, run, sequence, flow)
        stamp += (time_ns % 2**48).to_bytes(6, "big")
        layers = IP(src=SOURCE, dst=SINK) / UDP(sport=1024 + flow, dport=PORT) / stamp
    else:
        stamp = struct.pack(">HI", flow, time_ns % 2**32)
        header = TCP(
            sport=1024 + flow, dport=PORT, flags="S", seq=sequence, window=run & 0xFFFF, options=[]
        )
        layers = IP(src=SOURCE, dst=SINK, id=run >> 16) / header / stamp
    return bytes(frame / layers)
