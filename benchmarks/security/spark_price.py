"""The classifier on Spark beside the one on scikit-learn: what Spark costs, and when it pays.

    sudo .venv/bin/python benchmarks/security/spark_price.py [rates | recovery]

Each engine works with a broker of its own on this machine, one after the other, with the records of
the same trace. First a backlog is read, twice, the first time as a warm-up. Then records come at a
rate: CPU time of the engine's processes per record, and latencies by Kafka's time stamps, as in
classification_rate.py. `recovery`: from SIGKILL of all processes of the engine to the first verdict
on a record that was sent since. Spark pays where a rate is more than the other
engine can do.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from _runner import Benchmark, Row, Run
from classification_rate import RATE_S, WARM_UP, RateBench, cpu_s, rate_bench
from confluent_kafka import TopicPartition

from sfcperf.services.classifier import verdicts
from sfcperf.services.classifier.kafka_client import consumer

RATES = (300, 1_000, 10_000, 20_000, 30_000)
MOST_P99_MS = 500
BASE = "scikit-learn"
ENGINES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    BASE: (BASE, {}),
    "spark, real-time": ("spark", {}),
    "spark, micro-batch": ("spark", {"trigger": "micro-batch"}),
}


def rates(_: Run) -> Iterator[Row]:
    """CPU time per record, and latencies, at rates; first that of a backlog."""
    costs: dict[tuple[str, int], float] = {}
    most: dict[str, float] = {}
    for name, (engine, parameters) in ENGINES.items():
        begun_s = time.monotonic()
        with rate_bench(engine, spark=parameters) as bench:
            ready_s = time.monotonic() - begun_s
            bench.send(WARM_UP)
            bench.wait(WARM_UP)
            bench.drained()
            most[name], cpu_us = bench.drained()
            remarks = f"{cpu_us:.1f} us CPU per record; ready after {ready_s:.1f} s"
            yield Row(f"{name}, backlog", most[name], "records/s", BASE, most[BASE], None, remarks)
            for rate in RATES:
                costs[name, rate], latency = measured(bench, rate)
                base = (BASE, costs[BASE, rate])
                yield Row(
                    f"{name}, {rate:,} records/s, CPU time", costs[name, rate], "us", *base,
                    remarks=latency,
                )  # fmt: skip


def measured(bench: RateBench, rate: int) -> tuple[float, str]:
    """CPU time per record [us], and its latency."""
    used_s = bench.engine_cpu_s()
    found_ms = np.array(bench.latencies_ms(rate))
    cpu_us = (bench.engine_cpu_s() - used_s) / (rate * RATE_S) * 1e6
    middle, high = np.percentile(found_ms, [50, 99])
    late = "" if high <= MOST_P99_MS else f", more than {MOST_P99_MS}"
    return cpu_us, f"latency: median {middle:.0f} ms, p99 {high:.0f} ms{late}"


def recovery(run: Run) -> Iterator[Row]:
    """How long each engine is away when all of its processes are killed."""
    for name, (engine, parameters) in ENGINES.items():
        with rate_bench(engine, spark=parameters) as bench:
            bench.send(WARM_UP)
            bench.wait(WARM_UP)
            found_s = [recovery_s(bench) for _ in range(run.repetitions)]
        yield Row(f"{name}, recovery", found_s, "s")


def recovery_s(bench: RateBench) -> float:
    """Time from SIGKILL of the engine's processes to a verdict on a record sent since."""
    time.sleep(1)
    verdicts_from = bench.ends.of(bench.broker.verdicts)
    records_from = bench.ends.of(bench.broker.records)
    begun_s = time.monotonic()
    for pid in cpu_s():
        if pid not in bench.known:
            os.kill(pid, signal.SIGKILL)
    bench.send(100)
    reader = consumer(bench.kafka.address, "recovery")
    reader.assign([TopicPartition(bench.broker.verdicts, n, at) for n, at in verdicts_from.items()])
    while True:
        for message in reader.consume(5000, 0.02):
            partition, offset = verdicts.decode(message.value() or b"").record
            if offset >= records_from[partition]:
                reader.close()
                return time.monotonic() - begun_s


if __name__ == "__main__":
    Benchmark(__doc__, {rates: 1, recovery: 3}).main()
