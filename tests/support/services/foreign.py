"""Messages that a stranger writes to a broker, as the Python client would not."""

from __future__ import annotations

import ctypes
from pathlib import Path

import confluent_kafka
import pytest

_PRODUCER = 0
_END, _TOPIC, _PARTITION, _VALUE, _MSGFLAGS, _HEADER = 0, 1, 3, 4, 7, 9
"""Of `rd_kafka_vtype_t`."""
_COPY = 2
_FLUSH_MS = 30_000
_ERROR_BYTES = 512


def _library() -> ctypes.CDLL:
    """librdkafka, which the Python client brings along."""
    folder = Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs"
    path = next(folder.glob("librdkafka*.so*"), None)
    if path is None:
        pytest.skip(f"confluent-kafka was built without a library of its own ({folder})")
    library = ctypes.CDLL(str(path))
    library.rd_kafka_conf_new.restype = ctypes.c_void_p
    library.rd_kafka_new.restype = ctypes.c_void_p
    return library


def store_with_headers(
    address: str, topic: str, partition: int, value: bytes, headers: list[tuple[bytes, bytes]]
) -> None:
    """Store a message whose headers have these bytes as keys, and wait until the broker has it."""
    kafka, error = _library(), ctypes.create_string_buffer(_ERROR_BYTES)
    conf = ctypes.c_void_p(kafka.rd_kafka_conf_new())
    size = ctypes.c_size_t(_ERROR_BYTES)
    assert kafka.rd_kafka_conf_set(conf, b"bootstrap.servers", address.encode(), error, size) == 0
    made = kafka.rd_kafka_new(_PRODUCER, conf, error, size)
    assert made, error.value
    client = ctypes.c_void_p(made)
    number = ctypes.c_int
    words = [
        *(number(_TOPIC), ctypes.c_char_p(topic.encode())),
        *(number(_PARTITION), ctypes.c_int32(partition)),
        *(number(_VALUE), ctypes.c_char_p(value), ctypes.c_size_t(len(value))),
        *(number(_MSGFLAGS), number(_COPY)),
    ]
    for key, text in headers:
        words += [
            *(number(_HEADER), ctypes.c_char_p(key)),
            *(ctypes.c_char_p(text), ctypes.c_ssize_t(len(text))),
        ]
    assert kafka.rd_kafka_producev(client, *words, number(_END)) == 0
    assert kafka.rd_kafka_flush(client, number(_FLUSH_MS)) == 0
    kafka.rd_kafka_destroy(client)
