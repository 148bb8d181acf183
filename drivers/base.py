"""Driver: the whole contract between SFCPerf and an infrastructure (paper, Fig. 2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from sfcperf.management.deployment import Deployment, TraversalProof
from sfcperf.management.observable import Observable
from sfcperf.plugins import Plugin, Requirement
from sfcperf.workflow.model import Scenario


@dataclass(frozen=True)
class Resource:
    """Something that a driver creates and must remove: a line of the journal."""

    kind: str
    """The driver's own word, e.g. `netns`, `link`, `cgroup`, `directory`, `server`."""
    name: str
    """Name or id by which the driver finds it again; it contains the run's tag."""
    detail: Mapping[str, Any] | None = None
    """What else is needed to remove it, as JSON; None: kind and name are enough."""


class Journal(Protocol):
    """The run's list of resources to remove (sfcperf.drivers.journal).

    A resource is on disk before it exists, so that another process finds it after a crash. All
    methods may be called from any thread.
    """

    def intend(self, resources: Iterable[Resource]) -> None:
        """Record resources that are about to be created; on disk when it returns (one fsync for all
        of them). Raises OSError: nothing may be created then."""

    def removed(self, resources: Iterable[Resource]) -> None:
        """Record that these resources are gone. Never raises for a full disk."""

    def outstanding(self) -> list[Resource]:
        """Resources that are intended and not yet removed, newest first."""


@dataclass(frozen=True)
class DriverContext:
    """What a run gives its driver."""

    run_id: str
    tag: str
    """Short and unique to the run, fit for interface names: 6 characters of [0-9a-z]."""
    config: Mapping[str, Any]
    """`infrastructure.config`, validated against the driver's parameters, defaults filled in."""
    journal: Journal
    state_dir: Path
    """Folder for sockets, databases and generated files of this run; removed at its end."""
    raw_dir: Path
    """Folder in the results for the output of the driver's tools; kept."""
    log: Callable[[str], None]
    """Writes a line to the run's log; may be called from any thread."""
    services: Mapping[str, str] = field(default_factory=dict)
    """Name of each service of the run -> `RunningService.address_for_functions`, for
    `Attachment.services`."""
    nodes: Collection[str] = ()
    """Names of the nodes of all scenarios that the driver is to hold, for `facts`."""


class Driver(Plugin, ABC):
    """An infrastructure that can hold chains: it deploys a scenario, proves that packets cross its
    functions in order, and removes it without a trace.

    A run calls `requirements`, `validate` and `check_capacity` on the class. Then it creates one
    object per infrastructure and calls, in one thread, `facts` and, for each scenario, `deploy`,
    `prove_traversal`, `problems` (before and after each trial) and `teardown`; at the end `close`,
    whatever happened before. At most one deployment exists at a time. `undo` is called on the class
    for what `close` left, or in another process for a run that was killed.

    Ctrl-C may raise a BaseException that is not an Exception in `deploy` and `prove_traversal`:
    they must leave the object in a state in which `teardown` and `close` work, and pass it on.

    A driver records each resource in the journal before it creates it. It may keep resources
    between scenarios (VMs, for example) if `close` and `undo` remove them, and if no state of one
    scenario affects the next. Two objects of one class may exist in one process: keep no state in
    the class.
    """

    name: ClassVar[str]
    """Name of the driver, as in its entry point and in `infrastructure.driver`."""
    elsewhere: ClassVar[bool] = False
    """Whether its hosts are other machines. If so, requirements of this machine's kernel
    (`Requirement.of_this_kernel`) are not checked, and tools that its hosts lack are copied
    there."""

    def __init__(self, context: DriverContext) -> None:
        """Create nothing yet: no resource is in the journal."""
        self.context = context

    @classmethod
    @abstractmethod
    def requirements(cls, config: Mapping[str, Any]) -> list[Requirement]:
        """What the environment must offer; checked by `doctor` and before every run.

        `config` has defaults filled in, but `doctor` may leave out keys that have none.
        """

    @classmethod
    @abstractmethod
    def validate(cls, config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> None:
        """Refuse scenarios that cannot be built with this configuration, all scenarios of the
        infrastructure at once, without asking the infrastructure and without creating anything.

        `config` is as in DriverContext. What a scenario asks for is built or refused, never
        ignored. Raises WorkflowError (`where` is a JSON pointer into the workflow) or
        EnvironmentLacks.
        """

    @classmethod
    def check_capacity(cls, config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> None:
        """Ask the infrastructure whether it has room for these scenarios now (quota, flavors),
        without creating anything; called after `validate` accepted them. The default accepts.

        Raises EnvironmentLacks.
        """

    @classmethod
    def choices(cls, config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> list[str]:
        """Say what the driver chooses where the workflow leaves it open, and why, a line each, for
        `sfcperf plan`. Called after `validate` accepted the scenarios; nothing is asked or created.
        The default says nothing."""
        return []

    @classmethod
    def observable(cls, config: Mapping[str, Any], scenario: Scenario) -> Observable | None:
        """Return what monitors can see of this scenario. It is asked before a run, so that a
        monitor that cannot work is refused then. None, the default: this is not known before the
        scenario is built."""
        return None

    @classmethod
    def service_address(cls, config: Mapping[str, Any]) -> str | None:
        """Return the IPv4 address of this machine at which the infrastructure's hosts reach
        services of the run; create nothing. The default is the loopback address, or None (not
        known) where hosts are other machines.

        Raises EnvironmentLacks.
        """
        return None if cls.elsewhere else "127.0.0.1"

    @abstractmethod
    def deploy(self, scenario: Scenario) -> Deployment:
        """Build the scenario and start its functions.

        The deployment's id is unique in the run. Raises DeploymentError; the driver has then
        removed what it created, or left it in the journal, and the next `deploy` must work.
        """

    @abstractmethod
    def prove_traversal(self, deployment: Deployment, scenario: Scenario) -> TraversalProof:
        """Send marked packets and observe where they go; never conclude from the configuration.

        Called once per deployment, right after `deploy`; it may wait until the path is set up.
        Evidence (captures) goes to `context.raw_dir`. A chain that packets do not cross as asked is
        a proof with `proven` False and `problems`; DeploymentError or MeasurementError is raised
        only when it cannot be observed.
        """

    @abstractmethod
    def problems(self, deployment: Deployment) -> list[str]:
        """Say what is wrong with the deployment now, a line each; empty when it is healthy.

        It must name functions that do not work (`ServiceFunction.alive`) and notice endpoints that
        do not reach each other: `sfcperf.management.health.problems` does both. It runs beside
        every trial, so that it should take well under a second when all is well.
        """

    @abstractmethod
    def teardown(self, deployment: Deployment) -> None:
        """Remove the deployment, half built or half removed as it may be.

        Harmless when repeated, also while a later deployment exists. Raises DeploymentError for
        what cannot be removed; it stays in the journal, and `close` tries again.
        """

    @abstractmethod
    def close(self) -> None:
        """Remove all that this driver still holds. Called once, at the end of a run.

        Raises DeploymentError; the run then calls `undo` with what the journal still holds.
        """

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """Return versions and settings of the infrastructure for the run's manifest, as JSON."""

    @classmethod
    @abstractmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        """Remove what a dead run left (`outstanding()` of its journal, newest first).

        Returns a line for each resource that was (with `dry_run`: would be) removed. Touches only
        what the resources name; what does not exist any more, or never did, is skipped. Raises
        DeploymentError for what cannot be removed.
        """
