"""The number of a port says of what kind it is (vnfs/sfcmon/p4/README.md)."""

from __future__ import annotations

from enum import Enum

MOST = 509
"""Largest number of a port: those above have a meaning of their own in bmv2."""


class Kind(Enum):
    """What is attached to a port, and its least and largest number."""

    ENDPOINT = (0, 63)
    SERVICE = (64, 127)
    """The switch itself is the SF there."""
    NSH = (128, 255)
    """An SF that speaks NSH over Ethernet."""
    PLAIN = (256, 383)
    """An SF behind the SFC proxy."""
    UNDERLAY = (384, MOST)
    """Another switch, or an SF that speaks VXLAN-GPE."""

    def __contains__(self, port: int) -> bool:
        least, most = self.value
        return bool(least <= port <= most)

    @property
    def numbers(self) -> str:
        """The numbers, for people."""
        least, most = self.value
        return f"{least} to {most}"
