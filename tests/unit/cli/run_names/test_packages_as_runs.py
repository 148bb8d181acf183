"""A package where verbs take a run: those that read it do, the others say what to do."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from support.command import Command
from support.records.packages import PLAIN, changed, packed
from support.records.runs import build_run

import sfcperf as api
from sfcperf.errors import InputError
from sfcperf.package.pack import pack
from sfcperf.package.pack_document import PackOptions


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("package"), PLAIN)


def test_it_is_compared(package: Path, tmp_path: Path, sfcperf: Command) -> None:
    """With the run that it was made of: there is no difference."""
    page = tmp_path / "c.html"
    sides = (package, package.parent / "run-1")
    assert sfcperf("compare", *sides, "--json", tmp_path / "c.json", "--html", page) == 0
    rows = json.loads((tmp_path / "c.json").read_text())["rows"]
    assert rows
    assert all(row["a"]["median"] == row["b"]["median"] for row in rows)
    assert "private-" not in page.read_text()


def test_it_is_read(package: Path, tmp_path: Path, sfcperf: Command) -> None:
    assert sfcperf("query", package, "select folder from runs", "--format", "csv") == 0
    assert sfcperf.out.splitlines() == ["folder", str(package)]
    assert sfcperf("export", package, "-o", tmp_path / "e.csv") == 0
    options = ("--metric", "rtt_us", "--probe", "ping", "--format", "svg", "-o", tmp_path / "f")
    assert sfcperf("figures", package, *options) == 0
    assert len(api.load(package).trials) > 0


def test_nothing_is_written_into_it(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sfcperf: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    before = package.read_bytes()
    for verb, *options in (
        ("export",),
        ("report",),
        ("index", "--url", "http://127.0.0.1:1"),
        ("pack", "-o", "p.zip"),
        ("resume",),
        ("watch",),
    ):
        assert sfcperf(verb, package, *options) == 2
        assert "unzip" in sfcperf.err
    assert package.read_bytes() == before


def test_what_was_changed_is_not_compared(package: Path, tmp_path: Path, sfcperf: Command) -> None:
    path = changed(package, tmp_path / "p.zip", "runs/run-1/trials.jsonl", b"{}\n")
    assert sfcperf("compare", path, package.parent / "run-1") == 2
    assert "trials.jsonl was changed" in sfcperf.err
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr("../evil", "x")
    assert sfcperf("compare", tmp_path / "evil.zip", package.parent / "run-1") == 2
    assert str(tmp_path / "evil.zip") in sfcperf.err


def test_one_run_of_several_is_not_guessed(tmp_path: Path, sfcperf: Command) -> None:
    stores = [build_run(tmp_path / name, PLAIN) for name in ("a", "b")]
    for store in stores:
        store.write_manifest({**store.manifest(), "run_id": store.folder.name})
    path = pack(stores, tmp_path / "p.zip", PackOptions(allow_incomplete=True)).path
    assert sfcperf("export", path, "-o", tmp_path / "e.csv") == 2
    with pytest.raises(InputError):
        api.load(path)
    assert sfcperf("query", path, "select count(*) from runs") == 0
