"""Files that knobs name: copied when a run begins, and the same when it is resumed."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.records.scenarios import scenario

from sfcperf.errors import InputError
from sfcperf.results.provenance import check_files, keep_files, programs_of
from sfcperf.results.provenance.files import LARGE_BYTES, digest
from sfcperf.workflow.load import load_document


def test_small_files_are_copied(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"small")
    with large.open("wb") as file:
        file.truncate(LARGE_BYTES + 1)
    files = {"./small": small, "large": large, "same": small}
    entries = keep_files(tmp_path / "files", files)
    assert [(entry["path"], entry["bytes"]) for entry in entries] == [
        ("./small", 5),
        ("large", LARGE_BYTES + 1),
        ("same", 5),
    ]
    sha256 = hashlib.sha256(b"small").hexdigest()
    assert [file.name for file in (tmp_path / "files").iterdir()] == [sha256]
    assert entries[0]["sha256"] == sha256
    check_files(entries, files, "run")
    small.write_bytes(b"other")
    with pytest.raises(InputError, match=r"the file \./small has changed"):
        check_files(entries, files, "run")


def test_without_files_there_is_no_folder(tmp_path: Path) -> None:
    assert keep_files(tmp_path / "files", {}) == []
    assert not (tmp_path / "files").exists()


def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    for name in ("image/index.json", "image/blobs/sha256/0"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    [function] = scenario(["router"]).chain.functions
    knobs = {"image": str(tmp_path / "image")}
    named = replace(function, knobs=knobs, files={("image",): "../image"})
    assert {path: str(file.relative_to(tmp_path)) for path, file in named.located.items()} == {
        "../image/index.json": "image/index.json",
        "../image/blobs/sha256/0": "image/blobs/sha256/0",
    }
    assert named.knobs_as_written == {"image": "../image"}


@pytest.mark.parametrize("name", ["fifo", "/dev/zero", "/proc/self/pagemap", "/proc/kmsg", "none"])
def test_what_has_no_end_is_refused(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InputError):
        digest(tmp_path / name)


def test_programs_are_those_of_the_machine(tmp_path: Path) -> None:
    """Whether a function calls them by name or by path; not those of the workflow."""
    (tmp_path / "own.sh").touch(0o755)
    elsewhere = tmp_path / "own.py"
    elsewhere.write_text("1")
    knobs = {"command": ["./own.sh"], "setup": [["sh", str(elsewhere), "{{mtu}}"], ["no-such"]]}
    vnfs = {"own": {"type": "program", "knobs": knobs}, "fw": {"type": "firewall"}}
    document = {
        "sfcperf": 1,
        "name": "own",
        "vnfs": vnfs,
        "chain": {"functions": [{"vnf": "own"}, {"vnf": "fw"}]},
        "probes": [{"probe": "ping"}],
    }
    found = programs_of(load_document(document, tmp_path).functions)
    programs = {entry["name"]: entry for entry in found}
    assert {"sh", "ip", str(elsewhere)} <= programs.keys()
    assert not {"./own.sh", "no-such"} & programs.keys()
    assert programs[str(elsewhere)]["package"] is None
    assert programs[str(elsewhere)]["sha256"] == hashlib.sha256(b"1").hexdigest()
