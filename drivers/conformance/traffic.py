"""Traffic between the endpoints of a deployment, and counters of functions and interfaces."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sfcperf import plugins
from sfcperf.active.base import ProbeResult
from sfcperf.drivers.conformance.scenarios import PROBES
from sfcperf.hosts.base import Host
from sfcperf.hosts.procfs import interface_counters
from sfcperf.management.deployment import Deployment, Endpoint
from sfcperf.workflow.defaults import with_defaults

_INTERVAL_S = 2
_TIMEOUT_S = 10.0


def ping(source: Endpoint, destination: Endpoint, count: int) -> int:
    """Return how many of `count` echo requests are answered.

    All requests leave at once. The interval is long all the same: after a first reply, ping waits
    for the last ones no longer than two round trips or an interval, whatever `-W` says.
    """
    argv = ["ping", "-n", "-c", str(count), "-l", str(count), "-i", str(_INTERVAL_S)]
    argv += ["-W", str(_INTERVAL_S)]
    # ping ends with an error where no reply came: that is the answer 0.
    done = source.host.run([*argv, destination.address], timeout_s=_TIMEOUT_S, check=False)
    return done.text.count("bytes from")


def measure(deployment: Deployment, probe: str, raw_dir: Path) -> ProbeResult:
    """Measure once with one of PROBES, and return the result. `raw_dir` gets the probe's files; it
    is created if need be."""
    kind = plugins.load("probe", probe)
    running = kind(with_defaults(kind.parameters, PROBES[probe]))
    raw_dir.mkdir(parents=True, exist_ok=True)
    try:
        running.prepare(deployment, raw_dir)
        result: ProbeResult = running.measure(deployment, raw_dir)
    finally:
        running.cleanup()
    return result


def forwarded(deployment: Deployment) -> dict[str, int]:
    """Function -> packets that it has forwarded."""
    return {function.name: function.counters()["forwarded"] for function in deployment.functions}


def rise(before: Mapping[str, int], deployment: Deployment) -> dict[str, int]:
    """Function -> packets that it has forwarded since `before`."""
    return {name: count - before[name] for name, count in forwarded(deployment).items()}


def interface_packets(host: Host, interface: str) -> int:
    """Packets that an interface has received and sent; KeyError if the host does not have it."""
    counters = interface_counters(host.read_text("/proc/net/dev"))[interface]
    return counters.rx_packets + counters.tx_packets
