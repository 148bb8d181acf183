"""verify: packages that another release of SFCPerf, or of matplotlib, has made."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest
import scipy.stats
from support.records.packages import contents, edited, resealed, sealed

from sfcperf.package.verify import Verification, verify
from sfcperf.results.provenance import versions
from sfcperf.results.records import Summary

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
            row |= intervals_of_old(row)

    files = contents(drawn_package)
    name = f"{RUN}/summary.json"
    path = sealed(drawn_package, tmp_path / "p.zip", name, edited(files[name], older))
    then = {row["mean"]: row for row in json.loads(contents(path)[name])["summaries"]}
    tables = [f"{RUN}/summary.csv", f"{RUN}/figures/fig8b.csv"]
    for table in tables:
        text = as_then(files[table], then, younger)
        path = sealed(path, tmp_path / f"{len(text)}.zip", table, text)
    verification = verify(path)
    assert verification.holds, [c.findings for c in verification.checks if c.state == "failed"]
    unsaid = told(verification, "summaries")
    assert "intervals by an earlier release's methods" in unsaid
    assert "outliers" in unsaid
    assert "warnings" in unsaid
    assert "fig8b.csv: what it draws is not compared" in told(verification, "figures")

    forgeries: list[tuple[str, object]] = [
        ("median", 1.5),
        ("ci_high", 1.5),
        ("relative_half_width", 0.0),
        ("method", "t (mean, repeated looks)"),
    ]
    for key, value in forgeries:

        def worse(document: Any, key: str = key, value: object = value) -> None:
            older(document)
            document["summaries"][0][key] = value

        forged = sealed(path, tmp_path / f"{key}.zip", name, edited(files[name], worse))
        assert f"{key} is {value!r}" in told(verify(forged), "summaries", "failed")

    table = contents(path)[tables[1]].replace(b",3,176", b",3,175")
    forged = sealed(path, tmp_path / "table.zip", tables[1], table)
    assert "fig8b.csv does not follow from the trials" in told(verify(forged), "figures", "failed")


def intervals_of_old(row: Mapping[str, Any]) -> dict[str, Any]:
    """By scipy: Student's t, and no interval of the median of three."""
    assert row["n"] == 3
    half = scipy.stats.t.ppf(0.975, 2) * row["stdev"] / 3**0.5
    ends = {"ci_low": row["mean"] - half, "ci_high": row["mean"] + half}
    ratio = half / abs(row["mean"]) if row["mean"] else None
    return {
        **ends,
        "method": "t (mean)",
        "relative_half_width": 0.0 if half == 0 else ratio,
        "median_ci_low": None,
        "median_ci_high": None,
        "median_method": "",
    }


def as_then(table: bytes, then: Mapping[float, Mapping[str, Any]], younger: set[str]) -> bytes:
    """A table without younger columns, its intervals as in these rows (mean -> row)."""
    rows = list(csv.DictReader(table.decode().splitlines()))
    for row in rows:
        of_row = then[float(row["mean"])]
        row |= {key: of_row[key] for key in intervals_of_old(of_row) if key in row}
    text = io.StringIO()
    kept = [column for column in rows[0] if column not in younger]
    writer = csv.DictWriter(text, kept, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


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
