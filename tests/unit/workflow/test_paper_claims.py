"""Claims of the papers in the shipped workflows: all are there, and a run can decide them.

`paper_claims/PAPER.txt` lists the ids of a paper's claims, one per line; all begin with `PAPER-`.
A claim that says several things has parts, `ID.PART`, beside `ID`.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from support.workflows.file import load_workflow
from support.workflows.mutations import WORKFLOWS

from sfcperf.analysis.claims.inference import least_rounds
from sfcperf.analysis.claims.verdicts import one_sided_p
from sfcperf.workflow.model import Claim

LISTS = sorted((Path(__file__).parent / "paper_claims").glob("*.txt"))
FILES = [file for file in sorted(WORKFLOWS.glob("*.json")) if '"claims": [' in file.read_text()]


def shipped() -> list[Claim]:
    return [claim for file in FILES for claim in load_workflow(file).claims]


@pytest.mark.parametrize("listed", LISTS, ids=lambda file: str(file.stem))
def test_each_claim_of_a_paper_is_in_a_workflow(listed: Path) -> None:
    ids = listed.read_text().split()
    claims = [claim for claim in shipped() if claim.id.startswith(f"{listed.stem}-")]
    assert len(ids) == len(set(ids))
    assert set(ids) - {claim.id for claim in claims} == set()
    assert {claim.id.partition(".")[0] for claim in claims} - set(ids) == set()
    # What nothing tests is listed once, and in one place.
    count = Counter(claim.id for claim in claims)
    assert [c.id for c in claims if c.not_tested and count[c.id] > 1] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_the_rounds_can_decide_all_claims(file: Path) -> None:
    workflow = load_workflow(file)
    ids = [claim.id for claim in workflow.claims]
    assert len(ids) == len(set(ids))
    p = one_sided_p(workflow.claims, 1 - workflow.design.confidence)
    assert workflow.design.rounds >= least_rounds(p)


def test_tests_that_claims_name_exist() -> None:
    named = [
        name
        for claim in shipped()
        for name in re.findall(r"(?:tests|benchmarks)/[\w/]+\.py(?:::\w+)?", claim.not_tested)
    ]
    assert named
    for name in named:
        path, _, function = name.partition("::")
        text = (WORKFLOWS.parent / path).read_text()
        assert not function or f"def {function}(" in text, name
