"""Programs that get frames as they are, for drivers that carry these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.dataplane import binaries

FORWARDER = "sfc-forwarder"
"""A tool that decrements the service index of NSH frames and returns them."""

BRIDGED: Mapping[str, Any] = {
    "attach": "bridged",
    "setup": [
        ["ip", "link", "add", "br0", "type", "bridge"],
        ["ip", "link", "set", "{{ingress}}", "master", "br0"],
        ["ip", "link", "set", "{{egress}}", "master", "br0"],
        ["ip", "link", "set", "br0", "up"],
    ],
}
"""Knobs: a bridge of the kernel."""


def nsh() -> Mapping[str, Any]:
    """Return knobs of a program that gets NSH over Ethernet. Raises EnvironmentLacks if FORWARDER
    is not compiled."""
    command = [str(binaries.find(FORWARDER)), "--engine", "userspace"]
    return {
        "attach": "nsh",
        "command": [*command, "--interface", "{{interface}}"],
        "ready": {"output": '"ready"'},
    }
