"""verify: packages that another release of SFCPerf, or of matplotlib, has made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.records.packages import contents, edited, resealed, sealed

from sfcperf.package.verify import Verification, verify
from sfcperf.results.provenance import versions

RUN = "runs/run-1"


def told(verification: Verification, name: str, state: str = "ok") -> str:
    """What a check says, which came to `state`."""
    (check,) = (check for check in verification.checks if check.name == name)
    assert check.state == state
    return "\n".join((check.detail, *check.findings))


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("modified", [False, True])
def test_a_forged_drawing_is_found_though_its_hash_fits(
    drawn_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, modified: bool
) -> None:
    files = contents(drawn_package)
    here = {**versions(), "revision": {"commit": "0" * 40, "modified": modified}}
    monkeypatch.setattr("sfcperf.package.verify.remake_figures.python_versions", lambda: here)

    def drawn_here(document: Any) -> None:
        document["sessions"][-1]["versions"] = here

    name = f"{RUN}/run.json"
    path = sealed(drawn_package, tmp_path / "p.zip", name, edited(files[name], drawn_here))
    assert verify(path).holds
    drawing = next(n for n in files if n.endswith(".svg"))
    path = sealed(path, tmp_path / "q.zip", drawing, files[drawing] + b"<!-- -->")
    verification = verify(path)
    if modified:
        # Code that nobody else has may have drawn it: that is told.
        assert drawing.rpartition("/")[2] in told(verification, "figures")
    else:
        assert "different when drawn again" in told(verification, "figures", "failed")


def test_drawings_of_another_matplotlib_are_a_note(drawn_package: Path, tmp_path: Path) -> None:
    """Their data still have to be the same."""

    def older(document: Any) -> None:
        document["sessions"][-1]["versions"]["packages"]["matplotlib"] = "3.0.0"

    name = f"{RUN}/run.json"
    files = contents(drawn_package)
    path = sealed(drawn_package, tmp_path / "p.zip", name, edited(files[name], older))
    drawing = next(n for n in files if n.endswith(".svg"))
    path = sealed(path, tmp_path / "q.zip", drawing, files[drawing] + b"<!-- -->")
    assert "3.0.0" in told(verify(path), "figures")


def test_only_figures_that_were_drawn_again_are_counted(
    drawn_package: Path, tmp_path: Path
) -> None:
    """Not those of others, in whatever folder, nor drawings that other software draws otherwise."""
    files = contents(drawn_package)
    figures = [name for name in files if name.startswith(f"{RUN}/figures/")]
    drawing = next(name for name in figures if name.endswith(".svg"))
    more = {f"{RUN}/figures/paper/mine.svg": b"<svg/>", drawing: files[drawing] + b"<!-- -->"}

    def older(document: Any) -> None:
        document["sessions"][-1]["versions"]["packages"]["matplotlib"] = "3.0.0"

    manifest = f"{RUN}/run.json"
    more[manifest] = edited(files[manifest], older)
    verification = verify(resealed(drawn_package, tmp_path / "p.zip", more))
    (check,) = (check for check in verification.checks if check.name == "figures")
    assert (check.state, int(check.detail.split()[0])) == ("ok", len(figures) - 1)
    assert "paper/mine.svg" in "".join(check.findings)


def test_figures_of_others_alone_are_not_checked(package: Path, tmp_path: Path) -> None:
    name = f"{RUN}/figures/mine.svg"
    verification = verify(resealed(package, tmp_path / "p.zip", {name: b"<svg/>"}))
    (check,) = (check for check in verification.checks if check.name == "figures")
    assert check.state == "not checked"
    assert "mine.svg" in "".join(check.findings)


def test_a_readme_of_another_release_is_among_what_was_not_checked(
    package: Path, tmp_path: Path
) -> None:
    def older(document: Any) -> None:
        document["made_by"]["sfcperf"] = "0.0.1"

    name = "package.json"
    path = sealed(package, tmp_path / "p.zip", name, edited(contents(package)[name], older))
    (check,) = (check for check in verify(path).checks if check.name == "other files")
    assert "README.md" in check.findings
