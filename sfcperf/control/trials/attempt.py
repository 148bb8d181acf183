"""Attempt: measures one trial once, and decides whether the result can be used."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from sfcperf import plugins
from sfcperf.active.base import Probe, ProbeResult
from sfcperf.active.validity import check_came_through
from sfcperf.control.context import RunContext
from sfcperf.control.faults import describe
from sfcperf.drivers.base import Driver
from sfcperf.errors import DeploymentError, MeasurementError, SfcperfError
from sfcperf.management.deployment import Deployment
from sfcperf.passive.base import Monitor
from sfcperf.results.flows import FlowRecord
from sfcperf.results.records import FailedAttempt, FailureKind
from sfcperf.results.values import Observation
from sfcperf.workflow.plan import PlannedTrial

T = TypeVar("T")

_PER_S = {"ns": 1e9, "us": 1e6, "ms": 1e3}
"""How many units of a latency make a second. Seconds are not among them: a sample in seconds is a
CPU time, which may be longer than the measurement."""

Counters = Mapping[str, Mapping[str, int]]
"""SF -> counter -> packets."""
_ALWAYS = frozenset({"received", "forwarded", "dropped"})
"""Counters that every SF has."""


@dataclass
class AttemptObservations:
    """What the monitors of an attempt observed."""

    observations: list[Observation] = field(default_factory=list)
    flows: list[FlowRecord] = field(default_factory=list)


@dataclass(frozen=True)
class Attempt:
    """The result of an attempt that did not fail."""

    result: ProbeResult
    observed: AttemptObservations
    packets: Mapping[str, int]
    """SF -> packets that it forwarded during the measurement."""
    drops: Mapping[str, int]
    """SF -> packets that it dropped during the measurement; SFs without drops are left out."""
    counters: Mapping[str, Mapping[str, int]]
    """SF -> how much its own counters grew during the measurement, beside those that all have;
    counters that did not are left out, and SFs without others."""
    unparsed: Mapping[str, int]
    """SFF -> frames that its classifier could not parse, and so dropped, during the measurement;
    SFFs without such frames are left out."""
    noise: Mapping[str, Any]
    """What the machine did before, meanwhile and after: TrialRecord.noise."""
    clock: tuple[str, ...] = ()
    """Why times that were measured by the wall clock are wrong; empty when the clock was not
    set."""
    services: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By service: how much its counters grew until it had finished what was under way, and its
    notes."""
    unfinished: tuple[str, ...] = ()
    """Why services doubt the trial; empty if they do not."""


def _health_of_all(run: RunContext, trial: PlannedTrial, deployment: Deployment) -> list[str]:
    """What is wrong with the services of the run, and with the deployment; empty when all are
    healthy."""
    return [*run.services.problems(), *health(run.driver_of(trial.scenario), deployment)]


def health(driver: Driver, deployment: Deployment) -> list[str]:
    """What is wrong with the deployment now; empty when it is healthy. A check that fails is a
    problem too."""
    try:
        return driver.problems(deployment)
    except Exception as error:
        return [f"the health check failed: {describe(error)}"]


def failed_attempt(
    run: RunContext, number: int, error: BaseException, deployment: Deployment | None
) -> FailedAttempt:
    """Make the record of an attempt that has just failed with this error; `number` counts attempts
    from 1. `deployment` None: nothing was deployed. The cause is looked for in the chain first:
    when a probe gets no answer, the reason may be a function that crashed."""
    functions = () if deployment is None else _crashed(deployment)
    kind: FailureKind = "measurement"
    if functions:
        kind = "crash"
    elif run.services.problems():
        kind = "service"
    elif deployment is None or isinstance(error, DeploymentError):
        kind = "deployment"
    identity = "" if deployment is None else deployment.id
    return FailedAttempt(number, kind, describe(error), functions, identity)


def _crashed(deployment: Deployment) -> tuple[str, ...]:
    """Names of SFs that do not work any more. An SF that cannot be asked is not among them, since
    it is not known to have crashed."""
    found = []
    for function in deployment.functions:
        with suppress(Exception):
            if function.alive() is not None:  # it says what is wrong
                found.append(function.name)
    return tuple(found)


def attempt(run: RunContext, trial: PlannedTrial, deployment: Deployment, raw_dir: Path) -> Attempt:
    """Measure once. Services with a problem are brought back first. Raises DeploymentError when the
    deployment or a service is not healthy before or after it, and MeasurementError when the
    measurement fails. Any other error of a plug-in passes through."""
    with run.timeline.phase("preparing"), run.interrupts.allowed:
        recovered = run.services.recover()
    for problem in recovered:
        run.note(f"{problem}; it was brought back before {trial.trial_id}")
    if unhealthy := _health_of_all(run, trial, deployment):
        raise DeploymentError("not healthy: " + "; ".join(unhealthy))
    probe_class: type[Probe] = plugins.load("probe", trial.probe.probe)
    probe = probe_class(trial.probe.parameters)
    probe.round = trial.round
    measurement = _Measurement(run, trial, probe, deployment, raw_dir)
    # A step of the clock until now is noted, but is not this trial's.
    run.look_at_clock(None)
    started_s = time.monotonic()
    # The chain is checked before anything else is judged. If it broke, the numbers are wrong,
    # however many packets crossed it before, and other failures are likely to follow from that.
    try:
        done = measurement.measure()
    except SfcperfError as error:
        if unhealthy := _health_of_all(run, trial, deployment):
            raise _broken(unhealthy, str(error)) from error
        raise
    finally:
        stepped = run.look_at_clock(trial.trial_id)
    impossible = impossible_time(done.result, time.monotonic() - started_s)
    if unhealthy := _health_of_all(run, trial, deployment):
        raise _broken(unhealthy)
    if measurement.faults:
        raise MeasurementError("; ".join(measurement.faults))
    if not done.result.samples:
        raise MeasurementError(f"{trial.probe.label} reported no sample")
    check_came_through(done.result.loss)
    _check_crossed(done.packets, probe_class.expected_packets(trial.probe.parameters))
    return replace(done, clock=tuple(filter(None, (stepped, impossible))))


def _broken(unhealthy: list[str], *more: str) -> DeploymentError:
    """The error for a chain that was healthy before the measurement and is not any more."""
    return DeploymentError("broke during the measurement: " + "; ".join([*unhealthy, *more]))


@dataclass
class _Measurement:
    """Runs a probe and the monitors of one attempt. Errors in stopping them are collected in
    `faults`, so that one that fails does not keep the next from being stopped."""

    run: RunContext
    trial: PlannedTrial
    probe: Probe
    deployment: Deployment
    raw_dir: Path
    faults: list[str] = field(default_factory=list)

    def measure(self) -> Attempt:
        """Measure between two readings of the SFs' counters. Packets that the probe sends while it
        prepares count neither in these nor in the monitors' series."""
        run, deployment = self.run, self.deployment
        with run.timeline.phase("preparing"):
            try:
                with run.interrupts.allowed:
                    # The watch reads the machine before the probe starts anything: what runs now
                    # does not belong to this trial.
                    watch = run.watch.trial(deployment)
                    self.probe.prepare(deployment, self.raw_dir)
                    run.services.begin_trial()
                service_counters = run.services.counters()
                unparsed_before = deployment.unparsed()
                before = _counters(deployment)
                watch.begin()
                result, observed = self._observe()
                watch.end()
                after = _counters(deployment)
                forwarded, dropped = _differences(before, after)
                unparsed = _rose(unparsed_before, deployment.unparsed())
                with run.interrupts.allowed:
                    doubts = run.services.end_trial()
                service_notes = run.services.trial_notes(service_counters)
            finally:
                self._stop(self.trial.probe.label, self.probe.cleanup)
            with run.interrupts.allowed:
                noise = watch.finish()
        return Attempt(
            result,
            observed,
            forwarded,
            dropped,
            _own(before, after),
            unparsed,
            noise,
            services=service_notes,
            unfinished=doubts,
        )

    def _observe(self) -> tuple[ProbeResult, AttemptObservations]:
        """Start the monitors, let the probe measure, and stop the monitors, the last one first."""
        monitors: list[Monitor] = []
        observed = AttemptObservations()
        try:
            with self.run.interrupts.allowed:
                for spec in self.trial.scenario.monitors:
                    monitor = plugins.load("monitor", spec.monitor)(spec.parameters)
                    # Before it starts: one that fails to start must be stopped as well.
                    monitors.append(monitor)
                    monitor.start(self.deployment, self.raw_dir)
                with self.run.timeline.phase("warmup" if self.trial.warmup else "measuring"):
                    result = self.probe.measure(self.deployment, self.raw_dir)
        finally:
            for monitor in reversed(monitors):
                found = self._stop(f"monitor {monitor.name}", monitor.stop)
                if found is not None:
                    observed.observations += found
                    observed.flows += self._stop(f"monitor {monitor.name}", monitor.flows) or ()
        return result, observed

    def _stop(self, name: str, action: Callable[[], T]) -> T | None:
        """Call `action`; an error goes to `faults`, and the result is None then."""
        try:
            return action()
        except Exception as error:
            self.faults.append(f"{name}: {describe(error)}")
            return None


def impossible_time(result: ProbeResult, took_s: float) -> str:
    """Say why a latency shows that a clock was set: no packet can travel for longer than the
    measurement took, or for less than no time. Empty when all latencies are possible."""
    for sample in result.samples:
        longest = took_s * _PER_S.get(sample.unit, inf)
        if sample.unit in _PER_S and not 0 <= sample.value <= longest:
            return (
                f"{sample.metric} is {sample.value:g} {sample.unit} in a measurement of "
                f"{took_s:.3g} s: the clock of the tool's machine was set meanwhile"
            )
    return ""


def _counters(deployment: Deployment) -> Counters:
    """Read the counters of all SFs. Raises MeasurementError."""
    return {function.name: dict(function.counters()) for function in deployment.functions}


def _differences(before: Counters, after: Counters) -> tuple[dict[str, int], dict[str, int]]:
    """Packets that each SF forwarded between two readings, and packets that it dropped. The second
    leaves out SFs without drops."""
    forwarded, dropped = {}, {}
    for name, counters in after.items():
        forwarded[name] = counters["forwarded"] - before[name]["forwarded"]
        drops = counters["dropped"] - before[name]["dropped"]
        if drops:
            dropped[name] = drops
    return forwarded, dropped


def _own(before: Counters, after: Counters) -> dict[str, dict[str, int]]:
    """How much the counters grew that not all SFs have; without SFs of which none did."""
    found = {}
    for name, counters in after.items():
        grown = _rose(before[name], counters)
        if own := {counter: grown[counter] for counter in grown if counter not in _ALWAYS}:
            found[name] = own
    return found


def _rose(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """How much each count grew; counts that did not grow are left out."""
    rises = {name: count - before.get(name, 0) for name, count in after.items()}
    return {name: rise for name, rise in rises.items() if rise > 0}


def _check_crossed(forwarded: Mapping[str, int], expected: int) -> None:
    """Raise DeploymentError unless every SF forwarded at least `expected` packets."""
    missing = [
        f"{name} forwarded {packets}" for name, packets in forwarded.items() if packets < expected
    ]
    if missing:
        raise DeploymentError(
            f"the measured traffic did not cross the chain: {', '.join(missing)}, "
            f"at least {expected} packets expected"
        )
