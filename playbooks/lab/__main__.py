"""Start and stop a lab: `python -m sfcperf.playbooks.lab up|down [FOLDER]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sfcperf.errors import SfcperfError
from sfcperf.playbooks.lab.namespaces import NamespaceLab


def main() -> int:
    """Start or stop the lab, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m sfcperf.playbooks.lab", description=__doc__)
    parser.add_argument("action", choices=["up", "down"])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/lab"))
    options = parser.parse_args()
    lab = NamespaceLab(options.folder.resolve())
    try:
        # What an earlier one has left is in the way.
        lab.down()
        if options.action == "up":
            lab.up()
    except SfcperfError as error:
        print("\n".join(error.lines()), file=sys.stderr)
        return error.exit_code
    if options.action == "up":
        print(f"three machines are up: {', '.join(lab.nodes)}")
        print(f"next: sfcperf doctor --profile {options.folder / 'lab.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
