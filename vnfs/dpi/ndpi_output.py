"""What ndpiReader prints about live traffic: a report for each period in which packets came."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

READY = "Running thread 0"
"""What ndpiReader prints when it captures."""
# Blanks are [ \t], not \s: if they could match the end of a line, the time would grow with the
# square of the output.
_PACKETS = re.compile(r"^[ \t]*IP packets:[ \t]+(\d+)[ \t]+of (\d+) packets total", re.MULTILINE)
_PROTOCOL = re.compile(
    r"^[ \t]+(\S+)[ \t]+packets: (\d+)[ \t]+bytes: \d+[ \t]+flows: (\d+)", re.MULTILINE
)


def counters(output: str) -> Mapping[str, int]:
    """Add up all periods in the output (of ndpiReader 4.2). Return name -> number:

    `captured` packets, of which `inspected` ones were IP and whole; `protocol_NAME` packets and
    `flows_NAME` flows by detected protocol, in lower case. A flow that lasts longer than a period
    is counted in each.
    """
    periods = _PACKETS.findall(output)
    sums: Counter[str] = Counter(
        captured=sum(int(captured) for _, captured in periods),
        inspected=sum(int(inspected) for inspected, _ in periods),
    )
    for name, packets, flows in _PROTOCOL.findall(output):
        sums[f"protocol_{name.lower()}"] += int(packets)
        sums[f"flows_{name.lower()}"] += int(flows)
    return sums
