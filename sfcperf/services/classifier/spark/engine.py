"""The engine `spark`: a decision tree of MLlib, and Structured Streaming."""

from __future__ import annotations

import json
import secrets
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
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
"""Of training with a long trace."""
_LONGEST_FAILURE_S = 60.0
"""A query that fails for longer has a problem: it finds no workers, for example."""


class SparkEngine(Engine):
    """One process with Spark's driver, which trains and classifies for as long as the run lasts."""

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
        self._settings = context.state_dir / "spark.json"
        self._ready = context.state_dir / "spark.ready"
        self._process: SupervisedProcess | None = None
        self._folder: Path | None = None
        self._restarts = 0
        """Of processes before the one that runs."""

    def version(self) -> str:
        """Of Spark, and what trees it grows."""
        return f"{version('pyspark')}, {MAX_BINS} bins, depth {MAX_DEPTH}"

    def start(self) -> None:
        """Takes half a minute: the JVM, and Spark in it. Raises EnvironmentLacks."""
        self._set(None)
        self._begin()

    def _begin(self) -> None:
        command = [sys.executable, "-m", "sfcperf.services.classifier.spark.process"]
        self._process = SupervisedProcess(
            self._context,
            f"{self._context.name}-spark",
            [*command, str(self._settings)],
            self._ready.exists,
        )
        self._process.start(START_TIMEOUT_S)

    def _set(self, model: Path | None) -> None:
        """What the process, and one that follows it, does from the start."""
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
        """Hand the rows to the process in a file; gives its labels. Raises EnvironmentLacks."""
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
        self._set(folder)
        with errors_as(DeploymentError, EnvironmentLacks, MeasurementError):
            self._check_slots()
            if self._process is not None and self._process.problem() is not None:
                self.stop()
                self._begin()
            self._ask("classify", model=str(folder))
        self._folder = folder

    def _check_slots(self) -> None:
        """Raises EnvironmentLacks, MeasurementError."""
        threads = settings.threads(self._parameters)
        if threads is None or self._parameters["trigger"] != settings.REAL_TIME:
            return
        ends = TopicEnds(self._broker.bootstrap)
        partitions = len(ends.of(self._broker.records))
        ends.close()
        if partitions > threads:
            raise EnvironmentLacks(
                f"{self._parameters['master']} has {threads} threads, and the topic of records "
                f"{partitions} partitions: in real-time mode each needs a thread",
                hint=f'"master": "local[{partitions}]", fewer `partitions` of the service kafka, '
                f'or "trigger": "{settings.MICRO_BATCH}"',
            )

    def _ask(self, command: str, **arguments: str) -> dict[str, Any]:
        """What the process answers. Raises EnvironmentLacks."""
        process = self._process
        if process is None:
            raise EnvironmentLacks("Spark has not been started")
        try:
            with self._connected(process) as connection:
                connection.send_bytes(json.dumps({"command": command, **arguments}).encode())
                # Not `recv_bytes` alone: a signal to the run takes effect while it waits here.
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
        """It may be on its way back after a crash. Raises OSError, ValueError, EOFError,
        AuthenticationError."""

        def connect() -> Connection:
            with short_path(self._ready.parent / SOCKET) as address:
                return Client(address, "AF_UNIX", authkey=self._key.encode())

        def on_its_way(error: BaseException) -> bool:
            return isinstance(error, (OSError, ValueError)) and process.problem() is None

        return retry.call(
            connect, on_its_way, timeout_s=START_TIMEOUT_S, first_s=0.05, longest_s=0.5
        )

    def problem(self) -> str | None:
        """Of the process, or when its query has been failing for a minute."""
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
        """What the process wrote last."""
        try:
            state: Mapping[str, Any] = json.loads((self._context.state_dir / STATE).read_text())
        except OSError:
            return UNTROUBLED
        return state

    @property
    def restarts(self) -> int:
        """Of the process and of its query."""
        own = self._process.restarts if self._process else 0
        return self._restarts + own + int(self._state()["restarts"])

    @property
    def pid(self) -> int | None:
        """Of the process, whose child is the JVM."""
        return self._process.pid if self._process else None

    def facts(self) -> Mapping[str, Any]:
        """Version, master and trigger."""
        known = ("master", "trigger")
        return {"spark": version("pyspark"), **{name: self._parameters[name] for name in known}}

    def stop(self) -> None:
        """Stop the process with Spark's driver, and keep the number of its restarts."""
        if self._process is not None:
            self._process.stop()
            self._restarts += self._process.restarts
            self._process = None
