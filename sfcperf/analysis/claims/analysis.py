"""claims.json: the verdicts on the claims of a run's workflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from sfcperf.analysis.base import NO_PARAMETERS, Analysis
from sfcperf.analysis.claims.rounds import RoundValues
from sfcperf.analysis.claims.verdicts import ClaimVerdict, judge
from sfcperf.analysis.planned import rules_of
from sfcperf.analysis.statistics import confidence_per_look
from sfcperf.errors import InputError
from sfcperf.results.store import RunFile, RunStore
from sfcperf.workflow.check import section_misfits
from sfcperf.workflow.claims import claims_of
from sfcperf.workflow.document import pointer
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
    claims, rules = _claims(run), rules_of(run)
    confidence = rules.confidence
    if rules.first_look is not None:
        # Rounds were added until intervals were narrow, which takes wider intervals.
        confidence = confidence_per_look(confidence, rules.first_look)
    verdicts = judge(claims, RoundValues(run), 1 - confidence) if claims else []
    return {
        "run_id": run.run_id,
        "confidence": rules.confidence,
        "claims": [_row(verdict) for verdict in verdicts],
    }


def _claims(run: RunStore) -> Sequence[Claim]:
    document, _ = run.workflow()
    for misfit in section_misfits(document, "claims"):
        raise InputError(
            f"the run folder is damaged: {misfit.message}",
            where=f"{RunFile.WORKFLOW_APPLIED}#{pointer.to_pointer(misfit.path)}",
            allowed=misfit.allowed,
        )
    return claims_of(document.get("claims", []))


def _row(verdict: ClaimVerdict) -> dict[str, Any]:
    claim = verdict.claim
    found = {key: value for key, value in asdict(verdict).items() if key != "claim"}
    is_ratio = claim.to is not None or claim.r_squared or bool(claim.order)
    kind = "order" if claim.order else "ratio" if is_ratio else "value"
    per = claim.of.slope if claim.of is not None and kind == "value" else None
    shown = {key: getattr(claim, key) for key in _SHOWN}
    return {**shown, "kind": kind, "per": per or "", **found}
