"""One attempt at a trial: monitors start, the probe measures, the SFs' counters must agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.active.base import Probe, ProbeResult
from sfcperf.control.context import RunContext
from sfcperf.control.faults import describe
from sfcperf.drivers.base import Driver
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.passive.base import Monitor, Observation
from sfcperf.workflow.plan import PlannedTrial

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
    """Measure once. Raises DeploymentError when the deployment is not healthy, MeasurementError
    when the measurement fails; whatever else a plug-in raises passes through."""
    unhealthy = health(run.driver, deployment)
    if unhealthy:
        raise DeploymentError("not healthy: " + "; ".join(unhealthy))
    probe_class: type[Probe] = plugins.load("probe", trial.probe.probe)
    before = _counters(deployment)
    result, observations = _measure(run, trial, probe_class, deployment, raw_dir)
    forwarded, dropped = _differences(before, _counters(deployment))
    if not result.samples:
        raise MeasurementError(f"{trial.probe.label} reported no sample")
    _check_crossed(forwarded, probe_class.expected_packets(trial.probe.parameters))
    return Attempt(result, observations, forwarded, dropped)


def now() -> str:
    """ISO 8601, UTC, microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _measure(
    run: RunContext,
    trial: PlannedTrial,
    probe_class: type[Probe],
    deployment: Deployment,
    raw_dir: Path,
) -> tuple[ProbeResult, tuple[Observation, ...]]:
    """The probe between the monitors; both are ended whatever happens."""
    probe = probe_class(trial.probe.parameters)
    monitors: list[Monitor] = []
    observations: list[Observation] = []
    faults: list[str] = []

    def end(name: str, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except Exception as error:
            faults.append(f"{name}: {describe(error)}")
            return None

    with run.phases("preparing"):
        try:
            with run.interrupts.allowed:
                for spec in trial.scenario.monitors:
                    monitor = plugins.load("monitor", spec.monitor)(spec.parameters)
                    monitors.append(monitor)
                    monitor.start(deployment, raw_dir)
                probe.prepare(deployment, raw_dir)
                with run.phases("warmup" if trial.warmup else "measuring"):
                    result = probe.measure(deployment, raw_dir)
        finally:
            end(trial.probe.label, probe.cleanup)
            for monitor in reversed(monitors):
                observations += end(f"monitor {monitor.name}", monitor.stop) or ()
    if faults:
        raise MeasurementError("; ".join(faults))
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
