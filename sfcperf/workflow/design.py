"""The design of a workflow: rounds, order, when to stop, and the noise gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.document import Findings
from sfcperf.workflow.document.limits import MAX_TRIALS
from sfcperf.workflow.model import Design, Scenario, StopWhen
from sfcperf.workflow.noise_gate import build_noise_gate
from sfcperf.workflow.schema import own_schema

DEFAULT_MAX_ROUNDS = 20
"""Most rounds of sequential stopping, if the workflow sets none and plans no more."""


def build_design(
    value: Mapping[str, Any], scenarios: Sequence[Scenario], findings: Findings
) -> Design:
    """Build the design from a section that fits the schema, and check it against the scenarios."""
    schema = own_schema()
    values = with_defaults({**schema["$defs"]["design"], "$defs": schema["$defs"]}, value)
    values["noise_gate"] = build_noise_gate(values.get("noise_gate"), findings)
    values["stop_when"] = _stop_when(values.get("stop_when"), values["rounds"], findings)
    design = Design(**values)
    _check_trials(design, scenarios, findings)
    return design


def _stop_when(value: Mapping[str, Any] | None, rounds: int, findings: Findings) -> StopWhen | None:
    """Build the rule of sequential stopping; None without one."""
    if value is None:
        return None
    max_rounds = value.get("max_rounds", max(rounds, DEFAULT_MAX_ROUNDS))
    if max_rounds < rounds:
        findings.add(
            "/design/stop_when/max_rounds",
            f"max_rounds {max_rounds} is less than rounds {rounds}",
            allowed=f"{rounds} or more",
        )
    return StopWhen(value["relative_half_width"], max_rounds)


def _check_trials(design: Design, scenarios: Sequence[Scenario], findings: Findings) -> None:
    """Report a design that plans too many trials for one workflow."""
    in_round = sum(len(scenario.probes) for scenario in scenarios)
    trials = in_round * (design.rounds + design.warmup_rounds)
    if trials > MAX_TRIALS:
        findings.add(
            "/design/rounds",
            f"these rounds, with warm-up, have {trials} trials, {in_round} each",
            allowed=f"up to {MAX_TRIALS} trials in one workflow",
            hint="fewer rounds, levels or probes, or several workflows",
        )
