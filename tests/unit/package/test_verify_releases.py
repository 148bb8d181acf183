"""verify: packages that another release of SFCPerf, or of matplotlib, has made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.records.packages import contents, edited, finding, resealed, sealed, sealed_edit

from sfcperf.package.verify import verify
from sfcperf.results.provenance import versions

RUN = "runs/run-1"


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("modified", [False, True])
def test_a_forged_drawing_is_found_though_its_hash_fits(
    drawn_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, modified: bool
) -> None:
    files = contents(drawn_package)
    here = {**versions(), "revision": {"commit": "0" * 40, "modified": modified}}
    monkeypatch.setattr("sfcperf.package.verify.remake_figures.python_versions", lambda: here)
    path = sealed_edit(
        drawn_package,
        tmp_path / "p.zip",
        f"{RUN}/run.json",
        lambda d: d["sessions"][-1].update(versions=here),
    )
    assert verify(path).holds
    drawing = next(n for n in files if n.endswith(".svg"))
    path = sealed(path, tmp_path / "q.zip", drawing, files[drawing] + b"<!-- -->")
    verification = verify(path)
    if modified:
        # Code that nobody else has may have drawn it: that is told.
        assert drawing.rpartition("/")[2] in finding(verification, "figures", "ok")
    else:
        assert "different when drawn again" in finding(verification, "figures")


def test_only_figures_that_were_drawn_again_are_counted(
    drawn_package: Path, tmp_path: Path
) -> None:
    """Not those of others, in whatever folder, nor drawings that another matplotlib draws
    otherwise: that is a note, and their data still have to be the same."""
    files = contents(drawn_package)
    figures = [name for name in files if name.startswith(f"{RUN}/figures/")]
    drawing = next(name for name in figures if name.endswith(".svg"))
    more = {f"{RUN}/figures/paper/mine.svg": b"<svg/>", drawing: files[drawing] + b"<!-- -->"}

    def older(document: Any) -> None:
        document["sessions"][-1]["versions"]["packages"]["matplotlib"] = "3.0.0"

    manifest = f"{RUN}/run.json"
    more[manifest] = edited(files[manifest], older)
    verification = verify(resealed(drawn_package, tmp_path / "p.zip", more))
    told = finding(verification, "figures", "ok")
    assert int(told.split()[0]) == len(figures) - 1
    assert "paper/mine.svg" in told
    assert "3.0.0" in told


def test_figures_of_others_alone_are_not_checked(package: Path, tmp_path: Path) -> None:
    name = f"{RUN}/figures/mine.svg"
    verification = verify(resealed(package, tmp_path / "p.zip", {name: b"<svg/>"}))
    assert "mine.svg" in finding(verification, "figures", "not checked")


def test_a_readme_of_another_release_is_among_what_was_not_checked(
    package: Path, tmp_path: Path
) -> None:
    path = sealed_edit(
        package, tmp_path / "p.zip", "package.json", lambda d: d["made_by"].update(sfcperf="0.0.1")
    )
    assert "README.md" in finding(verify(path), "other files", "not checked")
