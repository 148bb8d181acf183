"""The noise gate on real chains: a real sentinel, and real work of others beside a trial."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.local import small_workflow

from sfcperf.control import run as engine
from sfcperf.control.events import Listener
from sfcperf.results.noise_gate import is_outside
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document
from sfcperf.workflow.plan import PlannedTrial, TrialGroup

pytestmark = pytest.mark.root

BUSY = "import time\nend = time.monotonic() + 20\nwhile time.monotonic() < end: pass"


def document(gate: dict[str, Any], rounds: int = 1) -> dict[str, Any]:
    return small_workflow(
        chain={"functions": [{"vnf": "fwd", "count": "${chain_length}"}]},
        factors={"chain_length": [0, 1]},
        probes=[{"probe": "ping", "count": 50, "interval_s": 0.01}],
        design={"rounds": rounds, "warmup_rounds": 0, "noise_gate": gate},
    )


def measured(results: Path, gate: dict[str, Any], listener: Listener | None = None) -> RunStore:
    workflow = load_document(document(gate), results)
    done = engine.start(workflow, results, command=["test"], listener=listener or Listener())
    return done.store


@pytest.mark.exhaustive
def test_the_sentinel_is_a_chain_without_functions(tmp_path: Path):
    limits = dict.fromkeys(
        ("max_steal_ratio", "max_run_queue", "max_other_cpu_ratio", "max_frequency_drop_ratio")
    )
    # Tests beside this one may slow the sentinel down as much as they like.
    gate = {**limits, "sentinel": {"every_visits": 1, "calibration": 5, "max_change_ratio": 100}}
    store = measured(tmp_path, gate)
    readings = store.readings()
    assert [r.reading_id for r in readings] == [
        *(f"c{number:03d}" for number in range(1, 6)),
        "r001-b001",
        "r001-b002",
    ]
    assert all(r.value is not None and r.value > 0 and r.unit == "us" for r in readings)
    assert all(r.noise["scope"] == "machine" for r in readings)
    assert {trial for r in readings for trial in r.block} == {t.trial_id for t in store.trials()}
    proofs = list((store.folder / "raw" / "traversal").glob("*sentinel*"))
    assert proofs, "also the sentinel's path is proven"


class Loud(Listener):
    """Somebody else works on this machine during the first attempt at each trial of a chain."""

    def __init__(self) -> None:
        self.pid = 0

    def trial_group_started(self, group: TrialGroup) -> None:
        if group.trials and not group.trials[0].rerun_of:
            # By a process that ends at once: what the run starts itself is no noise.
            starter = (
                "import subprocess, sys\n"
                f"busy = subprocess.Popen([sys.executable, '-c', {BUSY!r}], stdout=-3, stderr=-3)\n"
                "print(busy.pid)"
            )
            done = subprocess.run([sys.executable, "-c", starter], capture_output=True, check=True)
            self.pid = int(done.stdout)

    def trial_ended(self, trial: PlannedTrial, record: TrialRecord) -> None:
        self.quiet()

    def quiet(self) -> None:
        if self.pid:
            # It may have ended by itself.
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.pid = 0


@pytest.fixture
def loud() -> Iterator[Loud]:
    listener = Loud()
    yield listener
    listener.quiet()


def test_work_of_others_puts_a_trial_outside(tmp_path: Path, loud: Loud):
    gate = {
        "max_steal_ratio": None,
        "max_run_queue": None,
        "max_other_cpu_ratio": 0.2,
        "sentinel": None,
        "settle_s": 0.1,
        "budget_ratio": 2,
        "max_reruns": 5,
    }
    store = measured(tmp_path, gate, loud)
    first = [record for record in store.trials() if not record.rerun_of]
    assert all(is_outside(record) for record in first)
    assert all("CPU used by others" in record.reasons[0] for record in first)
    assert {r.rerun_of for r in store.trials()} >= {record.trial_id for record in first}
