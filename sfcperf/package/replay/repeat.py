"""Replay: run the experiments of a package again, and decide whether its results are reproduced."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sfcperf.analysis.comparison import NoiseFloors, Side, compare
from sfcperf.control.interrupts import Interrupted, Interrupts
from sfcperf.environment.private import private_folder
from sfcperf.errors import EnvironmentLacks, ExitCode, InputError, InterruptedRun, SfcperfError
from sfcperf.hosts.process import has_ended
from sfcperf.package import layout
from sfcperf.package.archive import hash_file
from sfcperf.package.judge import Verdict, judge
from sfcperf.package.opened import Package
from sfcperf.package.replay.describe import digest, document_text, missing_requirements
from sfcperf.package.replay.prepared import PreparedReplay
from sfcperf.package.replay.spec import ReplayOptions, ReplaySpec
from sfcperf.results.campaigns import Repeat
from sfcperf.results.documents import plain
from sfcperf.results.files import replace_file
from sfcperf.results.ownership import check_place
from sfcperf.results.store import RunStore

REPLAY = "replay.json"
"""Name of the file with the verdict, in the run folder of a replay."""
_KEPT = (layout.MODULES, layout.WORKFLOW_FILES)
"""Folders of a package that a replay needs while it runs."""
_DIGITS = 16
"""Digits of the package's hash in the name of the copy."""
_START = "import sys; sys.path += sys.argv[2:]; from sfcperf.cli.replay_child import main; main()"
_OWN_SIGNAL_S = 3.0
"""How long a child that got Ctrl-C itself usually needs to remove what it built."""


def keep_for_later(package: Package, path: Path, results: Path) -> Path:
    """Copy the package's modules and workflow files into the results folder, and return the copy.

    The opened package is a temporary folder: a replay that is resumed later needs files that stay.
    The copy's name contains the package's hash. Raises InputError when a folder of that name has
    other content. A package without such files needs no copy: the folder is then not created.
    """
    target = results / f"package-{hash_file(path).sha256[:_DIGITS]}"
    parts = [name for name in _KEPT if (package.folder / name).is_dir()]
    if not parts:
        return target
    check_place(target)
    if target.exists():
        for name in parts:
            _check_same(package.folder / name, target / name)
        return target
    results.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".package-", dir=results) as beside:
        for name in parts:
            shutil.copytree(package.folder / name, Path(beside) / "new" / name)
        for file in (Path(beside) / "new" / layout.WORKFLOW_FILES).rglob("*"):
            # A package has no modes: any of them may be a program of the workflow.
            file.chmod(0o700)
        # Renamed when complete: an interrupted copy never looks like a whole one.
        (Path(beside) / "new").rename(target)
    return target


def _check_same(original: Path, copy: Path) -> None:
    """Raise InputError unless both folders have the same files with the same content."""

    def hashes(folder: Path) -> dict[str, str]:
        """Path in the folder -> SHA-256 of the file; empty for a link, which no package has."""
        files = (p for p in folder.rglob("*") if p.is_file() or p.is_symlink())
        return {
            p.relative_to(folder).as_posix(): "" if p.is_symlink() else hash_file(p).sha256
            for p in files
        }

    if hashes(original) != hashes(copy):
        raise InputError(
            "this folder of an earlier replay has changed",
            where=str(copy),
            hint="remove it: it is created again from the package",
        )


def run_or_resume(
    package: Package, prepared: PreparedReplay, kept: Path, options: ReplayOptions
) -> RunStore | int:
    """Run a packaged run's workflow here, or continue an earlier replay of it.

    Returns the complete run, or the exit code of one that did not complete. A child process
    executes the workflow, and first shows it on stderr. `kept`: what `keep_for_later` returned.

    Call it only for trusted packages, whose plug-ins and workflows run as the user. Raises
    EnvironmentLacks when a requirement of a packaged module is not installed, InputError when the
    earlier run is not a replay of this one, InterruptedRun after a signal, and SfcperfError when a
    signal ended the child.
    """
    if options.resume is not None:
        earlier = RunStore.open(options.resume)
        _check_is_replay(earlier, prepared.packaged)
        manifest = earlier.manifest()
        if (manifest["status"], manifest["state"]) == ("complete", "done"):
            return earlier
    missing = missing_requirements(package, prepared.modules)
    if missing:
        names = " ".join(f"'{requirement}'" for _, requirement in missing)
        raise EnvironmentLacks(
            "plug-ins of the package need what is not installed here", hint=f"pip install {names}"
        )
    with private_folder() as folder:
        spec = _spec(prepared, kept, options, folder)
        file = folder / "spec.json"
        file.write_text(json.dumps(asdict(spec)))
        code, interrupted = _run_child(file, quiet=options.quiet)
        answer = Path(spec.answer)
        found = RunStore.open(Path(os.fsdecode(answer.read_bytes()))) if answer.is_file() else None
    # An interrupt counts even if the run has ended meanwhile: a user who stops a replay wants
    # neither a verdict nor the next run.
    folders = [*options.others, *([found.folder] if found else [])]
    arguments = " ".join(f"--run {folder}" for folder in folders)
    hint = f"the same command with `{arguments}` continues it" if folders else None
    if interrupted or code == ExitCode.INTERRUPTED:
        raise InterruptedRun("the replay was interrupted, and nothing was evaluated", hint=hint)
    if code < 0:
        raise SfcperfError(
            f"the process of the replay was ended by signal {-code}",
            where=str(found.folder) if found else None,
            hint=hint,
        )
    if found is None or found.manifest()["status"] != "complete":
        # A child whose exit code is 0 without a complete run has a bug.
        return code or ExitCode.INTERNAL
    # Failed trials or a missing report do not prevent a verdict on the other trials.
    return found


def _spec(prepared: PreparedReplay, kept: Path, options: ReplayOptions, folder: Path) -> ReplaySpec:
    """Return what the child process that runs the replay is told, in values that JSON has. It
    writes the path of its run folder to the file `answer` in `folder`. `kept`: what
    `keep_for_later` returned."""
    document = document_text(prepared.workflow)
    return ReplaySpec(
        document=document,
        sha256=digest(document),
        source=dict(prepared.source),
        # Resolved, because the child compares resolved paths of VNF descriptors with it.
        kept=str(kept.resolve()),
        base=prepared.base,
        files=dict(prepared.files),
        modules=[asdict(module) for module in prepared.modules],
        results=str(options.results),
        resume=str(options.resume) if options.resume is not None else None,
        command=list(sys.argv),
        quiet=options.quiet,
        answer=str(folder / "run-folder"),
        parent=os.getpid(),
        repeat=None if options.repeat is None else asdict(options.repeat),
    )


def _run_child(spec: Path, *, quiet: bool) -> tuple[int, bool]:
    """Run the replay in a child process, which reads the file `spec`; return its exit code and
    whether we were asked to stop. `quiet`: the child's stdout is dropped.

    A negative code is minus the number of the signal that ended the child. When this process gets
    a signal, it passes it on and waits until the child has removed what it built. A second signal
    to the child changes nothing (sfcperf.control.interrupts).
    """
    # -I: neither the current folder nor the environment decides what the interpreter imports. What
    # the user has on PYTHONPATH himself, plug-ins for example, is found after what is installed.
    own = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    # -B: write no bytecode. -X utf8 is needed as -I also ignores PYTHONUTF8.
    argv = [
        sys.executable,
        "-I",
        "-B",
        "-X",
        "utf8",
        "-c",
        _START,
        str(spec),
        *map(os.path.abspath, own),
    ]
    # Our own stdout is for the verdict alone.
    stdout = subprocess.DEVNULL if quiet else sys.stderr.fileno()
    with Interrupts() as interrupts:
        child = subprocess.Popen(argv, stdout=stdout)
        try:
            with interrupts.allowed:
                has_ended(child)  # waits, without a limit of time
        except Interrupted:
            # A terminal sends Ctrl-C to both processes: the child then stops by itself, and gets no
            # second signal unless it takes too long.
            if interrupts.requested != "SIGINT" or not has_ended(child, _OWN_SIGNAL_S):
                child.terminate()
        return child.wait(), interrupts.requested is not None


def together(runs: Sequence[PreparedReplay]) -> list[list[PreparedReplay]]:
    """Group packaged runs that are replayed and judged together: the runs of one campaign, in the
    order of their numbers. Any other run is a group of its own."""
    groups: dict[str, list[tuple[int, PreparedReplay]]] = {}
    for run in runs:
        repeat = Repeat.of_manifest(run.packaged.manifest())
        key, place = (run.packaged.run_id, 0) if repeat is None else (repeat.campaign, repeat.index)
        groups.setdefault(key, []).append((place, run))
    return [[run for _, run in sorted(g, key=lambda place: place[0])] for g in groups.values()]


def judge_replay(
    packaged: Sequence[RunStore],
    here: Sequence[RunStore],
    options: ReplayOptions,
    floors: NoiseFloors | None = None,
) -> Verdict:
    """Compare a packaged run, or the runs of a campaign, with the replay, and judge the comparison.
    `floors`: noise floors of this machine, if they are known."""
    first, again = (
        Side(name, stores[0], more=tuple(stores[1:]))
        for name, stores in (("packaged", packaged), ("here", here))
    )
    return judge(compare(first, again, options.comparison, floors))


def write_verdict(
    verdict: Verdict, path: Path, packaged: Sequence[RunStore], here: Sequence[RunStore]
) -> Path:
    """Write replay.json into the run folders of the replay; returns the last one's path. Arguments
    as for `verdict_document`."""
    text = json.dumps(verdict_document(verdict, path, packaged, here), indent=2, default=plain)
    for store in here:
        store.check_writable()
    for store in here:
        replace_file(store.folder / REPLAY, text + "\n")
    return here[-1].folder / REPLAY


def verdict_document(
    verdict: Verdict, path: Path, packaged: Sequence[RunStore], here: Sequence[RunStore]
) -> dict[str, Any]:
    """Return the content of replay.json, as schemas/replay.schema.json describes it. `path`: the
    package; `packaged`, `here`: the runs that were compared."""
    chosen = verdict.comparison.options
    return {
        "schema_version": layout.FORMAT,
        "package": {"file": path.name, "sha256": hash_file(path).sha256},
        "packaged_run": packaged[0].run_id,
        "packaged_runs": [store.run_id for store in packaged],
        "run": here[-1].run_id,
        "runs": [store.run_id for store in here],
        "reproduced": verdict.reproduced,
        "counts": dict(verdict.counts()),
        "alpha": chosen.alpha,
        "test": chosen.test,
        "metrics": verdict.rows(),
        "differences": [
            {"kind": d.kind, "name": d.name, "packaged": d.baseline, "here": d.value}
            for d in verdict.comparison.differences
        ],
        "warnings": list(verdict.comparison.warnings),
    }


def _check_is_replay(here: RunStore, packaged: RunStore) -> None:
    """Raise InputError if a run here is not of the packaged run's workflow: it is no replay."""
    name, packaged_name = here.manifest()["name"], packaged.manifest()["name"]
    if name != packaged_name:
        raise InputError(
            f"this is a run of the workflow {name}, the packaged one of {packaged_name}",
            where=str(here.folder),
        )
