"""What tshark says about frames: checksums, malformed headers, options of TCP."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from scapy.utils import RawPcapWriter

_CHECKSUMS = ("ip", "tcp", "udp")
_FINE = ("1", "3", "4")
"""Good; not present; zero, which UDP may be over IPv6 in tunnels (RFC 6935) and tshark does not
believe."""
_WARNING = 0x600000
"""PI_WARN of Wireshark; below are notes, as those on retransmissions."""
_HARMLESS = "Illegal checksum value (0)"


@dataclass(frozen=True)
class Verdict:
    """About one frame."""

    wrong: tuple[str, ...]
    """Empty when all is well."""
    experiments: tuple[int, ...]
    """ExIDs of TCP options of kinds 253 and 254."""


def judge(frames: Iterable[bytes], folder: Path) -> list[Verdict]:
    """One verdict for each frame."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: apt-get install tshark")
    capture = folder / "judged.pcap"
    with RawPcapWriter(str(capture), linktype=1) as writer:
        writer.write_header(None)
        for frame in frames:
            writer.write_packet(frame)
    argv = ["tshark", "-n", "-r", str(capture), "-T", "fields", "-E", "separator=/t"]
    for protocol in _CHECKSUMS:
        argv += ["-o", f"{protocol}.check_checksum:TRUE", "-e", f"{protocol}.checksum.status"]
    # Frames are judged one by one, not as a stream.
    argv += ["-o", "tcp.analyze_sequence_numbers:FALSE"]
    for field in ("_ws.malformed", "tcp.options.experimental.exid", "_ws.expert.severity",
                  "_ws.expert.message"):  # fmt: skip
        argv += ["-e", field]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120)
    return [_verdict(line.split("\t")) for line in done.stdout.splitlines()]


def _verdict(row: Sequence[str]) -> Verdict:
    *statuses, malformed, exids, severities, messages = row
    wrong = [
        f"{protocol} checksum: status {status}"
        for protocol, text in zip(_CHECKSUMS, statuses, strict=True)
        for status in text.split(",")
        if status and status not in _FINE
    ]
    if malformed:
        wrong.append(f"malformed: {malformed}")
    levels = [int(text) for text in severities.split(",") if text]
    if max(levels, default=0) >= _WARNING and messages != _HARMLESS:
        wrong.append(messages)
    return Verdict(tuple(wrong), tuple(int(text, 0) for text in exids.split(",") if text))
