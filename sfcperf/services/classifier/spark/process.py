"""The process with Spark's driver, which takes commands until it is ended.

    python -m sfcperf.services.classifier.spark.process SETTINGS

SETTINGS is a JSON file: `broker`, the fields of `Broker`; `parameters` of Spark; `work`, a folder;
`ready`, a file that is written when commands are taken at `commands.SOCKET`; `key`, which a client
has to know; `model`, a folder, or null: what to classify with from the start.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfcperf.services.classifier.engine import Broker
from sfcperf.services.classifier.spark import batch
from sfcperf.services.classifier.spark.commands import SOCKET, short_path
from sfcperf.services.classifier.spark.session import session
from sfcperf.services.classifier.spark.settings import local
from sfcperf.services.classifier.spark.stream import Stream
from sfcperf.watched import Watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Commands:
    """The commands that a client can give. Each takes paths and returns an object for JSON. Call
    them in one thread."""

    def __init__(self, settings: Mapping[str, Any], watch: Watch) -> None:
        """Start Spark; `watch` supervises the thread that starts a failed query again."""
        work = Path(settings["work"])
        self.spark = session(settings["parameters"], work)
        broker = Broker(**settings["broker"])
        self._stream = Stream(self.spark, broker, settings["parameters"], work, watch)

    def train(self, examples: str, model: str) -> Mapping[str, Any]:
        """Train a model with the examples in a file (.npz) and write it to the folder `model`;
        return facts of it."""
        with np.load(examples) as found:
            arrays = (found["features"], found["labels"], found["weights"])
        with self._stream.paused():
            return batch.train(self.spark, *arrays, Path(model))

    def predict(self, rows: str, model: str) -> Mapping[str, Any]:
        """Label the rows in a file (.npy) with the model in a folder; return the labels."""
        with self._stream.paused():
            loaded = batch.load(self.spark, Path(model))
            return {"labels": batch.predict(self.spark, loaded, np.load(rows))}

    def classify(self, model: str, at_once: bool = False) -> Mapping[str, Any]:
        """Classify with the model in a folder from now on. Return an empty object once the query
        has begun to read records. `at_once`: do not warm up the JVM first, because records wait
        already."""
        self._stream.classify(Path(model), at_once=at_once)
        return {}


def _wait_for(spark: SparkSession) -> None:
    """Wait until the JVM has ended."""
    gateway: Any = spark.sparkContext._gateway
    gateway.proc.wait()


def serve(listener: Listener, commands: Commands) -> None:
    """Carry out commands for ever, one after the other, each with a connection of its own."""
    while True:
        # A client that does not know the key, or is gone before the answer, is ignored.
        with suppress(OSError, EOFError, AuthenticationError), listener.accept() as connection:
            answer(connection, commands)


def answer(connection: Connection, commands: Commands) -> None:
    """Carry out one command and send its result, or, as `error`, what it raised. Raises OSError,
    EOFError when the client is gone."""
    request = json.loads(connection.recv_bytes())
    call: Callable[..., Mapping[str, Any]] = getattr(commands, request.pop("command"))
    try:
        found = call(**request)
    except Exception as error:
        found = {"error": f"{type(error).__name__}: {error}"}
    connection.send_bytes(json.dumps(found).encode())


def main(path: Path) -> None:
    """Take commands until SIGTERM."""
    settings = json.loads(path.read_text())
    ready = Path(settings["ready"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def give_up() -> None:
        """End this process; another one takes over."""
        print(watch.problem, flush=True)
        os._exit(1)

    watch = Watch(give_up)
    commands = Commands(settings, watch)

    def stop(*_: object) -> None:
        # On this machine, all of Spark is in processes that end with this one. A cluster must be
        # told.
        if not local(settings["parameters"]):
            commands.spark.stop()
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    # When the JVM ends, the watch calls `give_up`.
    watch.thread("the JVM", lambda: _wait_for(commands.spark))
    if settings["model"]:
        # After a crash, records wait: `at_once`.
        commands.classify(settings["model"], at_once=True)
    # The socket is in a folder that no other user can enter: a client that connects and says
    # nothing would keep others out.
    place = ready.parent / SOCKET
    place.unlink(missing_ok=True)
    with (
        short_path(place) as address,
        Listener(address, "AF_UNIX", authkey=settings["key"].encode()) as listener,
    ):
        ready.touch()
        serve(listener, commands)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
