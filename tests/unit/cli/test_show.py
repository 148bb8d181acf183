"""`sfcperf list`, `show` and `doctor`: plug-ins, topologies, schemas and shipped workflows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from support.engine import Bench

from sfcperf.workflow.topology import DESCRIPTIONS

Command = Callable[..., int]
Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("drivers", "fake"),
        ("vnfs", "fake"),
        ("probes", "iperf3"),
        ("monitors", "fake"),
        ("publishers", "report"),
        ("analyses", "summary"),
        ("topologies", "T3"),
    ],
)
def test_list(bench: Bench, sfcperf: Command, capsys: Capture, kind: str, name: str) -> None:
    assert sfcperf("list", kind) == 0
    out = capsys.readouterr().out
    line = next(line for line in out.splitlines() if line.split()[0] == name)
    assert len(line.split()) > 2
    assert sfcperf("list") == 0
    assert f"  {line}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "meant"),
    [(("list", "probs"), "probes"), (("show", "probe", "iperf"), "iperf3")],
)
def test_what_was_meant(
    sfcperf: Command, capsys: Capture, typed: tuple[str, ...], meant: str
) -> None:
    assert sfcperf(*typed) == 2
    assert f"hint: did you mean '{meant}'?" in capsys.readouterr().err


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
    bench: Bench, sfcperf: Command, capsys: Capture, tmp_path: Path, target: str
) -> None:
    installed = tmp_path / "installed"
    for name, text in MODULES.items():
        (installed / f"{name}.py").write_text(text)
    points = installed / "sfcperf_fakes-1.dist-info" / "entry_points.txt"
    with_bad = points.read_text().replace("[sfcperf.probes]", f"[sfcperf.probes]\nbad = {target}")
    points.write_text(with_bad)
    assert sfcperf("list", "probes") == 0
    out = capsys.readouterr().out
    assert "unusable" in out
    assert "Sends packets that do not exist" in out
    assert sfcperf("show", "probe", "bad") == 3
    err = capsys.readouterr().err
    assert BROKEN[target] in err
    assert "package sfcperf-fakes" in err
    assert sfcperf("doctor", "--driver", "fake") == 3
    assert "probe bad" in capsys.readouterr().out
    assert sfcperf("validate", bench.write()) == 0


def test_a_package_that_was_half_removed_hides_no_other(
    bench: Bench, sfcperf: Command, capsys: Capture, tmp_path: Path
) -> None:
    (tmp_path / "installed" / "sfcperf_fakes-1.dist-info" / "METADATA").unlink()
    assert sfcperf("list", "probes") == 0
    assert "iperf3" in capsys.readouterr().out


def test_show_a_probe(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    assert sfcperf("show", "probe", "fake") == 0
    out = capsys.readouterr().out
    assert "probe fake: Sends packets that do not exist" in out
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line}
    assert rows["packets"] == ["packets", "integer", "10", "Packets", "to", "send."]
    assert rows["rtt_us"][:4] == ["rtt_us", "*", "us", "lower"]


@pytest.mark.parametrize("kind", ["driver", "vnf", "monitor", "publisher"])
def test_show_others(bench: Bench, sfcperf: Command, capsys: Capture, kind: str) -> None:
    assert sfcperf("show", kind, "fake") == 0
    assert f"{kind} fake: " in capsys.readouterr().out


def test_show_a_topology_as_a_workflow_would_write_it(
    bench: Bench, sfcperf: Command, capsys: Capture
) -> None:
    assert sfcperf("show", "topology", "T2") == 0
    title, _, text = capsys.readouterr().out.partition("\n")
    assert title == f"topology T2: {DESCRIPTIONS['T2']}"
    assert sfcperf("validate", bench.write(**json.loads(text))) == 0
    assert sfcperf("show", "topology", "T9") == 2


def test_the_shown_schema_accepts_a_shown_workflow(sfcperf: Command, capsys: Capture) -> None:
    assert sfcperf("show", "schema", "workflow") == 0
    schema = json.loads(capsys.readouterr().out)
    assert sfcperf("show", "workflow", "quickstart") == 0
    jsonschema.Draft202012Validator(schema).validate(json.loads(capsys.readouterr().out))
    assert sfcperf("show", "schema", "elsewhere") == 2


def test_a_shown_workflow_is_one(
    bench: Bench, sfcperf: Command, capsys: Capture, tmp_path: Path
) -> None:
    assert sfcperf("show", "workflow", "quickstart") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["name"] == "quickstart"
    assert err.rstrip().endswith("quickstart.json")


def test_doctor_of_an_unknown_driver(sfcperf: Command, capsys: Capture) -> None:
    assert sfcperf("doctor", "--driver", "lokal") == 2
    assert "there is no driver named 'lokal'" in capsys.readouterr().err


def test_doctor_of_one_driver(bench: Bench, sfcperf: Command, capsys: Capture) -> None:
    sfcperf("doctor", "--driver", "fake")
    assert "fake-tool" in capsys.readouterr().out
