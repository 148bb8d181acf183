"""A service without a run around it."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sfcperf import plugins
from sfcperf.hosts.base import Process
from sfcperf.services import jars, processes
from sfcperf.services.base import RunningService, Service, ServiceContext
from sfcperf.services.processes import Processes
from sfcperf.workflow.defaults import with_defaults
from support.local import ListJournal


def free_port() -> int:
    """A TCP port of this machine that nobody listens to."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def new_context(
    folder: Path, services: Mapping[str, RunningService] | None = None, tag: str = "tag000"
) -> ServiceContext:
    """What control gives a service; its journal is a `ListJournal`."""
    journal = ListJournal()
    for name in ("state", "outputs"):
        (folder / name).mkdir()
    return ServiceContext(
        name="service",
        run_id=f"test-{tag}",
        tag=tag,
        state_dir=folder / "state",
        outputs=folder / "outputs",
        services=services or {},
        spawn=Processes(journal).spawn,
        address=lambda: "127.0.0.1",
        journal=journal,
        log=print,
    )


@contextmanager
def started(context: ServiceContext, service: str, **parameters: Any) -> Iterator[Any]:
    """A running service; all of its processes are gone afterwards."""
    kind: type[Service] = plugins.load("service", service)
    known = with_defaults(kind.parameters, parameters)
    try:
        running = kind.start(context, known)
        try:
            yield running
        finally:
            running.stop()
    finally:
        processes.undo(
            [r for r in context.journal.outstanding() if r.kind == processes.KIND], dry_run=False
        )


def kafka_is_there() -> bool:
    return all(need.met for need in jars.requirements("kafka"))


@pytest.fixture(scope="session")
def kafka() -> Iterator[Any]:
    """A broker that tests share: RunningKafka. Each uses topics of its own, or counts what came
    since."""
    if not kafka_is_there():
        pytest.skip("Kafka is not there: make setup-security")
    with tempfile.TemporaryDirectory(prefix="sfcperf-kafka-") as folder:
        context = new_context(Path(folder))

        def spawn(command: Sequence[str], output: Path) -> Process:
            # pytest-xdist kills its workers after Ctrl-C, and no fixture ends.
            return context.spawn(["setpriv", "--pdeathsig", "KILL", *command], output)

        with started(replace(context, spawn=spawn), "kafka") as running:
            yield running
