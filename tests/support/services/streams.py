"""What a broker holds, read and written by a client of its own."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, Producer

from sfcperf import retry


def store(address: str, topic: str, values: Iterable[str]) -> None:
    """Store values and wait until the broker has them."""
    producer = Producer({"bootstrap.servers": address, "log_level": 0})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0


def stored(address: str, topic: str, count: int) -> list[str]:
    """At least so many values of a topic, in the order of their partitions; fewer after 30 s."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": f"test-{topic}",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])
    values: list[str] = []

    def all_there() -> bool:
        for message in consumer.consume(max(count, 1), 0.5):
            if (error := message.error()) is None:
                values.append(message.value().decode())
            else:  # a topic that is new
                assert error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART, error
        return len(values) >= count

    retry.until(all_there, timeout_s=30, period_s=0.01)
    consumer.close()
    return values
