"""Driver: the whole contract between SFCPerf and an infrastructure (paper, Fig. 2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from sfcperf.management.deployment import Deployment, TraversalProof
from sfcperf.plugins import Plugin, Requirement
from sfcperf.workflow.model import Scenario


@dataclass(frozen=True)
class Resource:
    """Something that a driver makes and must remove: a line of the journal."""

    kind: str
    """Driver's own word, e.g. `netns`, `link`, `cgroup`, `directory`, `server`."""
    name: str
    """Name or id by which the driver finds it again; carries the run's tag."""
    detail: Mapping[str, Any] | None = None
    """What else is needed to remove it."""


class Journal(Protocol):
    """Where resources are written down before they are made (sfcperf.drivers.journal)."""

    def intend(self, resources: Iterable[Resource]) -> None:
        """About to make these; durable when it returns (one fsync for all of them)."""

    def removed(self, resources: Iterable[Resource]) -> None:
        """These are gone."""

    def outstanding(self) -> list[Resource]:
        """Intended and not yet removed, newest first."""


@dataclass(frozen=True)
class DriverContext:
    """What a run hands to its driver."""

    run_id: str
    tag: str
    """Short and unique to the run, fit for interface names: 6 characters of [0-9a-z]."""
    config: Mapping[str, Any]
    """`infrastructure.config`, validated against the driver's parameters, defaults filled in."""
    journal: Journal
    state_dir: Path
    """Folder for sockets, databases and generated files of this run; removed at its end."""
    raw_dir: Path
    """Folder in the results for what the driver's tools printed; kept."""
    log: Callable[[str], None]


class Driver(Plugin, ABC):
    """Makes scenarios stand on an infrastructure, and takes them away.

    A driver journals each resource before it makes it. It may keep resources between scenarios
    (VMs, for example) as long as `teardown`, `close` and `undo` leave nothing.
    """

    name: ClassVar[str]
    elsewhere: ClassVar[bool] = False
    """Whether its hosts are other machines: what the kernel of this one lacks does not matter then
    (`Requirement.of_this_kernel`), and tools that its hosts lack are carried there."""

    def __init__(self, context: DriverContext) -> None:
        self.context = context

    @classmethod
    @abstractmethod
    def requirements(cls, config: Mapping[str, Any]) -> list[Requirement]:
        """What the environment must offer; checked by `doctor` and before every run."""

    @abstractmethod
    def admit(self, scenarios: Sequence[Scenario]) -> None:
        """Refuse what cannot be built, before anything is made.

        Raises WorkflowError (with a JSON pointer) or EnvironmentLacks.
        """

    def afford(self, scenarios: Sequence[Scenario]) -> None:
        """Refuse what the infrastructure has no room for now (quota, flavors), by asking it; before
        anything is made. An infrastructure that need not be asked has nothing to say.

        Raises EnvironmentLacks.
        """

    @abstractmethod
    def deploy(self, scenario: Scenario) -> Deployment:
        """Build the scenario. Raises DeploymentError; what was made so far is in the journal."""

    @abstractmethod
    def prove_traversal(self, deployment: Deployment, scenario: Scenario) -> TraversalProof:
        """Send marked packets and observe where they go; never from the configuration alone.

        Evidence (captures) goes to `context.raw_dir`.
        """

    @abstractmethod
    def problems(self, deployment: Deployment) -> list[str]:
        """Health: what is wrong now (endpoint unreachable, VNF dead); empty when all is well."""

    @abstractmethod
    def teardown(self, deployment: Deployment) -> None:
        """Remove the deployment. Safe to call for one that is half built or half removed."""

    @abstractmethod
    def close(self) -> None:
        """Remove all that this driver still holds. Called once, at the end of a run."""

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """Versions and settings of the infrastructure, for the run's manifest."""

    @classmethod
    @abstractmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        """Remove what a dead run left (`outstanding()` of its journal, newest first).

        Gives a line for each thing that was (with dry_run: would be) removed. Touches only what
        the resources name. Raises DeploymentError for what cannot be removed.
        """
