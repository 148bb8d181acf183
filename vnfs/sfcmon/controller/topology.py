"""Which way packets go from one switch to another: as few links as possible."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

from sfcperf.vnfs.sfcmon.controller.model import State


@dataclass(frozen=True, order=True)
class Step:
    """A link, as one switch sees it."""

    switch: str
    """Switch at the link's other end."""
    port: int
    """Port at this switch."""
    far_port: int
    """Port at the other end."""


class Topology:
    """The switches and links of a state.

    Of several shortest ways the one whose switches and ports come first in order is taken, so that
    all switches agree.
    """

    def __init__(self, state: State) -> None:
        self._steps: dict[str, list[Step]] = defaultdict(list)
        for link in state.links.values():
            for here, far in (link.ends, link.ends[::-1]):
                self._steps[here.switch].append(Step(far.switch, here.port, far.port))
        # Destination -> switch -> its first step; filled in by `next`.
        self._ways: dict[str, dict[str, Step]] = {}

    def next(self, switch: str, destination: str) -> Step | None:
        """Return the first step from a switch to another; None if there is no way."""
        if destination not in self._ways:
            self._ways[destination] = self._towards(destination)
        return self._ways[destination].get(switch)

    def last(self, switch: str, destination: str) -> Step | None:
        """Return the last step of the way from a switch to another; None if there is no way."""
        step = self.next(switch, destination)
        while step is not None and step.switch != destination:
            step = self.next(step.switch, destination)
        return step

    def _towards(self, destination: str) -> dict[str, Step]:
        """Return switch -> its first step, by breadth-first search from the destination."""
        distance, waiting = {destination: 0}, deque([destination])
        while waiting:
            switch = waiting.popleft()
            for step in self._steps[switch]:
                if step.switch not in distance:
                    distance[step.switch] = distance[switch] + 1
                    waiting.append(step.switch)
        return {
            switch: min(s for s in self._steps[switch] if distance[s.switch] == away - 1)
            for switch, away in distance.items()
            if switch != destination
        }
