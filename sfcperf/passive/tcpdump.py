"""tcpdump: makes captures of limited size at the hops of the chain."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf import waiting
from sfcperf.environment.tools import tool
from sfcperf.errors import MeasurementError
from sfcperf.hosts import clock
from sfcperf.hosts.base import Host, Process
from sfcperf.hosts.procfs import memory_bytes, used_cpu_s
from sfcperf.management.deployment import Deployment, Hop
from sfcperf.packets import tcpdump_output
from sfcperf.passive.base import Monitor
from sfcperf.plugins import Requirement, array, integer, object_schema
from sfcperf.results.values import Observation

FILE_HEADER_BYTES = 24
"""Header of a pcap file (pcap-savefile(5))."""
RECORD_HEADER_BYTES = 16
"""Header of each packet in a pcap file."""
ROUNDING_BYTES = 16
"""Bytes of a packet that tcpdump is asked for beyond those that are needed. The ring of immediate
mode (TPACKET_V2) may hold some bytes less than libpcap asks for, since its frames are aligned to 16
bytes."""
HANDED_OVER_S = 1.2
"""Time after which tcpdump surely has all packets. Without immediate mode, the kernel hands packets
over when its buffer is full, or tcpdump's timeout of one second is over."""
_START_TIMEOUT_S = 30.0
_POLL_S = 0.01
_WRITTEN_TIMEOUT_S = 2.0
_KERNEL_BUFFER_KIB = 4096
_BUFFER_SHARE = 1 / 16
"""Share of a host's available memory that one capture may hold in the kernel. A small VM has few
MiB, and several captures."""
_BYTES_PER_KIB = 1024
_NS_PER_US = 1000

log = logging.getLogger(__name__)


@dataclass
class _Capture:
    """A running tcpdump at a hop, with the files that it writes to."""

    hop: Hop
    process: Process
    pcap: Path
    said: Path
    """File of what tcpdump prints on stderr."""


class TcpdumpMonitor(Monitor):
    """Runs one tcpdump per hop, which writes `tcpdump-HOP.pcap` into the trial's raw folder.

    At the end, each hop has `captured_packets`, `capture_dropped_packets` (lost by the capture
    itself), `capture_bytes`, and `capture_bound_reached` (1: the capture ended early). The times in
    a file are those of its hop's clock; `capture_clock_offset_us` is the offset of a VM's clock
    from that of this machine.
    """

    name = "tcpdump"
    title = "Packet captures of limited size at the hops"
    cost = (
        "one process per hop copies each packet that matches the filter: expect lower rates and "
        "higher round-trip times, and do not use it in trials whose throughput counts. VMs also "
        "send their captures over SSH, which encrypts them"
    )
    parameters = object_schema(
        {
            "hops": array(
                "Names of the hops to capture at (`client`, `fwd-1`, `server`, ...). Default: all.",
                {"type": "string"},
                minItems=1,
                uniqueItems=True,
            ),
            "filter": array(
                "Filter as words of the syntax of pcap-filter(7), such as "
                '["ether", "proto", "0x894f"]. Empty: every packet.',
                {"type": "string", "minLength": 1},
                default=[],
            ),
            "snaplen": integer(
                "Bytes to keep of each packet, from its Ethernet header on; up to 16 more because "
                "the kernel rounds up.",
                (14, 65_535),
                default=128,
            ),
            "max_bytes": integer(
                "Limit of the file size per hop, bytes. The capture ends after the number of "
                "packets that certainly fit with snaplen bytes each.",
                (1_000, 100_000_000_000),
                default=10_000_000,
            ),
        }
    )

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        super().__init__(parameters)
        self._captures: list[_Capture] = []
        self._elsewhere: set[Host] = set()
        """Hosts that do not run on this machine's kernel."""
        self._offsets_ns: dict[str, int] = {}
        """Hop on such a host -> offset of the host's clock from ours."""
        self._cpu_s = 0.0
        self._shown: Callable[[bool], None] | None = None
        """`show_packets` of the deployment, while it shows packets to captures; None otherwise."""

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Require tcpdump. It must be there on the hosts of the hops."""
        return [tool("tcpdump", "tcpdump", ["tcpdump", "--version"])]

    def start(self, deployment: Deployment, raw_dir: Path) -> None:
        """Start one capture per hop, and return when all capture. If one does not start, all are
        stopped. Raises MeasurementError, also for a filter that tcpdump rejects."""
        hops = self._hops(deployment)
        self._check_filter(hops[0])
        started = time.thread_time()
        for host in {hop.host for hop in hops}:
            if not clock.of_this_kernel(host):
                self._elsewhere.add(host)
                offset_ns = clock.offset_ns(host)
                self._offsets_ns |= {hop.name: offset_ns for hop in hops if hop.host == host}
        # SFFs that forward by XDP bypass packet sockets at their own interfaces.
        if not all(hop.inside for hop in hops):
            deployment.show_packets(True)
            self._shown = deployment.show_packets
        try:
            for hop in hops:
                self._captures.append(self._spawn(hop, raw_dir))
            for capture in self._captures:
                _await_listening(capture)
        except BaseException:
            for capture in self._captures:
                capture.process.stop()
            self._captures.clear()
            self._hide()
            raise
        self._cpu_s += time.thread_time() - started

    def stop(self) -> Sequence[Observation]:
        """End the captures, and return how many packets they hold and have missed."""
        started = time.thread_time()
        captures, self._captures = self._captures, []
        if captures and self.wait_at_the_end:
            waiting.sleep(HANDED_OVER_S)
        for capture in captures:
            if capture.hop.host not in self._elsewhere:
                _await_written(capture)
            # Before `stop`, since the kernel does not know the process afterwards.
            self._cpu_s += used_cpu_s(capture.hop.host, capture.process.pid)
            capture.process.stop()
        self._hide()
        time_ns = time.time_ns()
        observations = [o for capture in captures for o in self._report(capture, time_ns)]
        self._cpu_s += time.thread_time() - started
        own = Observation(time_ns, self.name, "monitor_cpu_s", "s", self._cpu_s)
        return [*observations, own]

    def _hide(self) -> None:
        """Undo `deployment.show_packets(True)`, if it was called."""
        show, self._shown = self._shown, None
        if show is not None:
            show(False)

    def reading(self, hop: Hop) -> list[str]:
        """Return the options by which tcpdump takes packets from the kernel: the size of its
        buffer, and whether it gets them at once. Derived classes may also choose a direction."""
        buffer = ["-B", str(buffer_kib(hop.host, _KERNEL_BUFFER_KIB))]
        if hop.host in self._elsewhere:
            # Immediate mode would make a message of SSH of each packet, in the VM that is measured.
            return buffer
        # Without immediate mode, the packets of the last second would stay in the kernel at the
        # end.
        return [*buffer, "--immediate-mode", "-U"]

    def expression(self, hop: Hop) -> list[str]:
        """Return the filter for a hop, in words of pcap-filter(7); empty: every packet."""
        return list(self.parameters["filter"])

    @property
    def wait_at_the_end(self) -> bool:
        """Whether `stop` must wait until the kernel has handed over the last packets: on other
        machines, captures do not use immediate mode."""
        return bool(self._elsewhere)

    @property
    def _kept_bytes(self) -> int:
        """Most bytes of each packet that a capture may keep."""
        return int(self.parameters["snaplen"]) + ROUNDING_BYTES

    @property
    def _most_packets(self) -> int:
        """Number of packets that surely fit into max_bytes, after which a capture ends. Raises
        MeasurementError if not even one does."""
        record_bytes = RECORD_HEADER_BYTES + self._kept_bytes
        room = int(self.parameters["max_bytes"]) - FILE_HEADER_BYTES
        if room < record_bytes:
            raise MeasurementError(
                f"max_bytes {self.parameters['max_bytes']} does not hold one packet of snaplen "
                f"{self.parameters['snaplen']} bytes",
                allowed=f"max_bytes of {FILE_HEADER_BYTES + record_bytes} or more",
            )
        return room // record_bytes

    def _hops(self, deployment: Deployment) -> list[Hop]:
        """Return the hops to capture at. Raises MeasurementError for a name that no hop has, and
        when there are no hops."""
        there = {hop.name: hop for hop in deployment.hops}
        if not there:
            raise MeasurementError("the infrastructure has no hops to capture at")
        names = self.parameters.get("hops") or list(there)
        if unknown := [name for name in names if name not in there]:
            raise MeasurementError(
                f"there is no hop named {', '.join(unknown)}", allowed=", ".join(there)
            )
        return [there[name] for name in names]

    def _check_filter(self, hop: Hop) -> None:
        """Check that tcpdump accepts the filter, by `tcpdump -d`, which compiles it and captures
        nothing. Raises MeasurementError."""
        argv = ["tcpdump", "-i", hop.interface, "-d", "--", *self.parameters["filter"]]
        compiled = hop.host.run(argv, timeout_s=_START_TIMEOUT_S, check=False)
        if compiled.returncode != 0:
            complaint = compiled.stderr.decode(errors="replace").strip().splitlines()
            raise MeasurementError(
                f"tcpdump rejects the filter {' '.join(self.parameters['filter'])!r}: "
                f"{complaint[-1] if complaint else 'it does not say why'}",
                hint="pcap-filter(7) describes filters",
            )

    def _spawn(self, hop: Hop, raw_dir: Path) -> _Capture:
        """Start tcpdump at a hop. It writes the capture to stdout, which the host brings to a file
        on this machine."""
        pcap, errors = raw_dir / f"tcpdump-{hop.name}.pcap", raw_dir / f"tcpdump-{hop.name}.txt"
        for path in (pcap, errors):
            path.unlink(missing_ok=True)
        argv = ["tcpdump", "-i", hop.interface, "-n", "-s", str(self._kept_bytes)]
        argv += ["-c", str(self._most_packets), *self.reading(hop)]
        # -Z root: the user that tcpdump would change to does not exist in every VM.
        argv += ["-Z", "root", "-w", "-"]
        # -p, no promiscuous mode: a switch may flood packets that are for other machines.
        argv += ["-p"] if hop.inside else []
        argv += ["--", *self.expression(hop)]
        return _Capture(hop, hop.host.spawn(argv, stdout=pcap, stderr=errors), pcap, errors)

    def _report(self, capture: _Capture, time_ns: int) -> Iterator[Observation]:
        """Give the counts of an ended capture, and log a warning if it ended early or missed
        packets."""
        counts = tcpdump_output.parse(capture.said.read_text(errors="replace"))
        full = counts.captured >= self._most_packets
        hop = capture.hop.name
        if full:
            log.warning(
                "tcpdump at %s ended after %d packets: its file may not exceed max_bytes %d",
                hop,
                counts.captured,
                self.parameters["max_bytes"],
            )
        if counts.dropped:
            log.warning("tcpdump at %s missed %d packets", hop, counts.dropped)
        yield Observation(time_ns, hop, "captured_packets", "1", counts.captured)
        yield Observation(time_ns, hop, "capture_dropped_packets", "1", counts.dropped)
        yield Observation(time_ns, hop, "capture_bytes", "B", capture.pcap.stat().st_size)
        yield Observation(time_ns, hop, "capture_bound_reached", "1", full)
        if (offset_ns := self._offsets_ns.get(hop)) is not None:
            offset_us = offset_ns / _NS_PER_US
            yield Observation(time_ns, hop, "capture_clock_offset_us", "us", offset_us)


def buffer_kib(host: Host, wanted: int) -> int:
    """Return the size of a capture's buffer in the host's kernel, KiB: `wanted`, or less if the
    host has little memory available. Raises MeasurementError."""
    _, available = memory_bytes(host.read_text("/proc/meminfo"))
    return min(wanted, max(1, int(available * _BUFFER_SHARE) // _BYTES_PER_KIB))


def _await_written(capture: _Capture) -> None:
    """Wait until tcpdump has written the packets that the kernel keeps for it. On a busy machine,
    these may be the last packets of the trial. At each SIGUSR1, tcpdump prints its counts: it is
    done when it has captured or dropped all packets that its filter received. If that takes too
    long, a warning is logged."""
    seen_answers = 0

    def has_all() -> bool:
        nonlocal seen_answers
        answers = tcpdump_output.so_far(capture.said.read_text(errors="replace"))
        # An answer to the latest signal is needed: packets may have come since an earlier one.
        if len(answers) > seen_answers and answers[-1].captured + answers[-1].dropped >= (
            answers[-1].received
        ):
            return True
        seen_answers = len(answers)
        capture.process.send_signal(signal.SIGUSR1)
        return False

    written = capture.process.becomes(has_all, timeout_s=_WRITTEN_TIMEOUT_S, period_s=_POLL_S)
    if not written and capture.process.poll() is None:
        log.warning(
            "tcpdump at %s was behind when the trial ended: its last packets may be missing",
            capture.hop.name,
        )


def _await_listening(capture: _Capture) -> None:
    """Wait until tcpdump captures. Raises MeasurementError when it ends or takes too long."""

    def listening() -> bool:
        return tcpdump_output.listening(capture.said.read_text(errors="replace"))

    if not capture.process.becomes(listening, timeout_s=_START_TIMEOUT_S, period_s=_POLL_S):
        status = capture.process.poll()
        silent = (
            "it printed nothing"
            if status is None
            else f"it ended with {status} and printed nothing"
        )
        complaint = capture.said.read_text(errors="replace").strip()
        raise MeasurementError(
            f"tcpdump does not capture at {capture.hop.name}: {complaint or silent}"
        )
