"""The engine `spark`: a decision tree of MLlib, and Structured Streaming."""

from __future__ import annotations

import json
import secrets
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib.metadata import version
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfcperf import retry
from sfcperf.environment import tools
from sfcperf.errors import DeploymentError, EnvironmentLacks, MeasurementError, errors_as
from sfcperf.plugins import Requirement
from sfcperf.results.files import replace_file
from sfcperf.services import jars
from sfcperf.services.base import ServiceContext
from sfcperf.services.classifier.engine import Broker, Engine
from sfcperf.services.classifier.examples import Examples
from sfcperf.services.classifier.kafka_client import TopicEnds
from sfcperf.services.classifier.spark import settings
from sfcperf.services.classifier.spark.batch import MAX_BINS, MAX_DEPTH
from sfcperf.services.classifier.spark.commands import SOCKET, short_path
from sfcperf.services.classifier.spark.session import JARS
from sfcperf.services.classifier.spark.stream import STATE, UNTROUBLED
from sfcperf.services.classifier.supervised import SupervisedProcess

START_TIMEOUT_S = 180.0
ANSWER_TIMEOUT_S = 3600.0
"""Longest time for an answer: training with a long trace takes long."""
_LONGEST_FAILURE_S = 60.0
"""A query that has been failing for longer counts as a problem; it may find no workers, for
example."""


class SparkEngine(Engine):
    """Trains and classifies in one process with Spark's driver (`spark.process`), which runs for as
    long as the run lasts and takes commands."""

    name = "spark"

    @classmethod
    def requirements(cls, parameters: Mapping[str, Any]) -> list[Requirement]:
        """PySpark, Java, and Spark's connector for Kafka."""
        return [tools.python_packages(["pyspark"], "spark"), *jars.requirements(JARS)]

    def __init__(
        self, context: ServiceContext, parameters: Mapping[str, Any], broker: Broker
    ) -> None:
        self._context = context
        self._parameters = parameters["spark"]
        self._broker = broker
        self._key = secrets.token_hex(16)
        """What a client of the process has to know."""
        self._settings = context.state_dir / "spark.json"
        self._ready = context.state_dir / "spark.ready"
        """File that the process writes when it takes commands."""
        self._process: SupervisedProcess | None = None
        self._folder: Path | None = None
        """Folder of the model that classifies; None before the first."""
        self._restarts = 0
        """Restarts of processes before the one that runs."""

    def version(self) -> str:
        """Version of Spark, and the limits of the trees that it grows."""
        return f"{version('pyspark')}, {MAX_BINS} bins, depth {MAX_DEPTH}"

    def start(self) -> None:
        """Start the process: the JVM, and Spark in it, which takes half a minute. Raises
        EnvironmentLacks."""
        self._write_settings(None)
        self._begin()

    def _begin(self) -> None:
        """Start a process, which reads the settings. Raises EnvironmentLacks."""
        self._ready.unlink(missing_ok=True)  # that of the process before
        command = [sys.executable, "-m", "sfcperf.services.classifier.spark.process"]
        self._process = SupervisedProcess(
            self._context,
            f"{self._context.name}-spark",
            [*command, str(self._settings)],
            self._ready.exists,
        )
        self._process.start(START_TIMEOUT_S)

    def _write_settings(self, model: Path | None) -> None:
        """Write the settings for the process, and for one that is started again after a crash: that
        one classifies with `model` from the start."""
        replace_file(
            self._settings,
            json.dumps(
                {
                    "broker": vars(self._broker),
                    "parameters": self._parameters,
                    "work": str(self._context.state_dir),
                    "ready": str(self._ready),
                    "key": self._key,
                    "model": model and str(model),
                }
            ),
        )

    def train(self, examples: Examples, folder: Path) -> Mapping[str, Any]:
        """Let the process train on the examples, given in a file. Raises EnvironmentLacks."""
        with tempfile.TemporaryDirectory(dir=self._context.state_dir) as work:
            file = Path(work) / "examples.npz"
            np.savez(
                file,
                features=examples.features,
                labels=examples.labels,
                weights=examples.weights,
            )
            return self._ask("train", examples=str(file), model=str(folder))

    def predict(self, folder: Path, features: NDArray[np.int64]) -> Sequence[str]:
        """Hand the rows to the process in a file; return its labels. Raises EnvironmentLacks."""
        if not len(features):
            return []
        with tempfile.TemporaryDirectory(dir=self._context.state_dir) as work:
            file = Path(work) / "rows.npy"
            np.save(file, features)
            labels: list[str] = self._ask("predict", rows=str(file), model=str(folder))["labels"]
            return labels

    def classify(self, folder: Path) -> None:
        """Make the process classify with this model; only a process that has a problem is replaced.
        Raises DeploymentError."""
        if folder == self._folder and self.problem() is None:
            return
        # Before the command, so that a process which crashes in between comes back with this model.
        self._write_settings(folder)
        with errors_as(DeploymentError, EnvironmentLacks, MeasurementError):
            self._check_slots()
            if self._process is not None and self._process.problem() is not None:
                self.stop()
                self._begin()
            self._ask("classify", model=str(folder))
        self._folder = folder

    def _check_slots(self) -> None:
        """Raise EnvironmentLacks if Spark has too few threads for real-time mode: each partition
        needs one. Raises MeasurementError when no broker answers."""
        threads = settings.threads(self._parameters)
        if threads is None or self._parameters["trigger"] != settings.REAL_TIME:
            return
        with closing(TopicEnds(self._broker.bootstrap)) as ends:
            partitions = len(ends.of(self._broker.records))
        if partitions > threads:
            raise EnvironmentLacks(
                f"{self._parameters['master']} has {threads} threads, and the topic of records "
                f"{partitions} partitions: in real-time mode each needs a thread",
                hint=f'"master": "local[{partitions}]", fewer `partitions` of the service kafka, '
                f'or "trigger": "{settings.MICRO_BATCH}"',
            )

    def _ask(self, command: str, **arguments: str) -> dict[str, Any]:
        """Send a command to the process and return its answer. Raises EnvironmentLacks."""
        process = self._process
        if process is None:
            raise EnvironmentLacks("Spark has not been started")
        try:
            with self._connected(process) as connection:
                connection.send_bytes(json.dumps({"command": command, **arguments}).encode())
                # `recv_bytes` alone would block; in this wait, a signal to the run takes effect.
                retry.until(connection.poll, timeout_s=ANSWER_TIMEOUT_S, period_s=0.02)
                if not connection.poll():
                    raise TimeoutError
                found: dict[str, Any] = json.loads(connection.recv_bytes())
        except (OSError, EOFError, ValueError, AuthenticationError) as error:
            raise EnvironmentLacks(
                f"Spark has ended, or does not answer, while it is to {command}",
                hint=f"see {process.log}",
            ) from error
        if (problem := found.get("error")) is not None:
            raise EnvironmentLacks(
                f"Spark does not {command}: {problem.splitlines()[0]}", hint=f"see {process.log}"
            )
        return found

    def _connected(self, process: SupervisedProcess) -> Connection:
        """Connect to the process. While it may be coming back after a crash, this is tried again.
        Raises OSError, ValueError, EOFError, AuthenticationError."""

        def connect() -> Connection:
            with short_path(self._ready.parent / SOCKET) as address:
                return Client(address, "AF_UNIX", authkey=self._key.encode())

        def on_its_way(error: BaseException) -> bool:
            return isinstance(error, (OSError, ValueError)) and process.problem() is None

        return retry.call(
            connect, on_its_way, timeout_s=START_TIMEOUT_S, first_s=0.05, longest_s=0.5
        )

    def problem(self) -> str | None:
        """Say what is wrong with the process, or with its query if that has been failing for a
        minute; None if nothing is."""
        if self._process is None:
            return None
        if (problem := self._process.problem()) is not None:
            return problem
        state = self._state()
        if state["failing_since_s"] is None:
            return None
        if time.monotonic() - state["failing_since_s"] < _LONGEST_FAILURE_S:
            return None
        return f"Spark's query fails: {state['failure'].splitlines()[0]}; see {self._process.log}"

    def _state(self) -> Mapping[str, Any]:
        """State of the query as the process wrote it last, with the keys of UNTROUBLED."""
        try:
            state: Mapping[str, Any] = json.loads((self._context.state_dir / STATE).read_text())
        except OSError:
            return UNTROUBLED
        return state

    @property
    def restarts(self) -> int:
        """Restarts of the process and of its query."""
        own = self._process.restarts if self._process else 0
        return self._restarts + own + int(self._state()["restarts"])

    @property
    def pid(self) -> int | None:
        """Process id of the process; its child is the JVM."""
        return self._process.pid if self._process else None

    def facts(self) -> Mapping[str, Any]:
        """Version, master and trigger of Spark."""
        known = ("master", "trigger")
        return {"spark": version("pyspark"), **{name: self._parameters[name] for name in known}}

    def stop(self) -> None:
        """Stop the process with Spark's driver, and keep the number of its restarts."""
        if self._process is not None:
            self._process.stop()
            self._restarts += self._process.restarts
            self._process = None
