"""One attempt at a trial: the probe prepares; counters and monitors cover only the measurement; the
chain must have carried its packets and be healthy before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
    """What is wrong with the deployment now, a check that fails included; empty when healthy."""
    try:
        return driver.problems(deployment)
    except Exception as error:
        return [f"the health check failed: {describe(error)}"]


def attempt(run: RunContext, trial: PlannedTrial, deployment: Deployment, raw_dir: Path) -> Attempt:
    """Measure once. Raises DeploymentError when the deployment is not healthy before or after it,
    MeasurementError when the measurement fails; whatever else a plug-in raises passes through."""
    if unhealthy := health(run.driver_of(trial.scenario), deployment):
        raise DeploymentError("not healthy: " + "; ".join(unhealthy))
    probe_class: type[Probe] = plugins.load("probe", trial.probe.probe)
    stops = _Stops()
    done = _measure(run, trial, probe_class(trial.probe.parameters), deployment, raw_dir, stops)
    # A chain that broke makes the numbers wrong, however many packets crossed it before; it is also
    # the cause of other failures, so that it is reported first.
    if unhealthy := health(run.driver_of(trial.scenario), deployment):
        raise DeploymentError("broke while it was measured: " + "; ".join(unhealthy))
    stops.check()
    if not done.result.samples:
        raise MeasurementError(f"{trial.probe.label} reported no sample")
    _check_crossed(done.packets, probe_class.expected_packets(trial.probe.parameters))
    return done


class _Stops:
    """Stops the probe and the monitors; collects what goes wrong, so that one that fails does not
    keep the next from being stopped."""

    def __init__(self) -> None:
        self._faults: list[str] = []

    def stop(self, name: str, action: Callable[[], T]) -> T | None:
        """Call `action`; None when it fails."""
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
    stops: _Stops,
) -> Attempt:
    """Measure between two readings of the SFs' counters. What the probe sends while it prepares
    counts neither there nor in the monitors' series."""
    with run.phases("preparing"):
        try:
            with run.interrupts.allowed:
                # Before the probe starts anything: what runs now does not belong to this trial.
                watch = run.watch.trial(deployment)
                probe.prepare(deployment, raw_dir)
            before = _counters(deployment)
            watch.begin()
            result, observations = _observe(run, trial, probe, deployment, raw_dir, stops)
            noise = watch.end()
            forwarded, dropped = _differences(before, _counters(deployment))
        finally:
            stops.stop(trial.probe.label, probe.cleanup)
    return Attempt(result, observations, forwarded, dropped, noise)


def _observe(
    run: RunContext,
    trial: PlannedTrial,
    probe: Probe,
    deployment: Deployment,
    raw_dir: Path,
    stops: _Stops,
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
            observations += stops.stop(f"monitor {monitor.name}", monitor.stop) or ()
    return result, tuple(observations)


def _counters(deployment: Deployment) -> Counters:
    return {function.name: dict(function.counters()) for function in deployment.functions}


def _differences(before: Counters, after: Counters) -> tuple[dict[str, int], dict[str, int]]:
    """Packets that each SF forwarded, and those that it dropped; SFs without drops are left out."""
    forwarded, dropped = {}, {}
    for name, counters in after.items():
        forwarded[name] = counters["forwarded"] - before[name]["forwarded"]
        drops = counters["dropped"] - before[name]["dropped"]
        if drops:
            dropped[name] = drops
    return forwarded, dropped


def _check_crossed(forwarded: Mapping[str, int], expected: int) -> None:
    """Raises DeploymentError unless the measured traffic went through every SF."""
    missing = [
        f"{name} forwarded {packets}" for name, packets in forwarded.items() if packets < expected
    ]
    if missing:
        raise DeploymentError(
            f"the measured traffic did not cross the chain: {', '.join(missing)}, "
            f"at least {expected} packets expected"
        )
