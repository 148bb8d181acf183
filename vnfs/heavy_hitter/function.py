"""Heavy hitters on DPDK as a VNF type: counts flows in a sketch, and blocks the largest ones."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, TypeVar

from sfcperf.dataplane import binaries
from sfcperf.errors import DeploymentError, InputError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.merging import Merging
from sfcperf.plugins import Requirement, choice, flag, integer, number, object_schema
from sfcperf.vnfs import kernel_forwarding
from sfcperf.vnfs.base import Attachment, NetworkFunction, RunningFunction
from sfcperf.vnfs.heavy_hitter.compile import SPEC
from sfcperf.vnfs.heavy_hitter.cpu import lacking
from sfcperf.vnfs.heavy_hitter.model import MOST_ROWS, Action
from sfcperf.vnfs.heavy_hitter.running import BINARY, RunningHeavyHitter
from sfcperf.vnfs.kernel_settings import KernelSettings

ENGINES = ("swx", "native")
MOST_COLUMNS = 1 << 24
_LINK_TIMEOUT_S = 10.0
_starts = itertools.count()
_Kind = TypeVar("_Kind", bound=RunningHeavyHitter)


class PlainHeavyHitter(RunningHeavyHitter):
    """A heavy-hitter function in plain IP: it forwards between two interfaces, instead of the
    kernel."""

    undo = ExitStack()
    """Gives the kernel back what was taken from it. It is empty until the function is ready: if the
    start fails, `_start_plain` gives it back itself."""

    def stop(self) -> None:
        """End the process, and give the kernel back what was taken from it."""
        super().stop()
        self.undo.close()


class HeavyHitter(NetworkFunction):
    """Counts the packets of each flow in a count-min sketch, on DPDK, and blocks, marks or
    reports a flow as soon as it has sent more than a threshold of packets in a window. A thread
    runs on each of the VNF's vCPUs, with a sketch of its own; all packets of a flow go to the same
    one."""

    name = "heavy_hitter"
    title = "Heavy hitters on DPDK: finds the largest flows with a P4 program and blocks them"
    nsh_aware = True
    plain_ip = True
    interfaces = 1
    # Packet sockets take frames before tc does, in plain IP too.
    kernel_path = False
    plain_ip_by_kernel = False
    parameters = object_schema(
        {
            "engine": choice(
                "`swx` runs the P4 program in DPDK's SWX pipeline; `native` the same in C, which "
                "tells what P4 costs.",
                ENGINES,
                default="swx",
            ),
            "io": choice(
                "How frames come and go: `af_packet`, packet sockets; `af_xdp`, sockets of XDP, "
                "which are faster, with NSH only.",
                ("af_packet", "af_xdp"),
                default="af_packet",
            ),
            "hash_functions": integer(
                "Rows of the sketch, d. With more rows, fewer flows are overestimated.",
                (1, MOST_ROWS),
                default=4,
            ),
            "columns": integer(
                "Counters of each row, w: a power of 2, 8 bytes each.",
                (2, MOST_COLUMNS),
                default=65_536,
            ),
            "conservative": flag(
                "Let only the smallest counters of a flow grow: estimates are closer, and each "
                "packet takes a little longer.",
            ),
            "seed": integer("Seed of the first hash function.", (0, 0xFFFFFFFF), default=0),
            "threshold": integer(
                "Packets that a flow may send in a window before it is a heavy hitter.",
                (1, 0xFFFFFFFE),
                default=1000,
            ),
            "window_s": number(
                "Length of a window, seconds. Counting starts from zero in each window.",
                (0.005, 3600),
                default=1,
            ),
            "action": choice(
                "What happens to the packets of a heavy hitter: `block` drops them, `report` lets "
                "them pass, `mark` sets their DSCP to `mark_dscp` and lets them pass.",
                [action.value for action in Action],
                default=Action.BLOCK.value,
            ),
            "mark_dscp": integer(
                "DSCP of packets that are marked; 1 is lower effort (RFC 8622).",
                (0, 63),
                default=1,
            ),
            "flows": integer(
                "Heavy hitters that each thread remembers at a time. A flow for which there is no "
                "room is blocked only while the sketch counts it as heavy.",
                (64, 1 << 22),
                default=65_536,
            ),
            "expiry_s": integer(
                "A heavy hitter is forgotten so long after it was found, seconds, or later, by up "
                "to 2^32 cycles of the CPU's time stamp counter in whole seconds (2 s at 2.3 GHz): "
                "the step of the clock of DPDK's table.",
                (1, 86_400),
                default=10,
            ),
        }
    )

    @classmethod
    def carried_by_process(cls, knobs: Mapping[str, Any]) -> bool:
        """Return True."""
        return True

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """Require the compiled tool."""
        return [binaries.requirement(BINARY)]

    @classmethod
    def tools(cls, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the commands that plain IP needs; NSH needs none."""
        return ("ip", "ethtool", "sysctl", "grep")

    @classmethod
    def check(cls, knobs: Mapping[str, Any]) -> None:
        """Refuse a number of columns that is no power of two. Raises InputError."""
        columns = int(knobs["columns"])
        if columns & (columns - 1):
            below = 1 << columns.bit_length() - 1
            raise InputError(
                f"{columns} is not a power of 2",
                where="columns",
                allowed=f"2 to {MOST_COLUMNS}",
                hint=f"{below} or {2 * below}",
            )

    @classmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningFunction:
        """Start sfc-heavy-hitter on the ingress interface, in plain IP between both interfaces, and
        wait until it forwards."""
        with kernel_forwarding.deploying(attachment.name, host):
            if attachment.encapsulation == "none":
                return _start_plain(host, attachment, knobs)
            options = ["--interface", attachment.interfaces[0], "--io", str(knobs["io"])]
            return _ready(RunningHeavyHitter, host, attachment, knobs, options)


def _ready(
    kind: type[_Kind],
    host: Host,
    attachment: Attachment,
    knobs: Mapping[str, Any],
    options: list[str],
) -> _Kind:
    """Start sfc-heavy-hitter as an instance of `kind`, with these options and those of the knobs,
    and wait until it forwards. Raises DeploymentError, MeasurementError, EnvironmentLacks."""
    _check_cpu(host, attachment.name)
    options += _options(knobs)
    if knobs["engine"] == "swx":
        # The compiled P4 program is brought to the host as executable programs are.
        options += ["--spec", host.program(SPEC)]
    if attachment.vcpus:
        options += ["--cpus", ",".join(map(str, attachment.vcpus))]
    folder = attachment.scratch or attachment.outputs
    output = folder / f"{attachment.name}-{next(_starts)}.windows.jsonl"
    running = kind.launch(attachment.name, host, options, int(knobs["threshold"]), output)
    with kernel_forwarding.all_or_nothing(running):
        running.wait_ready()
    return running


def _check_cpu(host: Host, name: str) -> None:
    """Refuse a CPU on which DPDK would end by SIGILL without a message. Raises DeploymentError."""
    if absent := lacking(host.read_text("/proc/cpuinfo")):
        raise DeploymentError(
            f"{name}: the CPU lacks {', '.join(absent)} (see /proc/cpuinfo), which DPDK needs",
            where=host.name,
            hint="a VM gets them with Nova's cpu_mode host-model or host-passthrough, or with the "
            "cpu_models Nehalem or a later one; choose another flavor or hypervisor, or ask the "
            "cloud's operator",
        )


def _options(knobs: Mapping[str, Any]) -> list[str]:
    """Return the options of sfc-heavy-hitter that the knobs alone decide."""
    options = ["--engine", str(knobs["engine"]), "--window-ms"]
    options += [str(round(1000 * float(knobs["window_s"])))]
    options += ["--rows", str(int(knobs["hash_functions"]))]
    for name in ("columns", "seed", "threshold", "mark_dscp", "flows", "expiry_s"):
        options += [f"--{name.replace('_', '-')}", str(int(knobs[name]))]
    options += ["--action", str(knobs["action"])]
    return options + (["--conservative"] if knobs["conservative"] else [])


def _start_plain(host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningFunction:
    """Start the function between two interfaces in plain IP. When that fails, the kernel gets back
    what was taken from it. Raises what `_ready` raises."""
    if knobs["io"] != "af_packet":
        raise DeploymentError(
            f"{attachment.name}: plain IP needs the kernel for ARP, to which {knobs['io']} leaves "
            "no frames",
            where=host.name,
            hint='set the knob "io" to "af_packet"',
        )
    with ExitStack() as undo:
        _take_from_kernel(host, attachment.interfaces, undo)
        options = ["--interface", ",".join(attachment.interfaces), "--io", "af_packet"]
        # MAC addresses of client and server.
        options += ["--next-hops", f"{attachment.client[1]},{attachment.server[1]}"]
        running = _ready(PlainHeavyHitter, host, attachment, knobs, options)
        running.undo = undo.pop_all()
    return running


def _take_from_kernel(host: Host, interfaces: Sequence[str], undo: ExitStack) -> None:
    """Bring the interfaces up, have them show packets as they were sent, and keep the kernel from
    forwarding between them as well. `undo` gets what reverts this. Raises MeasurementError."""
    merging, settings = Merging(host), KernelSettings(host)
    # First, so that what was changed is reverted also when a later step fails.
    undo.callback(merging.restore)
    undo.callback(_restore, settings)
    for interface in interfaces:
        host.run(["ip", "link", "set", "dev", interface, "up"], timeout_s=_LINK_TIMEOUT_S)
        merging.turn_off(interface)
    for version in ("ipv4", "ipv6"):
        settings.set({f"net/{version}/conf/{name}/forwarding": "0" for name in interfaces})


def _restore(settings: KernelSettings) -> None:
    """Set all that was changed back to what it was. Harmless when the host is gone."""
    with suppress(MeasurementError):
        settings.restore({})
