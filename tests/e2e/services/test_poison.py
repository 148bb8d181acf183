"""What anybody who reaches the broker may write: one bad message costs one message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from support.services.classifier import (
    ANSWER_S,
    ClassifierBench,
    record,
    rule_server,
    syn,
)
from support.services.foreign import store_with_headers

from sfcperf.services.classifier.engine import LARGEST_KEY_BYTES
from sfcperf.services.classifier.kafka_client import TopicEnds
from sfcperf.services.classifier.serving.interfaces import INVALID, RuleSetter
from sfcperf.services.classifier.serving.session import Target
from sfcperf.services.classifier.verdicts import LONGEST_LABEL
from sfcperf.vnfs.rule_interface.rules import Flow, Rule, Source

pytestmark = pytest.mark.server
LARGE = 990_000
"""Bytes: nearly what the broker takes at most."""


@pytest.fixture
def bench(shared: ClassifierBench) -> Iterator[ClassifierBench]:
    """In a trial, in which no process ends."""
    shared.begin_trial()
    yield shared
    grown = shared.grown()
    assert (grown["speed_restarts"], grown["serving_restarts"]) == (0, 0)
    assert shared.classifier.problem() is None


def blocked_ports(bench: ClassifierBench) -> set[int]:
    """Of clients whose flows are blocked."""
    flows = [each["flow"] for each in bench.rules_in_force() if each["flow"]]
    return {flow[name] for flow in flows for name in ("src_port", "dst_port")} - {80}


def write(bench: ClassifierBench, topic: str, value: bytes, **more: Any) -> None:
    """As a stranger."""
    producer = Producer({"bootstrap.servers": bench.kafka.address, "message.max.bytes": 1_200_000})
    producer.produce(bench.kafka.topics[topic], value, **{"partition": 0, **more})
    assert producer.flush(ANSWER_S) == 0


def test_records_that_are_too_large_to_be_answered(bench: ClassifierBench) -> None:
    good = record([syn(50_000)])
    bench.send(
        [
            {**good, "source": "x" * LARGE},
            {**good, "run": "x" * LARGE},
            {**good, "x" * LARGE: 1},
            {**good, "source": "x" * 129},
            {**good, "source": "x" * 128},
        ]
    )
    assert bench.classifier.end_trial() == ()
    counters = bench.grown()
    assert (counters["records_poisoned"], counters["verdicts_malicious"]) == (4, 1)
    assert blocked_ports(bench) == {50_000}


def test_records_whose_key_is_large(bench: ClassifierBench) -> None:
    good = json.dumps(record([syn(50_001)])).encode()
    # As much as the broker takes, which is more than a client sends by default.
    most = 1_047_000
    for key, value in ((most, good), (most, b"poison"), (LARGEST_KEY_BYTES, good)):
        write(bench, "records", value, key=b"k" * key)
    write(bench, "records", None, key=b"k")  # type: ignore[arg-type]
    bench.sent += 4
    assert bench.classifier.end_trial() == ()
    counters = bench.grown()
    assert (counters["records_poisoned"], counters["verdicts_malicious"]) == (2, 2)
    keys = [verdict.key() for verdict in bench.read("verdicts")[-2:]]
    assert keys == [None, b"k" * LARGEST_KEY_BYTES]


def forged(**changes: Any) -> bytes:
    """A verdict that no speed layer wrote; its record is none."""
    verdict = {
        "version": 1, "record": [0, 2**62], "recorded_ms": 1, "source": "ids-1", "sequence": 0,
        "kind": "early", "first_ns": 1, "protocol": 6, "src": "10.0.0.7", "src_port": 7,
        "dst": "10.0.0.1", "dst_port": 80, "label": "syn-flood",
    }  # fmt: skip
    return json.dumps({**verdict, **changes}).encode()


FORGED = (
    forged(),
    forged(record=[0, 2**63]),
    forged(record=[0, -1]),
    forged(record=[2**40, 0]),
    forged(src_port=70_000),
    forged(protocol=256),
    forged(first_ns=10**30),
    forged(label="x" * (LONGEST_LABEL + 1)),
    forged(label=""),
    forged(src="x" * LARGE),
    forged(source="x" * LARGE),
    b"",
    b"\xff",
    b'{"a":' * 100_000,
)


def test_verdicts_of_strangers(bench: ClassifierBench) -> None:
    """Each is skipped by itself, and what the speed layer says holds."""
    for value in FORGED:
        write(bench, "verdicts", value)
    bench.send([record([syn(50_010 + number)]) for number in range(3)])
    assert bench.classifier.end_trial() == ()
    assert bench.classifier.trial_notes()["labels"] == {"syn-flood": 3}
    assert blocked_ports(bench) == {50_010, 50_011, 50_012}
    counters = bench.grown()
    # One names a partition that there is not.
    assert counters["verdicts_malformed"] == len(FORGED) - 1
    assert (counters["verdicts_repeated"], counters["records_of_before"]) == (0, 1)
    log = bench.classifier.serving.process.log.read_text()
    assert log.count("skipped: ") >= len(FORGED) - 1


def test_a_verdict_on_the_next_record_costs_that_one(bench: ClassifierBench) -> None:
    ends = TopicEnds(bench.kafka.address)
    following = ends.of(bench.kafka.topics["records"])[0] + 1
    ends.close()
    bench.send([record([syn(50_020)])])
    bench.until("verdicts_malicious", 1)
    write(bench, "verdicts", forged(record=[0, following]))
    bench.until("verdicts_malicious", 2)
    bench.send([record([syn(50_021 + number)]) for number in range(3)])
    assert bench.classifier.end_trial() == ()
    assert bench.grown()["verdicts_repeated"] == 1
    assert blocked_ports(bench) == {7, 50_020, 50_022, 50_023}


HEADERS: tuple[list[tuple[bytes, bytes]], ...] = (
    [(b"\xff\xfe", b"1")],
    [],
    [(b"partition", b"0")],
    [(b"partition", b"0"), (b"offset", str(2**62).encode())],
    [(b"partition", b"0"), (b"offset", b"1_0")],
    [(b"partition", b"0"), (b"offset", b"9" * 5000)],
    [(b"partition", b"-1"), (b"offset", b"0")],
)
"""None of a dead letter."""


def test_dead_letters_of_strangers(bench: ClassifierBench) -> None:
    for headers in HEADERS:
        topic = bench.kafka.topics["dead-letters"]
        store_with_headers(bench.kafka.address, topic, 0, b"", headers)
    bench.send([b"poison", record([syn(50_040)])])
    bench.until("dead_letters_malformed", len(HEADERS))
    assert bench.classifier.end_trial() == ()
    counters = bench.grown()
    assert (counters["records_poisoned"], counters["verdicts_malicious"]) == (1, 1)
    assert counters["dead_letters_malformed"] == len(HEADERS)
    assert blocked_ports(bench) == {50_040}


def test_one_rule_that_is_none_costs_no_other(tmp_path: Any) -> None:
    wrong: list[Rule] = [
        Flow(6, ("10.0.0.1", 70_000), ("10.0.0.2", 1)),
        Source("nowhere"),
    ]
    good: list[Rule] = [Flow(6, ("10.0.0.1", port), ("10.0.0.2", 1)) for port in range(2, 7)]
    with rule_server(tmp_path) as running:
        interface = running.interface()
        target = Target(url=interface.url, token=interface.token)
        setter = RuleSetter([target], 10, lambda _: True)
        refused = setter.put([*good[:2], wrong[0], *good[2:], wrong[1]])
        assert refused == [(rule, INVALID) for rule in wrong]
        assert setter.put(good) == []
        assert setter.put([]) == []


def test_a_transaction_that_nobody_ends_holds_up_nothing(bench: ClassifierBench) -> None:
    stranger = Producer({"bootstrap.servers": bench.kafka.address, "transactional.id": "stranger"})
    stranger.init_transactions(ANSWER_S)
    stranger.begin_transaction()
    for topic in ("records", "verdicts", "dead-letters"):
        stranger.produce(bench.kafka.topics[topic], b"{", partition=0)
    assert stranger.flush(ANSWER_S) == 0
    bench.sent += 1
    bench.send([record([syn(50_002)])])
    bench.until("rules_sent", 1)
    assert bench.classifier.end_trial() == ()
    assert blocked_ports(bench) == {50_002}
    stranger.abort_transaction(ANSWER_S)
