"""What is known of each claim of an experiment: its verdict, or that it was not measured yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf.analysis.claims.analysis import claim_row
from sfcperf.analysis.claims.verdicts import VERDICTS, ClaimVerdict
from sfcperf.errors import InputError
from sfcperf.playbooks.papers.experiments import Experiment
from sfcperf.playbooks.papers.kept import Kept
from sfcperf.presentation.claim_texts import ClaimRow
from sfcperf.results.store import RunFile, RunStore
from sfcperf.workflow.model import Claim

NOT_RUN = "not run yet"
"""Stands in the place of a verdict."""
ENDS = (*VERDICTS, NOT_RUN)


@dataclass(frozen=True)
class State:
    """An experiment, with its kept run if there is one."""

    experiment: Experiment
    package: Path
    """Where its package is, or would be."""
    run: RunStore | None
    """The kept run; None: there is none."""
    rows: Sequence[ClaimRow]
    """A row as in claims.json for each claim, with a verdict, or NOT_RUN in its place."""

    @property
    def is_current(self) -> bool:
        """Whether the kept run is of the workflow as it is now; False without one."""
        return self.run is not None and self.run.source_workflow() == self.experiment.document


def state_of(experiment: Experiment, packages: Path) -> State:
    """Return the state of an experiment. Raises InputError if its package is damaged."""
    kept = Kept(experiment, packages)
    run = kept.run()
    if run is None:
        rows = [_not_run(claim) for claim in experiment.workflow.claims]
        return State(experiment, kept.path, None, rows)
    document = run.document(RunFile.CLAIMS)
    if document is None:
        raise InputError("it has no claims", where=str(kept.path))
    return State(experiment, kept.path, run, document["claims"])


def ends(rows: Iterable[ClaimRow]) -> Mapping[str, int]:
    """Return verdict (or NOT_RUN) -> number of claims, parts counted one by one."""
    return Counter(row["verdict"] for row in rows)


def claim_of(row: ClaimRow) -> str:
    """Return the id of the claim that a row is, or is a part of: of `ID.PART`, `ID`."""
    return str(row["id"]).partition(".")[0]


def _not_run(claim: Claim) -> dict[str, Any]:
    """Return the row of a claim that was not measured: some verdicts need no measurement."""
    if claim.not_tested:
        return claim_row(ClaimVerdict(claim, "not tested", claim.not_tested))
    if claim.not_comparable:
        return claim_row(ClaimVerdict(claim, "not comparable", claim.not_comparable))
    return {**claim_row(ClaimVerdict(claim, "undecided")), "verdict": NOT_RUN}
