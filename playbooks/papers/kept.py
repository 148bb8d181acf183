"""What is kept of a run: a small reproducibility package, results/papers/WORKFLOW.zip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sfcperf.analysis.claims.analysis import ClaimsAnalysis
from sfcperf.analysis.summary import SummaryAnalysis
from sfcperf.cli.packaged_runs import packaged_runs
from sfcperf.control.publishing import publish_report
from sfcperf.errors import InputError
from sfcperf.package.archive import PackedFile
from sfcperf.package.opened import open_package
from sfcperf.package.pack import pack
from sfcperf.package.pack_document import PackOptions
from sfcperf.package.run_files import Part
from sfcperf.package.unpack import private_copy, unpack
from sfcperf.playbooks.papers.experiments import Experiment
from sfcperf.results.store import RunStore
from sfcperf.workflow.model import Workflow

MAX_BYTES = 1 << 20
"""Size that no kept package should exceed."""
MAX_ALL_BYTES = 15 << 20
"""Size that all of them should not exceed together."""
_WITHOUT = frozenset[Part]({"captures", "raw", "report", "images"})
_LICENCE = "Apache-2.0"


@dataclass(frozen=True)
class Kept:
    """The package of an experiment, in a folder of packages; it need not exist."""

    experiment: Experiment
    folder: Path

    @property
    def path(self) -> Path:
        """Path of the package."""
        return self.folder / f"{self.experiment.name}.zip"

    def run(self) -> RunStore | None:
        """Open its run; None without a package. Raises InputError if the package is damaged."""
        return packaged_runs(self.path)[0] if self.path.is_file() else None

    def is_current(self, overrides: Sequence[str] = ()) -> bool:
        """Whether the package exists, and the workflow is the one that it was measured with; with
        options, whether it was measured with these. Raises InputError if it is damaged."""
        run = self.run()
        if run is None or run.source_workflow() != self.experiment.document:
            return False
        return not overrides or run.workflow()[0] == self.experiment.loaded(overrides).document

    def write(self, store: RunStore, before: Mapping[str, PackedFile] | None = None) -> int:
        """Pack a run in place of what is kept so far; return the size in bytes. Telemetry is left
        out if the package would be too large and neither claims nor figures are made from it.
        `before`: files that the run lacks because an earlier package left them out. Raises as
        `sfcperf.package.pack.pack`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        options = PackOptions(
            license=_LICENCE, without=_WITHOUT, left_out=before or {}, overwrite=True
        )
        pack([store], self.path, options)
        if self.size > MAX_BYTES and not _reads_telemetry(self.experiment.workflow):
            pack([store], self.path, replace(options, without=_WITHOUT | {"telemetry"}))
        return self.size

    @property
    def size(self) -> int:
        """Size of the package, bytes."""
        return self.path.stat().st_size

    def write_again(self) -> None:
        """Make summaries, claims and figures again from the trials of the package, and pack them
        as this SFCPerf does. Raises as `write`; InputError if the package is damaged or what is
        made from the trials cannot be made."""
        with private_copy(self.path) as copy:
            unpack(copy.file, copy.folder)
            (entry,) = open_package(copy.folder).document["runs"]
            store = RunStore.open(copy.folder / entry["folder"])
            SummaryAnalysis({}).analyse(store)
            ClaimsAnalysis({}).analyse(store)
            problems = publish_report(store)
            if problems:
                raise InputError("; ".join(problems), where=str(self.path))
            left_out = {e["file"]: PackedFile(e["bytes"], e["sha256"]) for e in entry["left_out"]}
            self.write(store, left_out)


def _reads_telemetry(workflow: Workflow) -> bool:
    """Whether a claim or a figure is about what a monitor observed."""
    operands = (operand for claim in workflow.claims for operand in claim.operands)
    figures = workflow.document.get("figures", ())
    lines = (line for figure in figures for line in figure.get("lines", [figure]))
    return any(each.monitor for each in operands) or any("source" in line for line in lines)
