"""What running a switch on bmv2 needs."""

from __future__ import annotations

from importlib.util import find_spec

from sfcperf.environment import tools
from sfcperf.plugins import Requirement
from sfcperf.vnfs.sfcmon.bmv2 import switch

REMEDY = "pip install 'sfcperf[p4]'"
_LIBRARIES = ("finsy", "pydantic", "thriftpy2")


def requirements() -> list[Requirement]:
    """bmv2, the Python packages of the extra `p4`, `ethtool` and `ip`."""
    return [
        switch.requirement(),
        libraries(),
        tools.tool("ethtool", "ethtool"),
        tools.tool("ip", "iproute2"),
    ]


def libraries() -> Requirement:
    """Whether the Python packages that speak with bmv2 are there; imports none of them."""
    name = f"Python packages {', '.join(_LIBRARIES)}"
    missing = [library for library in _LIBRARIES if find_spec(library) is None]
    if missing:
        return Requirement(name, False, f"not installed: {', '.join(missing)}", REMEDY)
    return Requirement(name, True, "installed")
