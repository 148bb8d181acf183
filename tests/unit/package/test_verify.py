"""verify: what it finds, and that it runs nothing."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rocrate.rocrate import ROCrate
from support.command import SFCPERF
from support.records.packages import (
    changed,
    contents,
    edited,
    finding,
    resealed,
    sealed,
    sealed_edit,
    unpacked,
    write_zip,
)
from support.records.runs import build_run
from support.schemas import validator

from sfcperf.errors import InputError
from sfcperf.package.read_json import parse_json
from sfcperf.package.readme import readme_text
from sfcperf.package.unpack import unpack
from sfcperf.package.verify import Verification, verify
from sfcperf.package.verify.document_check import run_findings
from sfcperf.package.verify.hashes import check_hashes
from sfcperf.results.store import RunFile
from sfcperf.workflow.document.reader import MAX_BYTES

RUN = "runs/run-1"


def states(verification: Verification) -> dict[str, str]:
    return {check.name: check.state for check in verification.checks}


def test_a_good_package_holds(drawn_package: Path) -> None:
    verification = verify(drawn_package)
    assert verification.holds
    assert not list(validator("verification").iter_errors(verification.document()))
    document = json.loads(contents(drawn_package)["package.json"])
    assert not list(validator("package").iter_errors(document))
    assert states(verification) == {
        "hashes": "ok",
        "signature": "absent",
        "RO-Crate": "ok",
        "documents": "ok",
        "agreement": "ok",
        "summaries": "ok",
        "claims": "absent",
        "figures": "ok",
        "other files": "not checked",
    }


def test_every_changed_file_is_found(package: Path, tmp_path: Path) -> None:
    names = sorted(set(contents(package)) - {"manifest-sha256.txt"})
    with unpacked(package) as folder:
        for name in names:
            content = (folder / name).read_bytes()
            (folder / name).write_bytes(b"something else")
            check, _ = check_hashes(folder, [*names, "manifest-sha256.txt"])
            assert check.findings == (f"{name} was changed",)
            (folder / name).write_bytes(content)


def test_files_that_were_added_or_taken_away_are_found(package: Path, tmp_path: Path) -> None:
    added = changed(package, tmp_path / "a.zip", f"{RUN}/notes.txt", b"x")
    assert "notes.txt is not in the list" in finding(verify(added), "hashes")
    gone = changed(package, tmp_path / "b.zip", f"{RUN}/summary.csv", None)
    assert "summary.csv is missing" in finding(verify(gone), "hashes")


def test_a_forged_summary_is_found_though_its_hash_fits(package: Path, tmp_path: Path) -> None:
    path = sealed_edit(
        package,
        tmp_path / "p.zip",
        f"{RUN}/summary.json",
        lambda d: d["summaries"][0].update(mean=1.5),
    )
    verification = verify(path)
    assert states(verification)["hashes"] == "ok"
    assert "mean is" in finding(verification, "summaries")


@pytest.mark.parametrize("forgery", ["number", "column", "newline"])
def test_a_forged_table_is_found_though_its_hash_fits(
    package: Path, tmp_path: Path, forgery: str
) -> None:
    """Another number, a column less, or a number on two lines of its cell."""
    name = f"{RUN}/summary.csv"
    rows = list(csv.reader(contents(package)[name].decode().splitlines()))
    place = rows[0].index("mean")
    if forgery == "column":
        rows = [row[:place] + row[place + 1 :] for row in rows]
    elif forgery == "newline":
        rows[1][place] = f"{rows[1][place][:1]}\n{rows[1][place][1:]}"
    else:
        rows[1][place] = "1.5"
    text = StringIO()
    csv.writer(text).writerows(rows)
    path = sealed(package, tmp_path / "p.zip", name, text.getvalue().encode())
    assert "summary.csv" in finding(verify(path), "summaries")


def test_a_forged_figure_is_found_though_its_hash_fits(drawn_package: Path, tmp_path: Path) -> None:
    files = contents(drawn_package)
    name = next(n for n in files if n.startswith(f"{RUN}/figures/") and n.endswith(".csv"))
    path = sealed(drawn_package, tmp_path / "p.zip", name, files[name].replace(b"3", b"4"))
    assert name.rpartition("/")[2] in finding(verify(path), "figures")


def with_first_trial(package: Path, folder: Path, change: Callable[[Any], None]) -> Path:
    """A package whose first trial is another, sealed."""
    name = f"{RUN}/trials.jsonl"
    first, *others = contents(package)[name].splitlines()
    content = b"\n".join([edited(first, change), *others, b""])
    return sealed(package, folder / "p.zip", name, content)


def test_a_forged_trial_shows_in_the_summary(package: Path, tmp_path: Path) -> None:
    def double(trial: Any) -> None:
        trial["samples"][0]["value"] *= 2

    path = with_first_trial(package, tmp_path, double)
    assert "by the trials" in finding(verify(path), "summaries")


def test_damaged_files_of_analyses_and_monitors_are_found(package: Path, tmp_path: Path) -> None:
    names = ("tags.json", "correlations.json", "attribution.json")
    documents = {f"{RUN}/{name}": b'{"schema_version": 1}' for name in names}
    found = finding(verify(resealed(package, tmp_path / "p.zip", documents)), "documents")
    assert [name for name in names if name not in found] == []
    table = b"PAR1" + b"x" * 100 + b"PAR1"
    path = sealed(package, tmp_path / "q.zip", f"{RUN}/telemetry.parquet", table)
    assert "telemetry.parquet" in finding(verify(path), "documents")


def test_a_damaged_document_is_found(package: Path, tmp_path: Path) -> None:
    path = sealed_edit(package, tmp_path / "p.zip", f"{RUN}/run.json", lambda d: d.pop("seed"))
    verification = verify(path)
    assert "seed" in finding(verification, "documents")
    assert states(verification)["summaries"] == "not checked"


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "[1e999]",
        "9" * 5000,
        "[" * 100_000,
        '{"a": 1',
        "\ud800".encode("utf-16", "surrogatepass").decode("latin-1"),
    ],
)
def test_json_that_is_a_trap(text: str) -> None:
    with pytest.raises(InputError, match="not JSON"):
        parse_json(text.encode("latin-1"), "x.json")


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("text", ["[" * 100_000, '{"seed": ' + "9" * 5000 + "}", "\x00", ""])
def test_a_trap_in_a_run_is_a_finding_not_a_traceback(
    package: Path, tmp_path: Path, text: str
) -> None:
    for name in ("run.json", "trials.jsonl", "summary.json", "workflow-base.json"):
        path = sealed(package, tmp_path / f"{name}.zip", f"{RUN}/{name}", text.encode())
        verification = verify(path)
        if name != "trials.jsonl" or text:
            assert states(verification)["documents"] == "failed"


@pytest.mark.parametrize("wrong", [1e101, "12", True])
def test_one_wrong_sample_among_many_is_found(package: Path, tmp_path: Path, wrong: object) -> None:
    def add(trial: Any) -> None:
        trial["samples"].insert(5, {**trial["samples"][0], "value": wrong})

    path = with_first_trial(package, tmp_path, add)
    assert "trials.jsonl:1" in finding(verify(path), "documents")


def test_a_newer_package_is_refused(package: Path, tmp_path: Path) -> None:
    newer = sealed_edit(
        package, tmp_path / "p.zip", "package.json", lambda d: d.update(schema_version=2)
    )
    with pytest.raises(InputError, match="newer SFCPerf"):
        verify(newer)


@pytest.mark.parametrize("folder", ["runs/../../etc", "/etc", "runs/a/b", "modules/x"])
def test_a_run_elsewhere_is_refused(package: Path, tmp_path: Path, folder: str) -> None:
    path = sealed_edit(
        package, tmp_path / "p.zip", "package.json", lambda d: d["runs"][0].update(folder=folder)
    )
    with pytest.raises(InputError, match="damaged"):
        verify(path)


def test_a_zip_of_something_else_is_no_package(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a package"):
        verify(write_zip(tmp_path / "p.zip", {"a": b"x"}))


def test_the_crate_is_read_by_the_ro_crate_library(package: Path, tmp_path: Path) -> None:
    unpack(package, tmp_path)
    crate = ROCrate(tmp_path)
    root = crate.root_dataset
    assert crate.metadata["conformsTo"] == "https://w3id.org/ro/crate/1.1"
    assert root["license"].id == "https://spdx.org/licenses/CC-BY-4.0"
    assert root["author"]["name"] == "Ada Lovelace"
    assert root["author"].id == "https://orcid.org/0000-0002-1825-0097"
    assert root["datePublished"] == "2025-06-15"
    assert root["mentions"].type == "CreateAction"
    for part in root["hasPart"]:
        assert (tmp_path / part.id).exists()


def root(graph: Any) -> Any:
    return next(entity for entity in graph if entity["@id"] == "./")


def action(graph: Any) -> Any:
    return next(entity for entity in graph if entity["@type"] == "CreateAction")


def readme(graph: Any) -> Any:
    return next(entity for entity in graph if entity["@id"] == "README.md")


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda g: [entity.pop("license", None) for entity in g], "no license"),
        (lambda g: readme(g).update({"@id": "gone.txt"}), "gone"),
        (lambda g: readme(g).pop("@type"), "no @type"),
        (lambda g: [entity.update(conformsTo=[]) for entity in g], "conform"),
        (lambda g: root(g).update(hasPart=[]), "not as a part"),
        (lambda g: root(g).update(hasPart=[{"@id": {}}]), "not as a part"),
        (lambda g: root(g).update({"@type": [{}, []]}), "not a Dataset"),
        (lambda g: root(g).pop("conformsTo"), "wfrun/process"),
        (lambda g: root(g).update(conformsTo={"@id": "https://example.org"}), "wfrun/process"),
        (lambda g: root(g).update(conformsTo={"@id": []}), "wfrun/process"),
        (lambda g: action(g).pop("instrument"), "no SoftwareApplication"),
        (lambda g: action(g).update(instrument={"@id": "README.md"}), "no SoftwareApplication"),
    ],
)
def test_a_crate_that_is_none(
    package: Path, tmp_path: Path, edit: Callable[[Any], object], told: str
) -> None:
    name = "ro-crate-metadata.json"
    path = sealed_edit(package, tmp_path / "p.zip", name, lambda crate: edit(crate["@graph"]))
    assert told in finding(verify(path), "RO-Crate")


def test_nothing_of_a_package_is_imported_or_run(package: Path, tmp_path: Path) -> None:
    """A plug-in in the package leaves a trace as soon as it is imported."""
    trace = tmp_path / "trace"
    module = f"open({str(trace)!r}, 'w')\n".encode()
    folder = "modules/evil-1.0"
    document = json.loads(contents(package)["package.json"])
    evil = {"distribution": "evil", "version": "1.0", "folder": folder, "requires": []}
    document["modules"] = [{**evil, "provides": [{"kind": "probe", "name": "ping"}]}]
    files = {
        "package.json": json.dumps(document).encode(),
        "README.md": readme_text(document).encode(),
        f"{folder}/evil.py": module,
        f"{folder}/sitecustomize.py": module,
        f"{folder}/evil-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: evil\n",
        f"{folder}/evil-1.0.dist-info/entry_points.txt": b"[sfcperf.probes]\nping = evil:Ping\n",
        "sitecustomize.py": module,
        "conftest.py": module,
    }
    path = resealed(package, tmp_path / "p.zip", files)
    for verb in ("verify", "replay"):
        done = subprocess.run([SFCPERF, verb, str(path)], cwd=tmp_path, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
    assert b"module evil 1.0: in the package, not used, not imported" in done.stdout
    assert b"Nothing was executed." in done.stdout
    assert not trace.exists()


def test_a_workflow_may_be_larger_in_a_run_than_a_users_file(tmp_path: Path) -> None:
    """The copies in the run folder are indented, and escape what is not ASCII."""
    store = build_run(tmp_path / "run")
    changes = {f"vnfs.fwd.knobs.k{number}": "é" * 200 for number in range(50)}
    for name in (RunFile.WORKFLOW, RunFile.WORKFLOW_APPLIED):
        file = store.folder / name
        presets = {f"p{number}": changes for number in range(32)}
        document = {**json.loads(file.read_text()), "presets": presets}
        file.write_text(json.dumps(document, indent=2))
        users = json.dumps(document, ensure_ascii=False).encode()
        assert len(users) < MAX_BYTES < file.stat().st_size
    assert run_findings(store) == []
