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
    """Return the schemas of the parameters `trace` (absent: synthetic traces), `seed` and
    `packets_per_minute`. The description of the parameter `trace` begins with the words in the
    argument `trace`."""
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
        "packets_per_minute": integer(
            "Mean packet rate of synthetic traces. A minute takes 44 bytes of disk per packet.",
            (1, 1_000_000_000),
            default=10_000_000,
        ),
    }


class TraceProbe(Probe):
    """A probe that works on a trace instead of a chain. Round N takes chunk N of the traffic: file
    N, or a synthetic trace with a seed of its own. Nothing is sent, and the chain makes no
    difference: use one of length 0. The probe runs on the machine that runs sfcperf. The `measure`
    of a derived class works on `_chunk`, which `prepare` sets."""

    trace_length: ClassVar[str]
    """Name of the parameter that is the length of synthetic traces, seconds."""

    _chunk: Chunk
    """The trace of this trial, after `prepare`."""

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Refuse a relative path. Whether the file exists is not checked, because a run must be
        readable on machines that lack its trace. Raises InputError."""
        check_absolute(parameters.get("trace"), "trace")

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """The probe sends no packets through the chain."""
        return 0

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Find the file of this round, or generate its synthetic trace. A synthetic trace is kept
        for the next trials of the same round."""
        # Chunks are numbered from 1; the round of a sentinel may be 0.
        parameters, number = self.parameters, max(1, self.round)
        if "trace" in parameters:
            self._chunk = chunk_of_files(parameters["trace"], number)
        else:
            self._chunk = synthetic_chunk(
                parameters["seed"],
                parameters[self.trace_length],
                parameters["packets_per_minute"],
                number,
            )
