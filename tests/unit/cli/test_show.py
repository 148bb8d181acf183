"""`sfcperf list`, `show` and `doctor`: plug-ins, topologies, schemas and shipped workflows."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from support.command import Command
from support.engine import Bench

from sfcperf.workflow.topology import DESCRIPTIONS

KINDS = {
    "drivers": "fake",
    "vnfs": "fake",
    "probes": "iperf3",
    "monitors": "fake",
    "publishers": "report",
    "analyses": "summary",
    "topologies": "T3",
}


def test_list_all_or_a_kind(bench: Bench, sfcperf: Command) -> None:
    assert sfcperf("list") == 0
    every = sfcperf.out
    for kind, name in KINDS.items():
        assert sfcperf("list", kind) == 0
        out = sfcperf.out
        line = next(line for line in out.splitlines() if line.split()[0] == name)
        assert len(line.split()) > 2
        assert f"  {line}" in every


@pytest.mark.parametrize(
    ("typed", "meant"), [(("list", "probs"), "probes"), (("show", "probe", "iperf"), "iperf3")]
)
def test_what_was_meant(sfcperf: Command, typed: tuple[str, ...], meant: str) -> None:
    assert sfcperf(*typed) == 2
    assert f"hint: did you mean '{meant}'?" in sfcperf.err


BROKEN = {
    "nowhere:Bad": "No module named 'nowhere'",
    "broken_syntax:Bad": "SyntaxError",
    "broken_import:Bad": "ZeroDivisionError",
    "support.fakes:NotThere": "has no attribute 'NotThere'",
    "support.fakes:ROOT": "is not a class derived from Probe",
    "support.fakes:FakeMonitor": "is not a class derived from Probe",
    "broken_title:Bad": "has no `title`",
    "broken_parameters:Bad": "has no JSON Schema",
}

PROBE = "from sfcperf.active.base import Probe\nclass Bad(Probe):\n"

MODULES = {
    "broken_syntax": "class Bad(:\n",
    "broken_import": "1 / 0\n",
    "broken_title": f"{PROBE}    parameters = {{}}\n",
    "broken_parameters": f"{PROBE}    title = 'Bad'\n    parameters = 5\n",
}


@pytest.mark.gate_runs("every 4th")
@pytest.mark.parametrize("target", BROKEN)
def test_a_broken_plug_in_is_named_and_hides_no_other(
    bench: Bench, sfcperf: Command, tmp_path: Path, target: str
) -> None:
    installed = tmp_path / "installed"
    for name, text in MODULES.items():
        (installed / f"{name}.py").write_text(text)
    points = installed / "sfcperf_fakes-1.dist-info" / "entry_points.txt"
    with_bad = points.read_text().replace("[sfcperf.probes]", f"[sfcperf.probes]\nbad = {target}")
    points.write_text(with_bad)
    assert sfcperf("list", "probes") == 0
    out = sfcperf.out
    assert "unusable" in out
    assert "Sends packets that do not exist" in out
    assert sfcperf("show", "probe", "bad") == 3
    err = sfcperf.err
    assert BROKEN[target] in err
    assert "package sfcperf-fakes" in err
    assert sfcperf("doctor", "--driver", "fake") == 3
    assert "probe bad" in sfcperf.out
    assert sfcperf("validate", bench.write()) == 0


def test_a_package_that_was_half_removed_hides_no_other(
    bench: Bench, sfcperf: Command, tmp_path: Path
) -> None:
    (tmp_path / "installed" / "sfcperf_fakes-1.dist-info" / "METADATA").unlink()
    assert sfcperf("list", "probes") == 0
    assert "iperf3" in sfcperf.out


def test_show_a_plug_in(bench: Bench, sfcperf: Command) -> None:
    assert sfcperf("show", "probe", "fake") == 0
    out = sfcperf.out
    assert "probe fake: Sends packets that do not exist" in out
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line}
    assert rows["packets"] == ["packets", "integer", "10", "Packets", "to", "send."]
    assert rows["rtt_us"][:4] == ["rtt_us", "*", "us", "lower"]
    for kind in ("driver", "vnf", "monitor", "publisher"):
        assert sfcperf("show", kind, "fake") == 0
        assert f"{kind} fake: " in sfcperf.out


@pytest.mark.parametrize(
    ("plug_in", "row"),
    [
        (("vnf", "program"), ["redirect.ports", "array", "(required)"]),
        (("vnf", "program"), ["redirect.protocol", '"tcp"', "|", '"udp"', '"tcp"']),
        (("vnf", "program"), ["schema.NAME.minimum", "number"]),
        (("analysis", "enrich"), ["tables[].delimiter"]),
        (("probe", "ndr"), ["load.probe", '"iperf3"', "|", '"pktgen"', "(required)"]),
        (("probe", "ndr"), ["imix[].weight", "integer"]),
    ],
)
def test_show_the_keys_of_objects(
    sfcperf: Command, plug_in: tuple[str, str], row: list[str]
) -> None:
    assert sfcperf("show", *plug_in) == 0
    words = [line.removeprefix("load (pktgen): ").split() for line in sfcperf.out.splitlines()]
    assert any(line[: len(row)] == row for line in words)


def test_show_a_topology_as_a_workflow_would_write_it(bench: Bench, sfcperf: Command) -> None:
    assert sfcperf("show", "topology", "T2") == 0
    title, _, text = sfcperf.out.partition("\n")
    assert title == f"topology T2: {DESCRIPTIONS['T2']}"
    assert sfcperf("validate", bench.write(**json.loads(text))) == 0
    assert sfcperf("show", "topology", "T9") == 2


def test_the_shown_schema_accepts_a_shown_workflow(sfcperf: Command) -> None:
    assert sfcperf("show", "schema", "workflow") == 0
    schema = json.loads(sfcperf.out)
    assert sfcperf("show", "workflow", "quickstart") == 0
    out, err = sfcperf.out, sfcperf.err
    assert err.rstrip().endswith("quickstart.json")
    jsonschema.Draft202012Validator(schema).validate(json.loads(out))
    assert sfcperf("show", "schema", "elsewhere") == 2


def test_doctor_of_one_driver(bench: Bench, sfcperf: Command) -> None:
    sfcperf("doctor", "--driver", "fake")
    assert "fake-tool" in sfcperf.out
    assert sfcperf("doctor", "--driver", "lokal") == 2
    assert "there is no driver named 'lokal'" in sfcperf.err
