"""The classifier on Spark beside the one on scikit-learn: what Spark costs, and when it pays.

    sudo .venv/bin/python benchmarks/security/spark_price.py [rates | recovery]

Each engine works with a broker of its own on this machine, one after the other, with the records of
the same trace. First a backlog is read, twice, the first time as a warm-up. Then records come at a
rate: CPU time of the engine's processes per record, and latencies by Kafka's time stamps, as in
classification_rate.py. `recovery`: from SIGKILL of all processes of the engine to the first verdict
on a record that was sent since, in three kills. Spark pays where a rate is more than the other
engine can do.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from classification_rate import RATE_S, WARM_UP, RateBench, cpu_s, rate_bench
from confluent_kafka import TopicPartition

from sfcperf.services.classifier import verdicts
from sfcperf.services.classifier.kafka_client import consumer

RATES = (300, 1_000, 10_000, 20_000, 30_000)
MOST_P99_MS = 500
KILLS = 3
BASE = "scikit-learn"
ENGINES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    BASE: (BASE, {}),
    "spark, real-time": ("spark", {}),
    "spark, micro-batch": ("spark", {"trigger": "micro-batch"}),
}


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="?", choices=("rates", "recovery"), help="both by default")
    what = parser.parse_args().what
    if what != "recovery":
        show_rates()
    if what != "rates":
        show_recovery()


def show_rates() -> None:
    """Print costs and latencies."""
    costs: dict[str, dict[int, float]] = {}
    most: dict[str, float] = {}
    print(f"{'engine':20} {'records/s':>10} {'CPU us':>8} {'median ms':>10} {'p99 ms':>8}")
    for name, (engine, parameters) in ENGINES.items():
        begun_s = time.monotonic()
        with rate_bench(engine, spark=parameters) as bench:
            ready_s = time.monotonic() - begun_s
            bench.send(WARM_UP)
            bench.wait(WARM_UP)
            bench.drained()
            most[name], cpu_us = bench.drained()
            print(f"{name:20} {most[name]:>10,.0f} {cpu_us:>8.1f}   backlog", flush=True)
            costs[name] = {rate: row(name, bench, rate) for rate in RATES}
            print(f"{name:20} ready after {ready_s:.1f} s")
    for name in list(ENGINES)[1:]:
        ratios = ", ".join(f"{costs[name][r] / costs[BASE][r]:.2f} at {r:,}" for r in RATES)
        print(f"CPU time per record by that of {BASE}: {name}: {ratios}")
        print(f"backlog by that of {BASE}: {name}: {most[name] / most[BASE]:.3f}")


def row(name: str, bench: RateBench, rate: int) -> float:
    """Print a row; gives CPU time per record [us]."""
    used_s = bench.engine_cpu_s()
    found_ms = np.array(bench.latencies_ms(rate))
    cpu_us = (bench.engine_cpu_s() - used_s) / (rate * RATE_S) * 1e6
    middle, high = np.percentile(found_ms, [50, 99])
    late = "" if high <= MOST_P99_MS else f"   more than {MOST_P99_MS}"
    print(f"{name:20} {rate:>10,} {cpu_us:>8.1f} {middle:>10.0f} {high:>8.0f}{late}", flush=True)
    return cpu_us


def show_recovery() -> None:
    """Print how long each engine is away."""
    for name, (engine, parameters) in ENGINES.items():
        with rate_bench(engine, spark=parameters) as bench:
            bench.send(WARM_UP)
            bench.wait(WARM_UP)
            found_s = sorted(recovery_s(bench) for _ in range(KILLS))
        print(f"{name:20} recovery {', '.join(f'{each:.1f}' for each in found_s)} s", flush=True)


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
    main()
