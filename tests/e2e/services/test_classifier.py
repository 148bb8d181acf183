"""The classifier with a real broker and real rule interfaces."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import requests
from support.any_requests import operations, try_operation
from support.services.classifier import (
    ANSWER_S,
    POISONED,
    ClassifierBench,
    chain,
    classifier_bench,
    flow_packets,
    record,
    syn,
)
from support.services.service import free_port, new_context, started

from sfcperf import retry
from sfcperf.services.classifier.engine import LARGEST_LETTER_BYTES
from sfcperf.services.classifier.features import SCHEMA_HASH

pytestmark = pytest.mark.server


@pytest.fixture
def bench(shared: ClassifierBench) -> ClassifierBench:
    """One for many tests, in a trial."""
    shared.begin_trial()
    return shared


def test_attacks_are_blocked_and_others_are_not(bench: ClassifierBench) -> None:
    classifier = bench.classifier
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
    bench.send([*POISONED, good, *wrong, good])
    assert bench.classifier.end_trial() == ()
    counters = bench.grown()
    poisoned = len(POISONED) + len(wrong)
    assert (counters["records_poisoned"], counters["verdicts_malicious"]) == (poisoned, 2)
    letters = bench.read("dead-letters")[-poisoned:]
    assert [letter.value() or b"" for letter in letters] == [
        *POISONED, *(json.dumps(each).encode() for each in wrong)
    ]  # fmt: skip
    places = [int(dict(letter.headers())["offset"]) for letter in letters]
    assert [place - places[0] for place in places] == [
        *range(len(POISONED)), *range(len(POISONED) + 1, poisoned + 1)
    ]  # fmt: skip
    assert all(dict(letter.headers())["reason"] for letter in letters)


def test_a_poisoned_record_as_large_as_the_broker_takes(bench: ClassifierBench) -> None:
    """With the headers of a dead letter, it is larger than that."""
    largest = b"x" * 999_900
    bench.send([largest, record([syn(50_001)])])
    assert bench.classifier.end_trial() == ()
    counters = bench.grown()
    assert (counters["records_poisoned"], counters["verdicts_malicious"]) == (1, 1)
    assert counters["speed_restarts"] == 0
    (letter,) = bench.read("dead-letters")[-1:]
    assert letter.value() == largest[:LARGEST_LETTER_BYTES]
    assert dict(letter.headers())["reason"].endswith(b"; cut")


def one_packet_flows(count: int, first_port: int = 1024) -> list[dict[str, Any]]:
    """Records of a flood: each is of another source, with one flow."""
    pattern = record([syn(1)])
    found = []
    for number in range(count):
        features = list(pattern["features"])
        features[0] = f"198.51.{number // 250}.{number % 250}"
        features[1] = first_port
        found.append({**pattern, "features": features, "sequence": number})
    return found


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("layer", ["speed", "serving", "rules"])
def test_a_killed_process_loses_nothing(bench: ClassifierBench, layer: str) -> None:
    """Each flow has its rule, and each record its verdict, whichever process is killed."""
    classifier, rules_restarts = bench.classifier, bench.rules.restarts
    engine: Any = classifier.engine
    flows = one_packet_flows(604)[4:]
    for part in range(6):
        bench.send(flows[100 * part : 100 * (part + 1)], partition=part % 4)
        if part == 2:
            pids = {
                "speed": engine.pid,
                "serving": classifier.serving.process.pid,
                "rules": bench.rules.pid,
            }
            os.kill(pids[layer] or 0, signal.SIGKILL)
    assert classifier.end_trial() == ()
    counters = bench.grown()
    assert classifier.trial_notes()["labels"] == {"syn-flood": 600}
    assert counters["records_received"] == 600
    blocked = {flow_of_rule(each) for each in bench.rules_in_force() if each["flow"]}
    assert len(blocked) == 600
    restarts = {
        "speed": counters["speed_restarts"],
        "serving": counters["serving_restarts"],
        "rules": bench.rules.restarts - rules_restarts,
    }
    assert restarts == dict.fromkeys(restarts, 0) | {layer: 1}
    assert classifier.problem() is None


def flow_of_rule(rule: dict[str, Any]) -> tuple[str, int]:
    """The client's end."""
    flow = rule["flow"]
    ends = {(flow["src"], flow["src_port"]), (flow["dst"], flow["dst_port"])}
    (end,) = (end for end in ends if end[0] != "10.0.0.1")
    return end


@pytest.mark.exhaustive
def test_a_broker_that_is_away(tmp_path: Path) -> None:
    """No verdict is lost, and what was sent meanwhile is judged within 10 s of its return."""
    (tmp_path / "broker").mkdir()
    with (
        started(new_context(tmp_path / "broker"), "kafka", port=free_port()) as kafka,
        classifier_bench(kafka, tmp_path, "away", {}) as bench,
    ):
        bench.begin_trial()
        bench.send([record([syn(50_000 + n)], n) for n in range(500)])
        os.kill(kafka.pids()[0], signal.SIGKILL)
        time.sleep(35)
        kafka.recover()
        back_s = time.monotonic()
        bench.send([record([syn(51_000 + n)], 500 + n) for n in range(500)])
        bench.until("records_received", 1000)
        print(f"verdicts {time.monotonic() - back_s:.1f} s after the broker was back")
        assert bench.classifier.end_trial() == ()
        assert bench.grown()["verdicts_malicious"] == 1000
        assert bench.classifier.problem() is None


def test_what_the_firewall_refuses_is_counted(bench: ClassifierBench) -> None:
    bench.send(one_packet_flows(20))
    assert bench.classifier.end_trial() == ()
    assert bench.grown()["rules_refused_allow-listed"] == bench.grown()["rules_refused"] == 4
    assert len(bench.rules_in_force()) == 16


@pytest.mark.exhaustive
def test_spoofed_sources_leave_room(kafka: Any, tmp_path: Path) -> None:
    """Half of the classifier's own rules, and what the firewall has left."""
    knobs = {"max_rules": 40, "allow": ["198.51.0.0/30"]}
    with classifier_bench(kafka, tmp_path, "spoof0", knobs, max_flow_rules=100) as bench:
        bench.begin_trial()
        bench.send(one_packet_flows(300)[4:])

        def left_out() -> int:
            counters = bench.grown()
            return counters["rules_withheld"] + counters["rules_refused_full"]

        assert retry.until(lambda: left_out() == 296 - 40, timeout_s=ANSWER_S, period_s=0.05)
        # Or more: what is refused leaves room in which others are tried.
        assert bench.grown()["rules_refused_full"] >= 10
        assert len(bench.rules_in_force()) == 40
        bench.send([record([syn(51_000 + number)], number) for number in range(10)])
        assert bench.classifier.end_trial() == ()
        assert {"10.0.0.200"} == {each["source"] for each in bench.rules_in_force()} - {None}


def test_records_that_did_not_arrive_make_a_trial_untrusted(bench: ClassifierBench) -> None:
    bench.send([record([syn(51_000)])])
    bench.sent += 1
    (reason,) = bench.classifier.end_trial()
    assert reason == "the functions sent 2 records, and the broker has 1"


@pytest.mark.exhaustive
def test_another_model_while_records_come(bench: ClassifierBench) -> None:
    """The speed layer goes on where the one before it stopped."""
    flows = one_packet_flows(400)
    bench.send(flows[:200])
    facts = bench.classifier.chain_deployed(*chain(bench, early_packets=3))
    bench.send(flows[200:])
    assert facts["metrics"]["recall"] == 1
    assert bench.classifier.end_trial() == ()
    assert bench.classifier.trial_notes()["labels"] == {"syn-flood": 400}
    assert bench.grown()["verdicts_repeated"] == 0


@pytest.mark.parametrize("count", [10_000, pytest.param(200_000, marks=pytest.mark.exhaustive)])
def test_a_backlog_stops_nothing(bench: ClassifierBench, count: int) -> None:
    engine: Any = bench.classifier.engine
    os.kill(engine.pid, signal.SIGSTOP)
    message = json.dumps(record(flow_packets(10, 41_000, 10))).encode()
    for _ in range(count // 10_000):
        bench.send([message] * 10_000)
    bench.send([b"poison"])
    os.kill(engine.pid, signal.SIGCONT)
    bench.until("records_received", count + 1, timeout_s=ANSWER_S + count / 1000)
    assert bench.classifier.end_trial() == ()
    assert bench.grown()["records_poisoned"] == 1


# --- REST ---


def test_whatever_is_sent(bench: ClassifierBench) -> None:
    """No 500; answers are as OpenAPI says."""
    offered = operations(f"http://{bench.classifier.address}")
    assert len(offered) == 3
    headers = {"Authorization": f"Bearer {bench.classifier.serving.token}"}
    for operation in offered:
        # Offsets of different numbers of partitions are right by the schema, and refused.
        try_operation(operation, headers, 100, gate=3, timeout_s=ANSWER_S)
    bench.classifier.begin_trial()
    assert bench.classifier.end_trial() == ()


def test_status_and_model_by_rest(bench: ClassifierBench) -> None:
    bench.send([record([syn(51_000)]), b"poison"])
    assert bench.classifier.end_trial() == ()
    url = f"http://{bench.classifier.address}"
    headers = {"Authorization": f"Bearer {bench.classifier.serving.token}"}
    status, model = (
        requests.get(f"{url}/{path}", headers=headers, timeout=ANSWER_S).json()
        for path in ("status", "model")
    )
    assert (status["records"], status["poisoned"], status["lag"]) == (2, 1, 0)
    assert status["labels"] == {"syn-flood": 1}
    assert model["schema_hash"] == SCHEMA_HASH
    assert model["facts"]["depth"] >= 1
    assert model["metrics"]["mcc"] == 1
    for method, path in (("GET", "status"), ("GET", "model"), ("PUT", "session")):
        for wrong in ({}, {"Authorization": "Bearer x"}):
            answer = requests.request(
                method, f"{url}/{path}", headers=wrong, json={}, timeout=ANSWER_S
            )
            assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
