"""`sfcperf plan` and `validate`: the order of trials, and what the driver refuses."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from support.command import Command
from support.engine import SMALL, Bench
from support.fakes import FakeDriver, FakeMonitor

from sfcperf.workflow.model import Scenario


def test_plan_shows_the_order_that_is_run(bench: Bench, sfcperf: Command) -> None:
    assert sfcperf("plan", bench.write()) == 0
    out = sfcperf.out
    assert "8 trials, about" in out
    rounds = out.split("round 1\n")[1].split("round 2\n")[0].split()
    planned = [trial.split("-", 2)[1:] for trial in bench.planned()[:4]]
    assert rounds[0] == f"{planned[0][0]}:"


def test_plan_shows_what_programs_would_run(bench: Bench, sfcperf: Command) -> None:
    knobs = {"command": ["own-vnf", "--level", "${level}"], "data_plane": "kernel"}
    path = bench.write(
        vnfs={"own": {"type": "program", "knobs": knobs}},
        chain={"functions": [{"vnf": "own"}]},
        factors={"level": [1, 2]},
    )
    assert sfcperf("plan", path) == 0, sfcperf.err
    shown = [line for line in sfcperf.out.splitlines() if line.startswith("VNF ")]
    assert shown == [
        f'VNF own: program {{"command": ["own-vnf", "--level", {level}], "data_plane": "kernel"}} '
        "(1 vCPU, 256 MiB)"
        for level in (1, 2)
    ]


@pytest.mark.parametrize("verb", [("validate",), ("plan",), ("run", "--dry-run")])
def test_looking_at_a_program_runs_none_of_its_commands(
    bench: Bench, sfcperf: Command, tmp_path: Path, verb: tuple[str, ...]
) -> None:
    own = ["./own.sh", "a b", "{{egress}}"]
    knobs = {
        "setup": [own],
        "command": own,
        "ready": {"command": own},
        "counters": own,
        "teardown": [own],
        "env": {"LEVEL": 3},
        "data_plane": "kernel",
    }
    path = bench.write(
        vnfs={"own": {"type": "program", "knobs": knobs}},
        chain={"functions": [{"vnf": "own"}]},
        factors={},
    )
    script = path.with_name("own.sh")
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/it-ran\n")
    script.chmod(0o755)
    assert sfcperf(*verb, path) == 0, sfcperf.err
    assert not (tmp_path / "it-ran").exists()
    if verb != ("validate",):
        for place in ("setup/0", "command", "ready/command", "counters", "teardown/0"):
            assert f"\n  {place}: env LEVEL=3 ./own.sh 'a b' '{{{{egress}}}}'\n" in sfcperf.out
        sha256 = hashlib.sha256(script.read_bytes()).hexdigest()
        size = script.stat().st_size
        assert f"\n  file ./own.sh: {size} bytes, SHA-256 {sha256}\n" in sfcperf.out


def test_plan_tells_which_intervals_and_changes_the_design_gives(
    bench: Bench, sfcperf: Command
) -> None:
    def told(**design: object) -> tuple[str, str]:
        assert sfcperf("plan", bench.write(design=design)) == 0
        lines = sfcperf.out.splitlines()
        starts = ("results: ", "two such")
        results, changes = (next(x for x in lines if x.startswith(start)) for start in starts)
        return results, changes

    assert "with intervals at 95 %" in told(rounds=10)[0]
    assert "found with 80 %" in told(rounds=10)[1]
    assert "without intervals: they need 6 rounds" in told(rounds=5)[0]
    assert "need 29 rounds" in told(rounds=10, centre="mean")[0]
    stop = {"relative_half_width": 0.1, "max_rounds": 9}
    assert "with intervals at 99 %" in told(rounds=3, confidence=0.99, stop_when=stop)[0]
    assert "at least 5 rounds" in told(rounds=3)[1]


@pytest.mark.parametrize("probes", [1, 2])
def test_plan_and_compare_tell_how_many_rounds_variants_need(
    bench: Bench, sfcperf: Command, probes: int
) -> None:
    """By pairs of a round, and corrected for the rows that both sides have: two for each probe."""
    design = {"rounds": 3, "warmup_rounds": 0}
    both = [{"probe": "fake", "name": name, "spread": 3} for name in ("a", "b")[:probes]]
    variants = {"one": {}, "two": {"probes.0.spread": 2}}
    changes = {"design": design, "probes": both, "variants": variants}
    assert sfcperf("plan", bench.write(**changes)) == 0
    least = {1: "at least 7 rounds", 2: "at least 8 rounds"}[probes]
    assert least in sfcperf.out
    bench.start(**changes)
    assert sfcperf("compare", bench.folder(), "--fail-on", "worse") == 5
    out, err = " ".join(sfcperf.out.split()), sfcperf.err
    assert out.count("at least") == out.count(least) >= 2
    assert least in err


@pytest.mark.parametrize("verb", ["run", "plan", "validate"])
def test_what_the_driver_cannot_build_is_refused_before_anything_is_made(
    bench: Bench, sfcperf: Command, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setenv("SFCPERF_RESULTS", str(bench.results))
    assert sfcperf(verb, bench.write(factors={"chain_length": [9]})) == 2
    out, err = sfcperf.out, sfcperf.err
    assert "/chain/functions: longer than a fake chain\n" in err
    assert out == ""
    assert list(bench.results.iterdir()) == []
    assert bench.leftovers() == []


@pytest.mark.parametrize(("elsewhere", "code"), [(False, 0), (True, 3)])
def test_plan_tells_what_an_infrastructure_elsewhere_lacks(
    bench: Bench, sfcperf: Command, monkeypatch: pytest.MonkeyPatch, elsewhere: bool, code: int
) -> None:
    """What this machine lacks, another one may have."""
    monkeypatch.setattr(FakeDriver, "elsewhere", elsewhere)
    config = {"folder": str(bench.resources), "missing": True}
    path = bench.write(infrastructure={"driver": "fake", "config": config})
    assert sfcperf("plan", path) == code
    assert ("fake-tool (not there)" in sfcperf.err) is elsewhere


@pytest.mark.parametrize("missing", [False, True])
def test_validate_leaves_what_the_machine_lacks_to_run(
    bench: Bench, sfcperf: Command, missing: bool
) -> None:
    config = {"folder": str(bench.resources), "missing": missing}
    path = bench.write(infrastructure={"driver": "fake", "config": config})
    assert sfcperf("validate", path) == 0
    first, second = sfcperf.out.splitlines()
    assert first == "fake: valid, 2 scenarios"
    assert "sfcperf run --dry-run" in second
    assert sfcperf("run", "--dry-run", path) == (3 if missing else 0)
    assert bench.leftovers() == []


@pytest.mark.parametrize(
    "command", [["validate"], ["plan"], ["run", "--dry-run", "--quiet"], ["run", "--quiet"]]
)
def test_what_a_monitor_foresees_is_said_once(
    bench: Bench, sfcperf: Command, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    def foreseen(parameters: object, scenario: Scenario) -> list[str]:
        return ["nothing to see"] if scenario.chain.functions else []

    monkeypatch.setattr(FakeMonitor, "scenario_warnings", foreseen)
    monkeypatch.chdir(bench.results)
    small = {**SMALL, "factors": {"chain_length": [0, 1]}, "monitors": [{"monitor": "fake"}]}
    assert sfcperf(*command, bench.write(**small)) == 0
    warned = [line for line in sfcperf.err.splitlines() if "warning" in line]
    assert warned == ["warning: /monitors/0: nothing to see (in 1 of 2 scenarios)"]


def test_what_a_descriptor_asks_for_in_vain_is_said(bench: Bench, sfcperf: Command) -> None:
    (bench.results / "own.yaml").write_text(
        "tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0\n"
        "topology_template:\n  node_templates:\n    VDU1:\n"
        "      type: tosca.nodes.nfv.VDU.Tacker\n      properties: {flavor: large}\n"
        "      capabilities: {nfv_compute: {properties: {num_cpus: 2, disk_size: 1 GB}}}\n"
    )
    vnfs = {"sf": {"type": "fake", "vnfd": str(bench.results / "own.yaml")}}
    assert sfcperf("validate", bench.write(vnfs=vnfs)) == 0
    (warned,) = [line for line in sfcperf.err.splitlines() if "warning" in line]
    assert warned.startswith("warning: /vnfs/sf/vnfd")
    assert "disk_size of VDU1" in warned
    assert "large" in warned


def test_plan_shows_the_blocks_of_variants(bench: Bench, sfcperf: Command) -> None:
    variants = {"first": {}, "second": {"vnfs.sf.node": "node1", "probes.0.packets": 20}}
    assert sfcperf("plan", bench.write(**SMALL, variants=variants)) == 0
    lines = [line.strip() for line in sfcperf.out.splitlines()]
    assert "first: unchanged workflow" in lines
    assert 'second: vnfs.sf.node = "node1", probes.0.packets = 20' in lines
    at = [index for index, line in enumerate(lines) if line.startswith("block ")]
    assert len(at) == len(bench.planned(**SMALL, variants=variants)) // 2
    for index in at:
        assert {line.split()[0] for line in lines[index + 1 : index + 3]} == {"first", "second"}
