"""pptmon: measures the packet processing time of each VNF, in band."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf import plugins, waiting
from sfcperf.dataplane import binaries
from sfcperf.errors import CannotBeMeasured, MeasurementError
from sfcperf.hosts import clock
from sfcperf.hosts.procfs import used_cpu_s
from sfcperf.management.deployment import Deployment
from sfcperf.passive.base import Monitor
from sfcperf.passive.pptmon_instance import Instance, InstanceResult, end_all
from sfcperf.passive.pptmon_observations import VISIBLE, lost_on_the_way, observations
from sfcperf.passive.pptmon_placement import Placement, place, visible
from sfcperf.plugins import Requirement, array, choice, number, object_schema, port, positive
from sfcperf.results.tables import MONITOR_CORES, MONITOR_COST
from sfcperf.results.values import Observation
from sfcperf.workflow.model import Scenario

BINARY = "pptmon"
_START_AND_STOP_S = 0.5
"""Time to start and stop pptmon at three VNFs together, on a virtual machine with 2 cores; for
estimates only."""
_NETWORK = {"type": "string", "pattern": "^[0-9A-Fa-f.:]+(/[0-9]{1,3})?$"}

log = logging.getLogger(__name__)


class PptmonMonitor(Monitor):
    """Runs an instance of `pptmon` at each VNF. The first one of the chain writes a header into
    sampled TCP and UDP packets (with NSH MD type 2: into any packet), each adds its time, and the
    last one restores the packet and reports (Van Tu et al., CNSM 2020).

    Each sample has `processing_time_us`, or the other `metrics`, of each VNF. The source `chain`
    has `chain_processing_time_us`, the sum over the VNFs if the sample contains all of them, and,
    with the metric `delay`, `end_to_end_us`. Names of the reverse direction begin with `reverse_`.
    At the end come counters: `pptmon_sampled`, `pptmon_reported`, `pptmon_truncated_samples`, ...
    """

    name = "pptmon"
    title = "Packet processing time of each VNF, measured in band (PPTMon)"
    cost = (
        "BPF programs on each VNF's interfaces look at every packet (tens of ns) and rewrite "
        "sampled ones; on the VNF's CPUs, one process per VNF uses 0.1 to 0.3 % of a CPU while a "
        "probe measures at 10 samples per second, and 40 ms of CPU time before, to start"
    )
    parameters = object_schema(
        {
            "rate_hz": positive(
                "Samples per second, at most. Default: 1, unless period_ms is set.",
                1_000_000,
            ),
            "period_ms": number(
                "Time between two samples, ms, instead of rate_hz. 0 samples every packet that has "
                "room; use it for slow traffic only.",
                (0, 3_600_000),
            ),
            "choice": choice(
                "Which packet of a period is sampled: one at `random`, or, as in the paper, the "
                "`first`, which is often the slowest of a burst.",
                ["random", "first"],
                default="random",
            ),
            "format": choice(
                "Format of samples in packets: that of RFC 6994 and RFC 9868, or that of the "
                "paper. For Linux's connection tracking, the paper's trailer behind UDP makes the "
                "checksum wrong, so stateful VNFs (NAT, firewall, load balancer) may drop sampled "
                "datagrams.",
                ["rfc", "paper"],
                default="rfc",
            ),
            "carrier": choice(
                "What carries samples: `l4`, TCP or UDP options; `nsh`, NSH metadata; `auto`, NSH "
                "metadata if the packet has MD type 2, otherwise options.",
                ["auto", "l4", "nsh"],
                default="auto",
            ),
            "metrics": array(
                "What VNFs write; both alternate from sample to sample. `time`: their "
                "processing time. `delay`: time since the first VNF received the packet, which "
                "also gives the end-to-end time (VNFs must share a clock, so separate VMs are "
                "rejected).",
                {"enum": ["time", "delay"]},
                minItems=1,
                uniqueItems=True,
                default=["time"],
            ),
            "filter": object_schema(
                {
                    "protocol": choice("Transport protocol.", ["tcp", "udp"]),
                    "source": {
                        **_NETWORK,
                        "description": "Source address or prefix, IPv4 or IPv6.",
                    },
                    "destination": {**_NETWORK, "description": "Destination address or prefix."},
                    "source_port": port("TCP or UDP port."),
                    "destination_port": port("TCP or UDP port."),
                },
                default={},
                description="Packets to sample, as they reach the first VNF from the client; "
                "mirrored for the reverse direction.",
            ),
            "direction": choice(
                "Packets from client to server (`forward`), replies (`reverse`), or both (two "
                "instances per VNF).",
                ["forward", "reverse", "both"],
                default="forward",
            ),
            "drain_s": number(
                "How long the other VNFs keep measuring after the first one stopped sampling, "
                "seconds. Must exceed the time of a packet through the chain.",
                (0, 60),
                default=0.2,
            ),
        },
        dependentSchemas={
            "rate_hz": {
                "properties": {
                    "period_ms": {"not": {}, "description": "rate_hz or period_ms, not both"}
                }
            }
        },
    )

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        super().__init__(parameters)
        self._instances: list[Instance] = []
        """Running instances, in the order in which they were started."""
        self._seen: dict[str, bool] = {}
        """VNF -> whether pptmon can see its packets."""
        self._cpu_s = 0.0
        self._ready_s = self._cpu_s_before = 0.0
        """When all instances were ready (monotonic clock), and their CPU time until then."""

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Require the compiled tool and a kernel that accepts its BPF programs. The kernel is only
        asked if the tool is there, since the tool asks it."""
        from sfcperf.passive.pptmon_check import kernel_requirement

        built = binaries.requirement(BINARY)  # if it is met, its detail is the tool's path
        return [built, kernel_requirement(Path(built.detail))] if built.met else [built]

    @classmethod
    def scenario_warnings(cls, parameters: Mapping[str, Any], scenario: Scenario) -> Sequence[str]:
        """Warn if no packet of the probes and monitors can carry samples. With the carrier `nsh`,
        any packet can."""
        if parameters["carrier"] == "nsh" or not scenario.chain.functions:
            return ()
        wanted = parameters.get("filter", {}).get("protocol")
        carriers = {wanted} if wanted else {"tcp", "udp"}
        probes = [
            plugins.load("probe", spec.probe).ip_protocols(spec.parameters)
            for spec in scenario.probes
        ]
        monitors = [plugins.load("monitor", spec.monitor).protocols for spec in scenario.monitors]
        # A probe that names no protocols may send any.
        if not all(probes) or any(sent & carriers for sent in (*probes, *monitors)):
            return ()
        names = " or ".join(sorted(name.upper() for name in carriers))
        labels = ", ".join(spec.label for spec in scenario.probes)
        return [
            f"pptmon will take no samples: {names} packets carry them, and the probes send none "
            f"({labels}); add a probe that does, such as iperf3"
        ]

    @classmethod
    def trial_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the time to start and stop pptmon, plus `drain_s`."""
        return _START_AND_STOP_S + float(parameters["drain_s"])

    def start(self, deployment: Deployment, raw_dir: Path) -> None:
        """Attach an instance at each VNF, and return when samples are taken. If one fails, all are
        detached, and the error is raised."""
        started = time.thread_time()
        self._seen = {function.name: visible(function) for function in deployment.functions}
        placements = place(deployment, self.parameters["direction"])
        unseen = [name for name, seen in self._seen.items() if not seen]
        if unseen:
            log.info("pptmon does not see %s: packets pass no tc hook there", ", ".join(unseen))
        self._check_clocks(placements)
        try:
            # Sources start only when all the others work: otherwise nobody would take the header
            # out of the first sampled packets.
            for sampling in (False, True):
                for placement in (p for p in placements if p.samples is sampling):
                    options = placement.options(self.parameters)
                    binary = binaries.find(BINARY)
                    self._instances.append(Instance.start(placement, options, binary, raw_dir))
                for instance in self._instances:
                    instance.await_ready()
        except BaseException:
            self._end()
            raise
        self._cpu_s_before, self._ready_s = self._processes_cpu_s(), time.monotonic()
        self._cpu_s += time.thread_time() - started

    def stop(self) -> Sequence[Observation]:
        """Detach and read the samples. Raises MeasurementError when an instance has died: packets
        may have left the chain with a header."""
        started = time.thread_time()
        cores = self._cores()  # while the processes still run
        ended = self._end()
        problems = [f"{e.placement.function.name}: {e.problem}" for e in ended if e.problem]
        if problems:
            raise MeasurementError(f"pptmon at {'; '.join(problems)}")
        for direction, sampled in lost_on_the_way(ended).items():
            log.warning(
                "pptmon: %d packets got a header, %s, and none of them reached the last VNF: "
                "something on the way drops them or takes the header out",
                sampled,
                direction,
            )
        time_ns = time.time_ns()
        found = observations(ended, time_ns)
        found += [Observation(time_ns, n, VISIBLE, "1", seen) for n, seen in self._seen.items()]
        if cores is not None:
            found.append(Observation(time_ns, self.name, MONITOR_CORES, "1", cores))
        self._cpu_s += time.thread_time() - started + sum(instance.cpu_s for instance in ended)
        return [*found, Observation(time_ns, self.name, MONITOR_COST, "s", self._cpu_s)]

    def _cores(self) -> float | None:
        """Return how many CPUs the processes have used since all of them were ready; None if there
        are none.

        The time before is left out: until the kernel has verified its programs, a process uses as
        much CPU time as for half a minute of measuring, and this is over when the probe begins.
        """
        if not self._instances:
            return None
        used_s = self._processes_cpu_s() - self._cpu_s_before
        return used_s / (time.monotonic() - self._ready_s)

    def _processes_cpu_s(self) -> float:
        """Return the CPU time of all processes so far, seconds."""
        return sum(used_cpu_s(i.placement.host, i.process.pid) for i in self._instances)

    def _check_clocks(self, placements: Sequence[Placement]) -> None:
        """Refuse the metric `delay` for VNFs that do not share a clock, since each VNF compares its
        own clock with the time that the first one has written. Raises CannotBeMeasured."""
        if "delay" in self.parameters["metrics"] and not clock.shared(p.host for p in placements):
            raise CannotBeMeasured(
                "pptmon's metric `delay` compares the clocks of the VNFs, which are machines with "
                "clocks of their own here",
                allowed="`time`: each VNF measures it by itself",
            )

    def _end(self) -> list[InstanceResult]:
        """End all instances. Sources end first; the others go on for `drain_s`, until sampled
        packets have left the chain, so that no packet leaves it with a header."""
        instances, self._instances = self._instances, []
        sources = [instance for instance in instances if instance.placement.samples]
        others = [instance for instance in instances if not instance.placement.samples]
        ended = end_all(sources)
        if sources and others:
            waiting.sleep(self.parameters["drain_s"])
        # The others end along the path: a VNF still measures packets that the one before it let go.
        return ended + end_all(others[::-1])
