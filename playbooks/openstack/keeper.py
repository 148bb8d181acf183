"""The process that holds the cloud's namespaces; with it goes everything that runs in them.

It is the first process of a process namespace, so that the kernel ends whatever the services left
running, guests included, and drops their mounts, interfaces and namespaces: a cloud that is
stopped, or crashed, leaves nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from sfcperf import retry
from sfcperf.errors import EnvironmentLacks
from sfcperf.playbooks.openstack.command import tail
from sfcperf.playbooks.openstack.layout import SOURCES, Layout

STARTS_WITHIN_S = 20.0
ENDS_WITHIN_S = 30.0


def started_at(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None when there is none (a zombie)."""
    try:
        said = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name of the program, in brackets, may have blanks and brackets in it.
    fields = said.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def running(layout: Layout) -> int | None:
    """The id of the keeper, when it runs: an id that the kernel gave to somebody else is not it."""
    try:
        pid, start = map(int, layout.keeper.read_text().split())
    except (FileNotFoundError, ValueError):
        return None
    return pid if started_at(pid) == start else None


def start(layout: Layout, services: Path) -> int:
    """Make the namespaces, with a supervisor of the services that `services` configures in them.

    Raises `EnvironmentLacks` when the machine does not permit it.
    """
    log = layout.log / "keeper.log"
    with log.open("ab") as output:
        # Not ours to wait for: it outlives this command.
        launcher = subprocess.Popen(
            [
                *("unshare", "--net", "--mount", "--pid", "--uts", "--ipc", "--fork"),
                *("--kill-child=KILL", "--mount-proc", "--propagation", "private"),
                *("sh", str(SOURCES / "namespaces.sh"), str(layout.root), str(services)),
            ],
            cwd="/",
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline and launcher.poll() is None:
        pid = _only_child(launcher.pid)
        begun = None if pid is None else started_at(pid)
        if pid is not None and begun is not None:
            layout.keeper.write_text(f"{pid} {begun}\n")
            if _is_ready(pid):
                return pid
        time.sleep(0.05)
    launcher.kill()
    launcher.wait()
    raise EnvironmentLacks(
        f"the namespaces of the cloud could not be made:\n{tail(log)}",
        hint="it needs root, and a kernel with network, mount and process namespaces",
    )


def stop(layout: Layout) -> bool:
    """End the keeper and all that is in its namespaces; False when none ran."""
    pid = running(layout)
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        # The kernel lets the first process of a namespace go when all others are gone.
        if not retry.until(lambda: started_at(pid) is None, timeout_s=ENDS_WITHIN_S, period_s=0.05):
            raise EnvironmentLacks(
                f"process {pid}, which holds the cloud's namespaces, does not end",
                hint="a process in it may hang in the kernel: ps -eo pid,stat,wchan,args",
            )
    layout.keeper.unlink(missing_ok=True)
    return pid is not None


def _only_child(pid: int) -> int | None:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(children[0]) if children else None


def _is_ready(pid: int) -> bool:
    """Whether the supervisor listens, seen in the keeper's own file system.

    Until it is the supervisor, that may still be the file system of another cloud, around this one.
    """
    try:
        is_supervisor = b"/usr/bin/supervisord\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
        socket = Path(f"/proc/{pid}/root/run/sfcperf-openstack/supervisor.sock")
        return is_supervisor and socket.exists()
    except OSError:
        return False
