"""A run that is killed while it deploys: its journal is enough to remove all that it created."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from typing import ClassVar

import pytest

from sfcperf.drivers.conformance.deploying_process import Task
from sfcperf.drivers.conformance.driver_run import RunFolders
from sfcperf.drivers.conformance.driver_under_test import DriverUnderTest
from sfcperf.drivers.journal import FileJournal

LENGTH = 2
INTENDED, DEPLOYED = "intended", "deployed"


class KilledDeployment(DriverUnderTest):
    """Tests of `undo`, after a deploying process was killed."""

    _deploy_s: ClassVar[float | None] = None

    @pytest.mark.parametrize("moment", [INTENDED, "early", "midway", "late", DEPLOYED])
    def test_a_killed_deployment_is_undone_from_its_journal(self, moment: str) -> None:
        """`dry_run` reports what would be removed and removes nothing; a second `undo` finds
        nothing and is harmless."""
        deploy_s = self._deployment_time_s()
        folders = RunFolders(self.driver_class(), self.full_config())
        try:
            self._kill(folders, moment, deploy_s)
            self._check_undo(folders, moment)
        finally:
            left = FileJournal(folders.journal_file).outstanding()
            self.driver_class().undo(left, dry_run=False)
            folders.remove()

    def _deployment_time_s(self) -> float:
        """Return how long a deployment takes, seconds. It is measured once, by a new driver that
        keeps nothing from other tests. Each call removes the run that the tests of the class
        share."""
        cls = type(self)
        if cls._deploy_s is None:
            cls.teardown_class()
            self.deployed(LENGTH)
            cls._deploy_s = self.run.deploy_s
        cls.teardown_class()
        return cls._deploy_s

    def _kill(self, folders: RunFolders, moment: str, deploy_s: float) -> None:
        """Start a process that deploys, and kill it at this moment."""
        task = Task(folders, self.chain(LENGTH), dies_when_intended=moment == INTENDED)
        file = folders.folder / "task"
        file.write_bytes(pickle.dumps(task))
        stderr_file = folders.folder / "stderr"
        with stderr_file.open("wb") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-m", "sfcperf.drivers.conformance.deploying_process", str(file)],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        assert process.stdout is not None
        try:
            first = process.stdout.readline()
            assert first == "deploying\n", f"the driver does not start: {stderr_file.read_text()}"
            if moment in self.kill_moments:
                time.sleep(self.kill_moments[moment] * deploy_s)
            else:
                # Wait for its next line, or for its end if it kills itself.
                deployed = process.stdout.readline() == "deployed\n"
                assert deployed is (moment == DEPLOYED), stderr_file.read_text()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def _check_undo(self, folders: RunFolders, moment: str) -> None:
        """Check that `undo` removes all that the journal names, and that `dry_run` removes
        nothing."""
        driver = self.driver_class()
        left = FileJournal(folders.journal_file).outstanding()
        announced = driver.undo(left, dry_run=True)
        again = driver.undo(left, dry_run=True)
        if moment == DEPLOYED:
            assert left
        if moment == DEPLOYED and not self.undoes_itself:
            assert announced
            # At other moments a command may end by itself between the two calls.
            assert set(announced) <= set(again), "dry_run removed something"
        removed = driver.undo(left, dry_run=False)
        # It may remove nothing only if there was nothing.
        assert bool(removed) or not announced or self.undoes_itself
        assert driver.undo(left, dry_run=True) == []
        assert driver.undo(left, dry_run=False) == []
        assert self.traces(folders.tag) == []
