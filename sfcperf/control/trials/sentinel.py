"""Sentinel: a chain without functions, measured between the trials. If its values change, the
machine has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from sfcperf import waiting
from sfcperf.control.context import RunContext
from sfcperf.control.faults import describe, keep_traceback
from sfcperf.control.trials.attempt import attempt
from sfcperf.control.trials.chain_deployment import ChainDeployment
from sfcperf.control.trials.drift_test import drift_test
from sfcperf.errors import MeasurementError
from sfcperf.results.noise_gate import Reading
from sfcperf.results.records import utc_now
from sfcperf.workflow.model import Scenario, SentinelSpec
from sfcperf.workflow.plan import PlannedTrial, TrialGroup

LOOKS = 3
"""How many further readings are made after one that departed, to see whether the machine is quiet
again."""


class Sentinel:
    """Measures the sentinel's chain between blocks of trials: `calibrate` before the first trial
    that counts, `close` after each block. Each reading is on disk before the run continues.
    `settle_s`: pause before a reading is repeated, seconds; it doubles each time."""

    def __init__(
        self, run: RunContext, spec: SentinelSpec, scenario: Scenario, settle_s: float
    ) -> None:
        self._run = run
        self._spec = spec
        self._scenario = scenario
        self._settle_s = settle_s
        self._readings = run.store.readings()
        """All readings of the run, those of earlier sessions included."""

    @property
    def read_trials(self) -> set[str]:
        """Ids of the trials that a reading covers."""
        return {trial for reading in self._readings for trial in reading.block}

    def calibrate(self) -> None:
        """Take the first readings, once per run, until `calibration` of them are good; at most
        twice as many are taken."""
        least = self._spec.calibration
        calibrations = [reading for reading in self._readings if reading.round == 0]
        for number in range(len(calibrations) + 1, 2 * least + 1):
            if sum(reading.good for reading in calibrations) >= least:
                return
            calibrations.append(self._read(f"c{number:03d}", 0, ()))

    def close(self, round_number: int, block: Sequence[str]) -> Reading:
        """Read the sentinel after a block of trials, and return that reading. If it departs, read
        again after longer and longer pauses until the machine is quiet, LOOKS times at most.
        `block`: ids of the trials."""
        # The id of a repeated reading begins with that of its block's first one.
        blocks = {r.reading_id.partition(".")[0] for r in self._readings if r.round == round_number}
        name = f"r{round_number:03d}-b{len(blocks) + 1:03d}"
        first = self._read(name, round_number, tuple(block))
        last = first
        for look in range(1, LOOKS + 1):
            if last.good:
                break
            settle(self._run, self._settle_s * 2 ** (look - 1))
            last = self._read(f"{name}.{look}", round_number, ())
        return first

    def _read(self, reading_id: str, round_number: int, block: tuple[str, ...]) -> Reading:
        """Measure, write the reading to disk and return it. Its `marks` say why the trials of its
        block are not trusted: this reading departed, or the one before the block did. They are
        empty if the trials are trusted, or if there is no block."""
        before = self._readings[-1] if self._readings else None
        reading = self._measured(reading_id, round_number)
        if reading.departed:
            marks = _describe(reading)
        elif block and before is not None and not before.good:
            marks = f"the sentinel had departed before this block ({before.reading_id})"
        else:
            marks = ""
        reading = replace(reading, block=block, marks=marks if block else "")
        self._run.store.append_reading(reading)
        self._readings.append(reading)
        if reading.departed:
            self._run.listener.message(f"noise gate: {_describe(reading)}")
        return reading

    def _measured(self, reading_id: str, round_number: int) -> Reading:
        """Measure the sentinel, and compare the value with the good readings before it. If that
        fails, the reading has no value, counts as departed, and says why in `problem`. The block is
        left empty."""
        trial = PlannedTrial(reading_id, self._scenario, self._spec.probe, round_number, False)
        folder = self._run.store.raw(f"sentinel/{reading_id}/attempt-1")
        chain = ChainDeployment(
            self._run, TrialGroup(self._scenario, round_number, False, (trial,))
        )
        started_at = utc_now()
        # Without a value, a reading counts as departed.
        without_value = Reading(
            reading_id=reading_id,
            round=round_number,
            started_at=started_at,
            ended_at=started_at,
            probe=self._spec.probe.probe,
            metric=self._spec.metric,
            unit="",
            value=None,
            reference=None,
            change_ratio=None,
            allowed_ratio=None,
            departed=True,
            block=(),
        )
        try:
            deployment = chain.ensure().deployment
            started_at = utc_now()
            done = attempt(self._run, trial, deployment, folder)
            samples = [s for s in done.result.samples if s.metric == self._spec.metric]
            if not samples:
                raise MeasurementError(f"{trial.probe.label} reported no {self._spec.metric}")
        except Exception as error:
            self._run.store.check_not_moved()
            keep_traceback(error, folder / "error.txt")
            return replace(without_value, ended_at=utc_now(), problem=describe(error))
        finally:
            chain.remove()
        value = fmean(sample.value for sample in samples)
        earlier = [r.value for r in self._readings if r.good and r.value is not None]
        found = drift_test(value, earlier, self._spec.calibration, self._spec.max_change_ratio)
        return replace(
            without_value,
            started_at=started_at,
            ended_at=utc_now(),
            unit=samples[0].unit,
            value=value,
            reference=found.reference,
            change_ratio=found.change_ratio,
            allowed_ratio=found.allowed_ratio,
            departed=found.departed,
            noise=done.noise,
        )


def settle(run: RunContext, seconds: float) -> None:
    """Wait for the machine to calm down; a signal ends the wait."""
    with run.timeline.phase("settling"), run.interrupts.allowed:
        waiting.sleep(seconds)


def _describe(reading: Reading) -> str:
    """Say why the trials beside this reading, which departed, are not trusted."""
    if reading.change_ratio is None or reading.allowed_ratio is None:
        return f"the sentinel could not be measured ({reading.reading_id}: {reading.problem})"
    return (
        f"the sentinel's {reading.metric} was {100 * reading.change_ratio:+.0f} % from its median, "
        f"allowed: {100 * reading.allowed_ratio:.0f} % ({reading.reading_id})"
    )
