"""Makes labels by Suricata: flows about which its rules raise an alert are attacks."""

from __future__ import annotations

import hashlib
import json
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

from sfcperf.environment.state_root import state_folder
from sfcperf.environment.tools import tool, versions
from sfcperf.environment.variables import without_secrets
from sfcperf.errors import EnvironmentLacks, InputError, MeasurementError, system_errors_as
from sfcperf.input_file import read_input
from sfcperf.packets.five_tuple import Flow, flow_of
from sfcperf.packets.left_out import LeftOutCounts, reason_of
from sfcperf.packets.pcap_file import frames
from sfcperf.plugins import Requirement
from sfcperf.traffic.labels import BENIGN, Row, write
from sfcperf.traffic.making import sha256

COMMAND = "suricata"
CONFIG = Path("/etc/suricata/suricata.yaml")
RULES = Path(__file__).with_suffix(".rules")
"""File of rules that is used unless others are named."""
_PROTOCOLS = {"TCP": 6, "UDP": 17, "ICMP": 1, "IPv6-ICMP": 58, "SCTP": 132}
"""Suricata's names of the IP protocols that nearly all alerts are about -> their numbers. The
system is asked about other names."""
_MOST_RULE_BYTES = 2**28


def requirement() -> Requirement:
    """Require the command of Suricata."""
    return tool(COMMAND, COMMAND, [COMMAND, "-V"])


@dataclass(frozen=True)
class Alerts:
    """The labels that Suricata's alerts give a capture, and what they do not cover."""

    rows: Sequence[Row]
    """Labels: a row for each flow with an alert, and a last one that calls all others benign."""
    without_flow: int
    """Number of alerts that label nothing, because they are about a packet without IP (ARP), or of
    an unknown protocol."""
    frames: int
    """Number of frames in the capture."""
    left_out: LeftOutCounts
    """Frames that no label is about, since they belong to no flow that can be read; by reason."""


def alerts(pcap: Path, rules: Sequence[Path] = (RULES,)) -> Alerts:
    """Run Suricata over a capture, and make labels of its alerts. A flow with an alert has the
    alert's category as its label, with dashes for spaces; its first alert counts. All other flows
    are benign. Raises InputError for rules or a capture that Suricata refuses, and for a file that
    is no capture or is damaged; EnvironmentLacks without Suricata."""
    _version()  # raises if Suricata is not installed
    # The capture is read here first: Suricata would take a minute to say that a file is no capture,
    # and says nothing of packets that it cannot read.
    count, left_out = 0, LeftOutCounts()
    for _, frame in frames(pcap):
        count += 1
        if flow_of(frame) is None:
            left_out.add(reason_of(frame))
    found: dict[Flow, str] = {}
    without_flow = 0
    for event in _events(pcap, rules):
        if (flow := _flow(event)) is None:
            without_flow += 1
        else:
            found.setdefault(flow.canonical, _label(event["alert"]))
    return Alerts(
        [*(_row(flow, label) for flow, label in found.items()), Row(BENIGN)],
        without_flow,
        count,
        left_out,
    )


def kept(pcap: Path, rules: Sequence[Path]) -> Path:
    """Return a file with the labels of a capture. It is kept, and made once only for the same
    capture, rules, configuration and version of Suricata. Errors are those of `alerts`."""
    made_from = [_version(), *(sha256(file) for file in (pcap, CONFIG, *rules))]
    key = hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:16]
    file = state_folder("traffic") / f"suricata-{key}.csv"
    if not file.exists():
        found = alerts(pcap, rules).rows
        with tempfile.TemporaryDirectory(prefix=".labels-", dir=file.parent) as temporary:
            made = Path(temporary) / file.name
            write(made, found)
            made.replace(file)
    return file


def _version() -> str:
    """Return the version of Suricata. Raises EnvironmentLacks if it is not installed."""
    with versions():
        needed = requirement()
    if not needed.met:
        raise EnvironmentLacks(f"{COMMAND} is not installed", hint=needed.remedy)
    return needed.detail


def _row(flow: Flow, label: str) -> Row:
    """Return the row that labels the packets of a flow, in both directions."""
    return Row(
        label,
        protocol=flow.protocol,
        address=ip_network(flow.source),
        port=flow.source_port,
        other_address=ip_network(flow.destination),
        other_port=flow.destination_port,
    )


def _events(pcap: Path, rules: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Run Suricata, and give the events of its log that are alerts, in order."""
    with tempfile.TemporaryDirectory(prefix="sfcperf-suricata-") as temporary:
        folder = Path(temporary)
        chosen = folder / "chosen.rules"
        read = (read_input(file, "the rules", max_bytes=_MOST_RULE_BYTES) for file in rules)
        content = b"\n".join(read)  # in whatever encoding, which Suricata does not ask for either
        with system_errors_as(EnvironmentLacks, "the rules cannot be copied", where=chosen):
            chosen.write_bytes(content)
        _run(pcap, chosen, folder)
        # surrogateescape keeps bytes that are not UTF-8, so that different labels stay different.
        with (folder / "eve.json").open(encoding="utf-8", errors="surrogateescape") as events:
            for line in events:
                # Most lines are about flows. To look for a text costs less than to parse them.
                if '"event_type":"alert"' in line:
                    yield json.loads(line)


def _run(pcap: Path, rules: Path, folder: Path) -> None:
    """Run Suricata over a capture, with its log in a folder. Raises InputError when it refuses, and
    MeasurementError when it wrote no log."""
    # -k none, checksums do not matter: in a capture made on a sender, they are still to be set by
    # its network card.
    argv = [COMMAND, "-c", str(CONFIG), "-r", str(pcap), "-S", str(rules), "-l", str(folder)]
    argv += ["-k", "none", "--runmode", "single", "--init-errors-fatal"]
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env=without_secrets(),
    )
    errors = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("E")]
    if done.returncode or errors:
        raise InputError(
            f"Suricata refuses: {'; '.join(errors[:3]) or f'status {done.returncode}'}",
            where=str(pcap),
            hint="is it a capture, and are the rules of this version of Suricata?",
        )
    if not (folder / "eve.json").exists():
        raise MeasurementError("Suricata wrote no eve.json", where=str(CONFIG),
                               hint="its configuration must have eve-log with alerts")  # fmt: skip


def _flow(event: dict[str, Any]) -> Flow | None:
    """Return the flow that an alert is about. None if the alert has no addresses, or a protocol
    whose number is not known."""
    protocol = _protocol(event.get("proto", ""))
    if protocol is None or "src_ip" not in event:
        return None
    source, destination = (str(ip_address(event[name])) for name in ("src_ip", "dest_ip"))
    return Flow(source, event.get("src_port", 0), destination, event.get("dest_port", 0), protocol)


def _protocol(name: str) -> int | None:
    """Return the number of an IP protocol that Suricata names; None if it is not known."""
    if name in _PROTOCOLS:
        return _PROTOCOLS[name]
    if name.isascii() and name.isdigit():
        return int(name)
    try:
        return socket.getprotobyname(name)
    except OSError:
        return None


def _label(alert: dict[str, Any]) -> str:
    """Return the label for an alert: its category, or without one the rule's text or number, in
    small letters and with dashes for spaces. Bytes that are not UTF-8 are written as escapes."""
    name = alert.get("category") or alert.get("signature") or f"rule {alert['signature_id']}"
    label = "-".join(name.lower().split())
    return label.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
