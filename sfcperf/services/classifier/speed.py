"""The speed layer of the engine `scikit-learn`: a process from records to verdicts.

    python -m sfcperf.services.classifier.speed SETTINGS

SETTINGS is a JSON file: `broker`, the fields of `Broker`; `model`, a folder of the store; `ready`,
a file that is written when records are read. The process works until SIGTERM.

It takes the records that are there, writes all their verdicts, waits until the broker has them, and
commits its place in the records. If it is killed in between, the next process starts from there.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from threadpoolctl import threadpool_limits

from sfcperf.services.classifier import models, records, verdicts
from sfcperf.services.classifier.engine import (
    LARGEST_KEY_BYTES,
    LARGEST_LETTER_BYTES,
    Broker,
)
from sfcperf.services.classifier.features import seen
from sfcperf.services.classifier.kafka_client import (
    assigned,
    consumer,
    place_of,
    position_after,
    producer,
)
from sfcperf.services.classifier.records import PoisonedRecord, Record
from sfcperf.services.classifier.scikit import Tree
from sfcperf.services.classifier.skipped import SkippedReport
from sfcperf.services.classifier.verdicts import Verdict

MOST_AT_ONCE = 5000
"""How many records are taken together; with more, each of them would wait longer for its
verdict."""
_IDLE_S = 0.2


class NotDelivered(Exception):
    """The broker refused what was written: the process ends, and its successor tries again."""


class SpeedLayer:
    """Reads records, and writes a verdict or a dead letter for each. Call `begin`, then `run`,
    which returns when `stopping` is set, such as by a signal handler."""

    def __init__(self, broker: Broker, tree: Tree) -> None:
        self._broker = broker
        self._tree = tree
        self._consumer: Consumer = consumer(broker.bootstrap, broker.group)
        self._producer: Producer = producer(broker.bootstrap)
        self._undelivered: KafkaError | None = None
        """The first error of a message that could not be delivered."""
        self._skipped = SkippedReport()
        self.stopping = False

    def begin(self) -> None:
        """Go to the place in the records that was committed."""
        assigned(self._consumer, self._broker.records)

    def run(self) -> None:
        """Classify records until `stopping`."""
        while not self.stopping:
            first = self._consumer.poll(_IDLE_S)
            if first is None:
                continue
            # With it, all that is there already is taken: nothing is waited for.
            self._classify([first, *self._consumer.consume(MOST_AT_ONCE - 1, 0)])
        self._consumer.close()

    def _classify(self, taken: Sequence[Message]) -> None:
        """Answer a batch of messages, wait until the broker has the answers, and then commit.
        Raises NotDelivered."""
        messages = [message for message in taken if message.error() is None]
        good: list[tuple[Message, Record]] = []
        for message in messages:
            try:
                good.append((message, records.parse(message.value())))
            except PoisonedRecord as error:
                self._skipped.note(message, error)
                self._bury(message, str(error))
        if good:
            rows = np.array([seen(r.kind, r.features) for _, r in good], dtype=np.int64)
            for (message, record), label in zip(good, self._tree.predict(rows), strict=True):
                self._write(message, record, label)
        if messages:
            self._producer.flush()
            if self._undelivered is not None:
                raise NotDelivered(str(self._undelivered))
            self._consumer.commit(offsets=position_after(messages), asynchronous=True)

    def _write(self, message: Message, record: Record, label: str) -> None:
        """Write the verdict on the record in a message."""
        columns = record.features
        at = place_of(message)
        verdict = Verdict(
            version=1,
            record=(at.partition, at.offset),
            recorded_ms=message.timestamp()[1],
            source=record.source,
            sequence=record.sequence,
            kind=record.kind,
            first_ns=record.first_ns,
            protocol=columns[4],
            src=columns[0],
            src_port=columns[1],
            dst=columns[2],
            dst_port=columns[3],
            label=label,
        )
        self._produce(self._broker.verdicts, message, verdicts.encode(verdict))

    def _bury(self, message: Message, reason: str) -> None:
        """Write a dead letter for a message that is no record."""
        at = place_of(message)
        letter = message.value() or b""
        if len(letter) > LARGEST_LETTER_BYTES:
            letter, reason = letter[:LARGEST_LETTER_BYTES], f"{reason}; cut"
        headers = {
            "partition": str(at.partition).encode(),
            "offset": str(at.offset).encode(),
            "reason": reason.encode(errors="replace"),
        }
        self._produce(self._broker.dead_letters, message, letter, headers=headers)

    def _produce(self, topic: str, message: Message, value: bytes, **more: Any) -> None:
        """Write a message to the record's partition; wait while the producer's queue is full."""
        key = message.key()
        if key is not None and len(key) > LARGEST_KEY_BYTES:
            key = None
        place = {"partition": message.partition(), "key": key, **more}
        while True:
            try:
                self._producer.produce(topic, value, on_delivery=self._delivered, **place)
            except BufferError:
                self._producer.poll(_IDLE_S)
            else:
                return

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        """Note an error. The client calls this for each message that was, or was not, delivered."""
        self._undelivered = self._undelivered or error


def main(settings: Path) -> int:
    """Run the process, and return its exit status."""
    values = json.loads(settings.read_text())
    folder = Path(values["model"])
    # This checks the files of the model, and who may write them; `Tree` reads them.
    models.load(folder)
    layer = SpeedLayer(Broker(**values["broker"]), Tree(folder))

    def stop(*_: object) -> None:
        layer.stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with threadpool_limits(1):
        try:
            layer.begin()
            Path(values["ready"]).touch()
            layer.run()
        except (KafkaException, NotDelivered) as error:
            print(f"the broker: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
