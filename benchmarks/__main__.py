"""All benchmarks but those on OpenStack, or the given ones, as one table.

    sudo .venv/bin/python benchmarks [--json FILE] [BENCHMARK.py ...]

Each runs in a process of its own. Exit status 1 if a budget does not hold, or a benchmark ends
early.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from _runner.row import header

HERE = Path(__file__).parent


def main() -> int:
    """Run them one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="BENCHMARK.py")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all readings there")
    given = parser.parse_args()
    everything = sorted(HERE.glob("[a-z]*/[a-z]*.py"))
    files = given.files or [file for file in everything if file.parent.name != "openstack"]
    print(header(), flush=True)
    found, failed = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number, file in enumerate(files):
            readings = Path(folder, f"{number}.json")
            argv = [sys.executable, str(file), "--no-header", "--json", str(readings)]
            if subprocess.run(argv).returncode:
                failed.append(file.stem)
            if readings.exists():
                found.append(json.loads(readings.read_text()))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))
    print(f"missed a budget, or ended early: {', '.join(failed)}" if failed else "all budgets hold")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
