"""RunContext: what the parts of a run share."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sfcperf.control.drivers import Drivers
from sfcperf.control.events import Listener, Timeline
from sfcperf.control.interrupts import Interrupts
from sfcperf.control.noise import NoiseWatch
from sfcperf.control.services import Services
from sfcperf.drivers.base import Driver
from sfcperf.errors import EnvironmentLacks
from sfcperf.hosts.clock_watch import ClockWatch, step_text
from sfcperf.results.records import utc_now
from sfcperf.results.store import RunStore
from sfcperf.workflow.model import Scenario


class Manifest:
    """Keeps run.json of a run in progress, and writes the file at every `update`. A change of
    `document` itself is written with the next update."""

    def __init__(self, store: RunStore, document: Mapping[str, Any]) -> None:
        self._store = store
        self.document = dict(document)

    def update(self, changes: Mapping[str, Any]) -> None:
        """Set these keys of the document and write the file."""
        self.document.update(changes)
        self._store.write_manifest(self.document)


@dataclass
class RunContext:
    """What the parts of one run in this process share: its drivers, records, display, signals and
    clocks. The session makes it before it measures."""

    drivers: Drivers
    services: Services
    store: RunStore
    manifest: Manifest
    listener: Listener
    interrupts: Interrupts
    timeline: Timeline
    watch: NoiseWatch
    clock: ClockWatch
    problems: list[str] = field(default_factory=list)
    """What failed besides trials; the session adds it to run.json when something is left after
    tear-down."""

    def driver_of(self, scenario: Scenario) -> Driver:
        """The driver of a scenario's infrastructure."""
        return self.drivers.of(scenario)

    def look_at_clock(self, trial_id: str | None) -> str:
        """Check whether the wall clock was set since the last look; if so, note it in run.json and
        tell the user. `trial_id` names the trial that ran since then; None: no trial did. Returns
        what was told; empty if the clock was not set."""
        step_s = self.clock.step_s()
        if not step_s:
            return ""
        text = f"this machine's clock was {step_text(step_s)}"
        step = {"at": utc_now(), "step_s": round(step_s, 6), "trial_id": trial_id}
        where = "between trials" if trial_id is None else f"during {trial_id}"
        self.manifest.document["clock_steps"] = [
            *self.manifest.document.get("clock_steps", ()),
            step,
        ]
        self.note(f"{text} {where}")
        return text

    def note(self, problem: str) -> None:
        """Write a problem that is not part of a trial to run.json at once, and tell the user."""
        self.manifest.update({"problems": [*self.manifest.document["problems"], problem]})
        self.listener.message(problem)

    def enter(self, state: str) -> None:
        """Move the run's state machine to `state`, and note it in run.json."""
        if self.manifest.document["state"] != state:
            # The state is only information: a full disk must not prevent the tear-down here. It is
            # noticed where trials are recorded.
            with suppress(OSError, EnvironmentLacks):
                self.manifest.update({"state": state})
            self.listener.phase(state)
