"""Drivers: one for each infrastructure that a run is built on, all released at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.control.undo import release
from sfcperf.drivers.base import Driver, DriverContext
from sfcperf.drivers.journal import FileJournal
from sfcperf.workflow.model import Infrastructure, Scenario, Workflow


class Drivers:
    """The open drivers of a run, in the order of the workflow's infrastructures.

    Each has a tag, a state folder, a folder for raw output and a share of the journal of its own:
    two instances of one driver class never meet, and `clean` knows whose a resource is.
    """

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._open: dict[int, Driver] = {}
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
    ) -> None:
        """Start the drivers, one tag for each. Raises what a driver raises; those that were
        started before it are to be released."""
        several = len(self._infrastructures) > 1
        for owner, (infrastructure, tag) in enumerate(
            zip(self._infrastructures, tags, strict=True)
        ):
            own = f"{owner + 1}-{infrastructure.driver}" if several else ""
            context = DriverContext(
                run_id=run_id,
                tag=tag,
                config=infrastructure.config,
                journal=journal.of(owner),
                state_dir=_made(state_dir / own),
                raw_dir=_made(raw_dir / own),
                log=log,
            )
            self._open[owner] = plugins.load("driver", infrastructure.driver)(context)

    def of(self, scenario: Scenario) -> Driver:
        """The driver of a scenario's infrastructure."""
        wanted = self._workflow.infrastructure_of(scenario)
        return self._open[self._infrastructures.index(wanted)]

    def facts(self) -> dict[str, Any]:
        """For the manifest: facts of the infrastructure, and of each when there are several."""
        facts = [dict(driver.facts()) for driver in self._open.values()]
        if len(facts) == 1:
            return {"infrastructure": facts[0]}
        described = [
            self._described(owner, infrastructure, facts[owner])
            for owner, infrastructure in enumerate(self._infrastructures)
        ]
        return {"infrastructure": facts[0], "infrastructures": described}

    def release(self) -> list[str]:
        """End all of them and remove what they still hold, the last one first; gives what could
        not be removed. One that cannot be released does not keep the others."""
        return [
            problem for _, driver in reversed(self._open.items()) for problem in release(driver)
        ]

    def _described(
        self, owner: int, infrastructure: Infrastructure, facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        scenarios = self._workflow.scenarios
        mine = [s for s in scenarios if self._workflow.infrastructure_of(s) == infrastructure]
        return {
            "driver": infrastructure.driver,
            "variants": list(dict.fromkeys(str(s.levels["variant"]) for s in mine)),
            "tag": self._open[owner].context.tag,
            "facts": facts,
        }


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
