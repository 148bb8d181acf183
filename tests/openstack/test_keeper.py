"""What holds the cloud's namespaces: nothing of it is seen outside, and nothing is left of it.

No cloud is needed, only its supervisor, here of two processes that do nothing.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from sfcperf import retry
from sfcperf.playbooks.openstack import keeper
from sfcperf.playbooks.openstack.layout import Layout
from sfcperf.playbooks.openstack.life import down

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        shutil.which("supervisord") is None, reason="supervisor is not there: make openstack-up"
    ),
]

SERVICES = """
[supervisord]
nodaemon = true
user = root
logfile = {log}/supervisor.log
pidfile = /run/sfcperf-openstack/supervisor.pid

[unix_http_server]
file = /run/sfcperf-openstack/supervisor.sock

[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface

[program:idle]
command = sleep 600

[program:daemon]
command = sh -c "setsid sleep 600 & exec sleep 600"
"""


@pytest.fixture
def layout() -> Iterator[Layout]:
    root = Path(tempfile.mkdtemp(prefix="sfcperf-keeper-"))
    layout = Layout(root)
    for folder in (layout.state, layout.log, layout.state / "private/etc/libvirt"):
        folder.mkdir(parents=True)
    yield layout
    keeper.stop(layout)
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def services(layout: Layout) -> Path:
    path = layout.root / "supervisord.conf"
    path.write_text(SERVICES.format(log=layout.log))
    return path


def inside(pid: int, *command: str) -> str:
    """What a command prints in the namespaces."""
    spaces = ("--net", "--mount", "--pid", "--uts", "--ipc")
    argv = ["nsenter", "--target", str(pid), *spaces, "--", *command]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def members(pid: int) -> list[int]:
    """All processes of its process namespace."""
    space = Path(f"/proc/{pid}/ns/pid").readlink()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "ns" / "pid").readlink() == space:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def interfaces() -> set[str]:
    return {path.name for path in Path("/proc/sys/net/ipv4/conf").iterdir()}


def mounts() -> list[str]:
    """But for what other tests mount at the same time: named namespaces, file systems of BPF."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    others = (" /run/netns/", "/pytest-of-")
    return [line for line in lines if "kept" in line or not any(each in line for each in others)]


def lasting(groups: Iterable[str]) -> set[str]:
    """But for those of other tests' runs."""
    return {group for group in groups if not group.startswith("sfcperf-")}


def test_nothing_is_seen_outside_and_nothing_is_left(layout: Layout, services: Path) -> None:
    before = mounts()
    pid = keeper.start(layout, services)
    assert keeper.running(layout) == pid
    inside(pid, "ip", "link", "add", "kept0", "type", "veth", "peer", "name", "kept1")
    inside(pid, "ip", "netns", "add", "kept")
    inside(pid, "touch", "/etc/libvirt/kept", "/run/kept")
    assert "kept0" in inside(pid, "ls", "/sys/class/net")
    assert inside(pid, "hostname").strip() == "sfcperf-node"
    groups = lasting(path.name for path in Path("/sys/fs/cgroup").iterdir())
    assert lasting(inside(pid, "ls", "/sys/fs/cgroup").split()) == groups
    assert not {"kept0", "kept1"} & interfaces()
    assert mounts() == before
    assert not any(Path(path).exists() for path in ("/run/kept", "/etc/libvirt/kept"))
    four = retry.until(lambda: len(members(pid)) >= 4, timeout_s=30, period_s=0.05)
    assert four, "the supervisor, two services and a daemon of one of them"
    processes = members(pid)
    assert down(layout, wipe=False) == 0
    # Ended is ended: the kernel may not have taken the names of all away yet.
    assert [p for p in processes if keeper.started_at(p) is not None] == []
    assert keeper.running(layout) is None
    assert mounts() == before
    assert not layout.state.exists()


def test_a_keeper_that_was_killed_took_everything_along(layout: Layout, services: Path) -> None:
    pid = keeper.start(layout, services)
    processes = members(pid)
    os.kill(pid, signal.SIGKILL)
    assert retry.until(
        lambda: all(keeper.started_at(p) is None for p in processes), timeout_s=30, period_s=0.05
    )
    assert keeper.running(layout) is None
    assert down(layout, wipe=True) == 0
    assert not layout.root.exists()
    assert down(layout, wipe=True) == 0


@pytest.mark.parametrize(
    "content",
    ["", "nonsense", f"{os.getpid()} 1", "4194999 12345"],
    ids=["nothing", "nonsense", "our own id, another start", "nobody"],
)
def test_an_id_that_is_somebody_elses_is_no_keeper(layout: Layout, content: str) -> None:
    layout.keeper.write_text(content)
    assert keeper.running(layout) is None
    assert keeper.stop(layout) is False
    assert not layout.keeper.exists()


def test_a_supervisor_that_does_not_start_is_told(layout: Layout, services: Path) -> None:
    from sfcperf.errors import EnvironmentLacks

    services.write_text("[supervisord]\nnodaemon = perhaps\n")
    with pytest.raises(EnvironmentLacks, match="perhaps"):
        keeper.start(layout, services)
    assert keeper.running(layout) is None
