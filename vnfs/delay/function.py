"""The delay as a VNF type: each packet leaves after a known time, for judging monitors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfcperf.dataplane import binaries
from sfcperf.dataplane.stats_process import StatsProcess
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.procfs import interface_counters
from sfcperf.plugins import Requirement, integer, object_schema
from sfcperf.vnfs.base import Attachment, RunningFunction
from sfcperf.vnfs.kernel_forwarding import COMMAND_TIMEOUT_S, KernelForwarding, KernelFunction

BINARY = "sfc-delay"
TUN = "sfc-delay"
TUNS = (f"{TUN}0", f"{TUN}1")
"""TUN devices of what arrives at the ingress, and at the egress."""
TUN_MTU = 65_535
TUN_PACKETS = 10_000
"""Packets that a device has room for, in front of the buffer: those that arrive while others are
sent."""
TABLES = ("1533", "1534")
"""Routing tables that lead into the TUN devices."""
_TUN_DEVICE = Path("/dev/net/tun")


class _Process(StatsProcess, RunningFunction):
    """An sfc-delay process."""

    binary = BINARY

    def counters(self) -> Mapping[str, int]:
        """Return the counters of sfc-delay, its reasons for dropping as `dropped_REASON`. Raises
        MeasurementError."""
        event = self.fresh()
        drops = {f"dropped_{reason}": count for reason, count in event["drops"].items()}
        names = ("received", "forwarded", "dropped")
        delays = ("delay_sum_ns", "delay_min_ns", "delay_max_ns")
        return {**{name: event[name] for name in (*names, *delays)}, **drops}


class RunningDelay(KernelForwarding):
    """Kernel forwarding that leads through TUN devices, behind which sfc-delay delays packets. The
    constructor starts sfc-delay."""

    more_interfaces = TUNS

    def __init__(self, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> None:
        super().__init__(host, attachment, knobs)
        options = ["--tun", TUN]
        for knob in ("delay_us", "spin_us", "buffer_mib"):
            options += [f"--{knob.replace('_', '-')}", str(int(knobs[knob]))]
        _load_tun(host)
        self._process = _Process.spawn(attachment.name, host, options)

    def set_up(self) -> None:
        """Wait for sfc-delay, then lead what arrives at the interfaces into the TUN devices."""
        self._process.wait_ready()
        # Rules that an earlier function left would be there twice.
        self._unroute()
        lines = [f"rule add {rule}" for rule in self._rules]
        for tun, table in zip(TUNS, TABLES, strict=True):
            lines += [
                f"link set dev {tun} mtu {TUN_MTU} txqueuelen {TUN_PACKETS} up",
                f"route replace default dev {tun} table {table}",
                # When the device goes, nothing may pass undelayed.
                f"route replace blackhole default table {table} metric 4096",
            ]
        # IPv6 is turned off before a device is up: packets of the host itself would be delayed
        # and counted.
        self._settings.set({f"net/ipv6/conf/{tun}/disable_ipv6": "1" for tun in TUNS})
        self._ip(lines)

    @property
    def _rules(self) -> Iterator[str]:
        """Yield the rules that lead into the TUN devices, which come before those of kernel
        forwarding, and the same as these for what comes back from the TUN devices."""
        for way, tun, table in zip(self._ways, TUNS, TABLES, strict=True):
            yield f"iif {way.arriving} lookup {table} priority 100"
            yield from replace(way, arriving=tun).rules

    def counters(self) -> Mapping[str, int]:
        """Return the counters of sfc-delay, instead of the kernel's, which forwards each packet
        twice; the kernel's reasons for dropping; and `dropped_queue`, packets that never left the
        device because the process was too slow. `delay_sum_ns`, `delay_min_ns` and `delay_max_ns`
        are of forwarded packets, by the tool's clock from receive to send; the mean delay is
        `delay_sum_ns` / `forwarded`. Raises MeasurementError."""
        own, kernel = self._process.counters(), super().counters()
        reasons = {name: value for name, value in kernel.items() if name.startswith("dropped_")}
        devices = interface_counters(self._host.read_text("/proc/net/dev"))
        queue = sum(devices[tun].tx_drops for tun in TUNS if tun in devices)
        return {
            **own,
            **reasons,
            "received": own["received"] + queue,
            "dropped": own["dropped"] + kernel["dropped"] + queue,
            "dropped_queue": queue,
        }

    def problem(self) -> str | None:
        """Return why sfc-delay has ended or kernel forwarding does not work, None while both
        work."""
        return self._process.problem() or super().problem()

    def pids(self) -> tuple[int, ...]:
        """Return the id of the sfc-delay process."""
        return self._process.pids()

    def data_plane_pids(self) -> tuple[int, ...]:
        """Return the id of the sfc-delay process."""
        return self.pids()

    def take_away(self) -> None:
        """End sfc-delay, with which its TUN devices go, and remove the routes and rules that led
        there."""
        self._process.stop()
        self._unroute()

    def _unroute(self) -> None:
        """Remove the routes and rules of the TUN devices, if they are there."""
        rules = [f"rule delete {rule}" for rule in self._rules]
        # For what is not there ip prints an error, continues, and fails at the end.
        with suppress(MeasurementError):
            self._ip([*rules, *(f"route flush table {table}" for table in TABLES)], "-force")


def _load_tun(host: Host) -> None:
    """Have the host's kernel load TUN devices, unless it has them. Failure is no error here:
    sfc-delay reports it."""
    argv = ["test", "-c", str(_TUN_DEVICE)]
    if host.run(argv, timeout_s=COMMAND_TIMEOUT_S, check=False).returncode != 0:
        # An error is ignored: where there are no modules there is no modprobe either.
        with suppress(MeasurementError):
            host.run(["modprobe", "tun"], timeout_s=COMMAND_TIMEOUT_S, check=False)


class Delay(KernelFunction):
    """Delays each packet by the same time, exact to about a microsecond."""

    name = "delay"
    title = "Synthetic function with a known processing time, for checking monitors"
    running = RunningDelay
    parameters = object_schema(
        {
            "delay_us": integer(
                "Delay of each packet, in both directions, microseconds.",
                (0, 10_000_000),
                default=1000,
            ),
            "spin_us": integer(
                "How long before a packet is due the process stops sleeping and watches the clock, "
                "microseconds. A longer time is more exact and uses more CPU.",
                (0, 10_000_000),
                default=200,
            ),
            "buffer_mib": integer(
                "Buffer for delayed packets, MiB: at least rate times delay. Packets that do not "
                "fit are dropped.",
                (1, 4096),
                default=32,
            ),
        }
    )

    @classmethod
    def carried_by_process(cls, knobs: Mapping[str, Any]) -> bool:
        """Return True."""
        return True

    @classmethod
    def own_requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """Require the compiled tool, and TUN devices."""
        there = _TUN_DEVICE.exists()
        tun = Requirement(
            "TUN devices",
            there,
            str(_TUN_DEVICE) if there else f"{_TUN_DEVICE} is not there",
            "" if there else "`modprobe tun`; in a container, hand the device to it",
            of_this_kernel=True,
        )
        return [binaries.requirement(BINARY), tun]
