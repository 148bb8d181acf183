"""DriverRun: a driver in a run of its own, and its deployment."""

from __future__ import annotations

import secrets
import shutil
import string
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from sfcperf.drivers.base import Driver, DriverContext, Journal, Resource
from sfcperf.drivers.journal import FileJournal
from sfcperf.management.deployment import Deployment
from sfcperf.workflow.model import Scenario


class WatchedJournal(FileJournal):
    """The journal of real runs, which also checks that resources are recorded in time."""

    def __init__(self, path: Path, driver_class: type[Driver]) -> None:
        super().__init__(path)
        self._driver_class = driver_class
        self._watch = Lock()
        self.ever: list[Resource] = []
        """All resources that were ever intended, newest first, each once."""
        self.too_late: list[str] = []
        """Resources that existed already when they were intended, as `undo` reports them."""

    def intend(self, resources: Iterable[Resource], owner: int = 0) -> None:
        """Record the resources, and note in `too_late` those that exist already. They were created
        too early, or belong to somebody else, and `undo` would remove them."""
        new = list(resources)
        # Resources that are outstanding may be intended again, and exist rightfully.
        known = {(each.kind, each.name) for each in self.outstanding()}
        fresh = [each for each in new if (each.kind, each.name) not in known]
        # `undo` takes the newest first.
        existing = self._driver_class.undo(fresh[::-1], dry_run=True) if fresh else []
        with self._watch:
            self.too_late += existing
            new_keys = {(each.kind, each.name) for each in new}
            earlier = [each for each in self.ever if (each.kind, each.name) not in new_keys]
            self.ever = [*new[::-1], *earlier]
        super().intend(new, owner)


class RunFolders:
    """Folders, tag and journal file of a run without the engine."""

    def __init__(self, driver_class: type[Driver], config: Mapping[str, Any]) -> None:
        self.driver_class = driver_class
        self.config = config
        self.tag = "".join(secrets.choice(string.ascii_lowercase) for _ in range(6))
        # The folder is directly in the temporary one, because paths of sockets below it must fit
        # 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix=f"conformance-{self.tag}-"))
        self.state_dir = self.folder / "state"
        self.raw_dir = self.folder / "raw"
        self.state_dir.mkdir()
        self.raw_dir.mkdir()
        self.journal_file = self.folder / "journal.jsonl"
        self.lines: list[str] = []
        """What the driver logged."""

    def context(self, journal: Journal) -> DriverContext:
        """Return what a run gives its driver."""
        return DriverContext(
            run_id=f"conformance-{self.tag}",
            tag=self.tag,
            config=self.config,
            journal=journal,
            state_dir=self.state_dir,
            raw_dir=self.raw_dir,
            log=self.lines.append,
        )

    def remove(self) -> None:
        """Remove the folders, and nothing else: to be called when what the driver created is
        gone."""
        shutil.rmtree(self.folder, ignore_errors=True)


class DriverRun(RunFolders):
    """An open driver with at most one deployment, the current one. Tests ask for it by `deployed`;
    `remove` ends it all."""

    def __init__(self, driver_class: type[Driver], config: Mapping[str, Any]) -> None:
        super().__init__(driver_class, config)
        self.journal = WatchedJournal(self.journal_file, driver_class)
        self.driver = driver_class(self.context(self.journal))
        self.closed = False
        self.deploy_s = 0.0
        """How long the longest deployment so far took, seconds."""
        self.ids: list[str] = []
        """Ids of all deployments, in order."""
        self._current: tuple[Scenario, Deployment] | None = None
        self._failed: list[tuple[Scenario, str]] = []
        """Scenarios that could not be deployed, with the reason."""

    def deployed(self, scenario: Scenario) -> Deployment:
        """Return the scenario's deployment: the current one, or a new one in its place.

        As in a run, a new one is proven right away, because the proof may wait until the path is
        set up; tests that need the proof's result prove again. A scenario that could not be
        deployed once fails the next tests immediately, because booting is slow.
        """
        if self._current is not None and self._current[0] == scenario:
            return self._current[1]
        for failed, reason in self._failed:
            if failed == scenario:
                pytest.fail(f"an earlier test could not deploy this chain: {reason}")
        self.teardown()
        try:
            deployment = self.deploy(scenario)
            self.driver.prove_traversal(deployment, scenario)
        except Exception as error:
            self._failed.append((scenario, str(error)))
            raise
        return deployment

    def deploy(self, scenario: Scenario) -> Deployment:
        """Deploy a scenario without a proof, and make it the current one; the caller has torn down
        an earlier one."""
        if self.closed:
            pytest.fail("an earlier test closed the driver")
        started = time.monotonic()
        deployment = self.driver.deploy(scenario)
        self.deploy_s = max(self.deploy_s, time.monotonic() - started)
        self._current = (scenario, deployment)
        self.ids.append(deployment.id)
        return deployment

    def teardown(self) -> None:
        """Tear down the current deployment, if there is one."""
        if self._current is not None:
            deployment, self._current = self._current[1], None
            self.driver.teardown(deployment)

    def close(self) -> None:
        """Close the driver, as at the end of a run; the first call alone does it."""
        self._current = None
        if not self.closed:
            self.closed = True
            self.driver.close()

    def remaining(self) -> list[str]:
        """Return what `undo` still finds of all that the driver ever intended."""
        return self.driver_class.undo(self.journal.ever, dry_run=True)

    def remove(self) -> None:
        """Close the driver, undo what the journal still names, and remove the folders. The latter
        two are done even if the driver cannot be closed."""
        try:
            self.close()
        finally:
            left = self.journal.outstanding()
            if left:
                self.driver_class.undo(left, dry_run=False)
            super().remove()
