"""Runs with a real broker: what arrives, what an outage costs, and what is left of a killed run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from support.command import SFCPERF, spawn
from support.ended import ended
from support.local import processes_with, small_workflow
from support.services.service import kafka_is_there
from support.services.streams import stored

from sfcperf import retry
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.services.kafka.topics import TopicsClient

pytestmark = [pytest.mark.root, pytest.mark.server]


class Run:
    """The command `sfcperf run` in a folder of its own; its processes are marked."""

    def __init__(self, folder: Path, kafka: str, services: dict[str, Any], seconds: int) -> None:
        self.results, self._temporary = folder / "results", folder / "temporary"
        self._temporary.mkdir()
        knobs = {"kafka": kafka, "window_s": 0.5, "early_packets": 1}
        document = small_workflow(
            services=services,
            vnfs={"ids": {"type": "ids", "knobs": knobs}},
            chain={"functions": [{"vnf": "ids"}]},
            probes=[
                {"probe": "httperf", "connections": 50 * seconds, "rate_per_s": 50, "timeout_s": 60}
            ],
        )
        workflow = folder / "stream.json"
        workflow.write_text(json.dumps(document))
        self.process = spawn(
            *("run", workflow, "--results", self.results),
            stdout=subprocess.DEVNULL,
            env=self._environment,
            start_new_session=True,
        )

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, "TMPDIR": str(self._temporary)}

    def end(self) -> int:
        _, said = self.process.communicate(timeout=200)
        assert self.process.returncode in (0, 1, 130), said
        return self.process.returncode

    def command(self, *arguments: str) -> str:
        done = ended([SFCPERF, *arguments], timeout_s=120, environment=self._environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def processes(self) -> dict[int, str]:
        return processes_with("TMPDIR", str(self._temporary))

    def store(self) -> RunStore:
        (folder,) = self.results.iterdir()
        return RunStore(folder)

    def state(self) -> str:
        """What run.json says it does."""
        for manifest in self.results.glob("*/run.json"):
            return str(json.loads(manifest.read_text())["state"])
        return ""

    def await_state(self, state: str) -> None:
        assert retry.until(lambda: self.state() == state, timeout_s=60, period_s=0.01)


def check_whole(records: list[dict[str, Any]], run_id: str) -> None:
    """Each record that was made is there, once: none was lost, and none was stored twice."""
    assert sorted(record["sequence"] for record in records) == list(range(len(records)))
    assert {record["run"] for record in records} == {run_id}
    assert {record["source"] for record in records} == {"ids-1"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("away_s", [0, 35], ids=["killed", "away for 35 s"])
def test_no_record_is_lost_while_the_broker_is_away(
    kafka: Any, tmp_path: Path, away_s: int
) -> None:
    """The broker is that of others, so that the run waits until they have started it again."""
    topic = f"records-{away_s}"
    client = TopicsClient(kafka.address)
    client.create([topic], 4)
    cluster = {"kafka": {"service": "kafka", "bootstrap": [kafka.address]}}
    # Long enough that records which wait for a broker that is soon back are sent before the end:
    # a JVM takes 3 to 10 s to start, and librdkafka tries again after up to 10 s.
    run = Run(tmp_path, f"{kafka.address}/{topic}", cluster, seconds=2 if away_s else 30)
    run.await_state("measuring")
    # Connections of the probe, not packets that prove the chain.
    assert retry.until(lambda: client.sizes([topic])[topic] > 20, timeout_s=60, period_s=0.01)
    os.kill(kafka.pids()[0], signal.SIGKILL)
    time.sleep(away_s)
    kafka.recover()
    run.end()
    (trial,) = run.store().trials()
    # A busy machine may make it doubtful.
    assert trial.status in ("valid", "untrusted"), trial.reasons
    if away_s:  # else it is back before the run looks
        assert any("service kafka: no broker of" in text for text in failures(trial))
    assert trial.notes["services"]["kafka"] == {"records": 0, "verdicts": 0, "dead_letters": 0}
    size = client.sizes([topic])[topic]
    records = [json.loads(text) for text in stored(kafka.address, topic, size)]
    assert len(records) == size > 100
    check_whole(records, run.store().run_id)
    # The run's own topics are gone.
    facts = run.store().manifest()["services"]["kafka"]
    assert client.existing(facts["topics"].values()) == []


def failures(trial: TrialRecord) -> list[str]:
    return [failed.reason for failed in trial.failed_attempts]


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_start_of_the_broker_that_is_cut_short(
    tmp_path: Path, state_dir: Path, number: signal.Signals
) -> None:
    if not kafka_is_there():
        pytest.skip("Kafka is not there: make setup-security")
    run = Run(tmp_path, "kafka", {"kafka": {"service": "kafka"}}, seconds=1)
    assert retry.until(lambda: "java" in run.processes().values(), timeout_s=60, period_s=0.01)
    assert run.state() == "starting services"
    if number == signal.SIGKILL:
        for pid, name in run.processes().items():
            if name == "java":  # or the one that only prepares a folder ends before `clean` looks
                os.kill(pid, signal.SIGSTOP)
    os.kill(run.process.pid, number)
    if number == signal.SIGKILL:
        run.process.wait()
        assert "java" in run.processes().values()
        assert "(java)" in run.command("clean")
    else:
        assert run.end() == 130
    run.process.communicate()
    assert run.processes() == {}
    assert list((state_dir / "runs").glob("*")) == []


@pytest.mark.exhaustive
def test_a_broker_of_the_runs_own(tmp_path: Path, state_dir: Path) -> None:
    """Killed beside a trial, it is started again; killed with the run, it is gone after clean."""
    run = Run(tmp_path, "kafka", {"kafka": {"service": "kafka"}}, seconds=3)
    run.await_state("measuring")
    (pid,) = (pid for pid, name in run.processes().items() if name == "java")
    os.kill(pid, signal.SIGKILL)
    run.end()
    (trial,) = run.store().trials()
    assert trial.status in ("valid", "untrusted"), trial.reasons
    (failure,) = failures(trial)
    assert "service kafka: the broker has ended with status -9" in failure
    assert trial.notes["services"]["kafka"]["records"] > 150
    assert run.processes() == {}
    assert list((state_dir / "runs").glob("*")) == []


def test_without_a_broker_records_are_a_file_in_the_results(tmp_path: Path) -> None:
    run = Run(tmp_path, "", {}, seconds=1)
    run.end()
    (file,) = run.store().folder.glob("raw/driver/d0001-s000/ids-1/*.records.jsonl")
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(records) >= 50
    check_whole(records, run.store().run_id)
