"""The classifier with a real broker and real rule interfaces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.classifier import (
    POISONED,
    ClassifierBench,
    classifier_bench,
    flow_packets,
    record,
    syn,
)

pytestmark = pytest.mark.server


@pytest.fixture
def bench(
    kafka: Any, tmp_path: Path, state_dir: Path, request: pytest.FixtureRequest
) -> Iterator[ClassifierBench]:
    tag = f"{abs(hash(request.node.nodeid)) % 36**4:06}"[:6]
    with classifier_bench(kafka, tmp_path, tag, getattr(request, "param", {})) as made:
        yield made


def test_attacks_are_blocked_and_others_are_not(bench: ClassifierBench) -> None:
    classifier = bench.classifier
    classifier.begin_trial()
    benign = [record(flow_packets(10, 41_000 + n, 10), n, window=False) for n in range(5)]
    attacks = [record([syn(51_000 + n)], n) for n in range(12)]
    bench.send([*benign, *attacks[:9]])
    bench.until("rules_sent", 9)
    blocked = bench.rules_in_force()
    assert {each["flow"]["dst_port"] for each in blocked} | {
        each["flow"]["src_port"] for each in blocked
    } == {80, *range(51_000, 51_009)}
    bench.send(attacks[9:])
    assert classifier.end_trial() == ()
    sources = [each["source"] for each in bench.rules_in_force() if each["source"]]
    assert sources == ["10.0.0.200"]
    assert classifier.trial_notes()["labels"] == {"benign": 5, "syn-flood": 12}
    print(classifier.trial_notes())
    classifier.begin_trial()
    assert bench.rules_in_force() == []
    assert classifier.end_trial() == ()
    assert classifier.trial_notes()["labels"] == {}


def test_poisoned_records_stop_nothing(bench: ClassifierBench) -> None:
    good = record([syn(50_000)])
    wrong = [
        {**good, "version": 2},
        {**good, "kind": "late"},
        {**good, "more": 1},
        {**good, "features": good["features"][:-1]},
        {**good, "features": ["nowhere", *good["features"][1:]]},
        {**good, "features": [*good["features"][:5], 2**63, *good["features"][6:]]},
        {**good, "features": [*good["features"][:5], -1, *good["features"][6:]]},
        {**good, "features": [*good["features"][:5], 1.5, *good["features"][6:]]},
    ]
    bench.classifier.begin_trial()
    bench.send([*POISONED, good, *wrong, good])
    assert bench.classifier.end_trial() == ()
    counters = bench.classifier.counters()
    poisoned = len(POISONED) + len(wrong)
    assert (counters["records_poisoned"], counters["verdicts_malicious"]) == (poisoned, 2)
    letters = bench.read("dead-letters")
    assert [letter.value() or b"" for letter in letters] == [
        *POISONED, *(json.dumps(each).encode() for each in wrong)
    ]  # fmt: skip
    assert [int(dict(letter.headers())["offset"]) for letter in letters] == [
        *range(len(POISONED)), *range(len(POISONED) + 1, poisoned + 1)
    ]  # fmt: skip
    assert all(dict(letter.headers())["reason"] for letter in letters)
