"""sdn-mon: counts flows at the switches by SDN-Mon while a probe runs."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import Any

from sfcperf import retry
from sfcperf.dataplane import binaries
from sfcperf.dataplane.sdnmon import fields
from sfcperf.dataplane.sdnmon.bpf_file_system import BpfFileSystem
from sfcperf.dataplane.sdnmon.switch import BINARY, MonitoredSwitch, Table
from sfcperf.errors import CannotBeMeasured, InputError, MeasurementError
from sfcperf.hosts.procfs import interface_counters
from sfcperf.management.deployment import Deployment, Switch
from sfcperf.management.observable import AskObservable
from sfcperf.passive import sdn_mon_counts
from sfcperf.passive.base import Monitor
from sfcperf.passive.sdn_mon_exports import KINDS, ExportingSwitch
from sfcperf.plugins import Requirement, array, choice, integer, number, object_schema
from sfcperf.results.flows import FlowRecord
from sfcperf.results.values import Observation
from sfcperf.workflow.model import Scenario

FIVE_TUPLE = ("ipv4_src", "ipv4_dst", "ip_proto", "tp_src", "tp_dst")
_MOST_ENTRIES = 1_000_000
_MOST_SLOTS = 64
_LEAST_SLOT_MS = 10
_DAY_MS = 24 * 3600 * 1000
_UNDER_WAY_S = 2.0
"""Time within which packets that a port has counted reach SDN-Mon's programs, even on a busy
machine."""
_OPTIONS = {
    "mode": "mode",
    "ratio": "ratio",
    "counter_buffer_size": "slots",
    "query_interval_ms": "query-interval-ms",
    "capacity": "capacity",
    "limit": "limit",
    "threshold": "notify",
}
"""Parameter of the monitor -> option of sfc-sdnmon."""


class SdnMonMonitor(Monitor):
    """Counts packets by flow where they arrive at the ports of each SFF, as SDN-Mon does: any match
    fields, a sample of the flows, counter buffers. All switches sample the same flows.

    Flows go to `flows.parquet`: a row for each slot of a flow's counter buffer, and one for the
    time before them, so that the rows of a flow add up to all that was counted of it. Columns of
    fields that are not monitored, or that the packets do not have, are empty; fields without a
    column are not there.

    At the end, telemetry has for each switch, `sff@node1`: `received_packets` (they arrived), and
    of these `unsampled_packets`, `overflowed_packets` and so on (docs/reference/sdn-mon.md);
    `monitored_packets` of each slot; `entries` of the table, and `unlisted_flows` of these, which
    `most_flows` leaves out of `flows.parquet`; `notifications`; `port_packets`, which the
    interfaces of the ports have counted themselves meanwhile, in frames; `rx_pps`. If `flows` is
    given, `sampled_ratio` is the share of them that has an entry, between `sampled_ratio_low` and
    `sampled_ratio_high` with a probability of 99.9999 %.

    The source `chain` has `cpu_ns_per_packet`: CPU time of all instances, endpoints included, by
    the packets that the ports have counted; each switch has its own, in which that of programs of
    the kernel may be missing: they run in the sender's time. With the mode `none`, this and
    `port_packets` are all there is: the baseline. With `sflow` and `ipfix`, each switch has
    `export_datagrams`, `export_bytes` and `export_records` as well, which a collector has counted
    beside it.

    A trial fails if fewer packets were counted than the ports have.
    """

    name = "sdn-mon"
    title = "SDN-Mon: flows, or a sample of them, at the ports of each SFF"
    cost = (
        "each frame that arrives at a port takes some 50 ns longer if its flow is not sampled, and "
        "up to 400 ns if it is one of 200,000 (dataplane/sdnmon/README.md); tables are read "
        "afterwards"
    )
    parameters = object_schema(
        {
            "mode": choice(
                "Sampling by a keyed `hash`, or by the paper's `bloom` filter. To compare with: "
                "`none` monitors nothing; `sflow` and `ipfix` are those of Open vSwitch, of a "
                "share `ratio` of the packets.",
                ("hash", "bloom", "none", *KINDS),
                default="hash",
            ),
            "fields": array(
                "Monitoring match fields, `FIELD` or `FIELD/MASK`.",
                {"type": "string", "pattern": "^[a-z0-9_]+(/[0-9a-fA-Fx.:]+)?$"},
                minItems=1,
                uniqueItems=True,
                default=list(FIVE_TUPLE),
            ),
            "ratio": number("Share of the flows that are monitored.", (0, 1), default=1),
            "counter_buffer_size": integer(
                "S_b: slots of the counter buffer of each flow.", (1, _MOST_SLOTS), default=5
            ),
            "query_interval_ms": integer(
                "ΔT_q: time that a counter buffer covers, ms; at least "
                f"{_LEAST_SLOT_MS} for each slot.",
                (_LEAST_SLOT_MS, _DAY_MS),
                default=10_000,
            ),
            "capacity": integer(
                "Entries for which each switch reserves memory.",
                (1, _MOST_ENTRIES),
                default=131_072,
            ),
            "limit": integer(
                "Largest number of entries of a switch. Default: the capacity.", (1, _MOST_ENTRIES)
            ),
            "threshold": integer(
                "Number of entries above which a switch notifies the controller; 0: never.",
                (0, _MOST_ENTRIES),
                default=0,
            ),
            "hash_key": {
                "type": "string",
                "pattern": "^[0-9a-f]{16}$",
                "description": "Key with which all switches hash. Default: a random one, the same "
                "for all trials of a run.",
            },
            "nodes": array(
                "Nodes whose SFFs monitor. Default: all.",
                {"type": "string"},
                minItems=1,
                uniqueItems=True,
            ),
            "most_flows": integer(
                "Number of flows to list per switch: those with the most packets.",
                (0, _MOST_ENTRIES),
                default=10_000,
            ),
            "flows": integer(
                "Number of flows that arrive at each switch, if it is known.", (1, 1 << 40)
            ),
        }
    )

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        super().__init__(parameters)
        self._open = ExitStack()
        self._switches: dict[str, MonitoredSwitch] = {}
        """The switches that SDN-Mon monitors, by name; empty in the other modes."""
        self._exporting: dict[str, ExportingSwitch] = {}
        """The switches that export, in the modes `sflow` and `ipfix`."""
        self._tables: dict[str, Table] = {}
        """The table of each switch at the end."""
        self._cpu_s = 0.0

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Require the compiled tool sfc-sdnmon."""
        return [binaries.requirement(BINARY)]

    @classmethod
    def check_scenario(
        cls, parameters: Mapping[str, Any], scenario: Scenario, observable: AskObservable
    ) -> None:
        """Refuse parameters that contradict each other, nodes that do not exist, and switches that
        lack the mode. Raises InputError."""
        _check(parameters)
        there = [node.name for node in scenario.topology.nodes]
        for place, node in enumerate(parameters.get("nodes", ())):
            if node not in there:
                raise InputError(
                    f"there is no node {node!r}", where=f"nodes/{place}", allowed=", ".join(there)
                )
        seen = observable()  # None: not known before the scenario is built
        nodes = parameters.get("nodes", there)
        mode = parameters["mode"]
        if seen is not None and mode in KINDS and not set(nodes) <= set(seen.exporting_switches):
            raise InputError(
                f"not all of these switches have {mode}",
                where="mode",
                hint="Open vSwitch has it: the local driver's data plane `ovs`",
            )
        if seen is not None and not set(nodes) <= set(seen.switches):
            raise InputError(
                "SDN-Mon cannot monitor the switches of this infrastructure",
                hint="those of the local driver can be monitored",
            )

    def start(self, deployment: Deployment, raw_dir: Path) -> None:
        """Start what `mode` asks for at each switch, then read the counters of its ports. Raises
        CannotBeMeasured when no switch can be monitored."""
        began_s = time.thread_time()
        nodes = self.parameters.get("nodes")
        self._places: Mapping[str, Switch] = {
            name: switch
            for name, switch in deployment.switches.items()
            if nodes is None or name.partition("@")[2] in nodes
        }
        if not self._places:
            raise CannotBeMeasured("this deployment has no switch that SDN-Mon can monitor")
        if (mode := self.parameters["mode"]) in KINDS:
            for name, switch in self._places.items():
                ratio = self.parameters["ratio"]
                self._exporting[name] = ExportingSwitch(switch, mode, ratio)
        elif mode != "none":
            file_system = self._open.enter_context(BpfFileSystem())
            for number_, (name, switch) in enumerate(self._places.items()):
                monitored = MonitoredSwitch(switch.host, file_system.folder / str(number_))
                self._switches[name] = monitored
                monitored.on(self._options(), switch.interfaces)
        self._deployment = deployment
        self._cpu_s += time.thread_time() - began_s
        # Comes last: `_ended` takes it as the sign that the start succeeded.
        self._before = self._measured()

    def stop(self) -> Sequence[Observation]:
        """Read what the switches counted, and stop monitoring them, also after an error. Raises
        MeasurementError when SDN-Mon missed packets of the ports."""
        try:
            return self._ended()
        finally:
            for exporting in self._exporting.values():
                with suppress(MeasurementError):
                    exporting.stop()
            for switch in self._switches.values():
                # An error here would hide the first one. Closing the file system removes what is
                # left of the monitoring.
                with suppress(MeasurementError):
                    switch.off()
            self._open.close()

    def _ended(self) -> list[Observation]:
        """Read all counts at the end of the trial, and return them as observations; none if the
        monitor did not start. The tables are kept for `flows`. Raises MeasurementError when SDN-Mon
        missed packets."""
        if not hasattr(self, "_before"):
            return []
        # Both are triples: CPU times, packets of the ports, and the time of the reading.
        after = self._measured()
        began_s = time.thread_time()
        ports = {name: count - self._before[1][name] for name, count in after[1].items()}
        elapsed_s = after[2] - self._before[2]
        statuses = {name: self._status(name, ports[name]) for name in self._switches}
        now_ns = time.time_ns()
        found: list[Observation] = []
        for name, switch in self._switches.items():
            table = self._tables[name] = switch.table()
            found += sdn_mon_counts.of_switch(
                now_ns, name, statuses[name], table, self.parameters, elapsed_s
            )
        for name, exporting in self._exporting.items():
            exporting.stop()
            self._cpu_s += exporting.cpu_s
            for metric, count in exporting.counts.items():
                found.append(Observation(now_ns, name, metric, "1", count))
        for name, count in ports.items():
            found.append(Observation(now_ns, name, "port_packets", "1", count))
        used_s = {name: cpu_s - self._before[0][name] for name, cpu_s in after[0].items()}
        found += sdn_mon_counts.cpu_time(now_ns, used_s, ports)
        self._cpu_s += time.thread_time() - began_s
        found.append(Observation(now_ns, self.name, "monitor_cpu_s", "s", self._cpu_s))
        return sorted(found, key=lambda observation: observation.time_ns)

    def flows(self) -> Sequence[FlowRecord]:
        """Give the `most_flows` flows with the most packets of each switch, a row for each slot."""
        return [
            record
            for name, table in self._tables.items()
            for record in sdn_mon_counts.records(name, table, self.parameters["most_flows"])
        ]

    def _options(self) -> list[str]:
        """Return the options of sfc-sdnmon; the same for all switches, also the hash key, so that
        all of them sample the same flows."""
        options = ["--fields", ",".join(self.parameters["fields"])]
        options += ["--key", self.parameters.get("hash_key") or _hash_key_of_this_process()]
        for parameter, option in _OPTIONS.items():
            if parameter in self.parameters:
                options += [f"--{option}", str(self.parameters[parameter])]
        return options

    def _measured(self) -> tuple[dict[str, float], dict[str, int], float]:
        """Return the CPU time of each instance so far, seconds, the packets that the ports of each
        switch have received so far, and when they were read, by the monotonic clock."""
        cpu_s = {name: meter.cpu_s() for name, meter in self._deployment.meters.items()}
        counted = {}
        for name, switch in self._places.items():
            there = interface_counters(switch.host.read_text("/proc/net/dev"))
            counted[name] = sum(there[port].rx_packets for port in switch.interfaces)
        return cpu_s, counted, time.monotonic()

    def _status(self, name: str, port_packets: int) -> dict[str, Any]:
        """End the monitoring of a switch, and return its status then. The programs get some time to
        count all `port_packets` that the ports have received. Raises MeasurementError if they count
        fewer."""
        switch = self._switches[name]

        def all_counted() -> bool:
            return bool(switch.status()["packets"]["received"] >= port_packets)

        # Whether all were counted is judged below, by the status after the end.
        retry.until(all_counted, timeout_s=_UNDER_WAY_S, period_s=0.02)
        switch.detach()
        status = switch.status()
        received = status["packets"]["received"]
        if received < port_packets:
            raise MeasurementError(
                f"SDN-Mon counted {received} packets at {name}, whose ports received "
                f"{port_packets}",
                hint="was a port, or the switch, started again meanwhile?",
            )
        return status


def _check(parameters: Mapping[str, Any]) -> None:
    """Refuse unknown match fields and parameters that contradict each other. Raises InputError."""
    for place, word in enumerate(parameters["fields"]):
        if word.partition("/")[0] not in fields.NAMES:
            raise InputError(
                f"{word!r} is no monitoring match field",
                where=f"fields/{place}",
                allowed=", ".join(fields.NAMES),
            )
    if parameters["mode"] in KINDS and not parameters["ratio"]:
        raise InputError(
            f"{parameters['mode']} of no packets",
            where="ratio",
            allowed="more than 0",
            hint="the mode `none` is the baseline",
        )
    least_ms = _LEAST_SLOT_MS * parameters["counter_buffer_size"]
    if parameters["query_interval_ms"] < least_ms:
        raise InputError(
            f"a slot of the counter buffers is shorter than {_LEAST_SLOT_MS} ms",
            where="query_interval_ms",
            allowed=f"at least {least_ms}",
        )
    if parameters.get("limit", 0) > parameters["capacity"]:
        raise InputError(
            "the limit is above the capacity",
            where="limit",
            allowed=f"at most {parameters['capacity']}",
        )


@cache
def _hash_key_of_this_process() -> str:
    """Return a random hash key. It is made once in a process, so that all switches and trials of a
    run sample the same flows."""
    return secrets.token_hex(8)
