"""docs/how-to/compare-variants.md shows what the shipped comparison really does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.workflows.file import load_workflow

from sfcperf.cli.verbs.plan import print_plan
from sfcperf.errors import WorkflowError

ROOT = Path(__file__).parents[3]
WORKFLOW = ROOT / "workflows" / "compare-encapsulation.json"
PAGE = (ROOT / "docs/how-to/compare-variants.md").read_text()
BLOCKS = re.findall(r"^```\w*\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_variants_are_those_that_are_shipped() -> None:
    assert BLOCKS[0].strip().rstrip(",") in WORKFLOW.read_text().replace("\n  ", "\n")


def test_the_order_is_that_of_the_shipped_workflow(capsys: pytest.CaptureFixture[str]) -> None:
    print_plan(load_workflow(WORKFLOW))
    printed = capsys.readouterr().out.replace("\n  ", "\n")
    assert BLOCKS[2] in printed


def test_the_error_is_what_is_printed() -> None:
    changes = (
        'probes=[{"probe": "iperf3"}]',
        "figures=[]",
        'variants={"tcp": {}, "udp": {"probes.0.protocol": "udp"}}',
    )
    with pytest.raises(WorkflowError) as caught:
        load_workflow(WORKFLOW, overrides=changes)
    assert "\n".join(caught.value.lines()) == BLOCKS[1].strip()
