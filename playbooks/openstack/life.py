"""The cloud as a whole: up and down, from outside of its namespaces."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfcperf.counts import count_text
from sfcperf.errors import EnvironmentLacks, ExitCode, InputError
from sfcperf.playbooks.openstack import keeper
from sfcperf.playbooks.openstack.configure import configure
from sfcperf.playbooks.openstack.layout import SOURCES, TREE, Layout

KERNEL = "6.1"
"""Of guests: Debian 12's own."""

MARK = ".made-by-sfcperf"
"""In the folder of a cloud: it may be emptied."""


class Words:
    """Says what goes on, with the seconds since the beginning."""

    def __init__(self, begun: float | None = None) -> None:
        self.begun = time.monotonic() if begun is None else begun

    def __call__(self, text: str) -> None:
        """Print one line."""
        print(f"  OPENSTACK {time.monotonic() - self.begun:5.1f} s  {text}", flush=True)


def up(layout: Layout, node_count: int | None) -> int:
    """Bring the cloud up, with so many nodes (None: one, or as many as the cloud has that is up);
    one that is up stays as it is.

    Raises `EnvironmentLacks` with the service that does not come up; InputError if the cloud that
    is up has another number of nodes.
    """
    _is_supported()
    _is_ours(layout)
    say = Words()
    with _alone(layout):
        pid = keeper.running(layout)
        if pid is not None and not (layout.state / "complete").exists():
            say("removing a start that did not finish")
            keeper.stop(layout)
            pid = None
        if pid is not None and node_count not in (None, layout.node_count):
            raise InputError(
                f"the cloud is up with {count_text(layout.node_count, 'node')}",
                hint="make openstack-down stops it; everything in it is lost",
            )
        _ingredients(layout, say)
        if pid is None:
            for folder in (layout.state, layout.log, layout.etc):
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
            layout.nodes.write_text(f"{node_count or 1}\n")
            pid = keeper.start(layout, configure(layout))
        inside = ["inside", str(say.begun)]
        done = subprocess.run(
            [SOURCES / "enter", sys.executable, "-m", __package__ or "", *inside],
            env={**os.environ, "OS_CLOUD": "sfcperf-admin", "SFCPERF_OPENSTACK": str(layout.root)},
            check=False,
        )
    if done.returncode == 0:
        say("is up; to work in it: make openstack-enter, or playbooks/openstack/enter COMMAND")
    return done.returncode


def down(layout: Layout, *, wipe: bool) -> int:
    """Stop the cloud, whatever state it is in; with `wipe` forget what was made for it, too."""
    if not layout.root.exists():
        print("  OPENSTACK no cloud is here")
        return ExitCode.OK
    _is_ours(layout)
    # Not behind the lock: a start that goes on is ended by this.
    was = keeper.stop(layout)
    with _alone(layout):
        # One that was about to make its namespaces has made them now.
        was |= keeper.stop(layout)
        shutil.rmtree(layout.state, ignore_errors=True)
        if wipe:
            for path in layout.root.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    if wipe:
        layout.root.rmdir()
    print(f"  OPENSTACK {'is down' if was else 'was not running'}{', wiped' if wipe else ''}")
    return ExitCode.OK


def _is_ours(layout: Layout) -> None:
    """Folders are emptied here: not those of somebody else. Raises InputError."""
    mark = layout.root / MARK
    there = list(layout.root.iterdir()) if layout.root.exists() else []
    ours = mark.exists() or layout.keeper.exists() or layout.root == TREE / "build" / "openstack"
    if there and not ours:
        raise InputError(
            "this folder is not empty, and does not belong to a cloud",
            where=str(layout.root),
            allowed="an empty folder, or one that is not there yet, as SFCPERF_OPENSTACK",
        )
    layout.root.mkdir(parents=True, exist_ok=True)
    mark.touch()


def _ingredients(layout: Layout, say: Words) -> None:
    """What is made once: Tacker's environment and the guest images."""
    pip = TREE / ".venv" / "bin" / "pip"
    if not (layout.tacker / ".complete").exists():
        say("making Tacker's virtual environment")
    _make([SOURCES / "tacker.sh", layout.tacker, pip])
    kernels = TREE / "build" / "kernels"
    _make(["sh", TREE / "playbooks" / "oldest-kernel.sh", kernels, KERNEL])
    kernel = sorted(kernels.glob(f"linux-{KERNEL}.*"))[-1]
    if not layout.images.exists():
        say("making guest images")
    _make([SOURCES / "image.sh", layout.images, kernel])


def _make(command: list[str | Path]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise EnvironmentLacks(f"{Path(command[0]).name} failed: see above")


@contextmanager
def _alone(layout: Layout) -> Iterator[None]:
    """One start or stop at a time; another one is waited for."""
    layout.root.mkdir(parents=True, exist_ok=True)
    # Whoever can open it can hold it.
    file = os.open(layout.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "w") as lock:
        os.fchmod(file, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_supported() -> None:
    told = Path("/etc/os-release").read_text()
    facts = dict(line.partition("=")[::2] for line in told.splitlines())
    if (facts.get("ID"), facts.get("VERSION_ID", "").strip('"')) != ("debian", "12"):
        raise EnvironmentLacks(
            f"the cloud is made of Debian 12's packages, but this is {facts.get('PRETTY_NAME')}",
            hint="use a virtual machine or a privileged container with Debian 12",
        )
