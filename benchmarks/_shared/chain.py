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
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.load import load_document

TAG = f"b{os.getpid() % 100_000:05}"
"""Two of these at once do not meet."""


def workflow(**sections: Any) -> dict[str, Any]:
    """These sections of a workflow, with a ping unless they name probes, on the driver that is the
    default."""
    return {"sfcperf": 1, "name": "benchmark", "probes": [{"probe": "ping"}], **sections}


@contextmanager
def deployed(document: Mapping[str, Any], plane: str) -> Iterator[Deployment]:
    """The only scenario of a workflow, deployed."""
    (scenario,) = load_document(document, Path()).scenarios
    with local_driver(dataplane=plane) as driver:
        yield driver.deploy(scenario)


@contextmanager
def one_function(vnf: Mapping[str, Any]) -> Iterator[Deployment]:
    """A chain of one function (of the workflow's section `vnfs`) in a topology of one node."""
    document = workflow(vnfs={"vnf": vnf}, chain={"functions": [{"vnf": "vnf"}]})
    with deployed(document, "ebpf") as deployment:
        yield deployment


@contextmanager
def local_driver(**config: str) -> Iterator[LocalDriver]:
    """With folders and a journal of its own, and this configuration beside the defaults."""
    with tempfile.TemporaryDirectory() as folder:
        state, raw = Path(folder, "state"), Path(folder, "raw")
        state.mkdir()
        raw.mkdir()
        journal = FileJournal(Path(folder, "journal.jsonl"))
        known = with_defaults(LocalDriver.parameters, config)
        driver = LocalDriver(DriverContext("bench", TAG, known, journal, state, raw, print))
        try:
            yield driver
        finally:
            driver.close()


def output(argv: list[str]) -> str:
    """Run to the end."""
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=120).stdout
