"""Bench: a driver in a run of its own, and the deployment that stands there."""

from __future__ import annotations

import secrets
import shutil
import string
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sfcperf.drivers.base import Driver, DriverContext
from sfcperf.drivers.conformance.journal import WatchedJournal
from sfcperf.management.deployment import Deployment
from sfcperf.workflow.model import Scenario


class Grounds:
    """Folders, tag and journal of a run that has no engine around it."""

    def __init__(self, driver_class: type[Driver], config: Mapping[str, Any]) -> None:
        self.driver_class = driver_class
        self.config = config
        self.tag = "".join(secrets.choice(string.ascii_lowercase) for _ in range(6))
        # Directly in the temporary folder: sockets below must fit 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix=f"conformance-{self.tag}-"))
        self.state_dir = self.folder / "state"
        self.raw_dir = self.folder / "raw"
        self.state_dir.mkdir()
        self.raw_dir.mkdir()
        self.journal_file = self.folder / "journal.jsonl"
        self.lines: list[str] = []

    def context(self, journal: Any) -> DriverContext:
        """What a run hands to its driver."""
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
        """Only folders: what the driver made is removed by then."""
        shutil.rmtree(self.folder, ignore_errors=True)


class Bench(Grounds):
    """An open driver with at most one deployment."""

    def __init__(self, driver_class: type[Driver], config: Mapping[str, Any]) -> None:
        super().__init__(driver_class, config)
        self.journal = WatchedJournal(self.journal_file, driver_class)
        self.driver = driver_class(self.context(self.journal))
        self.closed = False
        self.deploy_s = 0.0
        """Longest deployment so far, seconds."""
        self.ids: list[str] = []
        """Of all deployments, in their order."""
        self._standing: tuple[Scenario, Deployment] | None = None
        self._failed: list[tuple[Scenario, str]] = []

    def standing(self, scenario: Scenario) -> Deployment:
        """The scenario's deployment, made unless it stands. As in a run its proof follows, and may
        wait for packets to find their way; what it says is for the tests that ask. One that could
        not be deployed fails the next tests at once: machines may boot slowly."""
        if self._standing is not None and self._standing[0] == scenario:
            return self._standing[1]
        for failed, reason in self._failed:
            if failed == scenario:
                pytest.fail(f"this chain could not be deployed before: {reason}")
        self.fall()
        try:
            deployment = self.deploy(scenario)
            self.driver.prove_traversal(deployment, scenario)
        except Exception as error:
            self._failed.append((scenario, str(error)))
            raise
        return deployment

    def deploy(self, scenario: Scenario) -> Deployment:
        """Deploy; it stands then."""
        if self.closed:
            pytest.fail("the driver was closed by a test before")
        started = time.monotonic()
        deployment = self.driver.deploy(scenario)
        self.deploy_s = max(self.deploy_s, time.monotonic() - started)
        self._standing = (scenario, deployment)
        self.ids.append(deployment.id)
        return deployment

    def fall(self) -> None:
        """Tear down what stands."""
        if self._standing is not None:
            deployment, self._standing = self._standing[1], None
            self.driver.teardown(deployment)

    def close(self) -> None:
        """As at the end of a run."""
        self._standing = None
        if not self.closed:
            self.closed = True
            self.driver.close()

    def still_there(self) -> list[str]:
        """What the driver itself still finds of all that it ever intended."""
        return self.driver_class.undo(self.journal.ever, dry_run=True)

    def remove(self) -> None:
        """Whatever happened."""
        try:
            self.close()
        finally:
            left = self.journal.outstanding()
            if left:
                self.driver_class.undo(left, dry_run=False)
            super().remove()
