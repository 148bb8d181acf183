"""What a run must measure to test the claims of a workflow, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfcperf.analysis.claims.analysis import rounds_for_verdicts
from sfcperf.analysis.planned import rules_for
from sfcperf.counts import count_text
from sfcperf.workflow.model import Claim, Operand, Workflow


def needs_text(claim: Claim) -> str:
    """Return the quantity or the order that tests a claim, such as `rtt_us of ping at n=3, over
    rtt_us of ping at n=1`; empty for a claim that no run tests."""
    if claim.order:
        return "rising: " + ", then ".join(map(_operand_text, claim.order))
    if claim.of is None:
        return ""
    text = _operand_text(claim.of)
    if claim.r_squared:
        return f"R² of the line: {text}"
    return text if claim.to is None else f"{text}, over {_operand_text(claim.to)}"


def rounds_text(workflow: Workflow) -> str:
    """Say how many claims a workflow has, and how many valid rounds verdicts on them need, whatever
    these measure; with a warning if it plans fewer."""
    needed = rounds_for_verdicts(workflow.claims, rules_for(workflow.design))
    text = count_text(len(workflow.claims), "claim")
    if len(needed) < len(workflow.claims):
        text += f", of which a run can decide {len(needed)}"
    if not needed:
        return text
    stop = workflow.design.stop_when
    planned = workflow.design.rounds if stop is None else stop.max_rounds
    most = max(needed.values())
    few = sum(rounds > planned for rounds in needed.values())
    if few:
        return (
            f"{text}: with {count_text(planned, 'round')}, no verdict is possible on {few} of "
            f"them; use {most} or more (--set design.rounds={most})"
        )
    return f"{text}: a verdict needs {most} valid rounds or more, of {planned} planned"


def _operand_text(operand: Operand) -> str:
    source = operand.probe if operand.monitor is None else f"{operand.monitor} in {operand.probe}"
    text = f"{operand.metric} of {source}"
    if operand.slope is not None:
        text = f"slope of {text} against {operand.slope}"
    if operand.at:
        text += f" at {_levels_text(operand.at)}"
    if operand.over is not None:
        return f"{text} over that at {_levels_text(operand.over)}"
    return text if operand.minus is None else f"{text} minus that at {_levels_text(operand.minus)}"


def _levels_text(levels: Mapping[str, Sequence[str]]) -> str:
    return " ".join(f"{factor}={'|'.join(chosen)}" for factor, chosen in levels.items())
