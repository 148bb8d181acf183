"""Makes a trace with labels: runs a schedule, and captures what actors and servers exchange."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from ipaddress import ip_network
from pathlib import Path
from random import Random
from subprocess import Popen

from sfcperf import retry, waiting
from sfcperf.counts import count_text
from sfcperf.environment.plain_path import plain_path
from sfcperf.environment.private import folder_beside
from sfcperf.environment.tools import versions
from sfcperf.errors import EnvironmentLacks, MeasurementError
from sfcperf.input_file import open_input
from sfcperf.traffic import labels as labelling
from sfcperf.traffic import servers as serving
from sfcperf.traffic.activities import Setting, requirements
from sfcperf.traffic.labels import BENIGN, Row
from sfcperf.traffic.schedule import USERS, Schedule, Session, draw
from sfcperf.traffic.servers import IPERF_PORTS, WEB_PORT, Servers
from sfcperf.traffic.testbed import CAPTURE, Testbed, stop

VERSION = 2
"""Version of the traces that seeds stand for. Whoever changes an activity must raise it, since
traces are kept by version, seed and duration."""
TRACE, LABELS, MANIFEST = "traffic.pcap", "labels.csv", "traffic.json"
SERVERS = ("web", "ssh", "dns", "tunnel", "iperf")
_TCP = 6
_STEP_S = 0.02
_CAPTURE_TIMEOUT_S = 10.0
_WRITE_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Trace:
    """A finished trace, which is a folder with a capture, its labels and a manifest."""

    folder: Path

    @property
    def pcap(self) -> Path:
        """Capture of whole Ethernet frames."""
        return self.folder / TRACE

    @property
    def labels(self) -> Path:
        """CSV file of the packets' labels, with the columns of `sfcperf.traffic.labels`."""
        return self.folder / LABELS


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file's content, hexadecimal. Raises InputError for what is not a
    regular file."""
    with open_input(file, "the file") as content:
        return file_digest(content, "sha256").hexdigest()


def make(
    seed: int, duration_s: float, folder: Path, say: Callable[[str], None] = lambda text: None
) -> Trace:
    """Make the trace of a seed in a folder that does not exist yet. It takes as long as the trace,
    and some seconds more. `say` is told what happens. Raises EnvironmentLacks without root or the
    tools, and MeasurementError."""
    _check_tools()
    schedule = draw(seed, duration_s, SERVERS)
    # The path of the working folder goes into configurations of servers, in which spaces, quotes or
    # `$` would have a meaning.
    with folder_beside(folder) as beside, plain_path(beside) as work:
        made = work / "made"
        made.mkdir()
        with Testbed() as testbed:
            sessions = _play(testbed, schedule, work, made / TRACE, say)
        labelling.write(made / LABELS, rows(schedule))
        _describe(schedule, made, sessions)
        made.rename(folder)
    return Trace(folder)


def rows(schedule: Schedule) -> list[Row]:
    """Return the labels of a schedule, by address: each attack and each user has an address of its
    own. If there is a spoofed flood, TCP packets between the web server and an address of nobody
    are labelled as that flood; this row comes last, since the first row that matches counts."""
    addresses = schedule.addresses
    attacks = {s.actor: s for s in schedule.sessions if s.activity.attack}
    found = [
        Row(session.activity.name, address=ip_network(addresses[actor]))
        for actor, session in attacks.items()
    ]
    users = [f"user{number + 1}" for number in range(USERS)]
    found += [Row(BENIGN, address=ip_network(addresses[u])) for u in users if u in addresses]
    found += [
        Row(
            session.activity.name, protocol=_TCP,
            other_address=ip_network(addresses["web"]), other_port=WEB_PORT,
        )
        for session in attacks.values() if session.activity.spoofed
    ]  # fmt: skip
    return found


def _check_tools() -> None:
    """Raise EnvironmentLacks if a tool is missing, or without root."""
    missing = [need for need in requirements() if not need.met]
    if missing:
        names = ", ".join(need.name for need in missing)
        raise EnvironmentLacks(
            f"traffic is made by tools that are not here: {names}", hint="make setup"
        )
    if os.geteuid():
        raise EnvironmentLacks("traffic is made in network namespaces", hint="run as root")


def _play(
    testbed: Testbed, schedule: Schedule, work: Path, trace: Path, say: Callable[[str], None]
) -> list[dict[str, object]]:
    """Start the servers and actors, and capture the sessions of a schedule to the file `trace`.
    Returns what the manifest tells of each session."""
    addresses = schedule.addresses
    servers = Servers(**{name: addresses[name] for name in SERVERS}, ssh_key=work / "user_key")
    say("starting servers")
    serving.start(testbed, servers, work)
    for actor in dict.fromkeys(session.actor for session in schedule.sessions):
        testbed.add(actor, [addresses[actor]], server=False)
    with _captured(testbed, trace, work):
        say(f"{count_text(len(schedule.sessions), 'session')} in {schedule.duration_s:g} s")
        return _run(testbed, schedule, servers, work)


def _run(
    testbed: Testbed, schedule: Schedule, servers: Servers, work: Path
) -> list[dict[str, object]]:
    """Start and end the sessions at their times. Returns what the manifest tells of each."""
    begin = time.monotonic()
    to_start = list(schedule.sessions)
    # When each session is to end, and its process.
    running: list[tuple[float, Popen[bytes]]] = []
    sessions: list[dict[str, object]] = []
    while to_start or running or time.monotonic() - begin < schedule.duration_s:
        now = time.monotonic() - begin
        while to_start and to_start[0].start_s <= now:
            session = to_start.pop(0)
            argv = _command(session, schedule, servers, work, len(sessions))
            output = work / f"session-{len(sessions)}" / "output.txt"
            running.append((now + session.duration_s, testbed.start(session.actor, argv, output)))
            sessions.append({
                "kind": session.activity.name, "actor": session.actor,
                "start_s": round(now, 3), "duration_s": round(session.duration_s, 3),
                # Without the path of the working folder, which will not exist any more.
                "command": [word.replace(str(work), ".") for word in argv],
            })  # fmt: skip
        for end_s, process in list(running):
            if process.poll() is not None or now >= end_s:
                stop(process)
                running.remove((end_s, process))
        waiting.sleep(_STEP_S)
    return sessions


def _command(
    session: Session, schedule: Schedule, servers: Servers, work: Path, number: int
) -> list[str]:
    """Make the folder of a session, and return its command."""
    folder = work / f"session-{number}"
    folder.mkdir()
    # Each session has a random generator of its own, so that a change to one activity leaves the
    # sessions of the others as they are.
    random = Random(f"{schedule.seed}/{session.activity.name}/{session.actor}/{session.start_s}")
    port = IPERF_PORTS[session.number]
    return session.activity.command(Setting(random, servers, folder, session.duration_s, port))


@contextmanager
def _captured(testbed: Testbed, trace: Path, work: Path) -> Iterator[None]:
    """Capture at the hub while the block lasts. Raises MeasurementError when the capture lost
    packets: a trace must have them all."""
    errors = work / "tcpdump.txt"
    argv = [
        "tcpdump",
        "-i",
        CAPTURE,
        "-w",
        str(trace),
        "-U",
        "-s",
        "0",
        "-B",
        "65536",
        "-Z",
        "root",
    ]
    argv += ["--time-stamp-precision=nano", "--immediate-mode", "ip"]
    capture = testbed.start("hub", argv, errors)
    try:
        if not retry.until(
            lambda: "listening on" in errors.read_text(),
            timeout_s=_CAPTURE_TIMEOUT_S,
            period_s=0.05,
        ):
            raise MeasurementError(f"tcpdump does not listen: {errors.read_text().strip()}")
        yield
    finally:
        capture.terminate()
        capture.wait(_WRITE_TIMEOUT_S)
    lost = re.search(r"(\d+) packets dropped by kernel", errors.read_text())
    if lost is None or int(lost[1]):
        raise MeasurementError(
            f"the capture is not whole: {errors.read_text().strip()}",
            hint="use a machine that is less busy",
        )


def _describe(schedule: Schedule, folder: Path, sessions: list[dict[str, object]]) -> None:
    """Write the manifest of a trace: how it was made, and the hash values of its files."""
    digests = {name: sha256(folder / name) for name in (TRACE, LABELS)}
    with versions():
        tools = {need.name: need.detail for need in requirements()}
    counts = Counter(session.activity.name for session in schedule.sessions)
    document = {
        "version": VERSION, "seed": schedule.seed, "duration_s": schedule.duration_s,
        "sha256": digests, "addresses": schedule.addresses, "sessions_by_kind": dict(counts),
        "tools": tools, "sessions": sessions,
    }  # fmt: skip
    (folder / MANIFEST).write_text(json.dumps(document, indent=2) + "\n")
