"""Sentinel: a chain without functions, measured between blocks of visits.

It is the same in the whole run, so what changes in it is the machine. A block of trials is trusted
when the readings before and after it are good.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from sfcperf.control.attempt import attempt, now
from sfcperf.control.chain import Chain
from sfcperf.control.context import RunContext
from sfcperf.control.departure import departure
from sfcperf.control.faults import describe, keep_traceback
from sfcperf.errors import MeasurementError
from sfcperf.results.noise_gate import Reading
from sfcperf.workflow.model import Scenario, SentinelSpec
from sfcperf.workflow.plan import PlannedTrial, Visit

LOOKS = 3
"""After a reading that departs, so often is looked whether the machine is quiet again."""


class Sentinel:
    """Reads between blocks; its readings are on disk before the run goes on."""

    def __init__(
        self, run: RunContext, spec: SentinelSpec, scenario: Scenario, settle_s: float
    ) -> None:
        self._run = run
        self._spec = spec
        self._scenario = scenario
        self._settle_s = settle_s
        self._readings = run.store.readings()

    @property
    def read_trials(self) -> set[str]:
        """Trials of which a reading has told what to think."""
        return {trial for reading in self._readings for trial in reading.block}

    def calibrate(self) -> None:
        """Readings to compare with, once per run: so many good ones, unless as many again fail."""
        wanted = self._spec.calibration
        calibrations = [reading for reading in self._readings if reading.round == 0]
        for number in range(len(calibrations) + 1, 2 * wanted + 1):
            if sum(reading.good for reading in calibrations) >= wanted:
                return
            calibrations.append(self._read(f"c{number:03d}", 0, ()))

    def close(self, round_number: int, block: Sequence[str]) -> Reading:
        """Read after a block of trials. When it departs, look again, after longer and longer
        pauses, until the machine is quiet or LOOKS are over."""
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
        before = self._readings[-1] if self._readings else None
        reading = self._measured(reading_id, round_number)
        if reading.departed:
            marks = _words(reading)
        elif block and before is not None and not before.good:
            marks = f"the sentinel had departed before this block ({before.reading_id})"
        else:
            marks = ""
        reading = replace(reading, block=block, marks=marks if block else "")
        self._run.store.append_reading(reading)
        self._readings.append(reading)
        if reading.departed:
            self._run.listener.message(f"noise gate: {_words(reading)}")
        return reading

    def _measured(self, reading_id: str, round_number: int) -> Reading:
        """A reading without its block."""
        visit = Visit(self._scenario, round_number, False, ())
        trial = PlannedTrial(reading_id, self._scenario, self._spec.probe, round_number, False)
        folder = self._run.store.raw(f"sentinel/{reading_id}/attempt-1")
        chain = Chain(self._run, visit)
        started_at = now()
        empty = Reading(
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
            standing = chain.stand()
            started_at = now()
            done = attempt(self._run, trial, standing.deployment, folder)
            samples = [s for s in done.result.samples if s.metric == self._spec.metric]
            if not samples:
                raise MeasurementError(f"{trial.probe.label} reported no {self._spec.metric}")
        except Exception as error:
            keep_traceback(error, folder / "error.txt")
            return replace(empty, ended_at=now(), problem=describe(error))
        finally:
            chain.fall()
        value = fmean(sample.value for sample in samples)
        earlier = [r.value for r in self._readings if r.good and r.value is not None]
        found = departure(value, earlier, self._spec.calibration, self._spec.max_change_ratio)
        return replace(
            empty,
            started_at=started_at,
            ended_at=now(),
            unit=samples[0].unit,
            value=value,
            reference=found.reference,
            change_ratio=found.change_ratio,
            allowed_ratio=found.allowed_ratio,
            departed=found.departed,
            noise=done.noise,
        )


def settle(run: RunContext, seconds: float) -> None:
    """Wait for the machine to calm down; a signal ends it."""
    with run.phases("settling"), run.interrupts.allowed:
        time.sleep(seconds)


def _words(reading: Reading) -> str:
    """What is wrong with a reading that departed."""
    if reading.change_ratio is None or reading.allowed_ratio is None:
        return f"the sentinel could not be measured ({reading.reading_id}: {reading.problem})"
    return (
        f"the sentinel's {reading.metric} was {100 * reading.change_ratio:+.0f} % from its median, "
        f"allowed are {100 * reading.allowed_ratio:.0f} % ({reading.reading_id})"
    )
