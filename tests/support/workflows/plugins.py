"""Plug-ins for tests of the workflow engine, so that these know exactly what is installed, and a
small workflow that names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from sfcperf.errors import InputError, WorkflowError
from sfcperf.results.values import Metric


def schema(required: tuple[str, ...] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def number(default: int, **more: Any) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "default": default, "description": "A number.", **more}


class Bench:
    """A driver."""

    title = "Fake driver"
    parameters = schema(
        dataplane={"enum": ["ovs", "ebpf"], "default": "ovs", "description": "Data plane."}
    )


class Lab:
    """A driver with a parameter that must be given."""

    title = "Fake laboratory"
    parameters = schema(("site",), site={"type": "string", "description": "Which."})


class Copier:
    """A VNF type with an own descriptor."""

    title = "Fake VNF"
    folder = Path(__file__).parent / "vnfd"
    parameters = schema(
        engine={"enum": ["fast", "slow"], "default": "fast", "description": "Engine."},
        batch=number(32, maximum=64),
    )

    @classmethod
    def services(cls, knobs: Any) -> dict[str, str]:
        return {}

    @classmethod
    def check(cls, knobs: Any) -> None:
        if knobs["engine"] == "slow" and knobs["batch"] == 64:
            raise InputError("too many for slow", where="batch", allowed="at most 63")


class Echo:
    """A probe with two metrics."""

    title = "Fake ping"
    parameters: ClassVar[dict[str, Any]] = {
        **schema(count=number(20, maximum=1000), size={"$ref": "#/$defs/size"}),
        "$defs": {"size": {"type": "integer", "minimum": 0, "default": 56, "description": "Size."}},
    }

    @classmethod
    def check(cls, parameters: Any) -> None:
        if parameters.get("count") == 13:
            raise InputError("13 brings bad luck", where="count", allowed="any other")

    @classmethod
    def uses(cls, parameters: Any) -> tuple[str, ...]:
        return ()

    @classmethod
    def metrics(cls, parameters: Any) -> tuple[Metric, ...]:
        return (Metric("rtt_us", "us", "Round trip."), Metric("loss_ratio", "1", "Loss."))

    @classmethod
    def label(cls, parameters: Any) -> str:
        return "echo"

    @classmethod
    def ip_protocols(cls, parameters: Any) -> frozenset[str]:
        return frozenset()

    @classmethod
    def duration_s(cls, parameters: Any) -> float:
        return float(parameters["count"]) * 0.1


class Stream(Echo):
    """A probe with alternatives in its schema."""

    title = "Fake iperf3"
    parameters = schema(
        protocol={"enum": ["tcp", "udp"], "default": "tcp", "description": "Protocol."},
        rate_bps={
            "oneOf": [{"type": "integer", "minimum": 1000}, {"const": "maximum"}],
            "default": "maximum",
            "description": "Rate.",
        },
        count=number(10),
        port=number(5201, maximum=65535),
    )

    @classmethod
    def label(cls, parameters: Any) -> str:
        return f"stream-{parameters['protocol']}"

    @classmethod
    def ip_protocols(cls, parameters: Any) -> frozenset[str]:
        return frozenset({parameters["protocol"]})


class Watch:
    """A monitor."""

    title = "Fake monitor"
    parameters = schema(
        interval_s={
            "type": "number",
            "exclusiveMinimum": 0,
            "default": 0.5,
            "description": "Interval.",
        }
    )

    @classmethod
    def trial_s(cls, parameters: Any) -> float:
        return 0.0

    @classmethod
    def scenario_warnings(cls, *_: Any) -> tuple[str, ...]:
        return ()


class Paper:
    """A publisher."""

    title = "Fake publisher"
    parameters = schema(colour={"type": "boolean", "default": True, "description": "Colour."})


class Relate:
    """An analysis."""

    title = "Fake analysis"
    parameters = schema(order=number(1))


class Store:
    """A service that another one may feed."""

    title = "Fake service"
    per_chain = frozenset({"limit"})
    parameters = schema(
        size=number(4, maximum=8),
        limit=number(5),
        feed={"type": "string", "default": "", "description": "Service that feeds it."},
    )

    @classmethod
    def check(cls, parameters: Any) -> None:
        if parameters["size"] > parameters["limit"]:
            raise InputError("more than the limit", where="size")

    @classmethod
    def uses(cls, parameters: Any) -> tuple[str, ...]:
        return (parameters["feed"],) if parameters["feed"] else ()


class Recorder(Copier):
    """A VNF type that refers to a service."""

    parameters = schema(store={"type": "string", "default": "", "description": "Where to."})

    @classmethod
    def check(cls, knobs: Any) -> None:
        return

    @classmethod
    def services(cls, knobs: Any) -> dict[str, str]:
        return {"store": knobs["store"]} if knobs["store"] else {}


INSTALLED: dict[str, dict[str, Any]] = {
    "driver": {"local": Bench, "lab": Lab},
    "vnf": {"copier": Copier, "recorder": Recorder},
    "probe": {"echo": Echo, "stream": Stream},
    "monitor": {"watch": Watch, "broken": None},
    "service": {"store": Store},
    "publisher": {"report": Paper},
    "analysis": {"relate": Relate},
}


def document(**changes: Any) -> dict[str, Any]:
    """A small valid workflow, with top-level keys replaced (None: removed)."""
    whole: dict[str, Any] = {
        "sfcperf": 1,
        "name": "small",
        "vnfs": {"fwd": {"type": "copier"}},
        "chain": {"functions": [{"vnf": "fwd", "count": 2}]},
        "probes": [{"probe": "echo"}],
        **changes,
    }
    return {key: value for key, value in whole.items() if value is not None}


def findings_at(error: WorkflowError, pointer: str) -> list[WorkflowError]:
    """Findings of an error that point to a place."""
    return [finding for finding in (error, *error.others) if finding.where == pointer]


def pointers(error: WorkflowError) -> set[str | None]:
    """Where an error's findings point."""
    return {finding.where for finding in (error, *error.others)}
