"""replay: what is handed to the process that runs it, and what is kept for a resumed one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from support.attacks.replays import MODULE, acme_run, package
from support.records.packages import (
    OPTIONS,
    PLAIN,
    contents,
    finished_run,
    sealed,
    unpacked,
    with_vnfd,
)

from sfcperf import retry
from sfcperf.control.resolved import resolved
from sfcperf.errors import EnvironmentLacks, InputError, InterruptedRun
from sfcperf.package.opened import open_package
from sfcperf.package.pack import pack
from sfcperf.package.replay.prepare import prepare
from sfcperf.package.replay.repeat import _spec, keep_for_later, run_or_resume
from sfcperf.package.replay.spec import ReplayOptions, ReplaySpec
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Workflow
from sfcperf.workflow.profile import Profile


@pytest.fixture(scope="module")
def with_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package whose workflow names a VNF descriptor, and asks for a server and an analysis."""
    folder = tmp_path_factory.mktemp("with-files")
    store = with_vnfd(folder, publish=[{"to": "report"}, {"to": "package"}])
    made = pack([store], folder / "p.zip", OPTIONS).path
    shutil.rmtree(folder / "lab")
    return made


def executed(spec: ReplaySpec) -> Workflow:
    """As the process that executes it loads it."""
    handed = ReplaySpec(**json.loads(json.dumps(asdict(spec))))
    kept = Path(handed.kept)
    return load_document(json.loads(handed.document), kept / handed.base, within=kept)


def test_the_workflow_finds_its_files_after_the_package_is_closed(
    with_files: Path, tmp_path: Path
) -> None:
    profile = Profile("lab.json", "local", {"mtu": 1300})
    options = ReplayOptions(tmp_path / "results", overrides=("design.rounds=7",), profile=profile)
    with unpacked(with_files) as folder:
        package = open_package(folder)
        (packaged,) = package.runs
        kept = keep_for_later(package, with_files, options.results)
        prepared = prepare(package, packaged, options)
        spec = _spec(prepared, kept, options, tmp_path)
        before = packaged.resolved()
    # Nothing is sent to anyone.
    assert [each.name for each in prepared.workflow.publish] == ["report"]
    assert not prepared.workflow.analyses
    workflow = executed(spec)
    assert resolved(workflow) == before
    assert (workflow.design.rounds, workflow.config["mtu"]) == (7, 1300)
    (vnfd,) = {f.vnfd for s in workflow.scenarios for f in s.chain.functions}
    assert vnfd is not None
    assert vnfd.is_relative_to(options.results)


def test_what_was_kept_is_used_again_unless_it_was_changed(
    with_files: Path, tmp_path: Path
) -> None:
    with unpacked(with_files) as folder:
        package = open_package(folder)
        kept = keep_for_later(package, with_files, tmp_path / "results")
        assert keep_for_later(package, with_files, tmp_path / "results") == kept
        (file,) = kept.rglob("small.yaml")
        file.write_text(f"{file.read_text()}# changed\n")
        for target in (None, folder, tmp_path / "nothing"):
            if target is not None:
                file.unlink()
                file.symlink_to(target)
            with pytest.raises(InputError, match="has changed"):
                keep_for_later(package, with_files, tmp_path / "results")


def test_analyses_of_the_user_are_shown_with_their_parameters(
    with_files: Path, tmp_path: Path
) -> None:
    analyses = 'analyses=[{"analysis": "correlate", "min_coverage": 0.7}]'
    with unpacked(with_files) as folder:
        package = open_package(folder)
        options = ReplayOptions(tmp_path / "results", overrides=(analyses,))
        shown = prepare(package, package.runs[0], options).shown
    assert 'analysis correlate {"min_coverage": 0.7}' in shown


@pytest.mark.parametrize("base", ["../../..", "/"])
def test_a_base_outside_the_package_is_refused(with_files: Path, tmp_path: Path, base: str) -> None:
    content = json.dumps({"folder": base}).encode()
    path = sealed(with_files, tmp_path / "q.zip", "runs/run-1/workflow-base.json", content)
    with unpacked(path) as folder:
        package = open_package(folder)
        options = ReplayOptions(tmp_path / "results")
        with pytest.raises(InputError, match="outside the package"):
            prepare(package, package.runs[0], options)


def replayed(path: Path, folder: Path, **options: Any) -> None:
    """Replay a package, with results in `folder`."""
    with unpacked(path) as unpacked_to:
        package = open_package(unpacked_to)
        asked = ReplayOptions(folder / "results", **options)
        prepared = prepare(package, package.runs[0], asked)
        run_or_resume(package, prepared, folder / "kept", asked)


def test_what_a_packaged_plug_in_needs_is_asked_for(tmp_path: Path) -> None:
    made = package(tmp_path, module=MODULE, run=acme_run)
    document = json.loads(contents(made)["package.json"])
    document["modules"][0]["requires"] = ["no-such-distribution>=2"]
    path = sealed(made, tmp_path / "q.zip", "package.json", json.dumps(document).encode())
    with pytest.raises(EnvironmentLacks, match="not installed here") as lacks:
        replayed(path, tmp_path)
    assert "no-such-distribution>=2" in str(lacks.value)


def test_a_run_of_something_else_is_no_replay(with_files: Path, tmp_path: Path) -> None:
    other = finished_run(tmp_path / "run-2", replace(PLAIN, name="other"))
    with pytest.raises(InputError, match="workflow other"):
        replayed(with_files, tmp_path, resume=other.folder)
    assert not (RunStore.open(other.folder).folder / "replay.json").exists()


def test_a_stopped_replay_judges_nothing_and_starts_no_other_run(
    with_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the run came to its end before the signal had an effect."""
    done = finished_run(tmp_path / "results" / "done", PLAIN)

    def completes(spec: Path, *_: object, **__: object) -> tuple[int, bool]:
        Path(json.loads(spec.read_text())["answer"]).write_text(str(done.folder))
        return 0, True

    monkeypatch.setattr("sfcperf.package.replay.repeat._run_child", completes)
    with pytest.raises(InterruptedRun, match="nothing was evaluated") as stopped:
        replayed(with_files, tmp_path)
    assert f"--run {done.folder}" in str(stopped.value)


CHILD = """
import os, signal, sys, time
from pathlib import Path
from sfcperf.cli.replay_child import _end_with

def told(number, frame):
    Path(sys.argv[1], "told").write_text(signal.Signals(number).name)
    sys.exit()

signal.signal(signal.SIGTERM, told)
_end_with(int(sys.argv[2]))
Path(sys.argv[1], "ready").touch()
time.sleep(60)
"""
PARENT = """
import os, subprocess, sys
subprocess.run([sys.executable, "-c", sys.argv[1], sys.argv[2], str(os.getpid())])
"""


def test_a_replay_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, CHILD, str(tmp_path)])
    try:
        wait_for(tmp_path / "ready")
    finally:
        parent.kill()
        parent.wait()
    wait_for(tmp_path / "told")
    assert (tmp_path / "told").read_text() == "SIGTERM"


def test_a_replay_whose_parent_is_gone_does_not_begin() -> None:
    code = "import sys; from sfcperf.cli.replay_child import _end_with; _end_with(int(sys.argv[1]))"
    other = [sys.executable, "-c", code, str(os.getppid())]
    done = subprocess.run(other, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert "Interrupted: the process that asked for the replay is gone" in done.stderr


def wait_for(path: Path) -> None:
    assert retry.until(
        lambda: path.is_file() and (path.stat().st_size or path.name == "ready"),
        timeout_s=60,
        period_s=0.01,
    )
