"""What the example driver left: only that of the runs at hand, tests beside use it as well."""

from __future__ import annotations

import json
from pathlib import Path


def leftovers(results: Path) -> list[str]:
    """Namespaces of the runs of a results folder that are still there."""
    found = []
    for manifest in results.glob("*/run.json"):
        for session in json.loads(manifest.read_text())["sessions"]:
            found += [p.name for p in Path("/run/netns").glob(f"veth-pair-{session['tag']}-*")]
    return found
