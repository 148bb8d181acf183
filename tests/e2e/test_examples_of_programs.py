"""The example workflows that measure a program of others."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.command import SFCPERF, run_folder, spawn
from support.ended import ended
from support.local import left_by, processes_of
from support.needs import skip_unless
from support.network.wires import eventually

from sfcperf.environment.tools import tool

pytestmark = pytest.mark.root

EXAMPLES = Path(__file__).parents[2] / "examples"
LINES = 40
PINGS = 50
SEEN = "select distinct metric from telemetry"


@dataclass(frozen=True)
class Example:
    """What is known of an example."""

    file: str
    needs: tuple[str, str]
    """Command and package."""
    proven: str
    factor: str
    """Its factor with one level of it."""
    counters: Set[str] = frozenset()
    """Counters of its own that rise with each ping."""
    pptmon: bool = True
    """Whether its packets pass the kernel's hooks."""

    def run(self, results: Path, **more: Any) -> Path:
        """Run one round, and return the run's folder."""
        factor, level = self.factor.split("=")
        short: dict[str, Any] = {"design.rounds": 1, "design.warmup_rounds": 0, "publish": []}
        changes = {**short, f"factors.{factor}": [int(level)], **more}
        return run_folder(EXAMPLES / self.file, results, changes, timeout_s=120)


ALL = [
    Example(
        "nftables-rules/firewall.json", ("nft", "nftables"), "counters", "rules=10",
        {"passed"},
    ),
    Example(
        "tc-shaper/shaper.json", ("tc", "iproute2"), "counters", "rate_mbit=100",
        {"shaped"},
    ),
    Example(
        "dpdk-testpmd/testpmd.json", ("dpdk-testpmd", "dpdk-dev"), "process", "burst=32",
        pptmon=False,
    ),
    Example(
        "suricata-inline/suricata.json", ("suricata", "suricata"), "process", "rules=100",
        {"alerts"}, pptmon=False,
    ),
]  # fmt: skip


def of(example: Example) -> str:
    """Its id."""
    return Path(example.file).parent.name


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("example", ALL, ids=of)
def test_it_is_proven_measured_and_counted(example: Example, tmp_path: Path) -> None:
    skip_unless(tool(*example.needs))
    assert len((EXAMPLES / example.file).read_text().splitlines()) <= LINES
    folder = example.run(tmp_path / "results")
    trials = {trial["label"]: trial for trial in _lines(folder / "trials.jsonl")}
    assert set(trials) == {"ping", "tcp"}
    ping = trials["ping"]
    [(function, proven)] = ping["deployment"]["traversal"]["data_planes"].items()
    assert proven == example.proven
    assert ping["packets"][function] >= 2 * PINGS
    counted = ping["notes"].get("sf_counters", {}).get(function, {})
    assert {name for name, count in counted.items() if count >= PINGS} == example.counters


@pytest.mark.exhaustive
@pytest.mark.parametrize("example", [each for each in ALL if each.pptmon], ids=of)
def test_pptmon_sees_its_packets(example: Example, tmp_path: Path) -> None:
    skip_unless(tool(*example.needs))
    monitors = [{"monitor": "cpu"}, {"monitor": "memory"}, {"monitor": "pptmon", "rate_hz": 50}]
    folder = example.run(tmp_path / "results", monitors=monitors)
    listed = ended([SFCPERF, "query", folder, SEEN, "--format", "json"], timeout_s=60)
    found = {row["metric"] for row in json.loads(listed.stdout)}
    assert {"cpu_cores", "memory_bytes", "processing_time_us"} <= found


@pytest.mark.exhaustive
@pytest.mark.parametrize("example", ALL, ids=of)
def test_nothing_stays_of_a_run_that_is_killed(example: Example, tmp_path: Path) -> None:
    skip_unless(tool(*example.needs))
    results = tmp_path / "results"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    arguments = ("--results", results, "--set", "design.warmup_rounds=0", "--set", "publish=[]")
    with spawn("run", EXAMPLES / example.file, *arguments, **quiet) as process:
        assert eventually(lambda: (files := [*results.glob("*/trials.jsonl")]) and _lines(files[0]))
        process.kill()
    [folder] = results.iterdir()
    assert ended([SFCPERF, "clean"], timeout_s=60).returncode == 0
    assert left_by(folder) == []
    assert processes_of(folder.name.rpartition("-")[2]) == {}


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]
