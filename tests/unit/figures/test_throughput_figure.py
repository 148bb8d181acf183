"""Searches for the throughput as figures for papers."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from support.records.runs import build_run
from support.records.trials import run_folder, trial
from support.simulated_system import Simulation, System

from sfcperf.active.ndr.throughput_search import Settings, offered, search
from sfcperf.figures.layout import FigureLayout
from sfcperf.figures.throughput_figure import write_throughput
from sfcperf.report.publisher import ReportPublisher
from sfcperf.results.searches import OfferedLoad, Search, write_search
from sfcperf.results.store import RunStore

WIDTH = 0.01
SETTINGS = Settings((("ndr", 0.0), ("pdr", 0.005)), 0.5, WIDTH, 1, 1, 5, 100, 1e7, 1e9)


def searched(system: System, seed: int, latency: bool) -> Search:
    """A search over a simulated system, and latencies at shares of what it found."""
    simulation = Simulation(system, Random(seed))
    found = search(SETTINGS, simulation.offer, simulation.clock)
    ndr_pps = found.goals[0].throughput_pps
    later: list[OfferedLoad] = []
    if latency:
        loads = [simulation.offer(ndr_pps * share, 1) for share in (1, 0.9, 0.5, 0.1)]
        later = [offered(load, 1, WIDTH, "latency") for load in loads]
    return Search({"probe": "simulated"}, 100, 1e7, found.goals, (*found.offered, *later))


def run_of(folder: Path, *systems: System, latency: bool = True, rounds: int = 2) -> RunStore:
    """A scenario per system."""
    records = [
        replace(
            trial(1 + number * rounds + turn, f"s{number:03}", "ndr", [1.0], metric="ndr_pps"),
            probe="ndr",
            scenario={"frame_bytes": 64 * 2**number},
        )
        for number in range(len(systems))
        for turn in range(rounds)
    ]
    store = run_folder(folder, records)
    for number, record in enumerate(records):
        made = searched(systems[number // rounds], number, latency)
        write_search(made, store.raw(f"{record.trial_id}/attempt-1"))
    return store


SYSTEMS = [System(900_000, 0.01), System(700_000, 0.01, 0.2), System(300_000, sender_pps=250_000)]


def test_files_and_numbers(tmp_path: Path) -> None:
    store = run_of(tmp_path / "run", *SYSTEMS)
    files = write_throughput(store, tmp_path / "f", FigureLayout(formats=("svg", "pdf")))
    figures = [f"throughput-ndr-{k}.{e}" for k in ("latency", "loss") for e in ("pdf", "svg")]
    assert sorted(file.name for file in files) == [*figures, "throughput-ndr.csv"]
    assert all(file.stat().st_size > 0 for file in files)
    rows = list(csv.DictReader((tmp_path / "f" / "throughput-ndr.csv").open()))
    assert {row["frame_bytes"] for row in rows} == {"64", "128", "256"}
    for row in rows:
        lost = int(row["sent"]) - int(row["received"]) + int(row["withheld"])
        of = int(row["sent"]) + int(row["withheld"])
        assert float(row["loss_ratio"]) == pytest.approx(lost / of)
    assert sum(row["purpose"] == "latency" for row in rows) == 2 * len(SYSTEMS) * 4


@pytest.mark.exhaustive
def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    store = run_of(tmp_path / "run", *SYSTEMS)
    one, other = (
        write_throughput(store, tmp_path / name, FigureLayout(formats=("svg", "pdf")))
        for name in "ab"
    )
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in other]


def test_without_latencies_or_searches_there_is_no_figure_of_them(tmp_path: Path) -> None:
    """Eight scenarios are more than a figure has looks for."""
    store = run_of(tmp_path / "run", *[System(100_000)] * 8, rounds=1, latency=False)
    files = write_throughput(store, tmp_path / "f", FigureLayout(formats=("svg",)))
    assert sorted(file.name for file in files) == ["throughput-ndr-loss.svg", "throughput-ndr.csv"]
    assert write_throughput(build_run(tmp_path / "other"), tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


def test_the_report_makes_them_and_links_them(tmp_path: Path) -> None:
    store = run_of(tmp_path / "run", SYSTEMS[0])
    made = ReportPublisher({"formats": ["svg"]}).publish(store)
    assert store.figures / "throughput-ndr-loss.svg" in made
    page = store.report.read_text()
    for name in ("throughput-ndr-loss.svg", "throughput-ndr-latency.svg", "throughput-ndr.csv"):
        assert f'href="./figures/{name}"' in page
