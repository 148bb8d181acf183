"""Plug-ins for tests of the workflow engine, so that these know exactly what is installed, and a
small workflow that names them."""

from __future__ import annotations

from typing import Any, ClassVar

from sfcperf.active.base import Probe
from sfcperf.errors import InputError, WorkflowError
from sfcperf.passive.base import Monitor
from sfcperf.plugins import object_schema
from sfcperf.results.values import Metric
from sfcperf.services.base import Service
from sfcperf.vnfs.base import NetworkFunction


def schema(required: tuple[str, ...] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    return {**object_schema(properties, required=list(required))}


def number(default: int, **more: Any) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "default": default, "description": "A number.", **more}


def text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def one_of(*values: str, description: str) -> dict[str, Any]:
    return {"enum": list(values), "default": values[0], "description": description}


class Bench:
    """A driver."""

    title = "Fake driver"
    parameters = schema(dataplane=one_of("ovs", "ebpf", description="Data plane."))


class Lab:
    """A driver with a parameter that must be given."""

    title = "Fake laboratory"
    parameters = schema(("site",), site=text("Which."))


class Copier(NetworkFunction):
    """A VNF type with an own descriptor."""

    title = "Fake VNF"
    parameters = schema(
        engine=one_of("fast", "slow", description="Engine."), batch=number(32, maximum=64)
    )

    @classmethod
    def check(cls, knobs: Any) -> None:
        if knobs["engine"] == "slow" and knobs["batch"] == 64:
            raise InputError("too many for slow", where="batch", allowed="at most 63")


class Recorder(NetworkFunction):
    """A VNF type that refers to a service."""

    title = "Fake VNF"
    parameters = schema(store=text("Where to.", default=""))

    @classmethod
    def services(cls, knobs: Any) -> dict[str, str]:
        return {"store": knobs["store"]} if knobs["store"] else {}


class Echo(Probe):
    """A probe with two metrics."""

    name = "echo"
    title = "Fake ping"
    reported = (Metric("rtt_us", "us", "Round trip."), Metric("loss_ratio", "1", "Loss."))
    parameters: ClassVar[dict[str, Any]] = {
        **schema(count=number(20, maximum=1000), size={"$ref": "#/$defs/size"}),
        "$defs": {"size": {"type": "integer", "minimum": 0, "default": 56, "description": "Size."}},
    }

    @classmethod
    def duration_s(cls, parameters: Any) -> float:
        return float(parameters["count"]) * 0.1


class Stream(Echo):
    """A probe with alternatives in its schema."""

    title = "Fake iperf3"
    parameters = schema(
        protocol=one_of("tcp", "udp", description="Protocol."),
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


class Watch(Monitor):
    """A monitor."""

    title = "Fake monitor"
    interval: ClassVar[dict[str, Any]] = {"type": "number", "exclusiveMinimum": 0, "default": 0.5}
    parameters = schema(interval_s={**interval, "description": "Interval."})


class Paper:
    """A publisher."""

    title = "Fake publisher"
    parameters = schema(colour={"type": "boolean", "default": True, "description": "Colour."})


class Relate:
    """An analysis."""

    title = "Fake analysis"
    parameters = schema(order=number(1))


class Store(Service):
    """A service that another one may feed."""

    title = "Fake service"
    per_chain = frozenset({"limit"})
    parameters = schema(
        size=number(4, maximum=8), limit=number(5), feed=text("Service that feeds it.", default="")
    )

    @classmethod
    def check(cls, parameters: Any) -> None:
        if parameters["size"] > parameters["limit"]:
            raise InputError("more than the limit", where="size")

    @classmethod
    def uses(cls, parameters: Any) -> tuple[str, ...]:
        return (parameters["feed"],) if parameters["feed"] else ()


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
