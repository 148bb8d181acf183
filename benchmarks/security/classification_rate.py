"""The classifier: how fast it judges records, and how well.

sudo .venv/bin/python benchmarks/security/classification_rate.py [PART ...] [--engine NAME]

`rate`: a real broker on this machine, records of a trace, one engine without the serving layer.
First a backlog is read by a consumer that only counts (the floor), and by the engine; then records
come at a rate, from another process, and Kafka's time stamps of records and verdicts tell how long
each took. `quality`: models judge records of traces of other seeds than those that trained; the
choices that were made are compared with what else could have been chosen.

The four traces take a minute each to make, and are kept.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

import numpy as np
import psutil
from confluent_kafka import Consumer, Producer, TopicPartition
from scapy.utils import RawPcapWriter
from sklearn.tree import DecisionTreeClassifier

from sfcperf.dataplane import binaries
from sfcperf.packets.pcap_file import frames
from sfcperf.services.base import ServiceContext
from sfcperf.services.classifier import examples as examples_made
from sfcperf.services.classifier import models, settings, verdicts
from sfcperf.services.classifier.engine import Broker, Engine
from sfcperf.services.classifier.examples import Examples, Extraction, joined, parts
from sfcperf.services.classifier.features import FEATURES
from sfcperf.services.classifier.kafka_client import TopicEnds, consumer, partitions
from sfcperf.services.classifier.metrics import evaluation
from sfcperf.services.classifier.models import Source
from sfcperf.services.kafka.service import Kafka
from sfcperf.services.processes import Processes
from sfcperf.traffic import labels as labelling
from sfcperf.traffic.kept import kept
from sfcperf.traffic.labels import BENIGN
from sfcperf.workflow.defaults import with_defaults

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Parameter, Row, Run

SEEDS, DURATION_S = (1, 2, 3, 4), 60.0
HOW = Extraction(window_ms=2000, slide_ms=0, early_packets=4, early_flows=16)
BACKLOG = 150_000
RATES = (10_000, 20_000, 30_000, 40_000)
RATE_S = 10.0
TICK_S = 0.005
WARM_UP = 5_000
MEAN_DELAY_NS = 500_000
PROMISED_PER_S = 30_000
COUNTS = "a consumer that only counts"
GOALS = {"mcc": Budget(low=0.95), "recall": Budget(low=0.99), "fpr": Budget(high=0.005)}
EACH_KIND = Budget(low=0.95)
WAIT_S = 300.0


# --- rate ---


class Journal:
    """Remembers nothing: the benchmark ends what it started."""

    def intend(self, resources: Sequence[Any]) -> None:
        """Nothing."""

    def removed(self, resources: Sequence[Any]) -> None:
        """Nothing."""


def context(folder: Path, name: str) -> ServiceContext:
    """Of a service without a run."""
    for part in ("state", "outputs"):
        (folder / name / part).mkdir(parents=True)
    journal: Any = Journal()
    return ServiceContext(
        name=name, run_id="benchmark", tag="bench0", state_dir=folder / name / "state",
        outputs=folder / name / "outputs", services={}, spawn=Processes(journal).spawn,
        address=lambda: "127.0.0.1", journal=journal, log=lambda line: print(line, flush=True),
    )  # fmt: skip


def messages(pcap: Path) -> list[bytes]:
    """The records of a trace, as the IDS sends them."""
    command = [str(binaries.find("sfc-ids")), "--pcap", str(pcap)]
    return subprocess.run(command, check=True, capture_output=True).stdout.splitlines()


def cpu_s(before: dict[int, float] | None = None) -> dict[int, float]:
    """CPU time of processes that this one started, children of children included."""
    found = {}
    for process in psutil.Process().children(recursive=True):
        times = process.cpu_times()
        found[process.pid] = times.user + times.system - (before or {}).get(process.pid, 0.0)
    return found


class RateBench:
    """A broker, an engine, and records."""

    def __init__(
        self, folder: Path, engine: str, sent: list[bytes], source: Source, **parameters: Any
    ) -> None:
        self.kafka = Kafka.start(context(folder, "kafka"), with_defaults(Kafka.parameters, {}))
        topics = self.kafka.topics
        self.broker = Broker(
            self.kafka.address, topics["records"], topics["verdicts"], topics["dead-letters"],
            "benchmark",
        )  # fmt: skip
        kind: type[Engine] = resolve_name(settings.ENGINES[engine])
        known = with_defaults(settings.SCHEMA, {"engine": engine, **parameters})
        own = context(folder, "classifier")
        self.known = set(cpu_s())
        self.engine = kind(own, known, self.broker)
        self.engine.start()
        model = models.trained(self.engine, source, HOW, print)
        self.ends = TopicEnds(self.kafka.address)
        self.sent = sent
        self.engine.classify(model.folder)

    def engine_cpu_s(self) -> float:
        """Of the engine's processes."""
        return sum(used for pid, used in cpu_s().items() if pid not in self.known)

    def stored(self, topic: str) -> int:
        """Messages of a topic."""
        return sum(self.ends.of(topic).values())

    def send(self, count: int) -> None:
        """At once."""
        producer = Producer({"bootstrap.servers": self.kafka.address, "linger.ms": 5})
        for number in range(count):
            while True:
                try:
                    message = self.sent[number % len(self.sent)]
                    producer.produce(self.broker.records, message, partition=number % 4)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush()

    def wait(self, verdicts_wanted: int) -> None:
        """Until so many verdicts are there."""
        end_s = time.monotonic() + WAIT_S
        while self.stored(self.broker.verdicts) < verdicts_wanted:
            if time.monotonic() > end_s:
                sys.exit(f"not so many verdicts after {WAIT_S:g} s: {verdicts_wanted}")
            time.sleep(0.02)

    def counted(self) -> tuple[float, float]:
        """Records/s and CPU time per record [us] of a consumer that reads the last backlog and
        counts."""
        floor = consumer(self.kafka.address, "floor")
        places = partitions(floor, self.broker.records, 30)
        for place in places:
            place.offset = self.ends.of(self.broker.records)[place.partition] - BACKLOG // 4
        floor.assign(places)
        begun_s, used_s, count = time.monotonic(), time.process_time(), 0
        while count < BACKLOG:
            count += len(floor.consume(5000, 0.1))
        took_s, used_s = time.monotonic() - begun_s, time.process_time() - used_s
        floor.close()
        return BACKLOG / took_s, used_s / BACKLOG * 1e6

    def drained(self) -> tuple[float, float]:
        """The same of the engine: it is stopped while the backlog comes."""
        pids = [pid for pid in cpu_s() if pid not in self.known]
        before = self.stored(self.broker.verdicts)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        self.send(BACKLOG)
        used_s, begun_s = self.engine_cpu_s(), time.monotonic()
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        self.wait(before + BACKLOG)
        took_s = time.monotonic() - begun_s
        return BACKLOG / took_s, (self.engine_cpu_s() - used_s) / BACKLOG * 1e6

    def latencies_ms(self, per_s: int) -> list[int]:
        """From record to verdict, so many records coming per second."""
        begin = self.ends.of(self.broker.verdicts)
        count = int(per_s * RATE_S)
        wanted = sum(begin.values()) + count
        code = "import sys, classification_rate as c; c.load(*sys.argv[1:])"
        arguments = [self.kafka.address, self.broker.records, str(per_s), str(RATE_S)]
        load = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.PIPE, cwd=Path(__file__).parent,
        )  # fmt: skip
        load.communicate(b"\n".join(self.sent))
        self.wait(wanted)
        return self.read(begin, count)

    def read(self, begin: dict[int, int], count: int) -> list[int]:
        """Latencies of the verdicts since."""
        reader: Consumer = consumer(self.kafka.address, "reader")
        reader.assign([TopicPartition(self.broker.verdicts, n, at) for n, at in begin.items()])
        found: list[int] = []
        while len(found) < count:
            for message in reader.consume(5000, 0.1):
                verdict = verdicts.decode(message.value() or b"")
                found.append(message.timestamp()[1] - verdict.recorded_ms)
        reader.close()
        return found

    def close(self) -> None:
        """End all."""
        self.ends.close()
        self.engine.stop()
        self.kafka.stop()


def load(address: str, topic: str, per_s: str, duration: str) -> None:
    """The process that sends: lines of standard input, so many per second."""
    sent = sys.stdin.buffer.read().splitlines()
    producer = Producer({"bootstrap.servers": address, "linger.ms": 1})
    count, done, begun_s = int(float(per_s) * float(duration)), 0, time.monotonic()
    while done < count:
        due = min(count, int((time.monotonic() - begun_s) * float(per_s)))
        while done < due:
            producer.produce(topic, sent[done % len(sent)], partition=done % 4)
            done += 1
        producer.poll(0)
        time.sleep(TICK_S)
    producer.flush()


@contextmanager
def rate_bench(engine: str, **parameters: Any) -> Iterator[RateBench]:
    """Ended whatever happens; `parameters` of the classifier."""
    source = training(0.2)
    sent = messages(kept(SEEDS[1], DURATION_S, print).pcap)
    with tempfile.TemporaryDirectory(prefix="sfcperf-rate-") as folder:
        bench = RateBench(Path(folder), engine, sent, source, **parameters)
        try:
            yield bench
        finally:
            bench.close()


def rate(run: Run) -> Iterator[Row]:
    """Rates and latencies."""
    engine = run.parameters.engine
    with rate_bench(engine) as bench:
        bench.send(WARM_UP)
        bench.wait(WARM_UP)
        found = run.in_turn({engine: bench.drained, COUNTS: bench.counted})
        (rates, used), (floor_rates, floor_used) = (
            tuple(zip(*found[side], strict=True)) for side in (engine, COUNTS)
        )
        yield Row(f"{engine}, backlog", rates, "records/s", COUNTS, floor_rates)
        yield Row(f"{engine}, CPU time per record", used, "us", COUNTS, floor_used)
        for per_s in RATES:
            found_ms = np.array(bench.latencies_ms(per_s))
            middle, high = np.percentile(found_ms, [50, 99])
            yield Row(
                f"{engine}, {per_s:,} records/s, p99", float(high), "ms",
                budget=Budget(high=500) if per_s <= PROMISED_PER_S else None,
                remarks=f"median {middle:.0f} ms, worst {found_ms.max()} ms",
            )  # fmt: skip


# --- quality ---


def training(share: float) -> Source:
    """The trace that trains an engine."""
    trace = kept(SEEDS[0], DURATION_S, print)
    return Source(trace.pcap, trace.labels, SEEDS[0], share)


@cache
def examples(seed: int, share: float = 1.0, how: Extraction = HOW) -> Examples:
    """Those of a trace that train."""
    trace = kept(seed, DURATION_S, print)
    return parts(trace.pcap, labelling.read(trace.labels), how, seed, share).training


@cache
def all_as_in_chain(seed: int, how: Extraction = HOW) -> Examples:
    """All records of a trace, in windows as the chain has them: those that do not train, of a share
    of nearly nothing."""
    trace = kept(seed, DURATION_S, print)
    return parts(trace.pcap, labelling.read(trace.labels), how, seed, 1e-9).test


@cache
def delayed(seed: int) -> Examples:
    """The same of a trace whose packets have been delayed, each by another time, as on their way
    to a chain; their order stays."""
    trace = kept(seed, DURATION_S, print)
    chance = random.Random(seed)
    latest_ns = 0
    with tempfile.TemporaryDirectory() as folder:
        pcap = Path(folder, "delayed.pcap")
        with RawPcapWriter(str(pcap), linktype=1, nano=True) as writer:
            writer.write_header(None)
            for time_ns, frame in frames(trace.pcap):
                delay_ns = chance.expovariate(1 / MEAN_DELAY_NS)
                latest_ns = max(latest_ns, time_ns + round(delay_ns))
                second, rest_ns = divmod(latest_ns, 10**9)
                writer.write_packet(frame, sec=second, usec=rest_ns)
        return parts(pcap, labelling.read(trace.labels), HOW, seed, 1e-9).test


@cache
def exact_times(seed: int) -> Examples:
    """Examples that train, with times as they were captured."""
    trace = kept(seed, DURATION_S, print)
    with patch.object(examples_made, "TIME_STEP_US", 2):
        return parts(trace.pcap, labelling.read(trace.labels), HOW, seed, 1).training


def others(test: int) -> list[int]:
    """The seeds that train where one tests; the next one first."""
    place = SEEDS.index(test)
    return [*SEEDS[place + 1 :], *SEEDS[:place]]


Predict = Callable[[np.ndarray], Sequence[str]]


def shipped(train: Examples) -> Predict:
    """As the engine `scikit-learn`."""
    tree = DecisionTreeClassifier(random_state=0)
    tree.fit(train.features, train.labels, sample_weight=train.weights)
    return lambda features: tree.predict(features).tolist()


def two_labels(train: Examples) -> Predict:
    """Attacks and others."""
    labels = np.where(train.labels == BENIGN, BENIGN, "attack")
    return shipped(replace(train, labels=labels))


def unweighted(train: Examples) -> Predict:
    """Each record weighs the same."""
    tree = DecisionTreeClassifier(random_state=0).fit(train.features, train.labels)
    return lambda features: tree.predict(features).tolist()


def two_trees(train: Examples) -> Predict:
    """One for early records, one for windows."""
    column = FEATURES.index("early")
    trees = {
        early: shipped(
            Examples(
                train.features[train.features[:, column] == early],
                train.labels[train.features[:, column] == early],
            )
        )
        for early in (0, 1)
    }

    def predict(features: np.ndarray) -> list[str]:
        found = np.empty(len(features), dtype=object)
        for early, tree in trees.items():
            rows = features[:, column] == early
            found[rows] = tree(features[rows])
        return found.tolist()

    return predict


def without(feature: str) -> Callable[[Examples], Predict]:
    """As shipped, blind for a feature."""

    def train_blind(train: Examples) -> Predict:
        column = FEATURES.index(feature)

        def blind(features: np.ndarray) -> np.ndarray:
            found = features.copy()
            found[:, column] = 0
            return found

        predict = shipped(replace(train, features=blind(train.features)))
        return lambda features: predict(blind(features))

    return train_blind


def worst(
    name: str, model: Callable[[int], Predict], seeds: Sequence[int] = SEEDS,
    tests: Callable[[int], Examples] = all_as_in_chain, *, promised: bool = False,
) -> Iterator[Row]:  # fmt: skip
    """Metrics of the models for all tests, the worst of them."""
    found = []
    for seed in seeds:
        test = tests(seed)
        found.append(evaluation(test.labels, model(seed)(test.features), test.features))
    low: dict[str, float] = {}
    for kind, of in (each for one in found for each in one["kinds"].items()):
        low[kind] = min(low.get(kind, 1.0), round(of["recall"], 3))
    below = {kind: recall for kind, recall in low.items() if recall < EACH_KIND.low}
    for metric, pick in {"mcc": min, "recall": min, "fpr": max, "fpr_early": max}.items():
        budget = GOALS.get(metric) if promised else None
        yield Row(f"{name}, {metric}", pick(each[metric] for each in found), budget=budget)
    budget = EACH_KIND if promised else None
    remarks = f"below {EACH_KIND.low}: {below}" if below else ""
    yield Row(f"{name}, recall of a kind", min(low.values()), budget=budget, remarks=remarks)


def quality(_: Run) -> Iterator[Row]:
    """Metrics of models on traces of other seeds, all of whose flows test; the worst figures."""

    def three(train: Callable[[Examples], Predict]) -> Callable[[int], Predict]:
        return lambda test: train(joined([examples(seed) for seed in others(test)]))

    def plain(test: int) -> Predict:
        return shipped(joined([all_as_in_chain(seed) for seed in others(test)]))

    def exact(test: int) -> Predict:
        return shipped(joined([exact_times(seed) for seed in others(test)]))

    yield from worst("20 % of another", lambda test: shipped(examples(others(test)[0], 0.2)))
    yield from worst("another", lambda test: shipped(examples(others(test)[0])))
    two = "two others", lambda test: shipped(joined([examples(s) for s in others(test)[:2]]))
    yield from worst(*two)
    yield from worst("three others", three(shipped), promised=True)
    yield from worst("three, two labels", three(two_labels))
    yield from worst("three, a tree for each kind of record", three(two_trees))
    yield from worst("three, records weigh the same", three(unweighted))
    yield from worst("three, without dscp", three(without("dscp")))
    yield from worst("three, windows do not overlap, exact", plain)
    delay = f"tested with packets delayed by {MEAN_DELAY_NS / 1e6:g} ms"
    yield from worst(f"three others, {delay}", three(shipped), tests=delayed)
    yield from worst(f"three, exact times, {delay}", exact, tests=delayed)
    for seed in SEEDS:
        yield from worst(f"three others, seed {seed} is tested", three(shipped), [seed])
    yield from bursts()
    yield from unseen()


def bursts() -> Iterator[Row]:
    """What models say of a benign user who begins many flows at once: all of its flows then have
    early records of one packet."""
    for seed in SEEDS:
        test = all_as_in_chain(seed, replace(HOW, early_packets=1, early_flows=0))
        of = (test.labels == BENIGN) & (test.features[:, FEATURES.index("early")] == 1)
        found = shipped(joined([examples(s) for s in others(seed)]))(test.features[of])
        alarms = sum(label != BENIGN for label in found)
        name = f"seed {seed}: first packets of benign flows that are attacks"
        yield Row(name, alarms, remarks=f"of {len(found)}")


def unseen() -> Iterator[Row]:
    """How many records of a kind are found by models that know all others, in three traces."""
    for kind in sorted(set(all_as_in_chain(SEEDS[0]).labels.tolist()) - {BENIGN}):
        found, count = 0, 0
        for seed in SEEDS:
            whole, test = joined([examples(s) for s in others(seed)]), all_as_in_chain(seed)
            known, of = whole.labels != kind, test.labels == kind
            predict = shipped(Examples(whole.features[known], whole.labels[known]))
            found += sum(label != BENIGN for label in predict(test.features[of])) if any(of) else 0
            count += int(of.sum())
        yield Row(f"recall of {kind}, which did not train", found / max(count, 1),
                  remarks=f"of {count} records")  # fmt: skip


if __name__ == "__main__":
    about = f"one of {', '.join(settings.ENGINES)}"
    Benchmark(__doc__, {rate: 6, quality: 1}, {"engine": Parameter("scikit-learn", about)}).main()
