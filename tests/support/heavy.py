"""Packages that take long to import: commands that can do without them do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

HEAVY = (
    "numpy",
    "scipy",
    "pyarrow",
    "duckdb",
    "plotly",
    "matplotlib",
    "pyroute2",
    "toscaparser",
    "jsonschema",
)


def imports(code: str, packages: Iterable[str]) -> str:
    """Which of these packages Python code imports, in a process of its own."""
    code = f"import sys; {code}; print(*[name for name in {[*packages]} if name in sys.modules])"
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.rstrip()
