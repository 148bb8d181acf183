"""Services: the servers of a run, started before its chains and ended after them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.control.faults import describe
from sfcperf.drivers.base import Resource
from sfcperf.drivers.journal import JournalShare
from sfcperf.errors import DeploymentError, EnvironmentLacks, MeasurementError, errors_as
from sfcperf.management.deployment import Deployment
from sfcperf.services import processes
from sfcperf.services.base import RunningService, Service, ServiceContext
from sfcperf.services.journal import ServiceJournal, service_of
from sfcperf.services.processes import Processes
from sfcperf.workflow.model import Scenario, ServiceSpec

OWNER = -2
"""Number that marks resources of services in the run's journal; drivers count from 0."""

Counters = Mapping[str, Mapping[str, int]]
"""Service -> counter -> value."""


class Services:
    """Starts, asks and stops the services of a run, in the order of its workflow. A session makes
    it; if all trials are recorded already, `start` is never called, and there are no services."""

    def __init__(self, specs: Sequence[ServiceSpec]) -> None:
        self._specs = specs
        # Name in the workflow -> name of the plug-in.
        self._kinds = {spec.name: spec.service for spec in specs}
        self._running: dict[str, RunningService] = {}
        """Name in the workflow -> service, for those that were started, in their order."""
        self._journal: JournalShare | None = None

    def start(
        self,
        *,
        run_id: str,
        tag: str,
        address: Callable[[], str],
        journal: JournalShare,
        state_dir: Path,
        outputs: Path,
        log: Callable[[str], None],
    ) -> None:
        """Start all services, in order; `address` as in ServiceContext. Raises EnvironmentLacks;
        some may run then, so call `release` also after an error."""
        self._journal = journal
        for spec in self._specs:
            own = ServiceJournal(journal, spec.service)
            folders = state_dir / spec.name, outputs / spec.name
            for folder in folders:
                folder.mkdir(parents=True, exist_ok=True)
            context = ServiceContext(
                name=spec.name,
                run_id=run_id,
                tag=tag,
                state_dir=folders[0],
                outputs=folders[1],
                services=dict(self._running),
                spawn=Processes(own).spawn,
                address=address,
                journal=own,
                log=log,
            )
            kind = _kind(spec.service)
            failed = f"the service {spec.name} cannot be started"
            with errors_as(EnvironmentLacks, EnvironmentLacks, context=failed):
                self._running[spec.name] = kind.start(context, spec.parameters)

    def addresses(self) -> dict[str, str]:
        """Name of each service -> address at which functions of a chain reach it, for
        DriverContext.services."""
        return {name: service.address_for_functions for name, service in self._running.items()}

    def facts(self) -> dict[str, Any]:
        """Facts of each service by its name, for the manifest."""
        return {
            name: {"service": self._kinds[name], **service.facts()}
            for name, service in self._running.items()
        }

    def problems(self) -> list[str]:
        """Describe what is wrong with the services, a line each."""
        return [
            f"service {name}: {problem}"
            for name, service in self._running.items()
            if (problem := _problem(service)) is not None
        ]

    def recover(self) -> list[str]:
        """Bring back the services that have a problem, in their order; return the problems. Raises
        DeploymentError for a service that does not come back."""
        found = []
        for name, service in self._running.items():
            if (problem := _problem(service)) is None:
                continue
            found.append(f"service {name}: {problem}")
            failed = f"service {name} does not come back"
            with errors_as(DeploymentError, EnvironmentLacks, context=failed):
                service.recover()
        return found

    def counters(self) -> Counters:
        """Read the counters of each service, for `trial_notes`. Raises MeasurementError."""
        found = {}
        for name, service in self._running.items():
            with _named(name):
                found[name] = dict(service.counters())
        return found

    def chain_deployed(self, deployment: Deployment, scenario: Scenario) -> dict[str, Any]:
        """Tell each service that the chain is deployed; return the facts that each gives, by its
        name. Services without facts are left out. Raises DeploymentError."""
        facts = {
            name: dict(service.chain_deployed(deployment, scenario))
            for name, service in self._running.items()
        }
        return {name: found for name, found in facts.items() if found}

    def chain_removed(self) -> list[str]:
        """Tell each service that the chain is removed, the last service first; return what
        failed."""
        return self._each("chain_removed", "leaving the chain")

    def begin_trial(self) -> None:
        """Begin the trial in each service. Raises MeasurementError, which names the service."""
        for name, service in self._running.items():
            with _named(name):
                service.begin_trial()

    def end_trial(self) -> tuple[str, ...]:
        """End the trial in each service, in their order: a service may still get what one before it
        sends as it ends the trial. Return why the trial should not be believed. Raises
        MeasurementError."""
        doubts: list[str] = []
        for name, service in self._running.items():
            with _named(name):
                doubts += [f"service {name}: {reason}" for reason in service.end_trial()]
        return tuple(doubts)

    def trial_notes(self, before: Counters) -> dict[str, dict[str, Any]]:
        """Return by service how much its counters grew since `before` was read, and its notes about
        the trial. Raises MeasurementError."""
        found: dict[str, dict[str, Any]] = {**grown(before, self.counters())}
        for name, service in self._running.items():
            if notes := service.trial_notes():
                found[name] = {**found.get(name, {}), **notes}
        return found

    def release(self) -> list[str]:
        """Stop all services, the last one first, and remove what the journal still names; return
        what could not be removed."""
        problems = self._each("stop", "stopping it")
        self._running = {}
        remaining = [] if self._journal is None else self._journal.outstanding()
        if not remaining or self._journal is None:
            # Nothing remains: then an error of `stop` is no problem.
            return []
        try:
            undo(remaining, dry_run=False)
        except Exception as error:
            return [*problems, f"removing what services left: {describe(error)}"]
        self._journal.removed(remaining)
        return []

    def _each(self, method: str, doing: str) -> list[str]:
        """Call the method without arguments of each service, the last one first; return what
        failed."""
        problems = []
        for name, service in reversed(self._running.items()):
            try:
                getattr(service, method)()
            except Exception as error:
                problems.append(f"service {name}: {doing}: {describe(error)}")
        return problems


def _problem(service: RunningService) -> str | None:
    """What is wrong with a service; None if nothing is. A health check that fails is a problem
    too."""
    try:
        return service.problem()
    except Exception as error:
        return f"the health check failed: {describe(error)}"


def _named(name: str) -> AbstractContextManager[None]:
    """Put the service's name before the message of a MeasurementError inside."""
    return errors_as(MeasurementError, MeasurementError, context=f"service {name}")


def grown(before: Counters, after: Counters) -> dict[str, dict[str, int]]:
    """Return how much each counter grew, by service; services without counters are left out. Raises
    MeasurementError for a counter that is new."""
    try:
        return {
            name: {counter: value - before[name][counter] for counter, value in counters.items()}
            for name, counters in after.items()
            if counters
        }
    except KeyError as error:
        raise MeasurementError(f"a service has the counter {error} only now") from error


def undo(resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
    """Remove what services of a dead run left (newest first): first their processes, then what
    these had elsewhere. Return a line for each. Raises DeploymentError for what cannot be
    removed."""
    own = [resource for resource in resources if resource.kind == processes.KIND]
    lines = processes.undo(own, dry_run=dry_run)
    # Sorting keeps the order of a service's resources: newest first.
    others = sorted(
        (resource for resource in resources if resource.kind != processes.KIND), key=service_of
    )
    for service, group in groupby(others, service_of):
        lines += _kind(service).undo(list(group), dry_run=dry_run)
    return lines


def _kind(service: str) -> type[Service]:
    """Class of the plug-in with this name."""
    kind: type[Service] = plugins.load("service", service)
    return kind
