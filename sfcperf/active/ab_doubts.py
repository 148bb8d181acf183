"""Why the numbers of an ab test should not be believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.active.ab_output import AbOutput

_SATURATED = 0.95
"""Share of one CPU from which ab or nginx, single threads both, counts as the bottleneck."""
_SHORTEST_S = 0.1


def doubts(
    seen: AbOutput,
    asked: Mapping[str, Any],
    client_cpu_ratio: float | None,
    server_cpu_ratio: float,
) -> list[str]:
    """Reasons in words; `asked` are the probe's parameters, CPU ratios are of one CPU each (None:
    ab ended before it was looked at)."""
    reasons = []
    if seen.requests < asked["requests"]:
        reasons.append(f"ab made {seen.requests} of the {asked['requests']} requests asked for")
    if seen.failed or seen.write_errors:
        causes = ", ".join(f"{cause} {count}" for cause, count in seen.failures.items())
        reasons.append(
            f"{seen.failed} requests failed ({causes or 'no cause given'}): they ended early "
            "and made room for others, so the rate is not what the chain carries"
        )
    if seen.not_2xx or seen.document_bytes != asked["object_bytes"]:
        reasons.append(
            f"the server did not serve the object: {seen.not_2xx} other replies, "
            f"first reply of {seen.document_bytes} bytes"
        )
    if client_cpu_ratio is not None and client_cpu_ratio >= _SATURATED:
        reasons.append(
            f"the sender was saturated (ab used {client_cpu_ratio:.0%} of a CPU): the rate is "
            "its own, not the chain's"
        )
    if server_cpu_ratio >= _SATURATED:
        reasons.append(
            f"the server was saturated (nginx used {server_cpu_ratio:.0%} of a CPU): the rate "
            "is its own, not the chain's"
        )
    if seen.duration_s < _SHORTEST_S:
        reasons.append(
            f"the test took {seen.duration_s:g} s, too short to be timed: raise requests"
        )
    return reasons
