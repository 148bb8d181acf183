"""A classifier with a real broker, and rules without a data plane."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
from confluent_kafka import Consumer, Producer, TopicPartition
from scapy.packet import Packet

from sfcperf import retry
from sfcperf.hosts.namespace import LocalHost
from sfcperf.management.deployment import Deployment, RuleInterface, ServiceFunction
from sfcperf.services.classifier.running import RunningClassifier
from sfcperf.services.kafka.service import RunningKafka
from sfcperf.vnfs.rule_interface.policy import KNOBS, Policy
from sfcperf.vnfs.rule_interface.running import RunningRules
from sfcperf.vnfs.rule_interface.table import Operation, RuleTable
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import FunctionSpec, Resources
from support.services.service import new_context, started
from support.vnfs import ids_tool

ATTACKER, SERVER = 200, 1
"""Last numbers of addresses, 10.0.0.N."""
POISONED = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b'{"version":1}',
    b"[" * 100_000,
)
"""Messages that are no records, whatever the record."""
ANSWER_S = 60.0
_START_NS = 1_800_000_000 * 10**9
_MS = 10**6


def flow_packets(user: int, port: int, packets: int) -> list[Packet]:
    """What a benign client and the server say in a connection."""

    def of(way: tuple[int, int], ports: tuple[int, int], flags: str, payload: int = 0) -> Packet:
        return ids_tool.packet(4, *way, ports, "tcp", flags=flags, payload=payload)

    there, back = (user, SERVER), (SERVER, user)
    begin = [of(there, (port, 80), "S"), of(back, (80, port), "SA"), of(there, (port, 80), "A")]
    rest = [
        of(there, (port, 80), "PA", 100 + port % 50)
        if number % 2 == 0
        else of(back, (80, port), "PA", 700 + port % 300)
        for number in range(packets - len(begin))
    ]
    return begin + rest


def syn(port: int, source: int = ATTACKER) -> Packet:
    """Of a flood."""
    return ids_tool.packet(4, source, SERVER, (port, 80), "tcp", flags="S")


def write_trace(folder: Path) -> tuple[Path, Path]:
    """A capture of benign connections, a SYN flood and a UDP flood, and its labels."""
    timed: list[tuple[int, Packet]] = []
    for number in range(60):
        at = _START_NS + number * 50 * _MS
        for place, packet in enumerate(flow_packets(10 + number % 20, 40_000 + number, 10)):
            timed.append((at + place * 7 * _MS, packet))
        timed.append((at + 3 * _MS, syn(50_000 + number)))
        ends = (ATTACKER + 1, SERVER, (30_000 + number, 7))
        timed.append((at + 4 * _MS, ids_tool.packet(4, *ends, "udp", payload=300)))
    frames = [(at, ids_tool.wrapped(p, "plain")) for at, p in sorted(timed, key=lambda x: x[0])]
    pcap, labels = folder / "trace.pcap", folder / "labels.csv"
    pcap.write_bytes(ids_tool.capture(frames))
    labels.write_text(
        "start_s,end_s,protocol,address,port,other_address,other_port,label\n"
        f",,,10.0.0.{ATTACKER},,,,syn-flood\n"
        f",,,10.0.0.{ATTACKER + 1},,,,udp-flood\n"
        ",,,,,,,benign\n"
    )
    return pcap, labels


def record(packets: Sequence[Packet], sequence: int = 0, window: bool = True) -> dict[str, Any]:
    """What the IDS would send of one flow."""
    frames = [
        (_START_NS + place * 7 * _MS, ids_tool.wrapped(packet, "plain"))
        for place, packet in enumerate(packets)
    ]
    found = ids_tool.extract(frames)
    kind = "window" if window else "early"
    (chosen,) = (each for each in found if each["kind"] == kind)
    return {**chosen, "sequence": sequence, "source": "ids-1"}


class NoPackets(RuleTable):
    """A data plane that sees none."""

    versions = frozenset({4, 6})

    def change(self, operations: Sequence[Operation], lease_s: float | None) -> None:
        """Nothing."""


@dataclass
class ClassifierBench:
    """A running classifier, its broker's topics, and a rule interface."""

    classifier: RunningClassifier
    kafka: RunningKafka
    rules: RunningRules
    sent: int = 0
    before: Mapping[str, int] = field(default_factory=dict)
    """Counters when the trial began."""

    def counters(self) -> Mapping[str, int]:
        """As an IDS."""
        return {
            "records_made": self.sent,
            "records_sent": self.sent,
            "records_lost": 0,
            "records_lost_unconfirmed": 0,
        }

    def begin_trial(self) -> None:
        """Of the classifier."""
        self.classifier.begin_trial()
        self.before = self.classifier.counters()

    def grown(self) -> dict[str, int]:
        """What counters grew by in the trial."""
        now = self.classifier.counters()
        return {name: count - self.before.get(name, 0) for name, count in now.items()}

    def send(self, messages: Sequence[Mapping[str, Any] | bytes], partition: int = 0) -> None:
        """As an IDS, until the broker has them."""
        producer = Producer({"bootstrap.servers": self.kafka.address, "linger.ms": 5})
        for message in messages:
            value = message if isinstance(message, bytes) else json.dumps(message).encode()
            while True:
                try:
                    producer.produce(self.kafka.topics["records"], value, partition=partition)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(ANSWER_S) == 0
        self.sent += len(messages)

    def interface(self) -> RuleInterface:
        """Where rules are set."""
        return self.rules.interface()

    def rules_in_force(self) -> list[dict[str, Any]]:
        """The first page."""
        interface = self.interface()
        headers = {"Authorization": f"Bearer {interface.token}"}
        url = f"{interface.url}/rules?limit=10000"
        answer = requests.get(url, headers=headers, timeout=ANSWER_S)
        answer.raise_for_status()
        found: list[dict[str, Any]] = answer.json()["rules"]
        return found

    def until(self, name: str, value: int, timeout_s: float = ANSWER_S) -> None:
        """Wait until a counter is at least that."""
        assert retry.until(
            lambda: self.grown()[name] >= value, timeout_s=timeout_s, period_s=0.05
        ), self.grown()

    def read(self, topic: str) -> list[Any]:
        """All messages that a topic has now: verdicts, or dead letters."""
        name = self.kafka.topics[topic]
        consumer = Consumer({"bootstrap.servers": self.kafka.address, "group.id": "reader"})
        numbers = consumer.list_topics(name, timeout=ANSWER_S).topics[name].partitions
        places = [TopicPartition(name, number, 0) for number in numbers]
        wanted = sum(consumer.get_watermark_offsets(p, timeout=ANSWER_S)[1] for p in places)
        consumer.assign(places)
        found: list[Any] = []

        def all_there() -> bool:
            found.extend(consumer.consume(wanted - len(found), 0.2))
            return len(found) >= wanted

        assert retry.until(all_there, timeout_s=ANSWER_S, period_s=0.01)
        consumer.close()
        return found


@contextmanager
def rule_server(folder: Path, **knobs: Any) -> Iterator[RunningRules]:
    """A rule interface without a data plane."""
    schema = {"type": "object", "properties": dict(KNOBS)}
    policy = Policy.of(with_defaults(schema, knobs))
    rules = RunningRules("fw-1", policy, NoPackets(), folder)
    rules.start()
    try:
        yield rules
    finally:
        rules.stop()


@contextmanager
def classifier_bench(
    kafka: RunningKafka, folder: Path, tag: str, knobs: Mapping[str, Any], **parameters: Any
) -> Iterator[ClassifierBench]:
    """A classifier with a chain and topics of its own; `knobs` are those of the rule interface."""
    pcap, labels = write_trace(folder)
    training = {"pcap": str(pcap), "labels": str(labels), "seed": 1}
    with ExitStack() as stack:
        for name in ("topics", "classifier", "rules", "state"):
            (folder / name).mkdir()
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("SFCPERF_STATE_DIR", str(folder / "state"))
        own = stack.enter_context(
            started(new_context(folder / "topics", tag=tag), "kafka", bootstrap=[kafka.address])
        )
        rules = stack.enter_context(rule_server(folder / "rules", **knobs))
        context = new_context(folder / "classifier", {"kafka": own}, tag)
        # Rules outlast the test on a busy machine, too.
        given = {"training": training, "share": 0.5, "ttl_s": 600, **parameters}
        running = stack.enter_context(started(context, "classifier", **given))
        bench = ClassifierBench(running, own, rules)
        running.chain_deployed(*chain(bench))
        yield bench


def chain(bench: ClassifierBench, **knobs: Any) -> tuple[Deployment, Any]:
    """An IDS and a firewall, as far as the classifier looks at them: deployment and scenario."""
    nothing: Any = None
    host = LocalHost(Path())
    functions = [
        ServiceFunction(
            name=f"{vnf}-1", vnf=vnf, type=kind, position=position, node="node1", host=host,
            interfaces=(), nsh_aware=True, vcpus=(), counters=bench.counters, alive=lambda: None,
            rule_interface=interface,
        )
        for position, (vnf, kind, interface) in enumerate(
            [("ids", "ids", None), ("fw", "nsh_firewall", bench.interface())], 1
        )
    ]  # fmt: skip
    deployment = Deployment("d", nothing, nothing, tuple(functions), (), {}, "nsh-eth")
    windows = {"window_s": 1.0, "slide_s": 0, "early_packets": 4, "early_flows": 16}
    ids = {**windows, "kafka": "kafka", **knobs}
    specs = tuple(
        FunctionSpec(f.name, f.vnf, f.type, f.position, f.node, Resources(), known, None)
        for f, known in zip(functions, (ids, {"max_ttl_s": 3600}), strict=True)
    )
    return deployment, _Scenario(_Chain(specs))


@dataclass(frozen=True)
class _Chain:
    functions: tuple[FunctionSpec, ...]


@dataclass(frozen=True)
class _Scenario:
    chain: _Chain
    services: tuple[Any, ...] = ()
