"""The noise gate in a workflow's design: builds its limits, and the sentinel's chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sfcperf import plugins
from sfcperf.workflow.document import Findings, choices
from sfcperf.workflow.model import NoiseGate, ProbeSpec, Scenario, SentinelSpec, Workflow
from sfcperf.workflow.schema import parameters_with_defaults

SENTINEL_ID = "sentinel"
"""Id of the sentinel's scenario."""
DEFAULT_PROBE: Mapping[str, Any] = {
    "probe": "ping",
    "count": 2000,
    "interval_s": 0.01,
    # Otherwise its CPUs fall idle between two pings, and differ in how long they take to wake up.
    "adaptive": True,
}
DEFAULT_METRIC = "rtt_median_us"
"""Metric of the default probe. A few late echoes do not affect a median."""
_WHERE = "/design/noise_gate/sentinel"


def sentinel_probe(document: Mapping[str, Any]) -> Any:
    """Find the sentinel's probe in a document that may have errors; None if it names none."""
    value: Any = document
    for key in ("design", "noise_gate", "sentinel", "probe"):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def build_noise_gate(values: Mapping[str, Any] | None, findings: Findings) -> NoiseGate | None:
    """Build the gate from the keys of its section, which are valid and have defaults; None without
    a gate."""
    if values is None:
        return None
    limits = dict(values)
    sentinel = limits.pop("sentinel", None)
    return NoiseGate(**limits, sentinel=None if sentinel is None else _sentinel(sentinel, findings))


def sentinel_scenario(workflow: Workflow) -> Scenario | None:
    """Make the sentinel's scenario: topology and endpoints of the first scenario, without
    functions. None without a sentinel."""
    sentinel = workflow.design.sentinel
    if sentinel is None:
        return None
    first = workflow.scenarios[0]
    return replace(
        first,
        id=SENTINEL_ID,
        levels={"sentinel": True},
        chain=replace(first.chain, functions=()),
        probes=(sentinel.probe,),
        monitors=(),
    )


def _sentinel(values: Mapping[str, Any], findings: Findings) -> SentinelSpec | None:
    """Build the sentinel; None, and reported, if its probe or metric does not exist. Without a
    `metric`, it is the first primary metric of the probe, or else the first."""
    limits = dict(values)
    probe, metric = limits.pop("probe", None), limits.pop("metric", None)
    if probe is None:
        probe, metric = DEFAULT_PROBE, metric or DEFAULT_METRIC
    name = probe["probe"]
    if name not in plugins.names("probe"):
        findings.add(_WHERE, f"its default probe {name} is not installed", hint="give a `probe`")
        return None
    parameters = {key: item for key, item in probe.items() if key not in ("probe", "name")}
    spec = ProbeSpec(
        index=0,
        probe=name,
        label=probe.get("name", SENTINEL_ID),
        parameters=parameters_with_defaults("probe", name, parameters),
    )
    metrics = plugins.load("probe", name).metrics(spec.parameters)
    # Primary metrics come first, because False is less than True.
    known = [found.name for found in sorted(metrics, key=lambda found: not found.primary)]
    if not known or metric not in (None, *known):
        findings.add(
            f"{_WHERE}/metric",
            f"the probe {name} does not measure {metric!r}",
            **choices(metric, known),
        )
        return None
    return SentinelSpec(probe=spec, metric=metric or known[0], **limits)
