"""Files that knobs name, in packages: taken along as they were, checked, and found by a replay."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.records.packages import (
    OPTIONS,
    contents,
    finding,
    sealed,
    sealed_edit,
    unpacked,
    with_program,
)
from support.vnfs.image_layout import Layout

from sfcperf.control.resolved import resolved
from sfcperf.errors import InputError
from sfcperf.package.opened import open_package
from sfcperf.package.pack import PackResult, pack
from sfcperf.package.replay.prepare import prepare
from sfcperf.package.replay.repeat import keep_for_later
from sfcperf.package.replay.spec import ReplayOptions
from sfcperf.package.verify import verify
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document

SCRIPT, DATA = "workflow-files/run-1/bin/own.sh", "workflow-files/run-1/workflows/data.txt"
LARGE = 17 << 20


def pack_of(store: RunStore, target: Path, **options: Any) -> PackResult:
    return pack([store], target / "p.zip", replace(OPTIONS, overwrite=True, **options))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of a program whose script and data are gone."""
    folder = tmp_path_factory.mktemp("program")
    made = pack_of(with_program(folder), folder).path
    shutil.rmtree(folder / "lab")
    return made


def test_they_are_packed_once_and_where_the_workflow_says(made: Path) -> None:
    files = contents(made)
    assert files[SCRIPT].endswith(b"exec sleep 1000\n")
    assert files[DATA] == b"1\n"
    assert not [name for name in files if name.startswith("runs/run-1/files/")]
    assert verify(made).holds


def test_no_place_of_the_machine_is_in_the_plan(made: Path) -> None:
    plan = json.loads(contents(made)["runs/run-1/plan.json"])
    [function, *_] = plan["resolved"]["s001"]["chain"]["functions"]
    assert function["knobs"]["command"] == ["../bin/own.sh"]
    assert function["knobs"]["files"] == {"data": "data.txt"}


def test_a_file_that_changed_since_is_packed_as_it_was(tmp_path: Path) -> None:
    store = with_program(tmp_path)
    (tmp_path / "lab/bin/own.sh").write_text("something else")
    assert contents(pack_of(store, tmp_path).path)[SCRIPT].startswith(b"#!/bin/sh")
    shutil.rmtree(store.files)
    with pytest.raises(InputError, match=r"lacks an unchanged \.\./bin/own\.sh"):
        pack_of(store, tmp_path)


def test_a_package_can_be_packed_again(made: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(made, tmp_path / "unpacked")
    again = pack_of(RunStore.open(tmp_path / "unpacked/runs/run-1"), tmp_path).path
    assert contents(again)[SCRIPT] == contents(made)[SCRIPT]
    assert verify(again).holds


def test_a_large_file_is_left_out_and_known_unless_asked_for(tmp_path: Path) -> None:
    (tmp_path / "lab/workflows").mkdir(parents=True)
    with (tmp_path / "lab/workflows/large").open("wb") as file:
        file.truncate(LARGE)
    store = with_program(tmp_path, files={"large": "large"})
    assert [file.stat().st_size < LARGE for file in store.files.iterdir()] == [True]
    done = pack_of(store, tmp_path)
    [warning] = (text for text in done.warnings if "large" in text)
    assert f"{LARGE} bytes, SHA-256 " in warning
    assert verify(done.path).holds
    done = pack_of(store, tmp_path, large_files=True)
    assert len(contents(done.path)["workflow-files/run-1/workflows/large"]) == LARGE
    assert not [text for text in done.warnings if "large" in text]
    assert verify(done.path).holds


def test_an_absolute_path_makes_the_run_incomplete(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    store = with_program(tmp_path, files={"data": str(tmp_path / "there")})
    with pytest.raises(InputError, match="or a relative path to it"):
        pack_of(store, tmp_path)
    done = pack_of(store, tmp_path, allow_incomplete=True)
    assert verify(done.path).holds


def test_programs_of_no_package_are_named(tmp_path: Path) -> None:
    store = with_program(tmp_path)
    known = {"name": "nft", "path": "/usr/sbin/nft", "bytes": 1, "sha256": "0" * 64}
    own = {**known, "name": "fw", "path": "/opt/fw", "package": None}
    programs = [{**known, "package": "nftables 1"}, own]
    store.write_manifest({**store.manifest(), "programs": programs})
    [warning] = (text for text in pack_of(store, tmp_path).warnings if "programs" in text)
    assert "/opt/fw (1 byte, SHA-256 0000" in warning
    assert "nft" not in warning


def test_another_script_than_ran_is_found_though_its_hash_fits(made: Path, tmp_path: Path) -> None:
    path = sealed(made, tmp_path / "q.zip", SCRIPT, b"#!/bin/sh\nrm -rf /\n")
    assert f"{SCRIPT} is not the file ../bin/own.sh" in finding(verify(path), "agreement")


@pytest.mark.parametrize("path", ["../../../../etc/passwd", "/etc/passwd", "x" * 5000, "."])
def test_a_place_outside_the_package_is_not_looked_at(
    made: Path, tmp_path: Path, path: str
) -> None:
    edited = sealed_edit(
        made, tmp_path / "q.zip", "runs/run-1/run.json", lambda d: d["files"][0].update(path=path)
    )
    assert "does not say: run-1 lacks files" in finding(verify(edited), "agreement")


def test_a_replay_shows_commands_and_finds_its_files(made: Path, tmp_path: Path) -> None:
    options = ReplayOptions(tmp_path / "results")
    with unpacked(made) as folder:
        package = open_package(folder)
        prepared = prepare(package, package.runs[0], options)
        assert not [p for p in folder.rglob("*") if p.is_file() and os.access(p, os.X_OK)]
        kept = keep_for_later(package, made, options.results)
        before = package.runs[0].resolved()
    shown = "\n".join(prepared.shown)
    assert "\nprogram fwd\n  command: ../bin/own.sh\n  file ../bin/own.sh: 26 bytes, SHA" in shown
    workflow = load_document(prepared.workflow.document, kept / prepared.base, within=kept)
    assert resolved(workflow) == before
    assert {os.access(file, os.X_OK) for file in workflow.files.values()} == {True}


def test_an_image_that_is_a_folder_is_packed_and_shown_with_its_digest(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "lab/workflows/image")
    digest = layout.manifest(Cmd=["own"])["digest"]
    image = layout.write({"digest": digest})
    files = [file for file in image.rglob("*") if file.is_file()]
    made = pack_of(with_program(tmp_path, "own", image="image"), tmp_path).path
    packed = contents(made)
    for file in files:
        place = file.relative_to(image.parent)
        assert packed[f"workflow-files/run-1/{place}"] == file.read_bytes()
    shutil.rmtree(tmp_path / "lab")
    assert verify(made).holds
    options = ReplayOptions(tmp_path / "results")
    with unpacked(made) as folder:
        package = open_package(folder)
        shown = prepare(package, package.runs[0], options).shown
    assert f"  image: {digest}" in shown
    listed = [line for line in shown if line.startswith("  file image/")]
    assert len(listed) == len(files)
