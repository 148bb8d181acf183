"""Broker: a Kafka broker of the run's own, in KRaft mode on one node (KIP-833), without
ZooKeeper."""

from __future__ import annotations

import base64
import json
import random
import re
import socket
import uuid
from pathlib import Path
from typing import Any

from sfcperf import retry
from sfcperf.errors import EnvironmentLacks, MeasurementError
from sfcperf.hosts.base import Process
from sfcperf.services import jars
from sfcperf.services.base import ServiceContext
from sfcperf.services.kafka.topics import TopicsClient

JARS = "kafka"
HEAP_MIB = 256
_PORTS = range(20_000, 32_768)
"""Ports for the broker, below those that Linux gives to clients: so no client takes the port while
the broker starts again."""
_FORMAT_TIMEOUT_S = 60.0
_START_TIMEOUT_S = 120.0
_JAR = re.compile(r"kafka_[0-9.]+-(.+)\.jar")

_PROPERTIES: dict[str, Any] = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "auto.create.topics.enable": "false",
    # One node: each topic has one replica, also Kafka's own.
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    # Kafka makes these topics at their first use, while somebody waits: one partition each takes
    # less time.
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
    # A broker that is started again after a crash can register only when the session of its former
    # self is over.
    "broker.heartbeat.interval.ms": 500,
    "broker.session.timeout.ms": 3000,
    # The default would be half of the heap.
    "log.cleaner.dedupe.buffer.size": 4 << 20,
    # The broker shares the machine with what is measured: few threads.
    "num.network.threads": 2,
    "num.io.threads": 2,
    "background.threads": 2,
    "num.recovery.threads.per.data.dir": 1,
}
_JAVA = [
    f"-Xmx{HEAP_MIB}m",
    "-XX:+UseSerialGC",  # one thread, as long as the heap is small
    # The first compiler alone: a start takes less CPU time, and so did each of the first 600,000
    # records.
    "-XX:TieredStopAtLevel=1",
    "-Dlog4j2.level=warn",
]


def version() -> str:
    """Version of the installed Kafka; empty when there is none."""
    found = [_JAR.fullmatch(path.name) for path in jars.folder(JARS).glob("kafka_*.jar")]
    return next((match[1] for match in found if match), "")


class Broker:
    """One broker. Call `format` once, then `start`. After `stop`, or when the broker has died,
    `start` starts it again on its port and with its data."""

    def __init__(self, context: ServiceContext, listen: str, port: int) -> None:
        """`listen` is an IPv4 address of this machine; port 0: any free one. Nothing is created
        yet. Raises EnvironmentLacks."""
        self._context = context
        self.address = f"{listen}:{port or _free_port(listen)}"
        # The broker is its own controller, for which it listens on a second port.
        self._controller = f"127.0.0.1:{_free_port('127.0.0.1', besides=self.address)}"
        self._settings = context.state_dir / "server.properties"
        self.log = context.outputs / "broker.log"
        self._process: Process | None = None

    def format(self) -> None:
        """Make the broker's storage. A JVM of its own is started for that. Raises
        EnvironmentLacks."""
        folder = self._context.state_dir / "data"
        settings = {
            **_PROPERTIES,
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{self._controller}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "controller.quorum.voters": f"1@{self._controller}",
            "log.dirs": folder,
        }
        # The escapes of JSON are those of Java's properties, which are Latin-1.
        lines = (f"{name}={json.dumps(str(value))[1:-1]}\n" for name, value in settings.items())
        self._settings.write_text("".join(lines))
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        log = self._context.outputs / "format.log"
        # One word: an id may begin with a dash.
        arguments = ("format", f"--cluster-id={cluster}", "--config", str(self._settings))
        process = self._context.spawn(
            jars.java(JARS, _JAVA, "kafka.tools.StorageTool", *arguments), log
        )
        try:
            status = process.wait(_FORMAT_TIMEOUT_S)
        except MeasurementError as error:
            raise _unusable(f"cannot make its storage: {error.message}", log) from error
        finally:
            # Also after the process has ended: this notes in the journal that it is gone.
            process.stop(0)
        if status != 0:
            raise _unusable(f"cannot make its storage (status {status})", log)

    def start(self, client: TopicsClient) -> None:
        """Start the broker, and return when it answers `client`. Raises EnvironmentLacks."""
        process = self._process = self._context.spawn(
            jars.java(JARS, _JAVA, "kafka.Kafka", str(self._settings)), self.log
        )

        def decided() -> bool:
            """Whether the broker has ended, or answers. No topic is asked for: none may exist."""
            return process.poll() is not None or client.problem((), 0.5) is None

        if not retry.until(decided, timeout_s=_START_TIMEOUT_S, period_s=0.1):
            raise _unusable(f"does not answer after {_START_TIMEOUT_S:g} s", self.log)
        if problem := self.problem():
            raise _unusable(problem, self.log)

    def problem(self) -> str | None:
        """Say how the process has ended; None while it runs, before `start` and after `stop`."""
        status = None if self._process is None else self._process.poll()
        return None if status is None else f"has ended with status {status}"

    def pids(self) -> tuple[int, ...]:
        """Id of the broker's process, if it was started."""
        return () if self._process is None else (self._process.pid,)

    def stop(self) -> None:
        """Kill the broker at once. Nothing is lost by that: its log holds all."""
        if self._process is not None:
            self._process.stop(0)
            self._process = None


def _unusable(why: str, log: Path) -> EnvironmentLacks:
    return EnvironmentLacks(f"the Kafka broker {why}", hint=f"see {log}")


def _free_port(listen: str, besides: str = "") -> int:
    """Choose a port that nobody listens on, at random: two runs that start at once hardly draw the
    same one. Raises EnvironmentLacks."""
    for port in random.sample(_PORTS, 100):
        if f"{listen}:{port}" == besides:
            continue
        try:
            with socket.create_server((listen, port)):
                return port
        except OSError as error:
            problem = error
    raise EnvironmentLacks(
        f"the Kafka broker cannot listen on {listen}: {problem.strerror}",
        hint="give an IPv4 address of this machine as `listen`",
    )
