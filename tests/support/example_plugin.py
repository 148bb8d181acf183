"""The third-party package of tests/examples: installed, and what its driver left."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from support.wheel import OFFLINE, PIP, run_command

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "sfcperf-example-plugin"
WORKFLOW = EXAMPLE / "tcp-connect.json"


def installed(folder: Path) -> Path:
    """Where it was installed in an empty folder, as `pip install` does it, offline."""
    # A build writes beside its sources.
    shutil.copytree(EXAMPLE, folder / "source")
    target = ["--target", str(folder / "site"), str(folder / "source")]
    run_command([*PIP, "install", *OFFLINE, *target], folder)
    return folder / "site"


def leftovers(results: Path) -> list[str]:
    """Namespaces of the runs of a results folder that are still there: only of these, tests beside
    use the driver as well."""
    found = []
    for manifest in results.glob("*/run.json"):
        for session in json.loads(manifest.read_text())["sessions"]:
            found += [p.name for p in Path("/run/netns").glob(f"veth-pair-{session['tag']}-*")]
    return found
