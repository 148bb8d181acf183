"""An infrastructure that is a folder, and measurements of it.

The engine's promises (each trial once, nothing left, in order) hold for any driver. A driver whose
resources are files lets a test break the engine at hundreds of points in seconds, without root;
the real driver is put through the same in tests/integration. `register` declares the fakes by
entry points, as a third party would, so that they are there in child processes too.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.active.base import Probe, ProbeResult
from sfcperf.drivers.base import Driver, DriverContext, Resource
from sfcperf.errors import CannotBeMeasured, DeploymentError, MeasurementError, WorkflowError
from sfcperf.hosts.base import Host
from sfcperf.management.deployment import Deployment, Endpoint, ServiceFunction, TraversalProof
from sfcperf.passive.base import Monitor
from sfcperf.plugins import Requirement, object_schema
from sfcperf.results.flows import FlowRecord
from sfcperf.results.publisher import Publisher
from sfcperf.results.store import RunStore
from sfcperf.results.values import Loss, Metric, Observation, Sample
from sfcperf.vnfs.base import Attachment, NetworkFunction, RunningFunction
from sfcperf.workflow.model import Scenario

ENTRY_POINTS = """
[sfcperf.drivers]
fake = support.fakes:FakeDriver
other-fake = support.fakes:OtherDriver
[sfcperf.vnfs]
fake = support.fakes:FakeFunction
[sfcperf.probes]
fake = support.fakes:FakeProbe
[sfcperf.monitors]
fake = support.fakes:FakeMonitor
[sfcperf.services]
fake = support.fake_service:FakeService
[sfcperf.publishers]
fake = support.fakes:FakePublisher
"""
ROOT = Path(__file__).parents[2]


def register(folder: Path) -> str:
    """Declare the fakes in `folder`; gives the PYTHONPATH with which they are found."""
    info = folder / "sfcperf_fakes-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sfcperf-fakes\nVersion: 1\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    return os.pathsep.join([str(folder), str(ROOT / "tests")])


def document(resources: Path, **changes: Any) -> dict[str, Any]:
    """A workflow of two scenarios and two probes on the fakes."""
    return {
        "sfcperf": 1,
        "name": "fake",
        "infrastructure": {"driver": "fake", "config": {"folder": str(resources)}},
        "topology": "T1",
        "vnfs": {"sf": {"type": "fake", "resources": {"vcpus": 1, "memory_mib": 64}}},
        "chain": {"functions": [{"vnf": "sf", "count": "${chain_length}"}]},
        "factors": {"chain_length": [0, 2]},
        "probes": [{"probe": "fake", "name": "a"}, {"probe": "fake", "name": "b"}],
        "design": {"rounds": 2, "warmup_rounds": 1, "seed": 7, "max_retries": 2},
        "publish": [],
        **changes,
    }


def note(raw_dir: Path, step: str) -> None:
    """Keep the order in which things were asked for, among the attempt's raw files."""
    with (raw_dir / "steps.txt").open("a") as file:
        file.write(f"{step}\n")


class FakeHost(Host):
    """Runs nothing; packets that are sent here cross the SFs of its chain."""

    def __init__(self, counters: list[dict[str, int]]) -> None:
        self.name = "fake"
        self.workdir = Path("/nonexistent")
        self._counters = counters
        self.unparsed = 0

    def send(self, packets: int, dropped: int = 0) -> None:
        for counters in self._counters:
            counters["received"] += packets
            counters["forwarded"] += packets - dropped
            counters["dropped"] += dropped

    def break_first_function(self) -> None:
        self._counters[0]["broken"] = 1

    def read_text(self, path: str) -> str:
        return Path(path).read_text()

    def _nothing(self, *_: Any, **__: Any) -> Any:
        raise MeasurementError("a fake host runs nothing and has no files")

    run_unchecked = spawn = converse = put = get = program = _nothing


class FakeDriver(Driver):
    """Resources are files named TAG-DEPLOYMENT-PART in a folder."""

    name = "fake"
    kind = "file"
    title = "A folder that stands for an infrastructure"
    parameters = object_schema(
        {
            "folder": {"type": "string", "description": "Where the resources are."},
            "deploy_s": {"type": "number", "default": 0, "description": "Time per resource."},
            "faults": {
                "type": "object",
                "default": {},
                "description": "Number of the deployment -> what goes wrong with it.",
                "additionalProperties": {"enum": ["half", "bug", "prove", "teardown"]},
            },
            "missing": {"type": "boolean", "default": False, "description": "Lack a requirement."},
            "stuck": {"type": "boolean", "default": False, "description": "Nothing is removable."},
        },
        required=["folder"],
    )

    def __init__(self, context: DriverContext) -> None:
        super().__init__(context)
        self._folder = Path(context.config["folder"])
        self._numbers = count(1)
        self._held: dict[str, list[Resource]] = {}

    @classmethod
    def requirements(cls, config: Mapping[str, Any]) -> list[Requirement]:
        met = not config.get("missing")
        return [Requirement("fake-tool", met, "there" if met else "not there", "install fakes")]

    @classmethod
    def validate(cls, config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> None:
        if any(len(scenario.chain.functions) > 5 for scenario in scenarios):
            raise WorkflowError("longer than a fake chain", where="/chain/functions", allowed="5")

    def deploy(self, scenario: Scenario) -> Deployment:
        number = next(self._numbers)
        name = f"d{number}"
        fault = self.context.config["faults"].get(str(number))
        self._held[name] = []
        for part in ("net", "client", "server"):
            resource = Resource(self.kind, str(self._folder / f"{self.context.tag}-{name}-{part}"))
            self.context.journal.intend([resource])
            self._held[name].append(resource)
            Path(resource.name).touch()
            time.sleep(self.context.config["deploy_s"])
            if fault == "half":
                raise DeploymentError("half built")
        if fault == "bug":
            raise KeyError("a bug in the driver")
        counters = [{"received": 0, "forwarded": 0, "dropped": 0} for _ in scenario.chain.functions]
        host = FakeHost(counters)
        return Deployment(
            id=name,
            client=Endpoint("client", "node1", host, "192.0.2.1", "eth0", 1500),
            server=Endpoint("server", "node1", host, "192.0.2.2", "eth0", 1500),
            functions=tuple(
                ServiceFunction(
                    name=spec.name,
                    vnf=spec.vnf,
                    type=spec.type,
                    position=spec.position,
                    node=spec.node,
                    host=host,
                    interfaces=("eth0",),
                    nsh_aware=True,
                    vcpus=(),
                    counters=lambda c=counter: dict(c),
                    alive=lambda c=counter: "it crashed" if "broken" in c else None,
                )
                for spec, counter in zip(scenario.chain.functions, counters, strict=True)
            ),
            hops=(),
            meters={},
            encapsulation="nsh-eth" if counters else "none",
            facts={"number": number, "fault": fault},
            unparsed=lambda: {"sff@node1": host.unparsed, "sff@node2": 7},
        )

    def prove_traversal(self, deployment: Deployment, scenario: Scenario) -> TraversalProof:
        proven = deployment.facts["fault"] != "prove"
        problems = () if proven else ("sf-1 saw nothing",)
        return TraversalProof(proven, "fake", 3, (), (), problems)

    def problems(self, deployment: Deployment) -> list[str]:
        missing = [r.name for r in self._held.get(deployment.id, []) if not Path(r.name).exists()]
        broken = [f"{f.name}: {f.alive()}" for f in deployment.functions if f.alive() is not None]
        return [*(f"{name} is gone" for name in missing), *broken]

    def teardown(self, deployment: Deployment) -> None:
        if deployment.facts["fault"] == "teardown":
            raise DeploymentError("the tear-down hangs")
        self._remove(deployment.id)

    def close(self) -> None:
        for name in list(self._held):
            self._remove(name)

    def facts(self) -> Mapping[str, Any]:
        return {"fake": True}

    def _remove(self, name: str) -> None:
        if self.context.config["stuck"]:
            raise DeploymentError("it is stuck")
        for resource in self._held.pop(name, []):
            Path(resource.name).unlink(missing_ok=True)
            self.context.journal.removed([resource])

    @classmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        foreign = [resource for resource in resources if resource.kind != cls.kind]
        if foreign:
            raise DeploymentError(f"these are not of {cls.name}: {foreign}")
        there = [resource for resource in resources if Path(resource.name).exists()]
        if any(Path(resource.name).with_name("stuck").exists() for resource in there):
            raise DeploymentError("it is stuck")
        if not dry_run:
            for resource in there:
                Path(resource.name).unlink()
        return [f"file {resource.name}" for resource in there]


class OtherDriver(FakeDriver):
    """Another infrastructure; neither removes what the other made."""

    name = "other-fake"
    kind = "other file"
    title = "Another folder"


class FakeFunction(NetworkFunction):
    """A function that is never started: the fake driver counts for it."""

    name = "fake"
    title = "Counts packets"
    parameters = object_schema({})
    nsh_aware = True
    interfaces = 1
    folder = ROOT / "vnfs" / "forwarder"

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        return []

    @classmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningFunction:
        raise DeploymentError("a fake function does not start")


class FakeProbe(Probe):
    """Sends packets into the fake chain and reports a number that follows from the round.

    `script` says what happens in an attempt: `r001-s000-a/attempt-1` -> one of FAULTS.
    """

    name = "fake"
    title = "Sends packets that do not exist"
    FAULTS: ClassVar[list[str]] = [
        "fail", "impossible", "bug", "untrusted", "nan", "nan-note", "silent", "drops", "unparsed",
        "crash", "break", "cleanup", "terminate", "far",
    ]  # fmt: skip
    parameters = object_schema(
        {
            "packets": {"type": "integer", "default": 10, "description": "Packets to send."},
            "prepare_packets": {"type": "integer", "default": 0, "description": "To prepare."},
            "measure_s": {"type": "number", "default": 0, "description": "Time that it takes."},
            "lost": {"type": "integer", "default": 0, "description": "Of the packets."},
            "closed_loop": {"type": "boolean", "default": False, "description": "Or an open one."},
            "spread": {"type": "number", "default": 1, "description": "Of the numbers, by round."},
            "script": {
                "type": "object",
                "default": {},
                "description": "Attempt -> what happens in it.",
                "additionalProperties": {"enum": FAULTS},
            },
        }
    )

    @classmethod
    def metrics(cls, parameters: Mapping[str, Any]) -> tuple[Metric, ...]:
        return (Metric("rtt_us", "us", "A number.", better="lower", primary=True),)

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        return float(parameters["measure_s"])

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        return int(parameters["packets"])

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        self._raw_dir = raw_dir
        note(raw_dir, "prepare")
        host = deployment.client.host
        assert isinstance(host, FakeHost)
        host.send(self.parameters["prepare_packets"])

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        note(raw_dir, "measure")
        trial, attempt = raw_dir.parts[-2:]
        self._fault = self.parameters["script"].get(f"{trial}/{attempt}", "")
        (raw_dir / "fake.txt").write_text(f"{self._fault}\n")
        host = deployment.client.host
        assert isinstance(host, FakeHost)
        if self._fault != "silent":
            host.send(self.parameters["packets"])
        time.sleep(self.parameters["measure_s"])
        value = 100.0 + self.parameters["spread"] * int(trial[1:4])
        match self._fault:
            case "fail":
                raise MeasurementError("the tool said no")
            case "impossible":
                raise CannotBeMeasured("the chain does not allow it")
            case "bug":
                raise ValueError("a bug in the probe")
            case "nan":
                value = float("nan")
            case "drops":
                host.send(5, dropped=5)
            case "unparsed":
                host.unparsed += 3
            case "crash":
                host.break_first_function()
                raise MeasurementError("no answer")
            case "break":
                host.break_first_function()
            case "far":
                value *= 2
            case "terminate":
                os.kill(os.getpid(), signal.SIGTERM)
        return ProbeResult(
            (Sample("rtt_us", "us", value),),
            ("the sender was late",) if self._fault == "untrusted" else (),
            {"late": float("nan")} if self._fault == "nan-note" else {},
            loss=Loss(
                self.parameters["lost"],
                self.parameters["packets"],
                "packets were lost",
                "the number is that of the others",
                0.01,
                changes_load=self.parameters["closed_loop"],
            ),
        )

    def cleanup(self) -> None:
        note(self._raw_dir, "cleanup")
        if getattr(self, "_fault", "") == "cleanup":
            raise OSError("the server does not end")


class FakeMonitor(Monitor):
    """Observes one number and its own cost."""

    name = "fake"
    title = "Observes nothing"
    cost = "none"
    parameters = object_schema(
        {"broken": {"enum": ["", "start", "stop", "flows", "values"], "default": ""}}
    )

    @classmethod
    def requirements(cls) -> list[Requirement]:
        return []

    def start(self, deployment: Deployment, raw_dir: Path) -> None:
        self._raw_dir = raw_dir
        note(raw_dir, "monitor starts")
        if self.parameters["broken"] == "start":
            raise MeasurementError("cannot observe")

    def stop(self) -> Sequence[Observation]:
        note(self._raw_dir, "monitor stops")
        if self.parameters["broken"] == "stop":
            raise RuntimeError("lost what was observed")
        return [
            Observation(time.time_ns(), "node1", "load", "1", 0.5),
            Observation(time.time_ns(), "fake", "monitor_cpu_s", "s", 0.25),
        ]

    def flows(self) -> Sequence[FlowRecord]:
        if self.parameters["broken"] == "flows":
            raise RuntimeError("lost the flows")
        flow = FlowRecord(
            function="vnf-1",
            window_start_ns=1,
            window_end_ns=2,
            spi=1,
            si=255,
            source_address="10.0.0.1",
            destination_address="10.0.0.2",
            protocol=6,
            source_port=1,
            destination_port=2,
            packets=1 << 70 if self.parameters["broken"] == "values" else 3,
            bytes=300,
            certainty="exact",
        )
        return [flow]


class FakePublisher(Publisher):
    """Writes a file, or fails."""

    name = "fake"
    title = "Publishes in a file"
    parameters = object_schema(
        {"fail": {"type": "boolean", "default": False, "description": "Fail."}}
    )

    def publish(self, run: RunStore) -> list[Path]:
        if self.parameters["fail"]:
            raise ConnectionError("the server is down")
        target = run.folder / "published.txt"
        target.write_text(run.manifest()["status"])
        return [target]
