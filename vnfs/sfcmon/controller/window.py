"""A window of a switch: while it goes on, and when it has ended."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from sfcperf.dataplane.nsh.packet import Flow
from sfcperf.vnfs.sfcmon.bmv2.banks import window
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds

if TYPE_CHECKING:
    from finsy import P4TableEntry


@dataclass
class OpenWindow:
    """A window of a switch that goes on."""

    bank: int
    start_ns: int
    """When it began, Unix time in nanoseconds."""
    thresholds: Thresholds
    sizes: Sizes

    @classmethod
    def of_switch(cls, parameters: Mapping[str, int]) -> OpenWindow:
        """Make it from the parameters of the table `window`, which do not say when it began."""
        return cls(
            bank=parameters["active"],
            start_ns=0,
            thresholds=Thresholds(
                parameters["evaluate_from"], parameters["share"], parameters["least_packets"]
            ),
            sizes=Sizes(
                cms_columns=parameters["cms_columns"],
                bloom_bits=parameters["bloom_bits"],
                iblt_cells=parameters["iblt_cells"],
            ),
        )

    def entry(self) -> P4TableEntry:
        """Return the table entry that opens the window."""
        return window(
            self.bank,
            eval_packets=self.thresholds.eval,
            share=self.thresholds.share,
            least_packets=self.thresholds.packets,
            columns=self.sizes.cms_columns,
            bits=self.sizes.bloom_bits,
            cells=self.sizes.iblt_cells,
        )

    def ended(self, end_ns: int, *, asked: bool = False) -> EndedWindow:
        """Return the window as one that has ended. `asked`: somebody asked for its end."""
        return EndedWindow(**vars(self), end_ns=end_ns, asked=asked)


@dataclass
class EndedWindow(OpenWindow):
    """A window of a switch that is over, and not written yet."""

    end_ns: int
    asked: bool
    """Whether somebody asked for its end."""

    def line(self, switch: str, number: int, registers: Mapping[str, Any]) -> dict[str, Any]:
        """Return the window as sfc-sfcmon prints windows. `registers`: packets, unparsed, iblt."""
        return {
            "event": "window",
            "switch": switch,
            "number": number,
            "bank": self.bank,
            "asked": self.asked,
            "start_ns": self.start_ns,
            "end_ns": self.end_ns,
            "thresholds": asdict(self.thresholds),
            "iblt_cells": self.sizes.iblt_cells,
            **registers,
        }


@dataclass
class FoundFlows:
    """What polls have found in the open window."""

    inserted: int = 0
    """Flows in the IBLT when it was last read."""
    settled: bool = True
    """Whether reading it again would give the same."""
    times: dict[bytes, int] = field(default_factory=dict)
    """FlowID2 -> Unix time (ns) at which it was found."""

    def add(self, key: bytes) -> None:
        """Note a flow, if it is a new one."""
        self.times.setdefault(key, time.time_ns())

    def described(self) -> list[dict[str, Any]]:
        """Return the flows as `GET /switches/NAME/flows` gives them."""
        return [
            {
                "spi": flow.spi,
                "si": flow.si,
                "source_address": str(flow.src),
                "destination_address": str(flow.dst),
                "protocol": flow.proto,
                "source_port": flow.src_port,
                "destination_port": flow.dst_port,
                "found_ns": found_ns,
            }
            for flow, found_ns in ((Flow.of_key(key), at) for key, at in self.times.items())
        ]
