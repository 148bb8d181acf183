"""Kinds of ports. The number of a port says of what kind it is (vnfs/sfcmon/p4/README.md)."""

from __future__ import annotations

from enum import Enum

MOST = 509
"""Largest number of a port. Larger numbers have a meaning of their own in bmv2."""


class Kind(Enum):
    """What is attached to a port. The value is the least and the largest number of such ports."""

    ENDPOINT = (0, 63)
    SERVICE = (64, 127)
    """The switch itself is the SF at this port."""
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
        """The numbers of such ports, as text for people."""
        least, most = self.value
        return f"{least} to {most}"
