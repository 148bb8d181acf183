"""Noise: what else the machines did while a trial was measured (docs/explanation/noise.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

from sfcperf import waiting
from sfcperf.control.noise import machine_noise
from sfcperf.control.noise.concurrent_runs import other_runs
from sfcperf.control.noise.machine_noise import MachineNoise, usable_cpus
from sfcperf.drivers.parallel import each
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.management.deployment import Deployment
from sfcperf.results.records import TrialRecord


class NoiseWatch:
    """Watches the machines of one run, and remembers the CPU frequencies of its earlier trials. It
    reads a machine before and after a measurement, and so does not disturb it.

    `records`: the trials of earlier sessions. `gated`: a noise gate judges the trials, so the CPUs
    are also read under a load of our own.
    """

    def __init__(
        self, records: Iterable[TrialRecord] = (), run_id: str = "", *, gated: bool = False
    ) -> None:
        self.gated = gated
        self._run_id = run_id
        self._frequencies_mhz: dict[str, list[float]] = {}
        """Machine -> frequencies of earlier trials; that of this machine is empty."""
        for record in records:
            self._remember("", record.noise)
            for name, evidence in record.noise.get("machines", {}).items():
                self._remember(name, evidence)

    def trial(self, deployment: Deployment) -> TrialNoise:
        """Start to collect evidence for one attempt. Call it before anything of the attempt
        runs."""
        return TrialNoise(self, deployment)

    def complete(self, name: str, evidence: Mapping[str, Any]) -> dict[str, Any]:
        """Add to the evidence of a machine (empty: this one) how its CPU frequency, MHz, compares
        with the run: the median until now, with this trial, and how far below it this one is, a
        ratio. Both are None if the frequency is unknown. The frequency is remembered."""
        frequency = _judged_frequency(evidence)
        reference = drop = None
        if frequency is not None:
            self._remember(name, evidence)
            reference = median(self._frequencies_mhz[name])
            drop = 1 - frequency / reference
        compared = {"frequency_reference_mhz": reference, "frequency_drop_ratio": drop}
        return _rounded({**evidence, **compared})

    def other_runs(self, cpus: Sequence[int]) -> list[dict[str, Any]]:
        """Return the other runs on this machine, and whether they share these CPUs."""
        return other_runs(self._run_id, cpus)

    def _remember(self, name: str, evidence: Mapping[str, Any]) -> None:
        """Keep the frequency of a trial, if it is known, for the reference of later trials."""
        found = _judged_frequency(evidence)
        if found is not None:
            self._frequencies_mhz.setdefault(name, []).append(float(found))


class TrialNoise:
    """Collects what the machines do around one measurement, each for itself. It is created before
    anything of the measurement runs. Then call `begin`, `end`, and `finish` when the probe is
    gone."""

    def __init__(self, watch: NoiseWatch, deployment: Deployment) -> None:
        local = isinstance(deployment.client.host, NamespaceHost)
        self._watch = watch
        # If the hosts are other machines, this one only controls them.
        self._scope = "machine" if local else "controller"
        here = cpus_in_use(deployment) if local else usable_cpus()
        self._here = MachineNoise(here, gated=watch.gated)
        made = _each(
            partial(machine.call, MachineNoise, cpus_in_use(deployment, node), gated=watch.gated)
            for node, machine in deployment.machines.items()
        )
        self._others: dict[str, MachineNoise] = dict(zip(deployment.machines, made, strict=True))
        """Node -> noise of its machine."""

    def begin(self) -> None:
        """Take the snapshots at the beginning of the measurement."""
        for noise in (*self._others.values(), self._here):
            noise.begin()

    def end(self) -> None:
        """Compare the machines at the end of the measurement with the snapshots at its
        beginning."""
        for noise in (self._here, *self._others.values()):
            noise.end()

    def finish(self) -> dict[str, Any]:
        """Complete the evidence when nothing of the measurement runs any more; returns
        TrialRecord.noise."""
        if self._watch.gated:
            waiting.sleep(machine_noise.SETTLE_S)
        evidence = self._watch.complete("", self._here.finish())
        found = _each(noise.finish for noise in self._others.values())
        others = {
            node: self._watch.complete(node, theirs)
            for node, theirs in zip(self._others, found, strict=True)
        }
        runs = self._watch.other_runs(evidence["cpus"])
        whole = {"scope": self._scope, **evidence, "other_runs": runs}
        return {**whole, "machines": others} if others else whole


def _each(actions: Iterable[Callable[[], Any]]) -> list[Any]:
    """Run actions, of other machines, at the same time, and return their results."""
    known = list(actions)
    return each(*known) if known else []


def _judged_frequency(evidence: Mapping[str, Any]) -> float | None:
    """The frequency of a trial that is compared with other trials, MHz; None if it is unknown. It
    is the one under our own load, if that was read: during the measurement, the governor may follow
    what is measured."""
    quiet = evidence.get("quiet_frequency_mhz")
    return evidence.get("frequency_mhz") if quiet is None else quiet


def cpus_in_use(deployment: Deployment, node: str | None = None) -> list[int]:
    """CPUs that the instances of the deployment use: all of them on this machine, or those of a
    node that is another machine. Without `cpus` in the facts of the deployment, these are all
    usable CPUs of this machine."""
    assignment = deployment.facts.get("cpus") or {}
    ends = (deployment.client, deployment.server)
    places = {
        **{end.name: end.node for end in ends},
        **{function.name: function.node for function in deployment.functions},
    }
    found = {
        int(cpu)
        for instance, cpus in assignment.items()
        for cpu in cpus
        if node in (None, places.get(instance, instance.removeprefix("sff@")))
    }
    return sorted(found) or usable_cpus()


def _rounded(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Round to six decimal places, which is finer than the precision of any of the values."""
    return {
        key: round(value, 6) if isinstance(value, float) else value
        for key, value in evidence.items()
    }
