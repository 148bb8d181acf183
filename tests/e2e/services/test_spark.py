"""Spark as the classifier's engine: a real one, at a real broker."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from confluent_kafka import Producer
from support.services import spark
from support.services.flow_records import columns, message, record
from support.services.spark import Running

from sfcperf import retry
from sfcperf.errors import DeploymentError
from sfcperf.services.classifier import features, records, verdicts
from sfcperf.services.classifier.engine import LARGEST_KEY_BYTES
from sfcperf.services.classifier.records import LONGEST_NAME, PoisonedRecord

pytestmark = [pytest.mark.server, pytest.mark.exhaustive]  # 450 MB to download


@pytest.fixture(scope="module")
def running(kafka: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with spark.engine_at(kafka, tmp_path_factory.mktemp("spark"), "spark0") as found:
        found.engine.start()
        yield found


def flow(packets: int, answers: int = 0, **changes: Any) -> bytes:
    """A record of which the model knows what it is."""
    return message(features=columns(total_fpackets=packets, total_bpackets=answers), **changes)


MESSAGES = [
    flow(900),
    flow(0, 900, sequence=1, kind="early", source='"quoted\\" \u00e9'),
    flow(0, sequence=2),
    message(features=columns(srcip="2001:db8::1", dstip="::ffff:192.0.2.1", **{"class": "a,b"})),
    b" " + json.dumps(record(), indent=2).encode(),
    json.dumps(dict(reversed(record().items()))).encode(),
    flow(0, source="x" * LONGEST_NAME, run="\u00e9\U0001f600" * (LONGEST_NAME // 2)),
    flow(0, source="\x01\\" * (LONGEST_NAME // 2), run="\U0001f600" * LONGEST_NAME),
    b"",
    b"{",
    b"null",
    b"\xff" + flow(1),
    flow(1).replace(b"ids-1", b"\xff"),
    flow(1) + b"x",
    flow(1) + flow(1),
    flow(1).replace(b'"', b"'"),
    message(version=2),
    message(sequence="1"),
    message(sequence=-1),
    message(sequence=1.5),
    message(first_ns=2**63),
    message(kind="late"),
    message(source=None),
    message(more=1),
    message(features=columns()[:-1]),
    message(features=[*columns(), 1]),
    message(features=columns(total_fpackets="5")),
    message(features=columns(total_fpackets=True)),
    message(features=columns(total_fpackets=2**63)),
    message(features=columns(total_fpackets=10**400)),
    message(features=columns(srcport=65536)),
    message(features=columns(srcip="192.0.2.256")),
    message(features=columns(srcip="example.org")),
    message(features=columns(total_fpackets=float("nan"))),
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'"' + b"\\u0041" * 100_000 + b'"',
    b"x" * 1_000_000,
    message(source="\\" * 20_000),
    message(source="x" * (LONGEST_NAME + 1)),
    message(run="\x01" * (LONGEST_NAME + 1)),
    message(source="x" * 990_000),
    message(**{"x" * 990_000: 1}),
    None,
]


def good(sent: bytes | None) -> bool:
    try:
        records.parse(sent)
    except PoisonedRecord:
        return False
    return True


def test_verdicts_and_dead_letters(running: Running) -> None:
    model = spark.trained(running, "model", spark.examples())
    running.send(MESSAGES, 1)
    running.engine.classify(model)
    expected = [number for number, sent in enumerate(MESSAGES) if good(sent)]
    assert expected == [*range(8)]

    found = running.read(running.broker.verdicts, len(expected))
    judged = [verdicts.decode(each.value()) for each in found]
    parsed = [records.parse(MESSAGES[number]) for number in expected]
    rows = np.array([list(features.seen(r.kind, r.features)) for r in parsed])
    assert [v.label for v in judged] == running.engine.predict(model, rows)
    assert [v.label for v in judged[:3]] == ["flood", "scan", "benign"]
    for verdict, one, number, stored in zip(judged, parsed, expected, found, strict=True):
        assert verdict.record == (1, number)
        assert (stored.partition(), stored.key()) == (1, str(number).encode())
        seen = (verdict.source, verdict.sequence, verdict.kind, verdict.first_ns)
        assert seen == (one.source, one.sequence, one.kind, one.first_ns)
        ends = (verdict.src, verdict.src_port, verdict.dst, verdict.dst_port, verdict.protocol)
        assert ends == one.features[:5]
    letters = running.read(running.broker.dead_letters, len(MESSAGES) - len(expected))
    others = [number for number in range(len(MESSAGES)) if number not in expected]
    assert [int(dict(each.headers())["offset"]) for each in letters] == others
    assert all(dict(each.headers())["partition"] == b"1" for each in letters)
    for each, number in zip(letters, others, strict=True):
        sent = MESSAGES[number]
        assert each.value() == (sent and sent[:900_000])
        assert each.key() == str(number).encode()


def test_keys_that_are_too_large_for_an_answer(running: Running) -> None:
    """Verdicts and letters go without them."""
    running.engine.classify(spark.trained(running, "keys", spark.examples()))
    producer = Producer({"bootstrap.servers": running.broker.bootstrap})
    sizes = (990_000, LARGEST_KEY_BYTES)
    for size in sizes:
        for value in (flow(1), b"poison"):
            producer.produce(running.broker.records, value, key=b"k" * size, partition=0)
    assert producer.flush(60) == 0
    for topic in (running.broker.verdicts, running.broker.dead_letters):

        def answered(topic: str = topic) -> bool:
            found = running.read(topic, 10_000, timeout_s=2)
            keys = {each.key() for each in found if each.partition() == 0}
            return {None, b"k" * LARGEST_KEY_BYTES} <= keys

        assert retry.until(answered, timeout_s=60, period_s=0.1), topic
    assert running.engine.restarts == 0


def test_the_same_examples_give_the_same_model(running: Running) -> None:
    of = spark.examples(seed=2)
    one, other = (spark.trained(running, name, of) for name in ("one", "other"))
    assert running.engine.predict(one, of.features) == of.labels.tolist()
    more = spark.examples(2000, seed=3).features
    assert running.engine.predict(one, more) == running.engine.predict(other, more)


def test_another_model_in_the_same_jvm(running: Running) -> None:
    swapped = spark.examples()
    swapped.labels[:] = np.where(swapped.labels == "flood", "benign", "flood")
    before = jvm(running).pid
    done = len(running.read(running.broker.verdicts, 10**6, timeout_s=1))
    for number, labels in enumerate((swapped, spark.examples())):
        running.engine.classify(spark.trained(running, f"swapped-{number}", labels))
        running.send([flow(900, sequence=1000 + number)])
        found = running.read(running.broker.verdicts, done + number + 1)
        last = next(v for v in map(decoded, found) if v.sequence == 1000 + number)
        assert last.label == ("benign", "flood")[number]
    assert jvm(running).pid == before


@pytest.mark.parametrize("part", ["process", "jvm"])
def test_killed(running: Running, part: str) -> None:
    """What is killed comes back by itself, with its model and its place in the records."""
    sequence = {"process": 2000, "jvm": 3000}[part]
    victim = jvm(running)
    restarts = running.engine.restarts
    running.send([flow(900, sequence=sequence + each) for each in range(1000)])
    os.kill(victim.pid if part == "jvm" else (running.engine.pid or 0), signal.SIGKILL)
    running.send([flow(0, 900, sequence=sequence + 1000 + each) for each in range(100)])

    def labels() -> dict[int, str]:
        found = map(decoded, running.read(running.broker.verdicts, 10**6, timeout_s=1))
        return {v.sequence: v.label for v in found if sequence <= v.sequence < sequence + 1100}

    assert retry.until(lambda: len(labels()) == 1100, timeout_s=120, period_s=1)
    assert set(labels().values()) == {"flood", "scan"}
    assert running.engine.restarts == restarts + 1
    assert running.engine.problem() is None
    assert not victim.is_running()


def test_more_partitions_than_threads(kafka: Any, tmp_path: Path) -> None:
    with (
        spark.engine_at(kafka, tmp_path, "spark1", master="local[1]") as found,
        pytest.raises(DeploymentError, match="1 threads, and the topic of records 2"),
    ):
        found.engine.classify(tmp_path)


def jvm(running: Running) -> psutil.Process:
    return next(
        process
        for process in psutil.Process(running.engine.pid).children(recursive=True)
        if process.name() == "java"
    )


def decoded(stored: Any) -> verdicts.Verdict:
    return verdicts.decode(stored.value())
