"""Shortest ways through the underlay, in links."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


def next_hops(nodes: Sequence[str], links: Sequence[tuple[str, str]]) -> dict[str, dict[str, str]]:
    """node -> destination -> neighbour; destinations that cannot be reached are absent."""
    neighbours: dict[str, list[str]] = {node: [] for node in nodes}
    for first, second in links:
        neighbours[first].append(second)
        neighbours[second].append(first)
    return {node: _from(node, neighbours) for node in nodes}


def _from(start: str, neighbours: dict[str, list[str]]) -> dict[str, str]:
    """Breadth first; remembers by which neighbour of `start` each node was first reached."""
    first_step: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for neighbour in neighbours[node]:
            if neighbour != start and neighbour not in first_step:
                first_step[neighbour] = first_step.get(node, neighbour)
                waiting.append(neighbour)
    return first_step
