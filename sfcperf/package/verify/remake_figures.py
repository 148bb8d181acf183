"""Do the figures follow from the trials? They are drawn again, without any plug-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sfcperf.counts import count_text
from sfcperf.errors import InputError
from sfcperf.package.checks import Check, judged
from sfcperf.package.opened import Package
from sfcperf.package.verify.tolerance import same_table
from sfcperf.results.provenance import python_versions
from sfcperf.results.store import RunStore
from sfcperf.workflow.model import FigureSpec

_TABLE = ".csv"
_COMMIT_DIGITS = 12


def check_figures(package: Package) -> Check:
    """Draw the workflow's figures again and compare them: their data in any case, the drawings byte
    for byte if the same software drew them."""
    findings: list[str] = []
    notes: list[str] = []
    packed = same = 0
    for store in package.runs:
        if not store.figures.is_dir():
            continue
        files = _files(store.figures)
        packed += len(files)
        with TemporaryDirectory(prefix="sfcperf-figures-") as folder:
            try:
                _draw(store, Path(folder))
            except MemoryError:
                raise
            except Exception as error:
                # Numbers that fit the schema may still be beyond what can be drawn.
                findings.append(f"{store.folder.name}: its figures cannot be made: {error}")
                continue
            made = {name: path.read_bytes() for name, path in _files(Path(folder)).items()}
        compared = _compared(store, files, made)
        findings += compared.findings
        notes += compared.notes
        same += compared.same
    if findings:
        return judged("figures", findings, "")
    if not packed:
        return Check("figures", "absent", "the runs have no figures")
    if not same:
        return Check("figures", "not checked", "none is drawn again as it is", tuple(notes))
    more = "; what follows is not" if notes else ""
    text = f"{count_text(same, 'file')} {'is' if same == 1 else 'are'} the same when drawn again"
    return Check("figures", "ok", text + more, tuple(notes))


def _files(folder: Path) -> dict[str, Path]:
    """Path in the folder -> the file."""
    return {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}


@dataclass(frozen=True)
class _FigureComparison:
    """Result of comparing the figures of a run with those drawn again."""

    findings: list[str]
    """What does not hold."""
    notes: list[str]
    """What a reader should know: files that were not checked, or may differ."""
    same: int
    """Number of files that are the same, tables to a tolerance."""


def _compared(
    store: RunStore, packed: Mapping[str, Path], made: Mapping[str, bytes]
) -> _FigureComparison:
    """Compare the packed figures of a run with those made again. Tables must be the same; drawings
    may differ if other software drew them."""
    name = store.folder.name
    both = sorted(packed.keys() & made.keys())
    different = [file for file in both if packed[file].read_bytes() != made[file]]
    findings, notes = [], []
    same = len(both) - len(different)
    for file in (file for file in different if file.endswith(_TABLE)):
        if same_table(packed[file].read_bytes(), made[file]):
            same += 1
        else:
            findings.append(f"{name}/figures/{file} does not follow from the trials")
    drawings = [file for file in different if not file.endswith(_TABLE)]
    if drawings:
        # By run.json, the software of the last session drew the packed figures.
        then, is_known = _software(store.manifest()["sessions"][-1]["versions"])
        now, _ = _software(python_versions())
        if then == now and is_known:
            findings += [
                f"{name}/figures/{file} is different when drawn again" for file in drawings
            ]
        else:
            differ = "differs" if len(drawings) == 1 else "differ"
            notes.append(
                f"{name}: {count_text(len(drawings), 'drawing')} {differ} because the software "
                f"does ({then}; here {now}); their data are the same: {', '.join(drawings)}"
            )
    others = sorted(packed.keys() - made.keys())
    if others:
        notes.append(f"{name}: not the workflow's figures, not checked: {', '.join(others)}")
    return _FigureComparison(findings, notes, same)


def _draw(store: RunStore, folder: Path) -> None:
    """Draw a run's figures into a folder. The workflow document says what they show, and run.json
    the units: no workflow is loaded, which would import plug-ins."""
    from sfcperf.figures.figure_files import resolve_figures, write_figure
    from sfcperf.figures.layout import FORMATS, FigureLayout
    from sfcperf.figures.run_data import RunData

    manifest, (document, _) = store.manifest(), store.workflow()
    run = RunData(store, store.run_id, loads_workflow=False)
    formats = [name for name in FORMATS if any(store.figures.glob(f"*.{name}"))]
    specs = _specs(document.get("figures", ()), manifest)
    for plot, fits in resolve_figures([run], specs):
        write_figure(plot, fits, folder, FigureLayout(formats=formats))


def _specs(figures: Sequence[Mapping[str, Any]], manifest: Mapping[str, Any]) -> list[FigureSpec]:
    """Build the figures of the workflow's section. Raises InputError for a metric that no probe of
    run.json has."""
    from sfcperf.workflow.figures import figure_spec

    known = {
        (probe["label"], metric["name"])
        for probe in manifest["probes"]
        for metric in probe["metrics"]
    }
    for figure in figures:
        for shown in figure.get("lines", [figure]):
            # Only what probes report is declared in run.json; a figure with a `source` shows what
            # monitors observed.
            if "source" not in shown and (shown["probe"], shown["metric"]) not in known:
                raise InputError(f"no probe {shown['probe']} has the metric {shown['metric']}")
    return [figure_spec(figure) for figure in figures]


def _software(versions: Mapping[str, Any]) -> tuple[str, bool]:
    """Name the software that decides how a figure looks, and say whether the name identifies it: a
    changed working tree may be any. `versions`: as run.json has them."""
    revision = versions.get("revision") or {}
    commit = f" at {revision['commit'][:_COMMIT_DIGITS]}" if revision.get("commit") else ""
    changed = ", changed" if revision.get("modified") else ""
    matplotlib = (versions.get("packages") or {}).get("matplotlib")
    return (
        f"SFCPerf {versions.get('sfcperf')}{commit}{changed}, matplotlib {matplotlib}",
        not changed,
    )
