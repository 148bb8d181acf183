"""Consumers and producers of the classifier's processes.

Partitions are assigned by hand. A consumer that joins a group instead would wait until the broker
has given up the consumer of the process that was killed.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import NamedTuple, cast

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_INVALID,
    Consumer,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from sfcperf.errors import MeasurementError

TIMEOUT_S = 30.0
"""Limit for what a process asks the broker at its start."""
ANSWER_S = 5.0
"""Limit for what the broker is asked later."""
_COMMON = {
    "log.connection.close": False,
    # With these, a client is back within 10 s after its broker is.
    "reconnect.backoff.ms": 100,
    "reconnect.backoff.max.ms": 2000,
    "socket.connection.setup.timeout.ms": 5000,
    "socket.nagle.disable": True,
}


def consumer(bootstrap: str, group: str) -> Consumer:
    """Make a consumer that commits only what it is told to."""
    return Consumer(
        {
            **_COMMON,
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            # Nobody here uses transactions. With read_committed, a transaction that a stranger
            # leaves open would hold up all messages after it.
            "isolation.level": "read_uncommitted",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 50,  # newly assigned partitions wait until this request ends
            "fetch.queue.backoff.ms": 1,
            "fetch.error.backoff.ms": 100,
        }
    )


def producer(bootstrap: str) -> Producer:
    """Make a producer that writes nothing twice by itself, and waits for its broker without a
    limit."""
    return Producer(
        {
            **_COMMON,
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 1,
            "message.timeout.ms": 0,
            "queue.buffering.max.messages": 1_000_000,
        }
    )


def partitions(client: Consumer, topic: str, timeout_s: float) -> list[TopicPartition]:
    """List the partitions of a topic. Raises KafkaException if there is no such topic."""
    found = client.list_topics(topic, timeout=timeout_s).topics[topic]
    if found.error is not None:
        raise KafkaException(found.error)
    return [TopicPartition(topic, number) for number in sorted(found.partitions)]


def assigned(client: Consumer, *topics: str) -> None:
    """Let a consumer read these topics from its committed offsets; from the beginning where none
    is. Raises KafkaException."""
    places = [place for topic in topics for place in partitions(client, topic, TIMEOUT_S)]
    committed = client.committed(places, timeout=TIMEOUT_S)
    for place in committed:
        if place.offset == OFFSET_INVALID:
            place.offset = OFFSET_BEGINNING
    client.assign(committed)


class Place(NamedTuple):
    """Where a message that was read is."""

    topic: str
    partition: int
    offset: int


def place_of(message: Message) -> Place:
    """The place of a message. Do not call it for errors, which a consumer gives as messages too:
    they have none."""
    found = (message.topic(), message.partition(), message.offset())
    return Place(*cast(tuple[str, int, int], found))


def position_after(messages: Iterable[Message]) -> list[TopicPartition]:
    """Offsets to commit once these messages are done: in each partition, the one after the last
    message. The messages of a partition must be in their order."""
    last = {(at.topic, at.partition): at.offset + 1 for at in map(place_of, messages)}
    return [TopicPartition(topic, number, offset) for (topic, number), offset in last.items()]


class TopicEnds:
    """Asks a broker how many messages topics have; any thread may call it. It has a client of its
    own, because a client that is polled in another thread cannot answer."""

    def __init__(self, bootstrap: str) -> None:
        """Connects only at the first question."""
        self._bootstrap = bootstrap
        self._client: Consumer | None = None
        self._lock = Lock()

    def of(self, topic: str) -> dict[int, int]:
        """Map each partition of a topic to the offset of its next message. Raises
        MeasurementError."""
        try:
            with self._lock:
                self._client = self._client or consumer(self._bootstrap, "sfcperf-ends")
                # Of the two watermarks, the second is the offset of the next message.
                return {
                    place.partition: self._client.get_watermark_offsets(place, ANSWER_S)[1]
                    for place in partitions(self._client, topic, ANSWER_S)
                }
        except KafkaException as error:
            raise MeasurementError(f"no broker says how far {topic} goes: {error}") from error

    def reaches(self, topic: str, partition: int, offset: int) -> bool | None:
        """Whether a message with this offset exists or existed; None while no broker says it."""
        try:
            with self._lock:
                self._client = self._client or consumer(self._bootstrap, "sfcperf-ends")
                place = TopicPartition(topic, partition)
                end: int = self._client.get_watermark_offsets(place, ANSWER_S)[1]
                return offset < end
        except KafkaException:
            return None

    def close(self) -> None:
        """Disconnect from the broker."""
        if self._client is not None:
            self._client.close()
            self._client = None
