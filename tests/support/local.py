"""The local driver without a run around it, and what any run of it must leave behind: nothing."""

from __future__ import annotations

import random
import string
import subprocess
from collections.abc import Iterable
from pathlib import Path

from sfcperf.drivers.base import DriverContext, Resource
from sfcperf.drivers.local.driver import LocalDriver


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


def new_driver(folder: Path) -> LocalDriver:
    """A driver of a run of its own."""
    tag = "".join(random.choices(string.ascii_lowercase + string.digits, k=6))
    state, raw = folder / f"{tag}-state", folder / f"{tag}-raw"
    state.mkdir()
    raw.mkdir()
    config = {"dataplane": "ovs", "mtu": 1400}
    return LocalDriver(DriverContext("test", tag, config, ListJournal(), state, raw, print))


def traces(tag: str) -> list[str]:
    """What still carries a run's tag, found with tools that are not ours."""
    namespaces = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    found = [line.split()[0] for line in namespaces.splitlines() if f"sfcperf-{tag}" in line]
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True).stdout
    found += [line for line in links.splitlines() if tag in line]
    find = ["find", "/sys/fs/cgroup", "/run", "/tmp", "-maxdepth", "6"]
    find += ["-name", f"sfcperf-{tag}*"]
    found += subprocess.run(find, capture_output=True, text=True).stdout.split()
    processes = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True).stdout
    found += [line for line in processes.splitlines() if f"sfcperf-{tag}" in line]
    return found
