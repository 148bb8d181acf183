"""SFCMon as a VNF type: finds the heavy hitters of its paths and returns each packet."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfcperf.dataplane import binaries
from sfcperf.environment import tools
from sfcperf.errors import InputError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement, choice, integer, object_schema
from sfcperf.vnfs import kernel_forwarding
from sfcperf.vnfs.base import Attachment, NetworkFunction, RunningFunction
from sfcperf.vnfs.sfcmon import entries, sketch_parameters
from sfcperf.vnfs.sfcmon.running import BINARY, RunningSfcmon

_starts = itertools.count()
"""Numbers for names of files: each start has files of its own."""
ENGINES = ("ebpf", "bmv2")
MONITORS = ("sketches", "table", "none")
_MOST_TABLE_FLOWS = 1 << 20


class Sfcmon(NetworkFunction):
    """Counts the flows of the sources that send the largest shares of the packets, in an amount of
    memory that does not depend on the number of flows, decrements the service index and returns
    the packet to its SFF."""

    name = "sfcmon"
    title = "SFCMon: finds the heavy hitters of its paths and counts their flows"
    nsh_aware = True
    interfaces = 1
    # Frames are taken before tc.
    kernel_path = False
    parameters = object_schema(
        {
            "engine": choice(
                "`ebpf` works in the driver's receive path (XDP). `bmv2` runs the P4 program on "
                "the reference software switch: correct, but slow.",
                ENGINES,
                default="ebpf",
            ),
            "monitor": choice(
                "What monitors: `sketches` (SFCMon); `table`, an entry and exact counters for each "
                "flow, with which the paper compares it; `none`, packets are only forwarded.",
                MONITORS,
                default="sketches",
            ),
            "table_flows": integer(
                "With `monitor: table`: largest number of flows. Packets of all further flows are "
                "counted together.",
                (1, _MOST_TABLE_FLOWS),
                default=65_536,
            ),
            entries.PARAMETER: {
                **entries.SCHEMA,
                "description": f"With `monitor: table`: {entries.SCHEMA['description']}",
            },
            **sketch_parameters.PROPERTIES,
        }
    )

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """Require the compiled tool; or bmv2, and what speaks with it."""
        if knobs["engine"] == "bmv2":
            from sfcperf.vnfs.sfcmon.bmv2 import requirements

            return [*requirements.requirements(), tools.tool("ip", "iproute2")]
        return [binaries.requirement(BINARY)]

    @classmethod
    def tools(cls, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """Name the commands of `requirements`, and `nft`, which the engine `bmv2` needs on other
        machines."""
        more = ("nft",) if knobs["engine"] == "bmv2" else ()
        return (*super().tools(knobs), *more)

    @classmethod
    def check(cls, knobs: Mapping[str, Any]) -> None:
        """Refuse more entries than the table has room for, and sizes that are too large for the
        engine. Raises InputError."""
        if knobs["engine"] == "bmv2":
            from sfcperf.vnfs.sfcmon.bmv2 import limits

            limits.check(knobs)
        count = entries.total(entries.entries(knobs[entries.PARAMETER]))
        if count > knobs["table_flows"]:
            raise InputError(
                f"{count} entries do not fit into a table of {knobs['table_flows']} flows",
                where="table_flows",
                allowed=f"{count} to {_MOST_TABLE_FLOWS}",
            )

    @classmethod
    def peer_needs_xdp(cls, knobs: Mapping[str, Any]) -> bool:
        """Return True with the engine `ebpf`, whose frames return by XDP_TX."""
        return bool(knobs["engine"] == "ebpf")

    @classmethod
    def carried_by_process(cls, knobs: Mapping[str, Any]) -> bool:
        """Return True with the engine `bmv2`."""
        return bool(knobs["engine"] == "bmv2")

    @classmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningFunction:
        """Start the engine on the interface and wait until it forwards."""
        if knobs["engine"] == "bmv2":
            return _start_bmv2(host, attachment, knobs)
        monitor, sizes = knobs["monitor"], sketch_parameters.sizes(knobs)
        options = ["--interface", attachment.interfaces[0], "--monitor", monitor]
        options += ["--window-ms", str(sketch_parameters.window_ms(knobs))]
        if monitor == "sketches":
            options += sketch_parameters.options(knobs)
        elif monitor == "table":
            options += _table_options(knobs)
        output = _output(attachment)
        running = RunningSfcmon.launch(
            attachment.name, host, options, None if monitor == "none" else sizes, output
        )
        with kernel_forwarding.all_or_nothing(running):
            running.wait_ready()
        return running


def _table_options(knobs: Mapping[str, Any]) -> list[str]:
    """Return the options of sfc-sfcmon for a table of flows. A group of entries is given as its
    number of flows, a colon, and the FlowID2 of the first flow."""
    options = ["--table-flows", str(int(knobs["table_flows"]))]
    if groups := entries.entries(knobs[entries.PARAMETER]):
        words = (f"{each.count}:{each.first.flow_id_2.hex()}" for each in groups)
        options += ["--table-entries", ",".join(words)]
    return options


def _start_bmv2(host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningFunction:
    """Start the engine `bmv2` and wait until it forwards. Raises what RunningBmv2.launch raises."""
    from sfcperf.vnfs.sfcmon.bmv2.running import RunningBmv2, overhead_bytes, program_of
    from sfcperf.vnfs.sfcmon.bmv2.switch_settings import sketch_settings

    settings = replace(
        sketch_settings(knobs),
        program=program_of(knobs["monitor"]).value,
        table_entries=tuple(knobs[entries.PARAMETER]),
        overhead_bytes=overhead_bytes(attachment.encapsulation),
    )
    return RunningBmv2.launch(
        attachment.name, host, attachment.interfaces[0], settings, _output(attachment)
    )


def _output(attachment: Attachment) -> Path:
    """Return a file for the windows of an instance. Each call returns a new name."""
    folder = attachment.scratch or attachment.outputs
    return folder / f"{attachment.name}-{next(_starts)}.windows.jsonl"
