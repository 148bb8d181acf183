"""A program of nobody's framework that takes NSH, as knobs of the VNF type `program`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.vnfs import nsh_hop

PLACES = {
    "nsh-eth": ["{{interface}}", "{{mac}}", "{{sff_mac}}"],
    "nsh-vxlan-gpe": ["{{address}}", "{{udp_port}}", "{{sff_address}}"],
}
"""Encapsulation -> what the program has to know."""
TO_SOURCE = PLACES["nsh-eth"][:2]
"""The same, of one that returns frames to where they came from."""


def hop(encapsulation: str, places: list[str] | None = None, **more: Any) -> dict[str, Any]:
    """A program that decrements the SI. `more`: further knobs."""
    script = Path(nsh_hop.__file__)
    where = ["{{encapsulation}}", *(places or PLACES[encapsulation])]
    return {
        "attach": "nsh",
        "encapsulations": [encapsulation],
        "files": {script.name: str(script)},
        "command": ["python3", script.name, *where],
        "ready": {"output": "^forwarding$"},
        **more,
    }
