"""A namespace as a host: what it shows of itself and of the machine around it."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfcperf import retry
from sfcperf.errors import MeasurementError
from sfcperf.hosts.namespace import NamespaceHost

pytestmark = pytest.mark.root

_numbers = itertools.count()
LIMITS = Path("/proc/sys/net/core")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[NamespaceHost]:
    name = f"hosts-{os.getpid()}-{next(_numbers)}"
    subprocess.run(["ip", "netns", "add", name], check=True, timeout=10)
    yield NamespaceHost("alone", name, tmp_path)
    subprocess.run(["ip", "netns", "del", name], check=True, timeout=10)


def _shown_inside(host: NamespaceHost) -> set[str]:
    return set(host.run(["ls", str(LIMITS)], timeout_s=10).text.split())


def test_limits_of_the_whole_machine_are_read_from_outside(host: NamespaceHost) -> None:
    """Linux up to 6.8 hides the limits of socket buffers in a namespace, later ones others."""
    hidden = sorted({path.name for path in LIMITS.iterdir()} - _shown_inside(host))
    name = next((name for name in ("rmem_max", "netdev_max_backlog") if name in hidden), None)
    if name is None:
        pytest.skip("this is not the machine's first network namespace: it shows no global limits")
    assert host.read_text(str(LIMITS / name)) == (LIMITS / name).read_text()


def test_what_a_namespace_shows_is_its_own(host: NamespaceHost) -> None:
    host.run(["sysctl", "-q", "-w", "net.core.somaxconn=1234"], timeout_s=10)
    assert host.read_text(str(LIMITS / "somaxconn")) == "1234\n"
    assert (LIMITS / "somaxconn").read_text() != "1234\n"


@pytest.mark.parametrize("path", [str(LIMITS / "nosuch"), "/proc/sys/net/nosuch", "/nonexistent"])
def test_a_file_that_is_nowhere_is_told(host: NamespaceHost, path: str) -> None:
    with pytest.raises(MeasurementError, match="cannot be read on alone: No such file") as caught:
        host.read_text(path)
    assert caught.value.where == path


def test_output_without_end_is_not_kept(
    host: NamespaceHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfcperf.hosts.process.MAX_OUTPUT_BYTES", 2 << 20)
    assert len(host.run(["head", "-c", str(2 << 20), "/dev/zero"], timeout_s=10).stdout) == 2 << 20
    with pytest.raises(MeasurementError, match="yes was stopped: it printed more than 2 MiB"):
        host.run(["yes"], timeout_s=60)


@pytest.fixture
def group() -> Iterator[Path]:
    """A real control group, of the first hierarchy with memory that is mounted here."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, folder, kind, options, *_ = line.split()
        if kind == "cgroup2" or (kind == "cgroup" and "memory" in options.split(",")):
            made = Path(folder) / f"hosts-{os.getpid()}-{next(_numbers)}"
            made.mkdir()
            yield made
            made.rmdir()
            return
    pytest.skip("no hierarchy of control groups is mounted here")


def test_a_command_is_in_its_group_from_the_first_moment(
    host: NamespaceHost, group: Path, tmp_path: Path
) -> None:
    inside = NamespaceHost(
        host.name, Path(str(host.namespace)).name, tmp_path, [group / "cgroup.procs"]
    )
    for _ in range(20):
        assert f"/{group.name}\n" in inside.run(["cat", "/proc/self/cgroup"], timeout_s=10).text
    out = tmp_path / "out"
    running = inside.spawn(["cat", "/proc/self/cgroup"], stdout=out)
    assert running.wait(10) == 0
    assert f"/{group.name}\n" in out.read_text()
    talk = inside.converse(
        ["sh", "-c", 'while read -r name; do grep -c "/$name$" /proc/self/cgroup; done']
    )
    assert talk.ask(f"{group.name}\n".encode(), 10) != b"0"
    talk.close()


def test_a_conversation_ends_with_sfcperf(host: NamespaceHost, tmp_path: Path) -> None:
    script = f"""
import signal, pathlib
from sfcperf.hosts.namespace import NamespaceHost
host = NamespaceHost("x", {Path(str(host.namespace)).name!r}, pathlib.Path({str(tmp_path)!r}))
talk = host.converse(["cat"])
assert talk.ask(b"x\\n", 10) == b"x"
print(talk.pid, flush=True)
signal.pause()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as sfcperf:
        assert sfcperf.stdout is not None
        pid = int(sfcperf.stdout.readline())
        assert Path(f"/proc/{pid}/comm").read_text() == "cat\n"
        sfcperf.kill()
    assert retry.until(lambda: not Path(f"/proc/{pid}").exists(), timeout_s=20, period_s=0.02)
