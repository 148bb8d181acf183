"""Service: a server that a run starts before its chains and ends after them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.drivers.base import Journal, Resource
from sfcperf.errors import DeploymentError
from sfcperf.hosts.base import Process
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import Configurable, Requirement
from sfcperf.workflow.model import Scenario


@dataclass(frozen=True)
class ServiceContext:
    """What a run gives one of its services."""

    name: str
    """Name in the workflow's section `services`."""
    run_id: str
    tag: str
    """Short and unique to the run: 6 characters of [0-9a-z]."""
    state_dir: Path
    """An existing folder of this service, for its data and sockets; removed at the run's end."""
    outputs: Path
    """An existing folder in the results for what its processes print; kept."""
    services: Mapping[str, RunningService]
    """Services that were started before this one, by name; those that `uses` names are among
    them."""
    spawn: Callable[[Sequence[str], Path], Process]
    """Starts a process of this machine in a session of its own: the command, and a file in
    `outputs` to which its stdout and stderr are appended. The process is in the journal before it
    runs, so it ends with the run, or by `sfcperf clean`, and so do processes that it starts. Raises
    EnvironmentLacks."""
    address: Callable[[], str]
    """IPv4 address of this machine at which the hosts of all chains reach a service; a loopback
    address where all of them are on this machine. It may ask the infrastructure. Raises
    EnvironmentLacks."""
    journal: Journal
    """Journal for all that the service creates outside of its folders, such as topics of a broker
    that is not the run's own. `Service.undo` removes what is left of it. Processes are noted by
    `spawn`."""
    log: Callable[[str], None]
    """Writes a line to the run's log; may be called from any thread."""


class RunningService(ABC):
    """A server that a run has started beside its chains, or the run's part of a server that
    existed.

    `Service.start` makes it; see there for the order of calls. The run's thread makes all calls.
    """

    @property
    @abstractmethod
    def address(self) -> str:
        """Address at which functions and other services reach it, `ADDRESS:PORT`."""

    @property
    def address_for_functions(self) -> str:
        """What functions get as `Attachment.services`. It differs from the address where they must
        know more."""
        return self.address

    @abstractmethod
    def problem(self) -> str | None:
        """Say what is wrong; None while the service works. The run asks before and after each
        trial. Never raises MeasurementError."""

    def recover(self) -> None:
        """Bring the service back, at the same address and with the data that it had. It is called
        once before an attempt at a trial, when there is a problem. The attempt fails if this raises
        EnvironmentLacks, or if there is still a problem afterwards."""
        return

    def counters(self) -> Mapping[str, int]:
        """Counter -> its value, counted since the start. How much each grew during a trial goes to
        the trial's notes, as `services`. Raises MeasurementError."""
        return {}

    def facts(self) -> Mapping[str, Any]:
        """Facts for readers of the results, versions for instance, as values of JSON. They go to
        run.json."""
        return {}

    def chain_deployed(self, deployment: Deployment, scenario: Scenario) -> Mapping[str, Any]:
        """Take up a chain that was deployed and proven; its trials follow. Return facts of this
        deployment. Raises DeploymentError when the service cannot do its part with this chain."""
        return {}

    def chain_removed(self) -> None:
        """Leave the chain, which is about to be removed. It is also called when `chain_deployed`
        raised, and is harmless when that was not called. Never raises MeasurementError."""
        return

    def begin_trial(self) -> None:
        """Forget what earlier trials left: the probe is prepared and about to measure. Raises
        MeasurementError."""
        return

    def end_trial(self) -> tuple[str, ...]:
        """Finish what is under way: the probe has measured. Return why the trial should not be
        believed; empty when it can be. Raises MeasurementError."""
        return ()

    def trial_notes(self) -> Mapping[str, Any]:
        """Notes on the trial that `end_trial` has just finished, as values of JSON. They go to the
        trial's notes too, so their names differ from those of the counters."""
        return {}

    @abstractmethod
    def stop(self) -> None:
        """End the service. Harmless when called again; never raises MeasurementError. What is left
        is in the journal."""


class Service(Configurable, ABC):
    """A kind of server that a run starts beside its chains, such as a Kafka broker. The class is
    never instantiated; `start` returns the server, a RunningService.

    The order of calls on the class is: `check` and `uses` when a workflow is loaded; `requirements`
    before anything is created; `start`, in the order of the workflow, in each session that has
    trials left to measure. On the server follow, for each chain, `chain_deployed`; for each attempt
    at a trial `begin_trial` and, unless the measurement failed, `end_trial`; then `chain_removed`;
    at the end `stop`, the last service first. `undo` is called on the class for what the journal
    holds after `stop`, or in another process for a run that was killed.

    `parameters` have passed the class's schema, defaults are filled in, units are in their names.
    """

    name: ClassVar[str]
    """Name in workflows, and of the entry point."""
    per_chain: ClassVar[frozenset[str]] = frozenset()
    """Parameters that may differ between scenarios. `scenario.services` has those of a chain when
    `chain_deployed` is called; `start` gets those of the first scenario."""

    @classmethod
    @abstractmethod
    def requirements(cls, parameters: Mapping[str, Any]) -> list[Requirement]:
        """What the machine that runs sfcperf must have for the service."""

    @classmethod
    @abstractmethod
    def start(cls, context: ServiceContext, parameters: Mapping[str, Any]) -> RunningService:
        """Start the service and return when it can be used. Raises EnvironmentLacks; the run then
        ends what was spawned."""

    @classmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        """Remove what services of this kind left in the run's journal (`ServiceContext.journal`),
        newest first. Processes are not among it: the run ends these itself. A kind that puts
        anything else into the journal must override this method.

        Returns a line for each resource that was (with `dry_run`: would be) removed; what does not
        exist any more is skipped. Raises DeploymentError for what cannot be removed.
        """
        left = ", ".join(f"{resource.kind} {resource.name}" for resource in resources)
        raise DeploymentError(
            f"the service {cls.name} cannot remove what it created: {left}",
            hint="remove it by hand; the class of the service lacks a method `undo`",
        )
