"""TraceProbe: what probes share that work on a trace instead of a chain."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.active.base import Probe
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import integer
from sfcperf.traffic.capture_files import check_absolute
from sfcperf.vnfs.sfcmon.chunks import Chunk, chunk_of_files, synthetic_chunk


def trace_parameters(trace: str) -> Mapping[str, Any]:
    """Schema of the parameters `trace` (absent: synthetic traces) and `seed`. `trace` describes
    the first one."""
    return {
        "trace": {
            "type": "string",
            "minLength": 1,
            "description": f"{trace} file N in the order of names. Default: synthetic traces.",
        },
        "seed": integer(
            "Seed of the first round's synthetic trace; each further round uses the next seed.",
            (0, 2**32),
            default=1,
        ),
    }


class TraceProbe(Probe):
    """Round N takes chunk N of the traffic: file N, or a synthetic trace with a seed of its own.
    Nothing is sent, and the chain makes no difference: use one of length 0. It runs on the machine
    that runs sfcperf."""

    trace_length: ClassVar[str]
    """Name of the parameter that is the length of synthetic traces, seconds."""

    _chunk: Chunk

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Looks at no file: a run can be read where its trace is not."""
        check_absolute(parameters.get("trace"), "trace")

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """None is sent."""
        return 0

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Find the trace, or generate it, unless the trial before had the same."""
        parameters, number = self.parameters, max(1, self.round)
        if "trace" in parameters:
            self._chunk = chunk_of_files(parameters["trace"], number)
        else:
            self._chunk = synthetic_chunk(parameters["seed"], parameters[self.trace_length], number)
