"""What running a switch on bmv2 needs."""

from __future__ import annotations

from sfcperf.environment import tools
from sfcperf.plugins import Requirement
from sfcperf.vnfs.sfcmon.bmv2 import switch

_LIBRARIES = ("finsy", "pydantic", "thriftpy2")


def requirements() -> list[Requirement]:
    """Return what is needed: bmv2, the Python packages of the extra `p4`, and `ethtool`."""
    return [
        switch.requirement(),
        libraries(),
        tools.tool("ethtool", "ethtool"),
    ]


def libraries() -> Requirement:
    """Say whether the Python packages that speak with bmv2 are there. Imports none of them."""
    return tools.python_packages(_LIBRARIES, "p4")
