"""What ndpiReader prints about live traffic: a report for each period in which packets came."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

READY = "Running thread 0"
"""Printed when it captures."""
_PACKETS = re.compile(r"^\s*IP packets:\s+(\d+)\s+of (\d+) packets total", re.MULTILINE)
_PROTOCOL = re.compile(r"^\s+(\S+)\s+packets: (\d+)\s+bytes: \d+\s+flows: (\d+)", re.MULTILINE)


def counters(output: str) -> Mapping[str, int]:
    """Sums over all periods so far (ndpiReader 4.2).

    `captured` packets, of which `inspected` ones were IP and whole; `protocol_NAME` packets and
    `flows_NAME` flows by detected protocol, in lower case. A flow that lasts longer than a period
    is counted in each.
    """
    found = _PACKETS.findall(output)
    sums: Counter[str] = Counter(
        captured=sum(int(captured) for _, captured in found),
        inspected=sum(int(inspected) for inspected, _ in found),
    )
    for name, packets, flows in _PROTOCOL.findall(output):
        sums[f"protocol_{name.lower()}"] += int(packets)
        sums[f"flows_{name.lower()}"] += int(flows)
    return sums
