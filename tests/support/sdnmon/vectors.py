"""Makes dataplane/sdnmon/vectors.json: frames of all forms, and their keys.

PYTHONPATH=tests python -m support.sdnmon.vectors
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from sfcperf.dataplane.sdnmon.fields import NAMES
from sfcperf.dataplane.sdnmon.frame import MalformedError, read
from sfcperf.dataplane.sdnmon.model import hash64
from support.sdnmon.frames import forms
from support.sdnmon.tool import FIVE_TUPLE, HASH_KEY, layout_of

DESCRIPTION = "Golden vectors of SDN-Mon: docs/reference/sdn-mon.md says what they mean."
FIELD_SETS = (FIVE_TUPLE, ",".join(NAMES), "nsh_spi,nsh_si", "vlan_vid,eth_type")


def _vector(name: str, frame: bytes, fields: str) -> dict[str, Any]:
    try:
        key = read(frame, layout_of(fields))
    except MalformedError as problem:
        return {"name": name, "frame": frame.hex(), "total": str(problem)}
    found = {"key": key.hex(), "hash": f"{hash64(key, HASH_KEY):016x}"}
    return {"name": name, "frame": frame.hex(), **found}


def vectors() -> dict[str, Any]:
    """The file's content."""
    cases = [
        {"fields": fields, "frames": [_vector(name, frame, fields) for name, frame in made]}
        for made in [forms().items()]
        for fields in FIELD_SETS
    ]
    return {"description": DESCRIPTION, "hash_key": f"{HASH_KEY:016x}", "cases": cases}


def main() -> None:
    """Write it."""
    path = Path(str(files("sfcperf.dataplane.sdnmon") / "vectors.json"))
    path.write_text(json.dumps(vectors(), indent=0) + "\n")


if __name__ == "__main__":
    main()
