"""Labels from Suricata: the flows about which its rules raise an alert are attacks."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

from sfcperf.environment.state_root import state_folder
from sfcperf.environment.tools import tool, versions
from sfcperf.environment.variables import without_secrets
from sfcperf.errors import EnvironmentLacks, InputError, MeasurementError, system_errors_as
from sfcperf.packets.five_tuple import Flow
from sfcperf.packets.pcap_file import frames
from sfcperf.plugins import Requirement
from sfcperf.traffic.labels import BENIGN, Row, write
from sfcperf.traffic.making import sha256

COMMAND = "suricata"
CONFIG = Path("/etc/suricata/suricata.yaml")
RULES = Path(__file__).with_suffix(".rules")
"""Used unless others are named."""
_PROTOCOLS = {"TCP": 6, "UDP": 17, "ICMP": 1, "IPv6-ICMP": 58, "SCTP": 132}


def requirement() -> Requirement:
    """The command."""
    return tool(COMMAND, COMMAND, [COMMAND, "-V"])


def rows(pcap: Path, rules: Sequence[Path] = (RULES,), config: Path = CONFIG) -> list[Row]:
    """Labels of a capture. A flow with an alert has the alert's category as its label, with dashes
    for spaces; the first alert counts. All else is benign. Raises InputError for rules or a capture
    that Suricata refuses, MeasurementError for a file that is no capture, EnvironmentLacks without
    Suricata."""
    _version()
    frames(pcap)  # Suricata would wait for a minute before it said that this is no capture
    found: dict[Flow, str] = {}
    for alert in _alerts(pcap, rules, config):
        if (flow := _flow(alert)) is not None:
            found.setdefault(flow.canonical, _label(alert))
    return [*(_row(flow, label) for flow, label in found.items()), Row(BENIGN)]


def kept(pcap: Path, rules: Sequence[Path]) -> Path:
    """A file with the labels of a capture, which is made once for the same capture, rules and
    version of Suricata. Errors as in `rows`."""
    made_from = [_version(), *(sha256(file) for file in (pcap, CONFIG, *rules))]
    key = hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:16]
    file = state_folder("traffic") / f"suricata-{key}.csv"
    if not file.exists():
        found = rows(pcap, rules)
        with tempfile.TemporaryDirectory(prefix=".labels-", dir=file.parent) as temporary:
            made = Path(temporary) / file.name
            write(made, found)
            made.replace(file)
    return file


def _version() -> str:
    with versions():
        needed = requirement()
    if not needed.met:
        raise EnvironmentLacks(f"{COMMAND} is not installed", hint=needed.remedy)
    return needed.detail


def _row(flow: Flow, label: str) -> Row:
    return Row(
        label,
        protocol=flow.protocol,
        address=ip_network(flow.source),
        port=flow.source_port,
        other_address=ip_network(flow.destination),
        other_port=flow.destination_port,
    )


def _alerts(pcap: Path, rules: Sequence[Path], config: Path) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="sfcperf-suricata-") as temporary:
        folder = Path(temporary)
        chosen = folder / "chosen.rules"
        with system_errors_as(
            InputError, "the rules cannot be read", where=chosen, prefer_filename=True
        ):
            chosen.write_text("\n".join(file.read_text(errors="replace") for file in rules))
        _run(pcap, chosen, folder, config)
        with (folder / "eve.json").open(encoding="utf-8", errors="replace") as events:
            for line in events:
                # Most lines are about flows: looking costs less than parsing.
                if '"event_type":"alert"' in line:
                    yield json.loads(line)


def _run(pcap: Path, rules: Path, folder: Path, config: Path) -> None:
    # Captures on a sender have checksums that its network card was to set.
    argv = [COMMAND, "-c", str(config), "-r", str(pcap), "-S", str(rules), "-l", str(folder)]
    argv += ["-k", "none", "--runmode", "single", "--init-errors-fatal"]
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env=without_secrets(),
    )
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("E")]
    if done.returncode or said:
        raise InputError(
            f"Suricata refuses: {'; '.join(said[:3]) or f'status {done.returncode}'}",
            where=str(pcap),
            hint="is it a capture, and are the rules of this version of Suricata?",
        )
    if not (folder / "eve.json").exists():
        raise MeasurementError("Suricata wrote no eve.json", where=str(config),
                               hint="its configuration must have eve-log with alerts")  # fmt: skip


def _flow(alert: dict[str, Any]) -> Flow | None:
    """None if the alert is about no packet with an address, or about a protocol without a name."""
    protocol = _PROTOCOLS.get(alert["proto"])
    if protocol is None or "src_ip" not in alert:
        return None
    source, destination = (str(ip_address(alert[name])) for name in ("src_ip", "dest_ip"))
    ports = (alert.get(name, 0) for name in ("src_port", "dest_port"))
    return Flow(source, next(ports), destination, next(ports), protocol)


def _label(alert: dict[str, Any]) -> str:
    said = alert["alert"].get("category") or alert["alert"]["signature"]
    return "-".join(said.lower().split())
