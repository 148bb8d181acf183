"""The shipped workflows: whole, in every preset, on the plug-ins that are really installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sfcperf import plugins
from sfcperf.workflow import estimate
from sfcperf.workflow.load import effective_schema, load_document, load_workflow
from sfcperf.workflow.vnfd import read_descriptor

WORKFLOWS = Path(__file__).parents[3] / "workflows"
FILES = sorted(WORKFLOWS.glob("*.json"))
PRESETS = [(file, preset) for file in FILES for preset in json.loads(file.read_text())["presets"]]
HEAVY = ("numpy", "scipy", "pyarrow", "duckdb", "plotly", "matplotlib", "pyroute2", "toscaparser")


def named(value: Any) -> str:
    return value.stem if isinstance(value, Path) else str(value)


@pytest.mark.parametrize("file", FILES, ids=named)
def test_it_loads_and_its_kept_document_is_the_same(file: Path) -> None:
    workflow = load_workflow(file)
    assert workflow.name == file.stem
    assert load_document(workflow.document, workflow.folder) == workflow


@pytest.mark.parametrize(("file", "preset"), PRESETS, ids=named)
def test_each_preset_loads_and_is_shorter(file: Path, preset: str) -> None:
    short = load_workflow(file, overrides=(f"preset={preset}",))
    assert estimate.workflow_s(short) < estimate.workflow_s(load_workflow(file))


@pytest.mark.parametrize("file", FILES, ids=named)
def test_an_editor_accepts_it(file: Path) -> None:
    validator = Draft202012Validator(effective_schema())
    assert list(validator.iter_errors(json.loads(file.read_text()))) == []


@pytest.mark.parametrize("name", plugins.names("vnf"))
def test_the_descriptor_of_each_vnf_type_is_tosca(name: str) -> None:
    descriptor = read_descriptor(plugins.load("vnf", name).folder / "vnfd.yaml")
    assert descriptor.vcpus and descriptor.memory_mib


def test_there_is_a_short_variant_of_each() -> None:
    assert {file for file, preset in PRESETS if preset == "short"} == set(FILES)


def test_quickstart_fits_in_its_time() -> None:
    workflow = load_workflow(WORKFLOWS / "quickstart.json")
    assert [len(s.chain.functions) for s in workflow.scenarios] == [0, 1, 2]
    assert estimate.workflow_s(workflow) <= 75


def test_fig8_is_that_of_the_paper() -> None:
    workflow = load_workflow(WORKFLOWS / "sfcperf-fig8.json")
    lengths = {(s.topology.name, len(s.chain.functions)) for s in workflow.scenarios}
    assert lengths == {(t, n) for t in ("T1", "T2", "T3") for n in range(11)}
    assert [f.name for f in workflow.figures] == ["fig8a", "fig8b", "fig8c"]
    assert workflow.design.confidence == 0.95
    (throughput,) = [p for p in workflow.scenarios[0].probes if p.label == "throughput"]
    # Ethernet, IPv4 and UDP headers make it the paper's 1334 bytes.
    assert throughput.parameters["payload_bytes"] + 14 + 20 + 8 == 1334


def test_fig8d_varies_vcpus_of_the_userspace_engine() -> None:
    workflow = load_workflow(WORKFLOWS / "sfcperf-fig8d.json")
    functions = [s.chain.functions for s in workflow.scenarios]
    assert [f.resources.vcpus for (f,) in functions] == [1, 2, 3, 4]
    assert {f.knobs["engine"] for (f,) in functions} == {"userspace"}


def test_validation_imports_nothing_heavy() -> None:
    script = (
        "import sys; from pathlib import Path; from sfcperf.workflow.load import load_workflow; "
        f"load_workflow(Path(sys.argv[1])); print([m for m in {HEAVY} if m in sys.modules])"
    )
    argv = [sys.executable, "-c", script, str(WORKFLOWS / "quickstart.json")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
