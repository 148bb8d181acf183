"""Subject: the driver that is held to the contract, and what its author may say about it."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any, ClassVar

import pytest

from sfcperf import plugins
from sfcperf.drivers.base import Driver
from sfcperf.drivers.conformance.bench import Bench
from sfcperf.drivers.conformance.scenarios import chain
from sfcperf.management.deployment import Deployment, ServiceFunction
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import Scenario

COMMAND_TIMEOUT_S = 30.0


class Subject:
    """What a test class says; only `driver` has no default."""

    driver: ClassVar[str]
    """Name of its entry point, or `module:Class`."""
    config: ClassVar[Mapping[str, Any]] = {}
    """`infrastructure.config`; defaults are filled in."""
    vnf: ClassVar[str] = "router"
    """VNF type of the chains. The suite knows how to break one that forwards by the kernel; for
    another override `break_function` and `mend_function`."""
    firewall: ClassVar[str | None] = "firewall"
    """VNF type with a knob `default` (`accept`, `drop`): a chain that drops must not leave the next
    one dropping. None: the driver builds no such type."""
    topology: ClassVar[str] = "T1"
    """Preset (paper, Fig. 7)."""
    refuses: ClassVar[frozenset[str]] = frozenset()
    """What the driver does not build, and then must refuse: of `bypass` (replies that go around the
    chain), `match` (a classifier that matches some packets only)."""
    encapsulations: ClassVar[frozenset[str]] = frozenset()
    """Explicit encapsulations that it builds, of `nsh-eth`, `nsh-vxlan-gpe`; it must refuse the
    others."""
    longest: ClassVar[int] = 3
    """Functions of the chain that most is looked at on; 2 where there is room for few machines."""
    deaths: ClassVar[Mapping[str, float]] = {"early": 0.2, "midway": 0.5, "late": 0.8}
    """When a process that deploys is killed, in parts of the time that a deployment takes; it is
    also killed as soon as it has said what it will make, and when the chain stands."""
    pings: ClassVar[int] = 5
    """Echo requests where packets are counted."""

    _bench: ClassVar[Bench | None] = None

    def break_function(self, function: ServiceFunction) -> None:
        """Let a function forward nothing any more, as if it had died."""
        _set_forwarding(function, "0")

    def mend_function(self, function: ServiceFunction) -> None:
        """Undo `break_function`."""
        _set_forwarding(function, "1")

    def traces(self, tag: str) -> list[str]:
        """What there is of a run, found by other means than the driver's own code (`ip netns`, the
        cloud's command line); empty where nobody else can tell."""
        return []

    # What the suite works with

    @classmethod
    def driver_class(cls) -> type[Driver]:
        """The driver."""
        found: type[Driver] = (
            resolve_name(cls.driver) if ":" in cls.driver else plugins.load("driver", cls.driver)
        )
        return found

    @classmethod
    def full_config(cls) -> dict[str, Any]:
        """With defaults."""
        return with_defaults(cls.driver_class().parameters, cls.config)

    @property
    def bench(self) -> Bench:
        """An open driver that the tests of the class share. Skips where the environment lacks what
        the driver says that it needs."""
        cls = type(self)
        if cls._bench is None:
            self.check_environment()
            cls._bench = Bench(self.driver_class(), self.full_config())
        return cls._bench

    @classmethod
    def check_environment(cls) -> None:
        """Skips the test, with what is missing."""
        missing = [n for n in cls.driver_class().requirements(cls.full_config()) if not n.met]
        if missing:
            pytest.skip("; ".join(f"needs {need.name}: {need.detail}" for need in missing))

    @classmethod
    def setup_class(cls) -> None:
        """Each class has a bench of its own."""
        cls._bench = None

    @classmethod
    def teardown_class(cls) -> None:
        """Also when tests have failed, nothing is left; which is looked at."""
        if cls._bench is not None:
            bench, cls._bench = cls._bench, None
            bench.remove()
            assert cls().traces(bench.tag) == []

    def chain(self, length: int, **changes: Any) -> Scenario:
        """A chain of functions of type `vnf` (scenarios.chain)."""
        return chain(changes.pop("vnf", self.vnf), length, topology=self.topology, **changes)

    def standing(self, length: int, **changes: Any) -> Deployment:
        """That chain, deployed; it stands already when the test before had the same."""
        return self.bench.standing(self.chain(length, **changes))


def _set_forwarding(function: ServiceFunction, value: str) -> None:
    settings = [f"net/ipv4/conf/{name}/forwarding={value}" for name in function.interfaces]
    function.host.run(["sysctl", "-q", "-w", *settings], timeout_s=COMMAND_TIMEOUT_S)
