"""A scenario of the local driver without a run around it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfcperf.drivers.base import DriverContext
from sfcperf.drivers.journal import FileJournal
from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.management.deployment import Deployment
from sfcperf.workflow.load import load_document

TAG = f"b{os.getpid() % 100_000:05}"
"""Two of these at once do not meet."""


@contextmanager
def deployed(document: Mapping[str, Any], plane: str) -> Iterator[Deployment]:
    """The only scenario of a workflow, deployed."""
    (scenario,) = load_document(document, Path()).scenarios
    with tempfile.TemporaryDirectory() as folder:
        state, raw = Path(folder, "state"), Path(folder, "raw")
        state.mkdir()
        raw.mkdir()
        journal = FileJournal(Path(folder, "journal.jsonl"))
        config = {"dataplane": plane, "mtu": 1400, "wire_mtu": 1500}
        context = DriverContext("bench", TAG, config, journal, state, raw, print)
        driver = LocalDriver(context)
        try:
            yield driver.deploy(scenario)
        finally:
            driver.close()


def output(argv: list[str]) -> str:
    """Run to the end."""
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=120).stdout
