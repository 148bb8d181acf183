"""Chains of the local driver, without a run around them and with one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sfcperf.drivers.base import Driver, DriverContext
from sfcperf.drivers.journal import FileJournal
from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.management.deployment import Deployment
from sfcperf.results.store import RunStore
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.load import load_document

D = TypeVar("D", bound=Driver)
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
    with driver_of(LocalDriver, config) as driver:
        yield driver


@contextmanager
def driver_of(kind: type[D], config: Mapping[str, Any], tag: str = TAG) -> Iterator[D]:
    """The same, of any driver."""
    with tempfile.TemporaryDirectory() as folder:
        state, raw = Path(folder, "state"), Path(folder, "raw")
        state.mkdir()
        raw.mkdir()
        journal = FileJournal(Path(folder, "journal.jsonl"))
        known = with_defaults(kind.parameters, config)
        driver = kind(DriverContext("bench", tag, known, journal, state, raw, print))
        try:
            yield driver
        finally:
            driver.close()


def output(argv: Sequence[object], timeout_s: float = 120, *, worst: int = 0) -> str:
    """Run to the end. Raises SystemExit with its errors if its exit status is above `worst`."""
    words = [str(word) for word in argv]
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout_s)
    if not 0 <= done.returncode <= worst:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


@contextmanager
def run_of(
    document: Mapping[str, Any], *, timeout_s: float = 300, untrusted: bool = False
) -> Iterator[RunStore]:
    """The results of `sfcperf run`, until the block ends. `untrusted`: trials may be."""
    sfcperf = str(Path(sys.executable).with_name("sfcperf"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "workflow.json"
        file.write_text(json.dumps(document))
        argv = [sfcperf, "run", str(file), "--quiet", "--results", folder]
        yield RunStore(Path(output(argv, timeout_s, worst=int(untrusted)).strip()))
