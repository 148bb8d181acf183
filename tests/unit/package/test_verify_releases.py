"""verify: packages that another release of SFCPerf, or of matplotlib, has made."""

from __future__ import annotations

import csv
import io
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest
from support.records.packages import contents, edited, sealed

from sfcperf.package.verify import Verification, verify
from sfcperf.results.records import Summary
from sfcperf.results.versions import versions

RUN = "runs/run-1"
FIRST_KEYS = {field.name for field in fields(Summary) if field.default is MISSING} | {
    "median_ci_low",
    "median_ci_high",
    "median_method",
    "relative_half_width",
}
"""Of a row of summary.json as the first release wrote it."""


def told(verification: Verification, name: str, state: str = "ok") -> str:
    """What a check says, which came to `state`."""
    (check,) = (check for check in verification.checks if check.name == name)
    assert check.state == state
    return "\n".join((check.detail, *check.findings))


def test_a_summary_of_an_older_release_holds_and_what_it_does_not_say_is_told(
    drawn_package: Path, tmp_path: Path
) -> None:
    """Rows as they were before percentiles, outliers, steadiness and the like were added."""
    younger = {field.name for field in fields(Summary)} - FIRST_KEYS

    def older(document: Any) -> None:
        for row in document["summaries"]:
            for name in younger:
                del row[name]
            row |= {"method": "t (mean)", "ci_high": row["mean"]}

    files = contents(drawn_package)
    name = f"{RUN}/summary.json"
    path = sealed(drawn_package, tmp_path / "p.zip", name, edited(files[name], older))
    table = list(csv.DictReader(files[f"{RUN}/summary.csv"].decode().splitlines()))
    for row in table:
        row |= {"method": "t (mean)", "ci_high": row["mean"]}
    kept = [column for column in table[0] if column not in younger]
    text = io.StringIO()
    writer = csv.DictWriter(text, kept, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    path = sealed(path, tmp_path / "q.zip", f"{RUN}/summary.csv", text.getvalue().encode())
    verification = verify(path)
    assert verification.holds
    unsaid = told(verification, "summaries")
    assert "its intervals, made by an older release's methods, are not compared" in unsaid
    assert "2 tables with intervals of an older" in told(verification, "figures")
    assert "outliers" in unsaid
    assert "warnings" in unsaid

    def worse(document: Any) -> None:
        older(document)
        document["summaries"][0]["median"] *= 0.9

    path = sealed(path, tmp_path / "r.zip", name, edited(files[name], worse))
    assert "median is" in told(verify(path), "summaries", "failed")


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
