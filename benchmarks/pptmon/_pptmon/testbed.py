"""client --- VNF --- server: three namespaces, the VNF forwards in the kernel.

Links have 1500 bytes, the endpoints' packets at most 1400: room for what pptmon adds.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from sfcperf.dataplane import binaries
from sfcperf.dataplane.pptmon.events import Sample, parse
from sfcperf.hosts.base import Process
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.vnfs.base import Attachment, NetworkFunction, RunningFunction
from sfcperf.workflow.defaults import with_defaults

CLIENT, SERVER = "198.18.0.2", "198.18.1.2"  # RFC 2544
GATEWAYS = ("198.18.0.1", "198.18.1.1")
MTU = 1400
SETTLE_S = 0.5
_PREQUEUE = Path("/proc/sys/net/core/netdev_tstamp_prequeue")
_numbers = itertools.count()


@dataclass(frozen=True)
class Testbed:
    """Hosts; the VNF's interfaces are `in` and `out`."""

    client: NamespaceHost
    vnf: NamespaceHost
    server: NamespaceHost
    folder: Path

    @contextmanager
    def pptmon(self, *options: str) -> Iterator[PptMon]:
        """A running pptmon at the VNF, in mode source-sink, both programs attached."""
        path = self.folder / f"pptmon-{next(_numbers)}.jsonl"
        argv = [str(binaries.find("pptmon")), "--mode", "source-sink", "--vnf-id", "1"]
        argv += ["--ingress", "in", "--egress", "out", *options]
        process = self.vnf.spawn(argv, stdout=path, stderr=path.with_suffix(".err"))
        running = PptMon(path, process)
        try:
            running.await_ready()
            yield running
        finally:
            process.stop()

    @contextmanager
    def function(
        self, kind: type[NetworkFunction], knobs: Mapping[str, object], cpu: int | None = None
    ) -> Iterator[RunningFunction]:
        """A VNF type at work in the VNF's namespace, on this CPU only."""
        ends = ((CLIENT, _mac(self.client)), (SERVER, _mac(self.server)))
        attachment = Attachment(
            name="vnf",
            interfaces=("in", "out"),
            macs=(_mac(self.vnf, "in"), _mac(self.vnf, "out")),
            encapsulation="none",
            address=None,
            client=ends[0],
            server=ends[1],
            vcpus=(0,),
            mtu=MTU,
            outputs=self.folder,
        )
        with _place(cpu):
            running = kind.start(self.vnf, attachment, with_defaults(kind.parameters, knobs))
        try:
            yield running
        finally:
            running.stop()

    @contextmanager
    def listening(self, cpu: int | None = None) -> Iterator[None]:
        """An iperf3 server, until the end, on this CPU only."""
        with _place(cpu):
            server = self.server.spawn(["iperf3", "-s"])
        try:
            time.sleep(SETTLE_S)
            yield
        finally:
            server.stop()

    def iperf3(self, *options: str, timeout_s: float = 120.0) -> dict[str, object]:
        """One run of the client; what it reports."""
        argv = ["iperf3", "-c", SERVER, "-J", *options]
        done = self.client.run(argv, timeout_s=timeout_s)
        return dict(json.loads(done.stdout))

    def offloads(self, on: bool) -> None:
        """Of both endpoints and the VNF: TSO, GSO, GRO and checksums, as a whole."""
        state = "on" if on else "off"
        for host, interface in (
            (self.client, "eth0"),
            (self.server, "eth0"),
            (self.vnf, "in"),
            (self.vnf, "out"),
        ):
            argv = ["ethtool", "-K", interface]
            for feature in ("tso", "gso", "gro", "tx"):
                argv += [feature, state]
            host.run(argv, timeout_s=10.0)


@dataclass(frozen=True)
class PptMon:
    """A pptmon process and what it printed."""

    path: Path
    process: Process

    def await_ready(self) -> None:
        """Until it measures. Raises RuntimeError."""
        deadline = time.monotonic() + 20
        while "ready" not in self._text():
            if self.process.poll() is not None or time.monotonic() > deadline:
                said = self.path.with_suffix(".err").read_text()
                raise RuntimeError(f"pptmon does not start: {self._text()} {said}")
            time.sleep(0.01)

    def samples(self) -> list[Sample]:
        """All so far."""
        events = [parse(line) for line in self._text().splitlines()]
        return [event for event in events if isinstance(event, Sample)]

    def _text(self) -> str:
        return self.path.read_text() if self.path.exists() else ""


@contextmanager
def on_cpu(number: int) -> Iterator[None]:
    """What is started herein stays on this CPU, counted among those that we may use."""
    ours = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {ours[number % len(ours)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, ours)


def _place(cpu: int | None) -> AbstractContextManager[None]:
    return nullcontext() if cpu is None else on_cpu(cpu)


@contextmanager
def _stamps_on_receipt() -> Iterator[None]:
    """The kernel stamps packets when it begins to work on them, and not before they wait for a CPU,
    which is no part of the VNF's time. Of the whole machine; as it was afterwards."""
    before = _PREQUEUE.read_text()
    _PREQUEUE.write_text("0")
    try:
        yield
    finally:
        _PREQUEUE.write_text(before)


@contextmanager
def namespaces(*roles: str) -> Iterator[tuple[dict[str, str], dict[str, NamespaceHost], Path]]:
    """Names and hosts by role, which are removed at the end, and their folder; meanwhile the kernel
    stamps packets on receipt."""
    tag = f"sfcperf-bench{os.getpid()}-{next(_numbers)}"
    names = {role: f"{tag}-{role}" for role in roles}
    with tempfile.TemporaryDirectory() as folder, _stamps_on_receipt():
        try:
            for name in names.values():
                ip("netns", "add", name)
                ip("-n", name, "link", "set", "lo", "up")
            hosts = {role: NamespaceHost(role, name, Path(folder)) for role, name in names.items()}
            yield names, hosts, Path(folder)
        finally:
            for name in names.values():
                subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@contextmanager
def testbed() -> Iterator[Testbed]:
    """Made anew, and removed at the end."""
    with namespaces("client", "vnf", "server") as (names, hosts, folder):
        _build(names)
        yield Testbed(**hosts, folder=folder)


def _build(names: dict[str, str]) -> None:
    ends = (("client", "in", CLIENT, GATEWAYS[0]), ("server", "out", SERVER, GATEWAYS[1]))
    vnf = names["vnf"]
    for role, interface, address, gateway in ends:
        name = names[role]
        pair = ("link", "add", "eth0", "type", "veth", "peer", "name", interface, "netns", vnf)
        ip("-n", name, *pair)
        ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        ip("-n", vnf, "addr", "add", f"{gateway}/24", "dev", interface)
        ip("-n", name, "link", "set", "eth0", "mtu", str(MTU), "up")
        ip("-n", vnf, "link", "set", interface, "up")
        ip("-n", name, "route", "add", "default", "via", gateway)
    ip("netns", "exec", vnf, "sysctl", "-qw", "net.ipv4.ip_forward=1")


def _mac(host: NamespaceHost, interface: str = "eth0") -> str:
    said = host.run(["ip", "-j", "link", "show", "dev", interface], timeout_s=10.0)
    return str(json.loads(said.stdout)[0]["address"])


def ip(*argv: str) -> None:
    """Run `ip`. Raises CalledProcessError."""
    subprocess.run(["ip", *argv], check=True, capture_output=True)
