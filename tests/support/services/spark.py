"""The engine `spark` at a real broker, without a classifier around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from confluent_kafka import Consumer, Message, Producer

from sfcperf import retry
from sfcperf.services import processes
from sfcperf.services.classifier import kafka_client, verdicts
from sfcperf.services.classifier.engine import Broker
from sfcperf.services.classifier.examples import Examples
from sfcperf.services.classifier.features import FEATURES
from sfcperf.services.classifier.spark import settings
from sfcperf.services.classifier.spark.engine import SparkEngine
from sfcperf.workflow.defaults import with_defaults
from support.services.service import new_context, started

PARTITIONS = 2


@dataclass
class Running:
    """An engine, and topics of its own."""

    engine: SparkEngine
    broker: Broker
    folder: Path

    def send(self, messages: Sequence[bytes | None], partition: int = 0) -> None:
        """Store them as records, each with its number as key."""
        producer = Producer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "log_level": 0,
                "message.max.bytes": 2_000_000,
                "queue.buffering.max.messages": 10_000_000,
            }
        )
        for number, message in enumerate(messages):
            producer.produce(self.broker.records, message, key=str(number), partition=partition)
        assert producer.flush(120) == 0

    def read(self, topic: str, count: int, timeout_s: float = 60) -> list[Message]:
        """The first answers in a topic, each once; fewer if they do not come. What was under way
        when a query ended is answered again."""
        client: Consumer = kafka_client.consumer(self.broker.bootstrap, "test")
        kafka_client.assigned(client, topic)
        found: dict[tuple[int, int], Message] = {}

        def all_there() -> bool:
            for message in client.consume(100_000, 0.2):
                assert message.error() is None
                found.setdefault(answered(message), message)
            return len(found) >= count

        retry.until(all_there, timeout_s=timeout_s, period_s=0.01)
        client.close()
        return list(found.values())


def answered(message: Message) -> tuple[int, int]:
    """Partition and offset of the record that a verdict or a dead letter is about."""
    headers = message.headers()
    if headers:
        place = dict(headers)
        return int(place["partition"]), int(place["offset"])
    return verdicts.decode(message.value()).record


def examples(rows: int = 400, seed: int = 1) -> Examples:
    """Three labels that one feature each tells apart, and others that do not matter."""
    random = np.random.default_rng(seed)
    features = random.integers(0, 1000, (rows, len(FEATURES)), dtype=np.int64)
    flood = features[:, FEATURES.index("total_fpackets")] > 500
    scan = features[:, FEATURES.index("total_bpackets")] > 500
    return Examples(features, np.where(flood, "flood", np.where(scan, "scan", "benign")))


@contextmanager
def engine_at(kafka: Any, folder: Path, tag: str, **parameters: Any) -> Iterator[Running]:
    """An engine that has not been started, at topics of its own on that broker."""
    pytest.importorskip("pyspark", reason="PySpark is not there: make setup-security")
    needs = SparkEngine.requirements({"spark": with_defaults(settings.SCHEMA, parameters)})
    if missing := [need.name for need in needs if not need.met]:
        pytest.skip(f"not there: {', '.join(missing)} (make setup-security)")
    for name in ("kafka", "engine"):
        (folder / name).mkdir(parents=True)
    context = new_context(folder / "engine", tag=tag)
    with started(
        new_context(folder / "kafka", tag=tag),
        "kafka",
        bootstrap=[kafka.address],
        partitions=PARTITIONS,
    ) as topics:
        broker = Broker(
            topics.address,
            topics.topics["records"],
            topics.topics["verdicts"],
            topics.topics["dead-letters"],
            f"test-{tag}",
        )
        engine = SparkEngine(context, _wholly(parameters), broker)
        try:
            yield Running(engine, broker, folder)
        finally:
            engine.stop()
            left = [r for r in context.journal.outstanding() if r.kind == processes.KIND]
            assert processes.undo(left, dry_run=False) == []


def trained(running: Running, name: str, of: Examples) -> Path:
    """A model in a new folder."""
    folder = running.folder / name
    folder.mkdir()
    running.engine.train(of, folder)
    return folder


def _wholly(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    # Spark's driver with the first compiler alone takes half of the CPU time of a test.
    conf = {"spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1"}
    given = {"master": "local[2]", "conf": conf, **parameters}
    return {"spark": with_defaults(settings.SCHEMA, given)}
