"""The attribution as figures for papers."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from support.records.attributed import Seen, seen_run
from support.records.runs import build_run

from sfcperf.control import publishing
from sfcperf.errors import InputError
from sfcperf.figures.attribution_figure import write_attribution
from sfcperf.figures.figure_files import write_figures
from sfcperf.figures.layout import FigureLayout
from sfcperf.figures.run_data import RunData
from sfcperf.figures.selection import FigureRequest
from sfcperf.report.publisher import ReportPublisher
from sfcperf.results.store import RunFile, RunStore

SVG = FigureLayout(formats=("svg",))


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    made = seen_run(tmp_path / "run", Seen(rounds=3), scenarios=2)
    assert publishing.analyse(made) == []
    return made


def test_files_and_numbers(store: RunStore, tmp_path: Path) -> None:
    files = write_attribution(store, tmp_path / "figures", FigureLayout(formats=("svg", "pdf")))
    endings = ["csv", "pdf", "svg"]
    assert sorted(f.name for f in files) == [f"attribution-iperf3-udp.{e}" for e in endings]
    assert all(file.stat().st_size > 0 for file in files)
    assert (tmp_path / "figures" / "attribution-iperf3-udp.pdf").read_bytes()[:5] == b"%PDF-"
    rows = list(csv.DictReader((tmp_path / "figures" / "attribution-iperf3-udp.csv").open()))
    document = store.document(RunFile.ATTRIBUTION)
    assert [row["what"] for row in rows[:6]] == [
        "fw-1", "nat-2", "forwarder-3", "sum", "end_to_end", "residual",
    ]  # fmt: skip
    for member, first in zip(document["paths"], (0, 6), strict=True):
        assert rows[first]["chain_length"] == str(member["scenario"]["chain_length"])
        for row, function in zip(rows[first:], member["functions"], strict=False):
            time = function["time"]
            assert row["mean_us"] == ("" if time is None else str(time["mean_us"]))
        assert float(rows[first + 5]["mean_us"]) == member["residual"]["mean_us"]


def test_the_same_results_give_the_same_bytes(store: RunStore, tmp_path: Path) -> None:
    one, other = (
        write_attribution(store, tmp_path / name, FigureLayout(formats=("svg", "pdf")))
        for name in "ab"
    )
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in other]


@pytest.mark.parametrize(
    ("seen", "named", "absent"),
    [
        (Seen(reverse=True), {"residual", "end to end"}, {"residual below 0"}),
        (Seen(end_to_end=60), {"residual below 0", "end to end"}, {"residual"}),
        (Seen(end_to_end=None), set(), {"residual", "end to end", "residual below 0"}),
        (Seen(rounds=1), {"residual"}, set()),
    ],
)
def test_the_legend_names_what_is_drawn(
    tmp_path: Path, seen: Seen, named: set[str], absent: set[str]
) -> None:
    made = seen_run(tmp_path / "run", seen)
    assert publishing.analyse(made) == []
    [svg, *others] = write_attribution(made, tmp_path / "figures", SVG)
    assert len(others) == (5 if seen.reverse else 1)
    words = set(re.findall(r"<!-- (.*?) -->", svg.read_text()))
    assert {"fw-1", "nat-2", *named} <= words
    assert not absent & words


def test_it_is_drawn_when_asked_for(store: RunStore, tmp_path: Path) -> None:
    run, name = RunData(store, "a"), "attribution-iperf3-udp"
    files = write_figures([run], FigureRequest((name,)), SVG, tmp_path / "a")
    assert {file.name for file in files} == {f"{name}.svg", f"{name}.csv"}
    both = write_figures([run], FigureRequest((name, "iperf3-udp-rtt_us")), SVG, tmp_path / "b")
    assert {"iperf3-udp-rtt_us.svg", f"{name}.svg"} <= {file.name for file in both}
    with pytest.raises(InputError) as caught:
        write_figures([run], FigureRequest(("attribution",)), SVG, tmp_path / "c")
    assert name in (caught.value.allowed or "")
    with pytest.raises(InputError, match="is drawn as it is"):
        write_figures([run], FigureRequest((name,), kind="bar"), SVG, tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_the_report_makes_them_and_links_them(store: RunStore) -> None:
    made = ReportPublisher({"formats": ["svg"]}).publish(store)
    assert store.figures / "attribution-iperf3-udp.svg" in made
    page = store.report.read_text()
    for ending in ("svg", "csv"):
        assert f'href="./figures/attribution-iperf3-udp.{ending}"' in page


def test_a_run_without_pptmon_has_none(tmp_path: Path) -> None:
    assert write_attribution(build_run(tmp_path / "run"), tmp_path / "figures") == []
    assert not (tmp_path / "figures").exists()
