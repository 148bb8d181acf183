"""Spark where it takes longer: a cluster, a backlog, a broker that is away."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.services import spark
from support.services.classifier import classifier_bench, flow_packets, record, syn
from support.services.flow_records import columns, message
from support.services.service import free_port, new_context, started
from support.services.spark import Running

from sfcperf import retry
from sfcperf.hosts.base import Process

pytestmark = [pytest.mark.server, pytest.mark.exhaustive]
FLOOD = message(features=columns(total_fpackets=900))


class Cluster:
    """Spark's standalone master with one worker."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self._program = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
        self._context = new_context(folder)
        self.master = f"spark://127.0.0.1:{free_port()}"
        host, port = self.master.removeprefix("spark://").split(":")
        own = ["--host", host, "--port", port, "--webui-port", str(free_port())]
        self._processes = [self._spawn("master.Master", *own)]
        self.worker = self.add_worker()

    def _spawn(self, name: str, *arguments: str) -> Process:
        return self._context.spawn(
            [
                "env",
                f"SPARK_LOCAL_DIRS={self._context.state_dir}",
                f"SPARK_DAEMON_JAVA_OPTS=-Djava.io.tmpdir={self._context.state_dir}",
                self._program,
                f"org.apache.spark.deploy.{name}",
                *arguments,
            ],
            self._context.outputs / f"{name}.log",
        )

    def add_worker(self) -> Process:
        own = ["--host", "127.0.0.1", "--cores", "2", "--memory", "1g"]
        own += ["--work-dir", str(self._context.state_dir), "--webui-port", str(free_port())]
        self.worker = self._spawn("worker.Worker", *own, self.master)
        self._processes.append(self.worker)
        return self.worker

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.stop(0)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    pytest.importorskip("pyspark", reason="PySpark is not there: make setup-security")
    (tmp_path / "cluster").mkdir()
    found = Cluster(tmp_path / "cluster")
    try:
        yield found
    finally:
        found.stop()


def answers(running: Running, count: int, timeout_s: float) -> int:
    return len(running.read(running.broker.verdicts, count, timeout_s=timeout_s))


def test_a_cluster_whose_worker_dies(kafka: Any, cluster: Cluster, tmp_path: Path) -> None:
    conf = {"spark.driver.host": "127.0.0.1", "spark.executor.memory": "600m"}
    with spark.engine_at(
        kafka, tmp_path / "spark", "spark2", master=cluster.master, conf=conf
    ) as running:
        running.engine.start()
        running.engine.classify(spark.trained(running, "model", spark.examples()))
        running.send([FLOOD] * 1000)
        assert answers(running, 1000, 60) == 1000
        executors = psutil.Process(cluster.worker.pid).children(recursive=True)
        os.kill(cluster.worker.pid, signal.SIGKILL)
        for executor in executors:
            executor.kill()
        running.send([FLOOD] * 1000)
        time.sleep(5)
        cluster.add_worker()
        back = time.monotonic()
        assert answers(running, 2000, 120) == 2000
        print(f"verdicts {time.monotonic() - back:.1f} s after the worker was started again")
        assert running.engine.problem() is None


@pytest.mark.parametrize("trigger", ["real-time", "micro-batch"])
def test_a_backlog(kafka: Any, tmp_path: Path, trigger: str) -> None:
    with spark.engine_at(kafka, tmp_path, "spark3", trigger=trigger) as running:
        running.engine.start()
        half = [FLOOD if number % 1000 else b"poison" for number in range(50_000)]
        for partition in range(spark.PARTITIONS):
            running.send(half, partition)
        running.engine.classify(spark.trained(running, "model", spark.examples()))
        assert answers(running, 99_900, 300) == 99_900
        assert len(running.read(running.broker.dead_letters, 100)) == 100
        assert running.engine.restarts == 0


def test_a_broker_that_is_away(tmp_path: Path) -> None:
    (tmp_path / "broker").mkdir()
    with (
        started(new_context(tmp_path / "broker"), "kafka", port=free_port()) as kafka,
        spark.engine_at(kafka, tmp_path / "spark", "spark4") as running,
    ):
        running.engine.start()
        running.engine.classify(spark.trained(running, "model", spark.examples()))
        running.send([FLOOD] * 1000)
        assert answers(running, 500, 60) >= 500
        os.kill(kafka.pids()[0], signal.SIGKILL)
        time.sleep(35)
        kafka.recover()
        back = time.monotonic()
        running.send([FLOOD] * 1000)
        assert retry.until(lambda: answers(running, 2000, 1) == 2000, timeout_s=120, period_s=0.5)
        print(f"verdicts {time.monotonic() - back:.1f} s after the broker was back")
        assert running.engine.problem() is None


def test_a_classifier_on_spark(kafka: Any, tmp_path: Path, state_dir: Path) -> None:
    """The service with all of its layers: attacks are blocked, others are not, and nothing is lost
    when the engine is killed."""
    pytest.importorskip("pyspark", reason="PySpark is not there: make setup-security")
    # The rule is looked at when all verdicts are there, however long the engine takes.
    with classifier_bench(kafka, tmp_path, "spark5", {}, engine="spark", ttl_s=3600) as bench:
        bench.begin_trial()
        bench.send([record([syn(51_000 + n)], n) for n in range(6)])
        bench.send([record(flow_packets(10, 41_000 + n, 10), 6 + n) for n in range(5)])
        bench.until("records_received", 11)
        os.kill(bench.classifier.engine.pid, signal.SIGKILL)
        bench.send([record([syn(51_010 + n)], 11 + n) for n in range(6)])
        bench.send([b"poison"])
        bench.until("records_received", 18, timeout_s=120)
        assert bench.classifier.end_trial() == ()
        assert bench.classifier.trial_notes()["labels"] == {"benign": 5, "syn-flood": 12}
        grown = bench.grown()
        assert (grown["records_poisoned"], grown["speed_restarts"]) == (1, 1)
        assert [each["source"] for each in bench.rules_in_force() if each["source"]] == [
            "10.0.0.200"
        ]
        assert bench.classifier.facts()["engine"] == "spark"
