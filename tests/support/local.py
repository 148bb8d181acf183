"""The local driver without a run around it, and what any run of it must leave behind: nothing."""

from __future__ import annotations

import json
import random
import string
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sfcperf.drivers.base import DriverContext, Resource
from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.hosts.namespace import NETNS_FOLDER
from sfcperf.workflow.defaults import with_defaults


class ListJournal:
    """A journal in memory: that it lasts is control's business and tested there."""

    def __init__(self) -> None:
        self.resources: list[Resource] = []

    def intend(self, resources: Iterable[Resource]) -> None:
        self.resources += resources

    def removed(self, resources: Iterable[Resource]) -> None:
        gone = list(resources)
        self.resources = [resource for resource in self.resources if resource not in gone]

    def outstanding(self) -> list[Resource]:
        return self.resources[::-1]


def new_driver(
    folder: Path, dataplane: str | dict[str, str] = "ebpf", **config: int
) -> LocalDriver:
    """A driver of a run of its own. In a `dataplane` by node, the others have the default; `config`
    is the rest of its configuration."""
    tag = "".join(random.choices(string.ascii_lowercase + string.digits, k=6))
    state, raw = folder / f"{tag}-state", folder / f"{tag}-raw"
    state.mkdir()
    raw.mkdir()
    known = with_defaults(LocalDriver.parameters, {"dataplane": dataplane, **config})
    return LocalDriver(DriverContext("test", tag, known, ListJournal(), state, raw, print))


@contextmanager
def local_driver(
    folder: Path, dataplane: str | dict[str, str] = "ebpf", **config: int
) -> Iterator[LocalDriver]:
    """The same; whatever is done with it, nothing of it may be left."""
    driver = new_driver(folder, dataplane, **config)
    try:
        yield driver
    finally:
        driver.close()
    assert traces(driver.context.tag) == []
    assert driver.context.journal.outstanding() == []


def small_workflow(**sections: Any) -> dict[str, Any]:
    """A forwarder that is pinged in one round, on the driver that is the default; with these
    sections instead of its own."""
    return {
        "sfcperf": 1,
        "name": "small",
        "vnfs": {"fwd": {"type": "forwarder"}},
        "chain": {"functions": [{"vnf": "fwd"}]},
        "probes": [{"probe": "ping", "count": 10, "interval_s": 0.01}],
        "design": {"rounds": 1, "warmup_rounds": 0},
        "publish": [],
        **sections,
    }


def traces(tag: str) -> list[str]:
    """What still belongs to a run, found with tools that are not ours."""
    namespaces = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    found = [line.split()[0] for line in namespaces.splitlines() if f"sfcperf-{tag}" in line]
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True).stdout
    found += [line for line in links.splitlines() if tag in line]
    # Hierarchies of control groups are as deep as the container that we are in.
    # Below a temporary folder, tests that run beside have tens of thousands of files.
    depths = {"/sys/fs/cgroup": "99", "/run": "6", tempfile.gettempdir(): "1"}
    for folder, depth in depths.items():
        find = ["find", folder, "-maxdepth", depth, "-name", f"sfcperf-{tag}*"]
        found += subprocess.run(find, capture_output=True, text=True).stdout.split()
    return found + [f"process {pid} {name}" for pid, name in processes_of(tag).items()]


def left_by(run: Path) -> list[str]:
    """The same, of the run with this folder and of the sessions that resumed it."""
    manifest = json.loads((run / "run.json").read_text())
    tags = {run.name.rpartition("-")[2]}
    for session in manifest.get("sessions", []):
        tags |= {session["tag"], *session.get("tags", [])}
    return [trace for tag in sorted(tags) for trace in traces(tag)]


def processes_of(tag: str) -> dict[int, str]:
    """Processes of a run -> their names: those in its control groups, in its namespaces, and those
    that name it in their command line."""
    mark = f"sfcperf-{tag}"
    spaces = {path.stat().st_ino for path in NETNS_FOLDER.glob(f"{mark}-*")}

    def belongs(process: Path) -> bool:
        # First, since one that has ended and was not waited for has no namespace any more.
        space = (process / "ns" / "net").stat().st_ino
        if space in spaces or mark in (process / "cgroup").read_text():
            return True
        return mark.encode() in (process / "cmdline").read_bytes()

    return _processes(belongs)


def processes_with(variable: str, value: str) -> dict[int, str]:
    """Processes -> their names: those whose environment was given this. A tool's environment is
    that of the command which started it, whatever became of its namespace and control group."""
    setting = f"{variable}={value}".encode()
    return _processes(lambda process: setting in (process / "environ").read_bytes().split(b"\0"))


def _processes(belongs: Callable[[Path], bool]) -> dict[int, str]:
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        # It may end while it is looked at.
        with suppress(OSError):
            if belongs(process):
                found[int(process.name)] = (process / "comm").read_text().strip()
    return found
