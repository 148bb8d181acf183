"""A chain that detects attacks and blocks them: IDS, broker, flow classifier, firewall."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.command import SFCPERF, run_folder, spawn
from support.local import processes_with, small_workflow
from support.services.classifier import write_trace
from support.services.service import kafka_is_there

from sfcperf import retry
from sfcperf.results.store import RunStore
from sfcperf.services.kafka.topics import TopicsClient

pytestmark = [pytest.mark.root, pytest.mark.server]


def workflow(folder: Path, engine: str, **kafka: Any) -> Path:
    """UDP is an attack by what trains, and TCP is benign. `kafka`: parameters of the broker.

    Spark judges in micro-batches, which take seconds on a busy machine.
    """
    pcap, labels = write_trace(folder)
    lines = labels.read_text().splitlines(keepends=True)
    labels.write_text("".join(line for line in lines if "syn-flood" not in line))
    training = {"pcap": str(pcap), "labels": str(labels)}
    document = small_workflow(
        services={
            "stream": {"service": "kafka", **kafka},
            "judge": {
                "service": "classifier", "kafka": "stream", "training": training, "share": 0.5,
                "engine": engine,
            },
        },
        vnfs={
            "ids": {"type": "ids", "knobs": {"kafka": "stream", "window_s": 0.5}},
            "fw": {"type": "nsh_firewall"},
        },
        chain={"functions": [{"vnf": "ids"}, {"vnf": "fw"}]},
        probes=[
            {"probe": "httperf", "connections": 60, "rate_per_s": 30},
            {"probe": "iperf3", "name": "udp", "protocol": "udp", "rate_bps": 1_000_000,
             "duration_s": 10 if engine == "spark" else 3},
        ],
        design={"rounds": 1, "warmup_rounds": 0, "max_retries": 0},
    )  # fmt: skip
    path = folder / "blocking.json"
    path.write_text(json.dumps(document))
    return path


def skip_what_is_absent(engine: str) -> None:
    if engine == "spark":
        pytest.importorskip("pyspark", reason="PySpark is not there: make setup-security")
    if not kafka_is_there():
        pytest.skip("Kafka is not there: make setup-security")


@pytest.mark.parametrize(
    "engine", ["scikit-learn", pytest.param("spark", marks=pytest.mark.exhaustive)]
)
def test_what_is_judged_an_attack_is_blocked(
    kafka: Any, tmp_path: Path, state_dir: Path, engine: str
) -> None:
    """At a broker of others, whose topics of the run go with it."""
    skip_what_is_absent(engine)
    path = workflow(tmp_path, engine, bootstrap=[kafka.address])
    store = RunStore(run_folder(path, tmp_path / "results", timeout_s=200))
    facts = store.manifest()["services"]
    assert (facts["judge"]["engine"], facts["stream"]["bootstrap"]) == (engine, kafka.address)
    topics, tag = facts["stream"]["topics"], store.manifest()["sessions"][0]["tag"]
    assert topics["records"] == f"sfcperf-flow-records-{tag}"
    assert TopicsClient(kafka.address).existing(topics.values()) == []
    trials: dict[str, Any] = {trial.label: trial for trial in store.trials()}
    benign = trials["httperf"].notes
    assert benign["services"]["judge"]["rules_sent"] == 0
    assert benign["services"]["judge"]["labels"]["benign"] >= 120
    attack = trials["udp"].notes
    assert attack["services"]["judge"]["labels"]["udp-flood"] >= 1
    assert attack["services"]["judge"]["rules_sent"] >= 1
    assert attack["services"]["judge"]["in_force"]["count"] >= 1
    assert attack.get("sf_drops", {}).get("fw-1", 0) > 100, attack["services"]["judge"]
    for notes in (benign, attack):
        judged = notes["services"]["judge"]
        stored = judged["records_stored"]
        assert judged["records_received"] == sum(judged["labels"].values()) == stored
        # Read after the trial had begun.
        assert 0 < notes["services"]["stream"]["records"] <= stored


@pytest.mark.exhaustive
@pytest.mark.parametrize("engine", ["scikit-learn", "spark"])
def test_nothing_is_left_of_a_killed_run(tmp_path: Path, state_dir: Path, engine: str) -> None:
    """Broker, engine and serving layer are processes of their own, which outlive sfcperf."""
    skip_what_is_absent(engine)
    with spawn(
        *("run", workflow(tmp_path, engine), "--results", tmp_path / "r"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert retry.until(
            lambda: any(
                '"measuring"' in each.read_text() for each in tmp_path.glob("r/*/run.json")
            ),
            timeout_s=120,
            period_s=0.05,
        )
        process.kill()
    left = list(processes_with("SFCPERF_STATE_DIR", str(state_dir)).values())
    assert left.count("java") == (2 if engine == "spark" else 1), left
    done = subprocess.run([SFCPERF, "clean"], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    assert processes_with("SFCPERF_STATE_DIR", str(state_dir)) == {}
    assert list((state_dir / "runs").glob("*")) == []
