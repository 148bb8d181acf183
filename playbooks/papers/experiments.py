"""The papers, and the workflows that test their claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.workflow.document import choices, read_document
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Workflow
from sfcperf.workflow.plan import workflow_s


@dataclass(frozen=True)
class Paper:
    """A paper whose claims are tested."""

    prefix: str
    """The ids of its claims begin with this and a hyphen."""
    title: str
    page: str
    """Name of its page in docs/papers."""


PAPERS = (
    Paper("sfcperf", "SFCPerf", "sfcperf.md"),
    Paper("pptmon", "PPTMon", "pptmon.md"),
    Paper("sfcmon", "SFCMon", "sfcmon.md"),
    Paper("sdnmon", "SDN-Mon", "sdn-mon.md"),
    Paper("p4dpdk", "Heavy hitters on P4-DPDK", "heavy-hitters.md"),
)


@dataclass(frozen=True)
class Experiment:
    """A workflow that has claims of a paper."""

    file: Path
    document: dict[str, Any]
    """The workflow as its file has it."""
    paper: Paper

    @property
    def name(self) -> str:
        """Name of the workflow."""
        return self.file.stem

    @cached_property
    def workflow(self) -> Workflow:
        """The workflow, without options. Raises InputError, WorkflowError."""
        return self.loaded(())

    @property
    def planned_s(self) -> float:
        """Estimated duration of its run, seconds."""
        return workflow_s(self.workflow)

    def loaded(self, overrides: Sequence[str]) -> Workflow:
        """Return it with options as those of `sfcperf run --set`. Raises as `workflow`."""
        return load_document(self.document, self.file.resolve().parent, overrides=overrides)


def experiments(folder: Path, only: Sequence[str] = ()) -> list[Experiment]:
    """Return the workflows of a folder that have claims of papers, sorted by paper and name; with
    `only`, those with these names. Raises InputError for a name that is none of them, and for a
    file that is no workflow."""
    found = []
    for file in sorted(folder.glob("*.json")):
        document = read_document(file)
        ids = [str(claim["id"]) for claim in document.get("claims", ())]
        papers = [p for p in PAPERS if any(name.startswith(f"{p.prefix}-") for name in ids)]
        found += [Experiment(file, document, paper) for paper in papers[:1]]
    names = [experiment.name for experiment in found]
    for name in only:
        if name not in names:
            raise InputError(
                "no workflow with claims of a paper has this name",
                where=name,
                **choices(name, names),
            )
    found.sort(key=lambda experiment: PAPERS.index(experiment.paper))
    return [each for each in found if not only or each.name in only]
