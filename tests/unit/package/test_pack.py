"""pack: what goes in, what stays out, the same bytes each time."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import zipfile
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.records.packages import (
    OPTIONS,
    VNFD,
    contents,
    edited,
    finding,
    finished_run,
    resealed,
    with_plan,
    with_vnfd,
)
from support.records.runs import RunOptions, build_run

from sfcperf.control.lock import held
from sfcperf.control.resolved import resolved
from sfcperf.errors import InputError
from sfcperf.package.pack import pack
from sfcperf.package.readme import readme_text
from sfcperf.package.run_files import Part, run_files
from sfcperf.package.scan import scan
from sfcperf.package.unpack import unpack
from sfcperf.package.verify import verify
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document


def copy_of(package: Path, target: Path) -> RunStore:
    """The run that the package was made of, to be changed."""
    shutil.copytree(package.parent / "run-1", target)
    return RunStore.open(target)


def test_anyone_can_check_it_with_common_tools(package: Path, tmp_path: Path) -> None:
    subprocess.run(["unzip", "-q", str(package), "-d", str(tmp_path)], check=True)
    done = subprocess.run(
        ["sha256sum", "--strict", "--quiet", "-c", "manifest-sha256.txt"], cwd=tmp_path, check=False
    )
    assert done.returncode == 0
    listed = (tmp_path / "manifest-sha256.txt").read_text().splitlines()
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert len(listed) == len(files) - 1


def test_the_run_folder_is_in_it_whole(package: Path) -> None:
    run = package.parent / "run-1"
    files = contents(package)
    for path in run.rglob("*"):
        name = path.relative_to(run).as_posix()
        if path.is_file() and name not in ("lock", "workflow-base.json"):
            assert files[f"runs/run-1/{name}"] == path.read_bytes()
    # No folder of this machine is left in what a reader needs.
    assert json.loads(files["runs/run-1/workflow-base.json"]) == {"folder": "."}


def test_the_same_input_gives_the_same_bytes(package: Path, tmp_path: Path) -> None:
    again = copy_of(package, tmp_path / "elsewhere" / "run-1")
    for path in again.folder.rglob("*"):
        os.utime(path, (0, 0))
    made = pack([again], tmp_path / "again.zip", OPTIONS).path
    assert made.read_bytes() == package.read_bytes()


def test_a_living_run_is_refused(package: Path, tmp_path: Path) -> None:
    store = copy_of(package, tmp_path / "run-1")
    with held(store.folder, "run-1"), pytest.raises(InputError, match="is being executed"):
        pack([store], tmp_path / "p.zip")
    assert not (tmp_path / "p.zip").exists()


def test_an_incomplete_run_is_refused_or_said_to_be(tmp_path: Path) -> None:
    store = build_run(tmp_path / "run-1", RunOptions(status="interrupted", trials=5))
    with_plan(store)
    with pytest.raises(InputError, match="its status is interrupted") as refused:
        pack([store], tmp_path / "p.zip")
    assert "--allow-incomplete" in (refused.value.hint or "")
    done = pack([store], tmp_path / "p.zip", replace(OPTIONS, allow_incomplete=True))
    assert any("incomplete" in warning for warning in done.warnings)
    document = json.loads(contents(done.path)["package.json"])
    assert document["runs"][0]["incomplete"] == ["its status is interrupted"]


def test_a_damaged_run_or_a_link_in_it_is_refused(package: Path, tmp_path: Path) -> None:
    store = copy_of(package, tmp_path / "run-1")
    (store.folder / "raw" / "passwd").symlink_to("/etc/passwd")
    with pytest.raises(InputError, match="a link or a device"):
        pack([store], tmp_path / "p.zip")
    (store.folder / "raw" / "passwd").unlink()
    with (store.folder / "trials.jsonl").open("a") as file:
        file.write("{}\n")
    with pytest.raises(InputError, match="damaged"):
        pack([store], tmp_path / "p.zip")


def test_captures_may_be_left_out_and_are_still_known(package: Path, tmp_path: Path) -> None:
    store = copy_of(package, tmp_path / "run-1")
    capture = store.folder / "raw" / "r001" / "a.pcapng"
    capture.parent.mkdir()
    capture.write_bytes(b"\x0a\x0d\x0d\x0a" * 99)
    (store.folder / "run.log").write_text("reading /home/ada/lab/vnfd.yaml\n")
    without = frozenset[Part]({"captures"})
    done = pack([store], tmp_path / "p.zip", replace(OPTIONS, without=without))
    assert any("/home/ada" in warning for warning in done.warnings), "a folder of this machine"
    files = contents(done.path)
    assert not [name for name in files if name.endswith(".pcapng")]
    (left,) = json.loads(files["package.json"])["runs"][0]["left_out"]
    assert left == {
        "file": "raw/r001/a.pcapng",
        "bytes": 396,
        "sha256": hashlib.sha256(capture.read_bytes()).hexdigest(),
    }


def test_raw_output_and_report_may_be_left_out_and_are_still_known(
    package: Path, tmp_path: Path, sfcperf: Callable[..., int]
) -> None:
    store = copy_of(package, tmp_path / "run-1")
    (store.folder / "raw" / "a.pcap").write_bytes(b"x")
    target = tmp_path / "p.zip"
    flags = ("--without-raw", "--without-report")
    assert sfcperf("pack", store.folder, "-o", target, *flags) == 0
    files = contents(target)
    left = {
        path.relative_to(store.folder).as_posix(): path.read_bytes()
        for path in [*store.folder.glob("raw/**/*"), store.report]
        if path.is_file()
    }
    assert not {f"runs/run-1/{name}" for name in left} & files.keys()
    document = json.loads(files["package.json"])
    assert document["captures"] is False
    assert {each["file"]: each["sha256"] for each in document["runs"][0]["left_out"]} == {
        name: hashlib.sha256(content).hexdigest() for name, content in left.items()
    }
    verification = verify(target)
    assert verification.holds
    said = f"{len(left) - 2} raw files"
    assert any(said in text for text in verification.warnings)
    assert said in files["README.md"].decode()


def test_a_package_that_hides_what_it_lacks_does_not_hold(package: Path, tmp_path: Path) -> None:
    store = copy_of(package, tmp_path / "run-1")
    without = frozenset[Part]({"raw"})
    made = pack([store], tmp_path / "p.zip", replace(OPTIONS, without=without)).path

    def silent(document: Any) -> None:
        document["warnings"] = []

    document = json.loads(edited(contents(made)["package.json"], silent))
    new = {
        "package.json": json.dumps(document).encode(),
        "README.md": readme_text(document).encode(),
    }
    forged = resealed(made, tmp_path / "q.zip", new)
    assert "raw file" in finding(verify(forged), "agreement")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "a private key"),
        ('{"password": "hunter2hunter2"}', "a password or token"),
        ("  export OS_PASSWORD='hunter2'", "a password or token"),
        ("db.api_key = q1w2e3r4\r", "a password or token"),
        ("- auth_token: q1w2e3r4", "a password or token"),
        ("GET https://me:secret@example.org/", "a URL with a password"),
        ("Authorization: Bearer abcdefghijkl", "an authorization header"),
        ("ghp_" + "a1B2" * 9, "a token of a service"),
        ("AKIA" + "IOSFODNN7EXAMPLE", "a token of a service"),
        (b64encode(b'{"password": "hunter2hunter2"}').decode(), "a password or token, in Base64"),
        (urlsafe_b64encode(b"ghp_" + b"a1B2" * 9).decode(), "a token of a service, in Base64"),
    ],
)
def test_what_looks_like_a_secret_is_found(tmp_path: Path, text: str, what: str) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text(f"before\n{text}\nafter\n")
    (finding,) = scan({"runs/run-1/notes.txt": notes})
    assert (finding.file, finding.what, finding.secret) == ("runs/run-1/notes.txt", what, True)


@pytest.mark.parametrize(
    "text",
    [
        "password=***",
        "OS_PASSWORD=$SECRET",
        "api_key: <yours>",
        "secret = None",
        "password: a word that is asked for",
        "the password=secret of an example",
        "passwd=abc",
        "password=%s",
        "PASSWORD_FILE=/run/key",
        "secret = read(path)",
    ],
)
def test_what_only_speaks_of_a_secret_is_packed(tmp_path: Path, text: str) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text(f"before\n{text}\nafter\n")
    assert scan({"notes.txt": notes}) == []


def test_a_secret_is_not_packed(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = copy_of(package, tmp_path / "run-1")
    text = '{"password": "hunter2hunter2"}'
    (store.folder / "notes.txt").write_text(f"before\n{text}\nafter\n")
    with pytest.raises(InputError, match="a password or token") as refused:
        pack([store], tmp_path / "p.zip")
    assert "runs/run-1/notes.txt" in refused.value.message
    # The secret itself is not told again.
    assert text not in str(refused.value)
    done = pack([store], tmp_path / "p.zip", replace(OPTIONS, allow_secrets=True))
    assert any("notes.txt" in warning for warning in done.warnings)
    (store.folder / "notes.txt").unlink()
    monkeypatch.setenv("SFCPERF_ES_API_KEY", "q1w2e3r4t5")
    (store.folder / "run.log").write_text("sent with q1w2e3r4t5\n")
    with pytest.raises(InputError, match="SFCPERF_ES_API_KEY"):
        pack([store], tmp_path / "q.zip")


def test_vnf_descriptors_are_found_where_the_workflow_says(tmp_path: Path) -> None:
    made = pack([with_vnfd(tmp_path)], tmp_path / "p.zip", OPTIONS).path
    target = tmp_path / "elsewhere"
    target.mkdir()
    unpack(made, target)
    shutil.rmtree(tmp_path / "lab")
    store = RunStore.open(target / "runs" / "run-1")
    workflow = load_document(*store.workflow())
    (vnfd,) = {f.vnfd for s in workflow.scenarios for f in s.chain.functions}
    assert vnfd is not None
    assert vnfd.is_relative_to(target.resolve() / "workflow-files" / "run-1")
    assert resolved(workflow) == store.resolved()


def test_a_descriptor_that_changed_since_is_packed_as_it_was(tmp_path: Path) -> None:
    store = with_vnfd(tmp_path)
    (tmp_path / "lab" / "vnfds" / "small.yaml").write_text("something else")
    files = contents(pack([store], tmp_path / "p.zip", OPTIONS).path)
    assert files["workflow-files/run-1/vnfds/small.yaml"].decode() == VNFD.read_text()


def test_a_copy_that_was_changed_makes_the_run_incomplete(tmp_path: Path) -> None:
    store = with_vnfd(tmp_path)
    (copy,) = store.vnfds.rglob("small.yaml")
    copy.write_text(f"{VNFD.read_text()}# another line\n")
    with pytest.raises(InputError, match="unchanged copy of the VNF descriptor"):
        pack([store], tmp_path / "p.zip")


def test_the_publisher_packs_the_run_that_it_belongs_to(tmp_path: Path) -> None:
    from sfcperf.package.publisher import PackagePublisher
    from sfcperf.package.verify import verify

    store = finished_run(tmp_path / "run-1")
    publisher = PackagePublisher({"license": "CC0-1.0", "authors": ["Ada"], "captures": True})
    with held(store.folder, "run-1"):
        (first,) = publisher.publish(store)
        before = first.read_bytes()
        (again,) = publisher.publish(store)
    assert again.read_bytes() == before
    assert verify(first).holds
    assert "package.zip" not in run_files(store).files


def test_several_runs_go_into_one_package(package: Path, tmp_path: Path) -> None:
    first = RunStore.open(package.parent / "run-1")
    second = copy_of(package, tmp_path / "run-2")
    manifest = json.loads((second.folder / "run.json").read_text())
    (second.folder / "run.json").write_text(json.dumps({**manifest, "run_id": "run-2"}))
    with pytest.raises(InputError, match="named twice"):
        pack([first, first], tmp_path / "p.zip")
    files = contents(pack([first, RunStore.open(second.folder)], tmp_path / "p.zip").path)
    assert {"runs/run-1/run.json", "runs/run-2/run.json"} <= files.keys()


def test_flows_are_packed_and_checked(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", RunOptions(flows=True, figures=()))
    path = pack([run], tmp_path / "p.zip", replace(OPTIONS, allow_incomplete=True)).path
    assert f"runs/{run.run_id}/flows.parquet" in contents(path)
    assert finding(verify(path), "documents", "ok")


def test_folders_of_its_crate_are_in_the_zip(package: Path) -> None:
    """As RO-Crate 1.1 says, section "Data Entities": validators read the list of the zip."""
    graph = json.loads(contents(package)["ro-crate-metadata.json"])["@graph"]
    with zipfile.ZipFile(package) as archive:
        names = set(archive.namelist())
    described = {entity["@id"] for entity in graph if entity["@type"] == "Dataset"} - {"./"}
    assert described == {"runs/run-1/", "runs/run-1/raw/"}
    assert described <= names


@pytest.mark.parametrize("options", [None, ("-0", "-X"), ("-fz",), ("-",)])
def test_its_files_zipped_again_are_the_same_package(
    package: Path, tmp_path: Path, options: tuple[str, ...] | None
) -> None:
    """By Python, or by `zip -r`: sizes behind the data (into a pipe), 64 bits where 32 would do,
    names in UTF-8 without the flag that says so. The crate quotes names, once."""
    run = copy_of(package, tmp_path / "run-1")
    (run.folder / "100 % äöü #1?.txt").write_text("x")
    first = pack([run], tmp_path / "first.zip", OPTIONS).path
    assert options or verify(first).holds
    folder, again = tmp_path / "files", tmp_path / "again.zip"
    subprocess.run(["unzip", "-q", str(first), "-d", str(folder)], check=True)
    if options is None:
        shutil.make_archive(str(again.with_suffix("")), "zip", folder)
    elif shutil.which("zip") is None:
        pytest.skip("Info-ZIP's zip is not installed")
    elif options == ("-",):
        with again.open("wb") as file:
            subprocess.run(["zip", "-q", "-r", "-", "."], cwd=folder, stdout=file, check=True)
    else:
        subprocess.run(["zip", "-q", "-r", *options, str(again), "."], cwd=folder, check=True)
    out = tmp_path / "out"
    out.mkdir()
    files = contents(first)
    assert unpack(again, out) == sorted(files)
    assert {name: (out / name).read_bytes() for name in files} == files


def test_a_run_that_ended_before_its_first_output(package: Path, tmp_path: Path) -> None:
    run = copy_of(package, tmp_path / "run-1")
    shutil.rmtree(run.folder / "raw")
    assert finding(verify(pack([run], tmp_path / "p.zip", OPTIONS).path), "RO-Crate", "ok")


def test_its_readme_names_no_folder_that_is_not_in_it(package: Path, tmp_path: Path) -> None:
    run = with_vnfd(tmp_path)
    for path in (package, pack([run], tmp_path / "p.zip", OPTIONS).path):
        files = contents(path)
        named = set(re.findall(r"^- `([^`]*/)`", files["README.md"].decode(), re.MULTILINE))
        assert named == {f"{name.split('/')[0]}/" for name in files if "/" in name}
