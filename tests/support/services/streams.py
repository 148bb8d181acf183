"""What a broker holds, read and written by a client of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from sfcperf import retry

ANY_PARTITION = -1
_ANSWER_S = 60.0


def store(
    address: str,
    topic: str,
    values: Iterable[str | bytes | None],
    partition: int = ANY_PARTITION,
    *,
    numbered: bool = False,
) -> None:
    """Store values, if `numbered` each with its number as key, and wait until the broker has
    them."""
    producer = Producer(
        {
            "bootstrap.servers": address,
            "log_level": 0,
            "message.max.bytes": 2_000_000,
            "queue.buffering.max.messages": 10_000_000,
        }
    )
    for number, value in enumerate(values):
        key = str(number) if numbered else None
        producer.produce(topic, value, key=key, partition=partition)
    assert producer.flush(2 * _ANSWER_S) == 0


def messages(address: str, topic: str, count: int = 0) -> list[Any]:
    """All that a topic has now, and at least so many, partition by partition."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "reader", "log_level": 0})
    numbers = consumer.list_topics(topic, timeout=_ANSWER_S).topics[topic].partitions
    places = [TopicPartition(topic, number, 0) for number in numbers]
    ends = [consumer.get_watermark_offsets(place, timeout=_ANSWER_S)[1] for place in places]
    wanted = max(count, sum(ends))
    consumer.assign(places)
    found: list[Any] = []

    def all_there() -> bool:
        found.extend(consumer.consume(wanted - len(found), 0.2))
        return len(found) >= wanted

    assert retry.until(all_there, timeout_s=_ANSWER_S, period_s=0.01)
    consumer.close()
    return found


def stored(address: str, topic: str, count: int) -> list[str]:
    """The values of `messages`."""
    return [message.value().decode() for message in messages(address, topic, count)]
