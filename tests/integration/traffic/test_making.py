"""A trace of every kind, made by real tools and judged by tshark."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from support.command import SFCPERF, spawn

from sfcperf import retry
from sfcperf.traffic import making
from sfcperf.traffic.activities import ACTIVITIES
from sfcperf.traffic.kept import kept
from sfcperf.traffic.making import Trace, requirements
from sfcperf.traffic.testbed import MTU

pytestmark = [
    pytest.mark.root,
    pytest.mark.server,
    pytest.mark.skipif(
        missing := [need.name for need in requirements() if not need.met],
        reason=f"`make setup` installs {', '.join(missing)}",
    ),
]
SECONDS = 5


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    # Settings of nginx and sshd would give these characters a meaning.
    folder = tmp_path_factory.mktemp("traffic") / "it's $made: 100 %h"
    argv = [SFCPERF, "traffic", "make", "--duration-s", str(SECONDS), str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "benign" in done.stdout
    return Trace(folder)


def tshark(trace: Trace, *fields: str, wanted: str = "ip") -> list[list[str]]:
    argv = ["tshark", "-n", "-r", str(trace.pcap), "-Y", wanted]
    argv += ["-T", "fields", "-E", "separator=;"]
    for field in fields:
        argv += ["-e", field]
    lines = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split(";") for line in lines]


def test_every_kind_has_packets(trace: Trace) -> None:
    manifest = json.loads((trace.folder / making.MANIFEST).read_text())
    sources = Counter(source for (source,) in tshark(trace, "ip.src"))
    unseen = {
        session["kind"]
        for session in manifest["sessions"]
        # The first actor of a spoofed flood is nobody in its packets.
        if "spoofed" not in session["kind"] and not sources[manifest["addresses"][session["actor"]]]
    }
    assert {s["kind"] for s in manifest["sessions"]} == {a.name for a in ACTIVITIES}
    assert unseen == set()
    known = set(manifest["addresses"].values())
    assert sum(count for source, count in sources.items() if source not in known) > 50  # spoofed


def test_packets_are_as_on_a_wire(trace: Trace) -> None:
    # An ICMP error quotes the header of another packet.
    lengths = [int(length.partition(",")[0]) for (length,) in tshark(trace, "ip.len")]
    assert max(lengths) == MTU
    # A sum of 0 may be written as 0xffff; tshark takes it for wrong.
    wrong = "(tcp.checksum.status == 0 and tcp.checksum != 0xffff)"
    wrong += " or udp.checksum.status == 0 or ip.checksum.status == 0"
    argv = ["-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    argv += ["-o", "ip.check_checksum:TRUE", "-Y", wrong]
    found = subprocess.run(
        ["tshark", "-n", "-r", str(trace.pcap), *argv], capture_output=True, text=True, check=True
    )
    assert found.stdout == ""


def test_a_trace_is_made_once(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFCPERF_STATE_DIR", str(tmp_path))
    folder = tmp_path / "traffic" / f"v{making.VERSION}-seed1-{SECONDS}s"
    folder.parent.mkdir()
    trace.folder.rename(folder)
    try:
        before = (folder / making.TRACE).stat()
        assert kept(1, SECONDS).folder == folder
        assert (folder / making.TRACE).stat() == before
    finally:
        folder.rename(trace.folder)


@pytest.mark.exhaustive
def test_nothing_is_left_of_a_process_that_was_killed(tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    process = spawn("traffic", "make", "--duration-s", 60, folder)
    try:
        assert retry.until(lambda: _sessions_of(tmp_path) > 5, timeout_s=60, period_s=0.1)
        started = psutil.Process(process.pid).children(recursive=True)
        assert {"nginx", "sshd", "dnsmasq"} <= {each.name() for each in started if _runs(each)}
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert retry.until(lambda: not any(map(_runs, started)), timeout_s=10, period_s=0.1)
    own = f"/proc/{process.pid}/fd"
    assert retry.until(lambda: not _processes(own), timeout_s=10, period_s=0.1)
    assert not folder.exists()
    subprocess.run([SFCPERF, "clean"], check=True, capture_output=True)
    assert not any(tmp_path.glob(".killed-*"))


def _runs(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _sessions_of(folder: Path) -> int:
    return len(list(folder.glob(".killed-*/session-*")))


def _processes(text: str) -> list[str]:
    """Command lines with this in it."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_text().replace("\0", " ")
        except OSError:
            continue
        if text in line and SFCPERF not in line:
            found.append(line)
    return found
