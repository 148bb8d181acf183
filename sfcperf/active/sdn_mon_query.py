"""sdn_mon_query: how long the controller of SDN-Mon needs for a statistics query."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from sfcperf.active.base import Probe, ProbeResult, samples
from sfcperf.active.pktgen import MOST_FLOWS, USUAL_PORT
from sfcperf.dataplane import binaries
from sfcperf.dataplane.sdnmon.controlled_switch import AGENT, ControlledSwitch
from sfcperf.dataplane.sdnmon.controller.requirements import requirement
from sfcperf.environment import tools
from sfcperf.errors import CannotBeMeasured, InputError, MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import Requirement, flag, integer, number, object_schema, port
from sfcperf.results.values import Metric

_QUERY_TAKES_S = 0.05
"""Estimated time of a query, for plans only."""
_LAST_PORT = 65535
_METRICS = (
    Metric(
        "query_ms", "ms",
        "from the controller's request to all entries as arrays, median of the queries",
        better="lower", primary=True,
    ),
    Metric("query_max_ms", "ms", "the slowest of the queries", better="lower"),
    Metric(
        "query_bytes", "B",
        "what crosses the link between agent and controller, with headers, median of the queries",
        better="lower",
    ),
    Metric("packets", "1", "packets of all entries at the last query"),
)  # fmt: skip


class SdnMonQuery(Probe):
    """Measures how long a controller takes to read the whole monitoring table of the first switch
    (SDN-Mon paper, section 4.3). It reads the table `queries` times by the OpenFlow channel: a
    controller with os-ken asks, and the switch's agent answers. Both run in the switch's network
    namespace.

    First, the controller adds the entries: UDP flows from client to server, as the monitor
    `background` sends them, the first source port being 1024. Match fields are the 5-tuple of IPv4.
    Packets of other flows are not monitored.
    """

    name = "sdn_mon_query"
    reported = _METRICS
    title = "Time of a statistics query of SDN-Mon, from the controller to the parsed reply"
    parameters = object_schema(
        {
            "entries": integer(
                "Number of entries in the monitoring table.", (0, 1_000_000), default=7950
            ),
            "queries": integer("Number of queries, one after the other.", (1, 1000), default=5),
            "pause_s": number("Pause before each query, seconds.", (0, 60), default=0.2),
            "buffers": flag("Whether replies contain the counter buffers.", default=True),
            "port": port("Destination port of the flows.", default=USUAL_PORT),
            "link_rate_bps": integer(
                "Rate of the link between agent and controller, bit/s, whose packets have at most "
                "1500 bytes. Default: the loopback interface, without a limit.",
                (1_000_000, 10_000_000_000),
            ),
        }
    )
    _switch: ControlledSwitch | None = None

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Require the compiled agent, the Python package os-ken, which is the controller, and `tc`,
        which limits the link."""
        return [
            binaries.requirement(AGENT),
            requirement(),
            tools.tool("tc", "iproute2", ["tc", "-V"]),
        ]

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Each destination port has MOST_FLOWS flows at most. Raises InputError when the ports that
        the entries need go beyond the last one."""
        last = parameters["port"] + max(parameters["entries"] - 1, 0) // MOST_FLOWS
        if last > _LAST_PORT:
            raise InputError(
                f"{parameters['entries']} entries need the destination ports up to {last}",
                where="port",
                allowed=f"at most {_LAST_PORT - last + parameters['port']}",
            )

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the time of all queries and of the pauses before them; pauses are most of it."""
        return float(parameters["queries"] * (parameters["pause_s"] + _QUERY_TAKES_S))

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """The probe sends no packets through the chain."""
        return 0

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Start agent and controller, and add the entries. Raises CannotBeMeasured if no switch has
        an OpenFlow channel, and MeasurementError if the agent or the controller fails."""
        switches = [each for each in deployment.switches.values() if each.openflow is not None]
        if not switches:
            raise CannotBeMeasured(
                "no switch of this chain has an OpenFlow channel",
                hint="use the data plane `ovs` of the local driver",
            )
        parameters = self.parameters
        self._switch = ControlledSwitch(switches[0], raw_dir, parameters.get("link_rate_bps"))
        # Ratio 0: no flow is sampled, so that the table has only the entries that are added.
        self._switch.ask("begin", ratio=0.0, capacity=max(parameters["entries"], 1))
        ends = {"source": deployment.client.address, "destination": deployment.server.address}
        self._switch.ask("add", port=parameters["port"], count=parameters["entries"], **ends)

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Query the switch `queries` times. Raises MeasurementError for a reply that lacks
        entries."""
        assert self._switch is not None, "prepare comes first"
        parameters, times_ms, sizes, packets = self.parameters, [], [], 0
        for _ in range(parameters["queries"]):
            time.sleep(parameters["pause_s"])
            before = self._switch.channel_bytes()
            reply = self._switch.ask("query", buffers=parameters["buffers"])
            sizes.append(self._switch.channel_bytes() - before)
            if reply["entries"] != parameters["entries"]:
                raise MeasurementError(
                    f"the reply has {reply['entries']} of {parameters['entries']} entries"
                )
            times_ms.append(reply["ms"])
            packets = reply["packets"]
        values = {
            "query_ms": median(times_ms),
            "query_max_ms": max(times_ms),
            "query_bytes": median(sizes),
            "packets": packets,
        }
        return ProbeResult(samples(_METRICS, values), series={"query_ms": times_ms})

    def cleanup(self) -> None:
        """End the agent and the controller, if `prepare` has started them."""
        if self._switch is not None:
            self._switch.close()
            self._switch = None
