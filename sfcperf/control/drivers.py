"""Drivers: one for each infrastructure that a run uses, all released at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.control.faults import describe
from sfcperf.drivers.base import Driver, DriverContext
from sfcperf.drivers.journal import FileJournal
from sfcperf.errors import EnvironmentLacks
from sfcperf.workflow.model import Infrastructure, Scenario, Workflow


class Drivers:
    """The drivers of a run, one for each of the workflow's infrastructures, in their order. A
    session makes it, calls `open` before the trials, and `release` at its end.

    Each driver has a tag, a state folder, a folder for raw output and a share of the journal of its
    own. So two instances of one driver class do not collide, and `clean` knows which driver owns a
    resource.
    """

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._open: dict[int, Driver] = {}
        """Number of the infrastructure, from 0 -> its driver, as far as they were started."""
        self._infrastructures = workflow.infrastructures

    def open(
        self,
        *,
        run_id: str,
        tags: Sequence[str],
        journal: FileJournal,
        state_dir: Path,
        raw_dir: Path,
        log: Callable[[str], None],
        services: Mapping[str, str],
    ) -> None:
        """Start the drivers; each takes one of `tags`. `services` is as in DriverContext. Raises
        what a driver raises; the drivers that started before it stay open, so call `release` then
        too."""
        several = len(self._infrastructures) > 1
        for owner, (infrastructure, tag) in enumerate(
            zip(self._infrastructures, tags, strict=True)
        ):
            # Several drivers have a folder each; a single one has the whole folder.
            own = f"{owner + 1}-{infrastructure.driver}" if several else ""
            scenarios = self._scenarios(infrastructure)
            context = DriverContext(
                run_id=run_id,
                tag=tag,
                config=infrastructure.config,
                journal=journal.of(owner),
                state_dir=_created(state_dir / own),
                raw_dir=_created(raw_dir / own),
                log=log,
                services=services,
                nodes=sorted({node.name for s in scenarios for node in s.topology.nodes}),
            )
            self._open[owner] = plugins.load("driver", infrastructure.driver)(context)

    def service_address(self) -> str:
        """Find the address of this machine at which the hosts of all infrastructures reach
        services. Raises EnvironmentLacks when a driver knows none, or when they differ."""
        found: set[str] = set()
        for each in self._infrastructures:
            driver: type[Driver] = plugins.load("driver", each.driver)
            address = driver.service_address(each.config)
            if address is None:
                raise EnvironmentLacks(
                    f"the driver {each.driver} does not say at which address of this machine its "
                    "hosts reach services",
                    hint="set it in the parameters of the service",
                )
            found.add(address)
        # A loopback address comes from a driver whose hosts are on this machine. They reach this
        # machine at any other of its addresses as well.
        others = sorted(a for a in found if not ip_address(a).is_loopback)
        if len(others) > 1:
            raise EnvironmentLacks(
                "hosts of the workflow's infrastructures reach this machine at different "
                f"addresses: {', '.join(others)}",
                hint="set one that all of them reach in the parameters of the service",
            )
        return (others or sorted(found))[0]

    def of(self, scenario: Scenario) -> Driver:
        """The driver of a scenario's infrastructure."""
        infrastructure = self._workflow.infrastructure_of(scenario)
        return self._open[self._infrastructures.index(infrastructure)]

    def facts(self) -> dict[str, Any]:
        """Facts about the infrastructures, for the manifest. `infrastructure` has those of the
        first one; `infrastructures` lists all of them when there are several."""
        facts = [dict(driver.facts()) for driver in self._open.values()]
        if len(facts) == 1:
            return {"infrastructure": facts[0]}
        described = [
            self._described(owner, infrastructure, facts[owner])
            for owner, infrastructure in enumerate(self._infrastructures)
        ]
        return {"infrastructure": facts[0], "infrastructures": described}

    def release(self) -> list[str]:
        """Close all drivers, the last one first, and remove what they still hold; returns what
        could not be removed. A driver that fails does not keep the others from being closed."""
        return [problem for driver in reversed(self._open.values()) for problem in _release(driver)]

    def _described(
        self, owner: int, infrastructure: Infrastructure, facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        """One infrastructure for the manifest: its driver, the variants that use it, its tag and
        facts."""
        of_driver = self._scenarios(infrastructure)
        return {
            "driver": infrastructure.driver,
            "variants": list(dict.fromkeys(str(s.levels["variant"]) for s in of_driver)),
            "tag": self._open[owner].context.tag,
            "facts": facts,
        }

    def _scenarios(self, infrastructure: Infrastructure) -> list[Scenario]:
        """Scenarios that this infrastructure holds."""
        workflow = self._workflow
        return [s for s in workflow.scenarios if workflow.infrastructure_of(s) == infrastructure]


def _created(folder: Path) -> Path:
    """Create a folder, unless it exists; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _release(driver: Driver) -> list[str]:
    """Close a driver and remove what it still holds; return what could not be removed.

    A `close` that fails is no problem if `undo` then removes everything, for it does what `close`
    left undone.
    """
    journal = driver.context.journal
    problems = []
    try:
        driver.close()
    except Exception as error:
        problems.append(f"closing the driver: {describe(error)}")
    remaining = journal.outstanding()
    if not remaining:
        return []
    try:
        driver.undo(remaining, dry_run=False)
    except Exception as error:
        return [*problems, f"undoing from the journal: {describe(error)}"]
    journal.removed(remaining)
    return []
