"""One attempt at a trial: the probe prepares; counters and monitors see the measurement alone; the
chain must have carried it, and stand afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from sfcperf import plugins
from sfcperf.active.base import Probe, ProbeResult
from sfcperf.control.context import RunContext
from sfcperf.control.faults import describe
from sfcperf.drivers.base import Driver
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.passive.base import Monitor
from sfcperf.results.values import Observation
from sfcperf.workflow.plan import PlannedTrial

T = TypeVar("T")

Counters = Mapping[str, Mapping[str, int]]
"""SF -> counter -> packets."""


@dataclass(frozen=True)
class Attempt:
    """What an attempt that did not fail brought back."""

    result: ProbeResult
    observations: tuple[Observation, ...]
    packets: Mapping[str, int]
    """By SF: packets that it forwarded meanwhile."""
    drops: Mapping[str, int]
    """By SF: packets that it dropped meanwhile; only those SFs that dropped some."""
    noise: Mapping[str, Any]
    """What the machine did meanwhile: TrialRecord.noise."""


def health(driver: Driver, deployment: Deployment) -> list[str]:
    """What is wrong with the deployment now; empty when all is well."""
    try:
        problems = list(driver.problems(deployment))
        for function in deployment.functions:
            wrong = function.alive()
            if wrong is not None:
                problems.append(f"{function.name}: {wrong}")
    except Exception as error:
        return [f"its health cannot be told: {describe(error)}"]
    return list(dict.fromkeys(problems))


def attempt(run: RunContext, trial: PlannedTrial, deployment: Deployment, raw_dir: Path) -> Attempt:
    """Measure once. Raises DeploymentError when the deployment is not healthy before or after it,
    MeasurementError when the measurement fails; whatever else a plug-in raises passes through."""
    if unhealthy := health(run.driver_of(trial.scenario), deployment):
        raise DeploymentError("not healthy: " + "; ".join(unhealthy))
    probe_class: type[Probe] = plugins.load("probe", trial.probe.probe)
    ends = _Ends()
    done = _measure(run, trial, probe_class(trial.probe.parameters), deployment, raw_dir, ends)
    # What broke in the middle has falsified the numbers, however many packets had crossed before;
    # and it is the cause of what else went wrong.
    if unhealthy := health(run.driver_of(trial.scenario), deployment):
        raise DeploymentError("broke while it was measured: " + "; ".join(unhealthy))
    ends.check()
    if not done.result.samples:
        raise MeasurementError(f"{trial.probe.label} reported no sample")
    _check_crossed(done.packets, probe_class.expected_packets(trial.probe.parameters))
    return done


def now() -> str:
    """ISO 8601, UTC, microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


class _Ends:
    """Things that are ended whatever happens; what goes wrong with one is kept for later."""

    def __init__(self) -> None:
        self._faults: list[str] = []

    def end(self, name: str, action: Callable[[], T]) -> T | None:
        """Do it, and go on if it fails."""
        try:
            return action()
        except Exception as error:
            self._faults.append(f"{name}: {describe(error)}")
            return None

    def check(self) -> None:
        """Raises MeasurementError when something went wrong."""
        if self._faults:
            raise MeasurementError("; ".join(self._faults))


def _measure(
    run: RunContext,
    trial: PlannedTrial,
    probe: Probe,
    deployment: Deployment,
    raw_dir: Path,
    ends: _Ends,
) -> Attempt:
    """The measurement between two readings of the SFs' counters: what the probe sends to prepare
    itself is in neither of them, nor in the monitors' series."""
    with run.phases("preparing"):
        try:
            with run.interrupts.allowed:
                # Before the probe starts anything: what runs now is not of this trial.
                watch = run.watch.trial(deployment)
                probe.prepare(deployment, raw_dir)
            before = _counters(deployment)
            watch.begin()
            result, observations = _observe(run, trial, probe, deployment, raw_dir, ends)
            noise = watch.end()
            forwarded, dropped = _differences(before, _counters(deployment))
        finally:
            ends.end(trial.probe.label, probe.cleanup)
    return Attempt(result, observations, forwarded, dropped, noise)


def _observe(
    run: RunContext,
    trial: PlannedTrial,
    probe: Probe,
    deployment: Deployment,
    raw_dir: Path,
    ends: _Ends,
) -> tuple[ProbeResult, tuple[Observation, ...]]:
    """The probe measures between the monitors."""
    monitors: list[Monitor] = []
    observations: list[Observation] = []
    try:
        with run.interrupts.allowed:
            for spec in trial.scenario.monitors:
                monitor = plugins.load("monitor", spec.monitor)(spec.parameters)
                monitors.append(monitor)
                monitor.start(deployment, raw_dir)
            with run.phases("warmup" if trial.warmup else "measuring"):
                result = probe.measure(deployment, raw_dir)
    finally:
        for monitor in reversed(monitors):
            observations += ends.end(f"monitor {monitor.name}", monitor.stop) or ()
    return result, tuple(observations)


def _counters(deployment: Deployment) -> Counters:
    return {function.name: dict(function.counters()) for function in deployment.functions}


def _differences(before: Counters, after: Counters) -> tuple[dict[str, int], dict[str, int]]:
    """Packets that each SF forwarded, and those that it dropped if any."""
    forwarded, dropped = {}, {}
    for name, counters in after.items():
        forwarded[name] = counters["forwarded"] - before[name]["forwarded"]
        drops = counters["dropped"] - before[name]["dropped"]
        if drops:
            dropped[name] = drops
    return forwarded, dropped


def _check_crossed(forwarded: Mapping[str, int], expected: int) -> None:
    """The traffic that was measured went through every SF, not around it."""
    missing = [
        f"{name} forwarded {packets}" for name, packets in forwarded.items() if packets < expected
    ]
    if missing:
        raise DeploymentError(
            f"the measured traffic did not cross the chain: {', '.join(missing)}, "
            f"at least {expected} packets expected"
        )
