"""What the process that controls a switch is to do; it gets this as a file of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sfcperf.vnfs.sfcmon import sketch_parameters
from sfcperf.vnfs.sfcmon.bmv2.programs import Program
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds, share_register


@dataclass(frozen=True)
class Settings:
    """What the controlling process of one switch is to do."""

    program: str
    """Value of the `Program` that the switch is to run."""
    window_ms: int = 1000
    thresholds: Thresholds = field(default_factory=Thresholds)
    """Thresholds of the first window."""
    adaptive_flows: int = 0
    """Flows that windows are to report, to which thresholds adapt; 0: thresholds stay."""
    sizes: Sizes = field(default_factory=Sizes)
    table_entries: tuple[Mapping[str, Any], ...] = ()
    """The knob of this name."""
    overhead_bytes: int = 0
    """Bytes that frames have in front of their IP packets."""
    entries: tuple[Mapping[str, Any], ...] = ()
    """Entries of the tables: the fields of controller.entries.Entry."""
    address: str = ""
    """Address of P4Runtime, for gRPC."""
    thrift_socket: str = ""
    """Unix socket that leads to Thrift; empty: Thrift is at its port of the process's own network
    namespace."""

    def at(self, address: str, thrift_socket: Path | None) -> Settings:
        """Return these settings for a switch at these places; None: see `thrift_socket`."""
        return replace(self, address=address, thrift_socket=str(thrift_socket or ""))

    def text(self) -> str:
        """Return the settings as JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def of_text(cls, text: str) -> Settings:
        """Read settings from JSON."""
        values = json.loads(text)
        values["entries"] = tuple(values["entries"])
        values["thresholds"] = Thresholds(**values["thresholds"])
        values["sizes"] = Sizes(**values["sizes"])
        values["table_entries"] = tuple(values["table_entries"])
        return cls(**values)


def sketch_settings(parameters: Mapping[str, Any]) -> Settings:
    """Return settings for the program with sketches, from `sketch_parameters`."""
    return Settings(
        program=Program.SKETCHES.value,
        window_ms=sketch_parameters.window_ms(parameters),
        thresholds=Thresholds(
            int(parameters["threshold_eval"]), share_register(float(parameters["threshold"]))
        ),
        adaptive_flows=int(parameters["adaptive_flows"]),
        sizes=sketch_parameters.sizes(parameters),
    )
