"""sfcmon: reads the heavy hitters that SFCMon finds while a probe runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf.dataplane import binaries
from sfcperf.errors import CannotBeMeasured, InputError, MeasurementError
from sfcperf.management.deployment import Deployment, FlowReporter, FlowWatch, FlowWindow
from sfcperf.management.observable import AskObservable
from sfcperf.passive.base import Monitor
from sfcperf.plugins import Requirement, array, choice, object_schema
from sfcperf.results import flows
from sfcperf.results.flows import FlowRecord
from sfcperf.results.values import Observation
from sfcperf.vnfs.sfcmon import sketch_parameters
from sfcperf.vnfs.sfcmon.running import BINARY
from sfcperf.workflow.model import Scenario


def _lower(description: str) -> str:
    """Return a description with a small first letter, for the middle of a sentence."""
    return description[0].lower() + description[1:]


class SfcmonMonitor(Monitor):
    """Packets and flows of each window, as SFCMon reports them: in the functions of type `sfcmon`
    (or `heavy_hitter`, see there) in the chain, or between classifier and SFF, as the paper has it
    (`at: sffs`), where each packet is counted once per lookup, with the SPI and SI of the lookup.

    The windows of a trial begin and end with it. Flows go to `flows.parquet`. At the end of each
    window, telemetry has for the function, `mon-1`, or the SFF, `sff@node1`: `monitored_packets`
    (all, of listed flows or not), `flows` (listed), `missing_flows` (not listed, because the window
    has too many; a full table cannot tell how many) with `missing_packets` (they have at most so
    many together), `threshold` (least packets of a heavy hitter), `residual_cells` (signs of Bloom
    filter false positives) and `unparsed_REASON` (frames that were not monitored).

    Functions have their own windows, thresholds and sizes (knobs of the VNF type).
    """

    name = "sfcmon"
    title = "Heavy hitters: the flows that SFCMon lists, in functions of type sfcmon or at SFFs"
    cost = (
        "reading a window costs the monitor some ms of CPU; the functions work without it too; at "
        "an SFF, each lookup takes 90 to 250 ns longer (vnfs/sfcmon/README.md)"
    )
    parameters = object_schema(
        {
            "at": choice(
                "Where: `functions` of type sfcmon or heavy_hitter; `sffs`, in front of their "
                "lookups; or `both`.",
                ("functions", "sffs", "both"),
                default="functions",
            ),
            "nodes": array(
                "At SFFs: nodes whose SFFs monitor. Default: all.",
                {"type": "string"},
                minItems=1,
                uniqueItems=True,
            ),
            **{
                name: {**schema, "description": f"At SFFs: {_lower(schema['description'])}"}
                for name, schema in sketch_parameters.PROPERTIES.items()
            },
        }
    )

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        super().__init__(parameters)
        self._reporters: dict[str, FlowReporter] = {}
        """Functions that list flows, by name."""
        self._watches: dict[str, FlowWatch] = {}
        """SFFs that are watched, by name."""
        self._windows: list[tuple[str, FlowWindow]] = []
        """All windows, each with the name of its function or SFF; empty until `stop`."""
        self._cpu_s = 0.0

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Require nothing. Functions have what they need; what SFFs need is checked by
        `check_scenario`, since `at` decides whether it is needed."""
        return []

    @classmethod
    def check_scenario(
        cls, parameters: Mapping[str, Any], scenario: Scenario, observable: AskObservable
    ) -> None:
        """Refuse nodes that do not exist, and SFFs that SFCMon cannot monitor. Raises InputError,
        and EnvironmentLacks without the compiled tool that SFFs need."""
        if parameters["at"] == "functions":
            return
        nodes = parameters.get("nodes", [node.name for node in scenario.topology.nodes])
        _refuse_nodes(nodes, [node.name for node in scenario.topology.nodes])
        seen = observable()  # None: not known before the scenario is built
        if seen is None:
            return
        blind = [node for node in nodes if node not in seen.watchable_sffs]
        if blind:
            raise InputError(
                f"SFCMon cannot monitor at the SFF of {', '.join(blind)}",
                where="at",
                allowed="`functions`, with a VNF of type `sfcmon` in the chain",
                hint="the SFFs of the local driver can be monitored",
            )
        binaries.requirement(BINARY).demand()

    def start(self, deployment: Deployment, raw_dir: Path) -> None:
        """Begin a window in the functions, start to watch the SFFs, or both, as `at` says. Raises
        CannotBeMeasured for a place that the deployment does not have."""
        began_s = time.thread_time()
        if self.parameters["at"] != "sffs":
            self._begin_functions(deployment)
        if self.parameters["at"] != "functions":
            self._watch_sffs(deployment, raw_dir)
        self._cpu_s = time.thread_time() - began_s

    def _begin_functions(self, deployment: Deployment) -> None:
        """Begin a window in each function that lists flows. Raises CannotBeMeasured when no
        function does, unless the chain is a baseline."""
        self._reporters = {
            function.name: function.flows
            for function in deployment.functions
            if function.flows is not None
        }
        # A chain that has a function with `monitor: none`, or no function at all, is a baseline to
        # compare with: it need not list flows.
        if not self._reporters and not _baseline(deployment):
            raise CannotBeMeasured(
                "no function of this chain lists flows, which the monitor `sfcmon` needs",
                hint="add a VNF of type `sfcmon` or `heavy_hitter` to the chain, set "
                '"at": "sffs", or leave the monitor out',
            )
        for reporter in self._reporters.values():
            reporter.begin_window()

    def _watch_sffs(self, deployment: Deployment, raw_dir: Path) -> None:
        """Start to watch the SFFs of `nodes`, or all of them. Raises CannotBeMeasured when one of
        them cannot be watched."""
        sffs = deployment.watchable_sffs
        names = [f"sff@{node}" for node in self.parameters.get("nodes", ())] or list(sffs)
        if not names or not set(names) <= set(sffs):
            raise CannotBeMeasured(
                f"SFCMon cannot monitor at {', '.join(names) or 'any SFF'} of this deployment",
                allowed=", ".join(sffs) or "functions of type `sfcmon`",
            )
        for name in names:
            output = raw_dir / f"{self.name}-{name}.windows.jsonl"
            # The file of an earlier attempt at this trial is removed.
            output.unlink(missing_ok=True)
            self._watches[name] = sffs[name].watch(self.parameters, output)

    def stop(self) -> Sequence[Observation]:
        """End all windows, and give their counts and the monitor's CPU time."""
        began_s = time.thread_time()
        self._windows = [
            *self._end_watches(),
            *(
                (name, window)
                for name, reporter in self._reporters.items()
                for window in reporter.end_window()
            ),
        ]
        observations = [
            observation for name, window in self._windows for observation in _totals(name, window)
        ]
        observations.sort(key=lambda observation: observation.time_ns)
        self._cpu_s += time.thread_time() - began_s
        own = Observation(time.time_ns(), self.name, "monitor_cpu_s", "s", self._cpu_s)
        return [*observations, own]

    def _end_watches(self) -> list[tuple[str, FlowWindow]]:
        """Stop watching all SFFs, and return their windows with the SFFs' names. All watches are
        stopped, also when one fails; then the first MeasurementError is raised."""
        found, problems = [], []
        for name, watch in self._watches.items():
            try:
                found += [(name, window) for window in watch.stop()]
            except MeasurementError as error:
                problems.append(error)
        if problems:
            raise problems[0]
        return found

    def flows(self) -> Sequence[FlowRecord]:
        """Give the listed flows of all windows."""
        return [
            FlowRecord(
                function=name,
                window_start_ns=window.start_ns,
                window_end_ns=window.end_ns,
                **vars(flow),  # its fields have the same names
            )
            for name, window in self._windows
            for flow in window.flows
        ]


def _refuse_nodes(nodes: Sequence[str], there: Sequence[str]) -> None:
    """Raise InputError for a node that the topology does not have."""
    for place, node in enumerate(nodes):
        if node not in there:
            raise InputError(
                f"there is no node {node!r}", where=f"nodes/{place}", allowed=", ".join(there)
            )


def _baseline(deployment: Deployment) -> bool:
    """Whether a chain in which no function lists flows is a baseline: it has no functions, or one
    of type sfcmon whose monitoring is off."""
    return not deployment.functions or any(f.type == "sfcmon" for f in deployment.functions)


def _totals(function: str, window: FlowWindow) -> Iterator[Observation]:
    """Give the counts of a window as observations at its end; none for a count that is not
    known."""
    counts: Mapping[str, int | None] = {
        flows.MONITORED_PACKETS: window.packets,
        "flows": len(window.flows),
        flows.MISSING_FLOWS: window.missing_flows,
        flows.MISSING_PACKETS: window.missing_packets,
        flows.RESIDUAL_CELLS: window.residual_cells,
        "threshold": window.threshold_packets,
        **{f"{flows.UNPARSED}{reason}": count for reason, count in window.unparsed.items()},
    }
    for metric, count in counts.items():
        if count is None:  # the function does not know how many
            continue
        yield Observation(window.end_ns, function, metric, "1", count)
