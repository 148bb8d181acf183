"""DriverUnderTest: the driver that is tested, and what its author may declare about it."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any, ClassVar

import pytest

from sfcperf import plugins
from sfcperf.drivers.base import Driver
from sfcperf.drivers.conformance.driver_run import DriverRun
from sfcperf.drivers.conformance.scenarios import chain
from sfcperf.management.deployment import Deployment, ServiceFunction
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import Scenario

COMMAND_TIMEOUT_S = 30.0


class DriverUnderTest:
    """What a test class declares; only `driver` has no default."""

    driver: ClassVar[str]
    """Name of its entry point, or `module:Class`."""
    config: ClassVar[Mapping[str, Any]] = {}
    """`infrastructure.config`; defaults are filled in."""
    vnf: ClassVar[str] = "router"
    """VNF type of the chains. The suite can break a type that the kernel forwards for; for another
    type override `break_function` and `mend_function`."""
    firewall: ClassVar[str | None] = "firewall"
    """VNF type with a knob `default` (`accept`, `drop`): a chain that drops must not leave the next
    one dropping. None: the driver builds no such type."""
    topology: ClassVar[str] = "T1"
    """Preset of the topology in which chains are placed (paper, Fig. 7)."""
    refuses: ClassVar[frozenset[str]] = frozenset()
    """What the driver does not build and so must refuse: `bypass` (replies that go around the
    chain), `match` (a classifier that matches some packets only), `bridged` (a program without
    addresses that frames cross as they are), `proxy` (a program that ends connections)."""
    encapsulations: ClassVar[frozenset[str]] = frozenset()
    """Which of `nsh-eth`, `nsh-vxlan-gpe` and `mpls` it builds; it must refuse the others."""
    longest: ClassVar[int] = 3
    """Functions of the chain that most tests use; 2 where there is room for few machines."""
    kill_moments: ClassVar[Mapping[str, float]] = {"early": 0.2, "midway": 0.5, "late": 0.8}
    """When a deploying process is killed, as fractions of the time that a deployment takes. It is
    also killed as soon as the journal has its first resources, and when the chain is deployed."""
    second_config: ClassVar[Mapping[str, Any]] = {}
    """What differs in the configuration of a second run beside the first, if both cannot have the
    same: network cards that a run takes for itself, for example."""
    undoes_itself: ClassVar[bool] = False
    """Whether the infrastructure removes by itself, soon, what a killed run has left."""
    pings: ClassVar[int] = 5
    """Echo requests where packets are counted."""

    _run: ClassVar[DriverRun | None] = None

    def break_function(self, function: ServiceFunction) -> None:
        """Make a function forward nothing, as if it had died."""
        _set_forwarding(function, "0")

    def mend_function(self, function: ServiceFunction) -> None:
        """Undo `break_function`."""
        _set_forwarding(function, "1")

    def traces(self, tag: str) -> list[str]:
        """Return what exists of a run, found by other means than the driver's own code (`ip netns`,
        the cloud's command line); empty where there are no other means."""
        return []

    @classmethod
    def driver_class(cls) -> type[Driver]:
        """Load the driver's class, by the name of its entry point or as `module:Class`."""
        found: type[Driver] = (
            resolve_name(cls.driver) if ":" in cls.driver else plugins.load("driver", cls.driver)
        )
        return found

    @classmethod
    def full_config(cls, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the configuration, with `changes`, and with defaults filled in."""
        return with_defaults(cls.driver_class().parameters, {**cls.config, **(changes or {})})

    @property
    def run(self) -> DriverRun:
        """An open driver that the tests of the class share. Skips where the environment lacks a
        requirement of the driver."""
        cls = type(self)
        if cls._run is None:
            self.check_environment()
            cls._run = DriverRun(self.driver_class(), self.full_config())
        return cls._run

    @classmethod
    def check_environment(cls) -> None:
        """Skip the test if requirements are not met, and name them."""
        missing = [n for n in cls.driver_class().requirements(cls.full_config()) if not n.met]
        if missing:
            pytest.skip("; ".join(f"needs {need.name}: {need.detail}" for need in missing))

    @classmethod
    def setup_class(cls) -> None:
        """Forget the run of a base class: each class has one of its own."""
        cls._run = None

    @classmethod
    def teardown_class(cls) -> None:
        """Remove everything, also when tests have failed, and check that nothing is left."""
        if cls._run is not None:
            run, cls._run = cls._run, None
            run.remove()
            assert cls().traces(run.tag) == []

    def chain(self, length: int, **changes: Any) -> Scenario:
        """Return a scenario whose chain has `length` functions of type `vnf`; `changes` are further
        arguments of scenarios.chain, `vnf` and `knobs` for example."""
        return chain(changes.pop("vnf", self.vnf), length, topology=self.topology, **changes)

    def deployed(self, length: int, **changes: Any) -> Deployment:
        """Return the deployment of `chain` with these arguments. Tests in a row that ask for the
        same chain share it."""
        return self.run.deployed(self.chain(length, **changes))


def _set_forwarding(function: ServiceFunction, value: str) -> None:
    """Turn the kernel's forwarding on or off for the function's interfaces."""
    settings = [f"net/ipv4/conf/{name}/forwarding={value}" for name in function.interfaces]
    function.host.run(["sysctl", "-q", "-w", *settings], timeout_s=COMMAND_TIMEOUT_S)
