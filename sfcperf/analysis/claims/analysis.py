"""claims.json: the verdicts on the claims of a run's workflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from sfcperf.analysis.base import NO_PARAMETERS, Analysis
from sfcperf.analysis.claims.inference import least_rounds
from sfcperf.analysis.claims.rounds import RoundValues
from sfcperf.analysis.claims.verdicts import ClaimVerdict, judge, one_sided_p
from sfcperf.analysis.planned import rules_of
from sfcperf.analysis.statistics import Rules, confidence_per_look
from sfcperf.errors import InputError
from sfcperf.results.store import RunFile, RunStore
from sfcperf.workflow.check import section_misfits
from sfcperf.workflow.claims import check_tests, claims_of
from sfcperf.workflow.document import Findings
from sfcperf.workflow.model import Claim

_SHOWN = (
    *("id", "text", "source", "conditions", "published", "digitised"),
    *("above", "below", "unit", "margin"),
)
"""Attributes of a claim that claims.json repeats."""


class ClaimsAnalysis(Analysis):
    """Writes claims.json: a verdict for each claim of the workflow, from the trials alone."""

    name: ClassVar[str] = "claims"
    title: ClassVar[str] = "Whether the workflow's claims hold"
    parameters: ClassVar[Mapping[str, Any]] = NO_PARAMETERS

    def analyse(self, run: RunStore) -> Mapping[str, Any]:
        """Write claims.json, unless the workflow has no claims, and return its document. Raises
        InputError."""
        document = claims_document(run)
        if document["claims"]:
            run.write_document(RunFile.CLAIMS, document)
        return document


def claims_document(run: RunStore) -> dict[str, Any]:
    """Return the document of claims.json, made from workflow and trials. Raises InputError if the
    run folder is damaged."""
    claims, rules = claims_in(run), rules_of(run)
    verdicts = judge(claims, RoundValues(run), alpha_of(rules)) if claims else []
    return {
        "run_id": run.run_id,
        "confidence": rules.confidence,
        "claims": [claim_row(verdict) for verdict in verdicts],
    }


def rounds_for_verdicts(
    claims: Sequence[Claim], rules: Rules, *, to_contradict: bool = False
) -> dict[str, int]:
    """Return the id of each claim that a run can decide -> the fewest valid rounds for a verdict,
    whatever they measure. `to_contradict`: for this verdict, which needs more if the claim is about
    an order of several pairs."""
    p = one_sided_p(claims, alpha_of(rules))
    return {
        claim.id: least_rounds(p / max(1, len(claim.order) - 1) if to_contradict else p)
        for claim in claims
        if not (claim.not_tested or claim.not_comparable)
    }


def alpha_of(rules: Rules) -> float:
    """Return the probability with which any of the verdicts of a run may be wrong."""
    if rules.first_look is None:
        return 1 - rules.confidence
    # Rounds were added until intervals were narrow, which takes wider intervals.
    return 1 - confidence_per_look(rules.confidence, rules.first_look)


def claims_in(run: RunStore) -> Sequence[Claim]:
    """Return the claims of a run's workflow. Raises InputError if they do not fit."""
    document, _ = run.workflow()
    findings = Findings()
    findings.add_misfits(section_misfits(document, "claims"))
    values = document.get("claims", [])
    if not findings:
        check_tests(values, findings)
    for error in findings:
        raise error.as_kind(
            InputError,
            "the run folder is damaged",
            where=f"{RunFile.WORKFLOW_APPLIED}#{error.where}",
        )
    return claims_of(values)


def claim_row(verdict: ClaimVerdict) -> dict[str, Any]:
    """Return a claim with its verdict as claims.json has it."""
    claim = verdict.claim
    found = {key: value for key, value in asdict(verdict).items() if key != "claim"}
    of = claim.of
    is_ratio = claim.to is not None or claim.r_squared or (of is not None and of.over is not None)
    kind = "order" if claim.order else "ratio" if is_ratio else "value"
    per = of.slope if of is not None and kind == "value" else None
    shown = {key: getattr(claim, key) for key in _SHOWN}
    return {**shown, "kind": kind, "per": per or "", **found}
