"""The shipped workflows and profiles: whole, in every preset, on the plug-ins that are really
installed."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.heavy import HEAVY, imports
from support.schemas import validator
from support.workflows.file import load_workflow
from support.workflows.mutations import WORKFLOWS, places

from sfcperf import plugins
from sfcperf.cli.shipped import shipped
from sfcperf.report.verdict import MIN_TRIALS
from sfcperf.workflow import plan as plans
from sfcperf.workflow.document import pointer
from sfcperf.workflow.expand import VARYING
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Workflow
from sfcperf.workflow.profile import read_profile
from sfcperf.workflow.schema import effective_schema
from sfcperf.workflow.vnfd import read_descriptor

SHIPPED_SCHEMA = WORKFLOWS.with_name("schemas") / "workflow.schema.json"
FILES = sorted(WORKFLOWS.glob("*.json"))
PRESETS = [(file, preset) for file in FILES for preset in json.loads(file.read_text())["presets"]]
SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "shipped": lambda: dict(json.loads(SHIPPED_SCHEMA.read_text())),
    "effective": effective_schema,
}


def named(value: Any) -> str:
    return value.stem if isinstance(value, Path) else str(value)


@pytest.mark.parametrize("file", FILES, ids=named)
def test_it_loads_and_its_kept_document_is_the_same(file: Path) -> None:
    workflow = load_workflow(file)
    assert workflow.name == file.stem
    assert load_document(workflow.document, workflow.folder) == workflow


@pytest.mark.parametrize(("file", "preset"), PRESETS, ids=named)
def test_each_preset_loads_and_the_short_one_is_shorter(file: Path, preset: str) -> None:
    chosen = load_workflow(file, overrides=(f"preset={preset}",))
    whole_s = plans.workflow_s(load_workflow(file))
    assert preset != "short" or plans.workflow_s(chosen) < whole_s


@pytest.mark.parametrize("file", FILES, ids=named)
def test_a_report_of_it_can_be_trustworthy(file: Path) -> None:
    """The quickstart is a first look; PPTMon has the rounds of its paper. Their reports say so."""
    rounds = load_workflow(file).design.rounds
    assert rounds >= MIN_TRIALS or file.stem == "quickstart" or file.stem.startswith("pptmon-")


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("file", FILES, ids=named)
def test_an_editor_accepts_it_and_what_a_run_keeps_of_it(file: Path, schema: str) -> None:
    validator = Draft202012Validator(
        SCHEMAS[schema](), format_checker=Draft202012Validator.FORMAT_CHECKER
    )
    kept = [load_workflow(file).document]
    kept += [load_workflow(f, overrides=(f"preset={p}",)).document for f, p in PRESETS if f == file]
    for document in (json.loads(file.read_text()), *kept):
        assert [(e.json_path, e.message) for e in validator.iter_errors(document)] == []
        assert list(validator.iter_errors({**document, "chain": {"functions": [{"count": 1}]}}))


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("file", FILES, ids=named)
def test_an_editor_accepts_a_factor_wherever_the_engine_does(file: Path, schema: str) -> None:
    validator = Draft202012Validator(SCHEMAS[schema]())
    given = json.loads(file.read_text())
    for section in VARYING:
        for path in places(given.get(section, {}), (section,)):
            document = deepcopy(given)
            pointer.value_at(document, path[:-1])[path[-1]] = "${some_factor}"
            assert list(validator.iter_errors(document)) == [], path


@pytest.mark.parametrize("name", plugins.names("vnf"))
def test_the_descriptor_of_each_vnf_type_is_tosca(name: str) -> None:
    descriptor = read_descriptor(plugins.load("vnf", name).folder / "vnfd.yaml")
    assert descriptor.vcpus and descriptor.memory_mib


def test_there_is_a_short_variant_of_each() -> None:
    assert {file for file, preset in PRESETS if preset == "short"} == set(FILES)


def named_workflow(name: str) -> Workflow:
    return load_workflow(WORKFLOWS / f"{name}.json")


def test_quickstart_fits_in_its_time() -> None:
    workflow = named_workflow("quickstart")
    assert [len(s.chain.functions) for s in workflow.scenarios] == [0, 1, 2]
    assert plans.workflow_s(workflow) <= 120


SFCMON_FIG4 = {
    "factors": {"flows": [1, 20_000, 40_000]},
    "vnfs": {"mon": {"type": "sfcmon", "knobs": {"window_s": 20}}},
    "variants": {"SFCMon": {}, **{v: {"vnfs.mon.knobs.monitor": v} for v in ("table", "none")}},
    "probes": [
        {"protocol": "tcp", "duration_s": 10},
        {"protocol": "udp", "payload_bytes": 512, "duration_s": 10},
    ],
    "design": {"rounds": 30, "centre": "median"},
    "figures": [{"metric": "rate_bps"}, {"metric": "delay_us"}],
}
"""SFCMon, section 3.3: TCP, UDP with 512 bytes, 10 s, 1 to 40,000 flows, 30 executions."""
PPTMON_RATES = ("0.5", "1", "5", "10", "20")
SLOW = {"rate_bps": 500_000, "duration_s": 20}
PAPERS: dict[str, dict[str, Any]] = {
    # Without its check sequence, a frame has the paper's 1334 bytes.
    "sfcperf-fig8": {
        "factors": {
            "topology": ["T1", "T2", "T3"],
            "chain_length": [0, 1, 2, 3, 4, 6, 8, 9, 10],
        },
        "vnfs": {"fwd": {"resources": {"vcpus": 1}, "knobs": {"engine": "userspace"}}},
        "probes": [{}, {}, {"name": "throughput", "frame_bytes": 1334 + 4}],
        "design": {"confidence": 0.95},
        "figures": [{"name": "fig8a"}, {"name": "fig8b"}, {"name": "fig8c"}],
    },
    "sfcperf-fig8d": {
        "factors": {"vcpus": [1, 2, 3, 4]},
        "vnfs": {"fwd": {"resources": {"vcpus": "${vcpus}"}, "knobs": {"engine": "userspace"}}},
    },
    # SFCMon, section 3.2: 30 chunks of 60 s, 0.1 % of the packets, 5 rows of 5436 columns.
    "sfcmon-fig3": {
        "factors": {"window_s": [6, 7, 10, 15, 30, 60]},
        "chain": {"functions": []},
        "probes": [
            {"window_s": "${window_s}", "duration_s": 60, "threshold": 0.001}
            | {"threshold_eval": 1000, "cms_rows": 5, "cms_columns": 5436}
        ],
        "design": {"rounds": 30, "centre": "mean"},
    },
    "sfcmon-fig4": SFCMON_FIG4 | {"monitors": [{"monitor": "background", "flows": "${flows}"}]},
    "sfcmon-fig4-bmv2": SFCMON_FIG4,
    # PPTMon, section IV-B: a firewall, TCP and UDP at 500 kbit/s for 20 s, 0 to 1000 rules.
    "pptmon-fig6": {
        "factors": {"rules": [0, 100, 250, 500, 750, 1000]},
        "vnfs": {"fw": {"type": "firewall", "knobs": {"rules": "${rules}"}}},
        "probes": [{"protocol": "tcp", **SLOW}, {"protocol": "udp", **SLOW}],
        "design": {"rounds": 10, "centre": "mean"},
        "figures": [{"lines": [{"source": "fw-1"}] * 4}],
    },
    # Section IV-C: a firewall without rules, 0.5 to 20 samples per second.
    "pptmon-fig7": {
        "vnfs": {"fw": {"type": "firewall", "knobs": {"rules": 0}}},
        "variants": {
            "off": {},
            **{r: {"monitors.-": {"monitor": "pptmon", "rate_hz": float(r)}} for r in PPTMON_RATES},
        },
    },
}


def holds(given: Any, part: Any) -> bool:
    """Whether objects have these keys, lists these items, and values are the same."""
    if isinstance(part, dict):
        return all(key in given and holds(given[key], value) for key, value in part.items())
    if isinstance(part, list):
        return len(given) == len(part) and all(map(holds, given, part))
    return bool(given == part)


@pytest.mark.parametrize("name", PAPERS)
def test_it_is_what_the_paper_says(name: str) -> None:
    document = json.loads((WORKFLOWS / f"{name}.json").read_text())
    assert [key for key, part in PAPERS[name].items() if not holds(document[key], part)] == []


CHAINS: dict[str, dict[str, list[str]]] = {
    "sfcperf-fig9": {
        "forwarder": ["forwarder"],
        "SFC-proxy": ["router"],
        "SFC-proxy-in-VNF": ["program"],
        "firewall": ["nsh_firewall"],
        "forwarder-userspace": ["forwarder"],
        "IDS": ["ids"],
        "firewall-IDS": ["nsh_firewall", "ids"],
    },
    "pptmon-fig8": {
        "IPS": ["ips"],
        "DPI": ["dpi"],
        "firewall": ["firewall"],
        "NAT": ["nat"],
        "load-balancer": ["load_balancer"],
    },
    "pptmon-fig9": {
        "SFC1": ["firewall", "load_balancer"],
        "SFC2": ["firewall", "ips", "load_balancer"],
    },
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains_are_those_of_the_paper(name: str) -> None:
    scenarios = named_workflow(name).scenarios
    found = {list(s.levels.values())[-1]: [f.type for f in s.chain.functions] for s in scenarios}
    assert found == CHAINS[name]
    assert {f.resources.vcpus for s in scenarios for f in s.chain.functions} == {1}


@pytest.mark.parametrize("name", ["sfcperf-table1", "sfcperf-blocking"])
def test_what_is_sent_did_not_train(name: str) -> None:
    """The other flows of the trace, or a trace of another seed."""
    for preset in (None, "short"):
        overrides = (f"preset={preset}",) if preset else ()
        workflow = load_workflow(WORKFLOWS / f"{name}.json", overrides=overrides)
        for scenario in workflow.scenarios:
            (probe,) = scenario.probes
            (classifier,) = [s for s in scenario.services if s.service == "classifier"]
            training = classifier.parameters["training"]
            seeds = [training["seed"], *training.get("further_seeds", ())]
            sent = probe.parameters
            if sent["seed"] in seeds:
                assert sent["seed"] == training["seed"]
                assert sent["duration_s"] == training["duration_s"]
                assert sent["training_share"] == classifier.parameters["share"]


@pytest.mark.parametrize("name", ["pptmon-fig8", "pptmon-fig9"])
def test_pptmon_is_off_and_on_in_the_same_block(name: str) -> None:
    """The two differ in nothing else; what drifts meets both."""
    workflow = named_workflow(name)
    half = len(workflow.scenarios) // 2
    off, on = workflow.scenarios[:half], workflow.scenarios[half:]
    assert [s.chain for s in off] == [s.chain for s in on]
    assert [s.probes for s in off] == [s.probes for s in on]
    assert {m.monitor for s in off for m in s.monitors} == {"cpu"}
    assert {tuple(m.monitor for m in s.monitors) for s in on} == {("cpu", "pptmon")}
    assert workflow.variants[0].name == "PPTMon-off"


def test_pptmon_fig9_ends_at_the_server_behind_the_load_balancer() -> None:
    """Section IV-E: ab does not know of it."""
    for scenario in named_workflow("pptmon-fig9").scenarios:
        (probe,) = scenario.probes
        balancer = scenario.chain.functions[-1].knobs
        assert probe.parameters["requests"] == 10_000
        assert probe.parameters["port"] == balancer["port"]
        assert probe.parameters["server_ports"] == balancer["backends"]


def test_validation_imports_nothing_heavy() -> None:
    """Not even jsonschema, which only a workflow with errors needs."""
    path = str(WORKFLOWS / "quickstart.json")
    code = f"from sfcperf.cli.inputs import read_workflow; read_workflow({path!r}, *[None] * 3)"
    assert imports(code, HEAVY) == ""


@pytest.mark.parametrize("name", ["local", "openstack"])
def test_a_profile_is_named_after_its_driver_and_changes_nothing_else(name: str) -> None:
    file = shipped("profiles")[name]
    validator("profile").validate(json.loads(file.read_text()))
    for workflow in ("quickstart", "firewall-chain"):
        alone = named_workflow(workflow)
        loaded = load_workflow(WORKFLOWS / f"{workflow}.json", profile=read_profile(file))
        assert loaded.driver == name
        assert (loaded.scenarios, loaded.design) == (alone.scenarios, alone.design)
