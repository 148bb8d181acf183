"""A run that is killed while it deploys: its journal is enough to remove all that it made."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from typing import ClassVar

import pytest

from sfcperf.drivers.conformance.bench import Grounds
from sfcperf.drivers.conformance.subject import Subject
from sfcperf.drivers.conformance.victim import Order
from sfcperf.drivers.journal import FileJournal

LENGTH = 2
INTENDED, STANDING = "intended", "standing"


class Deaths(Subject):
    """Tests of `undo`."""

    _deploy_s: ClassVar[float | None] = None

    @pytest.mark.parametrize("moment", [INTENDED, "early", "midway", "late", STANDING])
    def test_a_killed_deployment_is_undone_from_its_journal(self, moment: str) -> None:
        """`dry_run` says what would go and removes nothing; a second `undo` finds nothing, and is
        harmless."""
        deploy_s = self._time_of_a_deployment()
        grounds = Grounds(self.driver_class(), self.full_config())
        try:
            self._kill(grounds, moment, deploy_s)
            self._check_undo(grounds, moment)
        finally:
            left = FileJournal(grounds.journal_file).outstanding()
            self.driver_class().undo(left, dry_run=False)
            grounds.remove()

    def _time_of_a_deployment(self) -> float:
        """From nothing; what the tests before have shared makes room."""
        cls = type(self)
        if cls._deploy_s is None:
            cls.teardown_class()
            self.standing(LENGTH)
            cls._deploy_s = self.bench.deploy_s
        cls.teardown_class()
        return cls._deploy_s

    def _kill(self, grounds: Grounds, moment: str, deploy_s: float) -> None:
        order = Order(
            driver=self.driver_class(),
            config=self.full_config(),
            tag=grounds.tag,
            journal=str(grounds.journal_file),
            state_dir=str(grounds.state_dir),
            raw_dir=str(grounds.raw_dir),
            scenario=self.chain(LENGTH),
            dies_when_intended=moment == INTENDED,
        )
        file = grounds.folder / "order"
        file.write_bytes(pickle.dumps(order))
        said = grounds.folder / "stderr"
        with said.open("wb") as stderr:
            victim = subprocess.Popen(
                [sys.executable, "-m", "sfcperf.drivers.conformance.victim", str(file)],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        assert victim.stdout is not None
        try:
            first = victim.stdout.readline()
            assert first == "deploying\n", f"the driver does not start: {said.read_text()}"
            if moment in self.deaths:
                time.sleep(self.deaths[moment] * deploy_s)
            else:
                # Its next word, or its end.
                stands = victim.stdout.readline() == "standing\n"
                assert stands is (moment == STANDING), said.read_text()
        finally:
            victim.kill()
            victim.wait()
            victim.stdout.close()

    def _check_undo(self, grounds: Grounds, moment: str) -> None:
        driver = self.driver_class()
        left = FileJournal(grounds.journal_file).outstanding()
        announced = driver.undo(left, dry_run=True)
        again = driver.undo(left, dry_run=True)
        if moment == STANDING:
            assert left and announced
            # At other moments a command may just be ending by itself.
            assert set(announced) <= set(again), "dry_run has removed something"
        done = driver.undo(left, dry_run=False)
        assert bool(done) or not announced
        assert driver.undo(left, dry_run=True) == []
        assert driver.undo(left, dry_run=False) == []
        assert self.traces(grounds.tag) == []
