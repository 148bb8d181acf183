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
def test_each_preset_loads_and_is_shorter(file: Path, preset: str) -> None:
    short = load_workflow(file, overrides=(f"preset={preset}",))
    assert plans.workflow_s(short) < plans.workflow_s(load_workflow(file))


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


def types(workflow: Workflow, factor: str) -> dict[Any, list[str]]:
    """Level of a factor -> types of the chain's functions."""
    return {s.levels[factor]: [f.type for f in s.chain.functions] for s in workflow.scenarios}


def test_quickstart_fits_in_its_time() -> None:
    workflow = named_workflow("quickstart")
    assert [len(s.chain.functions) for s in workflow.scenarios] == [0, 1, 2]
    assert plans.workflow_s(workflow) <= 120


def test_fig8_is_that_of_the_paper() -> None:
    workflow = named_workflow("sfcperf-fig8")
    lengths = {(s.topology.name, len(s.chain.functions)) for s in workflow.scenarios}
    assert lengths == {(t, n) for t in ("T1", "T2", "T3") for n in range(11)}
    assert [f.name for f in workflow.figures] == ["fig8a", "fig8b", "fig8c"]
    assert workflow.design.confidence == 0.95
    (throughput,) = [p for p in workflow.scenarios[0].probes if p.label == "throughput"]
    # Ethernet, IPv4 and UDP headers make it the paper's 1334 bytes.
    assert throughput.parameters["payload_bytes"] + 14 + 20 + 8 == 1334


def test_fig8d_varies_vcpus_of_the_userspace_engine() -> None:
    workflow = named_workflow("sfcperf-fig8d")
    functions = [s.chain.functions for s in workflow.scenarios]
    assert [f.resources.vcpus for (f,) in functions] == [1, 2, 3, 4]
    assert {f.knobs["engine"] for (f,) in functions} == {"userspace"}


def test_fig9_compares_the_functions_of_the_paper() -> None:
    workflow = named_workflow("sfcperf-fig9")
    assert types(workflow, "chain") == {
        "forwarder": ["forwarder"],
        "SFC-proxy": ["router"],
        "firewall": ["nsh_firewall"],
        "forwarder-userspace": ["forwarder"],
        "IDS": ["ids"],
        "firewall-IDS": ["nsh_firewall", "ids"],
    }
    functions = [f for s in workflow.scenarios for f in s.chain.functions]
    assert {f.resources.vcpus for f in functions} == {1}
    assert not plugins.load("vnf", "router").nsh_aware
    assert {s.topology.name for s in workflow.scenarios} == {"T1"}
    assert [f.name for f in workflow.figures] == ["fig9a", "fig9b", "fig9c"]


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


def test_sfcmon_fig3_is_that_of_the_paper() -> None:
    """Section 3.2: 30 chunks of 60 s, 0.1 % of the packets, 5 rows of 5436 columns."""
    workflow = named_workflow("sfcmon-fig3")
    assert [s.levels["window_s"] for s in workflow.scenarios] == [6, 7, 10, 15, 30, 60]
    assert (workflow.design.rounds, workflow.design.centre) == (30, "mean")
    for scenario in workflow.scenarios:
        assert scenario.chain.functions == ()
        (probe,) = scenario.probes
        asked = dict(probe.parameters)
        assert asked["window_s"] == scenario.levels["window_s"]
        assert (asked["duration_s"], asked["threshold"]) == (60, 0.001)
        assert asked["threshold_eval"] == 1000
        assert (asked["cms_rows"], asked["cms_columns"]) == (5, 5436)
    (figure,) = workflow.figures
    assert [line.metric for line in figure.lines] == ["accuracy", "precision", "recall", "fpr"]


@pytest.mark.parametrize("name", ["sfcmon-fig4", "sfcmon-fig4-bmv2"])
def test_sfcmon_fig4_is_that_of_the_paper(name: str) -> None:
    """Section 3.3: TCP, UDP with 512 bytes, 10 s, 1 to 40,000 flows, 30 executions; a monitor of
    each kind."""
    workflow = named_workflow(name)
    levels = [(s.levels["variant"], s.levels["flows"]) for s in workflow.scenarios]
    flows = (1, 20_000, 40_000)
    assert levels == [(v, n) for v in ("SFCMon", "table", "none") for n in flows]
    assert (workflow.design.rounds, workflow.design.centre) == (30, "median")
    for scenario in workflow.scenarios:
        (function,) = scenario.chain.functions
        kind = {"SFCMon": "sketches"}.get(scenario.levels["variant"], scenario.levels["variant"])
        assert (function.knobs["monitor"], function.knobs["window_s"]) == (kind, 20)
        throughput, latency = (probe.parameters for probe in scenario.probes)
        assert (throughput["protocol"], throughput["duration_s"]) == ("tcp", 10)
        assert (latency["protocol"], latency["duration_s"]) == ("udp", 10)
        assert latency["payload_bytes"] == 512
        if function.knobs["engine"] == "bmv2":
            (entries,) = function.knobs["table_entries"]
            assert entries["count"] == scenario.levels["flows"]
            ends = (entries["source"], entries["destination"])
            assert ends == (scenario.client.address, scenario.server.address)
        else:
            assert latency["rate_bps"] == 10_000_000
            (background,) = scenario.monitors
            assert background.parameters["flows"] == scenario.levels["flows"]
    assert [figure.metric for figure in workflow.figures] == ["rate_bps", "delay_us"]


def test_pptmon_fig6_is_that_of_the_paper() -> None:
    """Section IV-B: a firewall, TCP and UDP at 500 kbit/s for 20 s, 0 to 1000 rules."""
    workflow = named_workflow("pptmon-fig6")
    functions = [s.chain.functions for s in workflow.scenarios]
    assert [f.knobs["rules"] for (f,) in functions] == [0, 100, 250, 500, 750, 1000]
    probes = {p.label: p.parameters for p in workflow.scenarios[0].probes}
    assert {p["rate_bps"] for p in probes.values()} == {500_000}
    assert {p["duration_s"] for p in probes.values()} == {20}
    assert {p["protocol"] for p in probes.values()} == {"tcp", "udp"}
    assert (workflow.design.rounds, workflow.design.centre) == (6, "mean")
    (figure,) = workflow.figures
    (source,) = {line.source for line in figure.lines}
    assert source == functions[0][0].name
    assert {line.probe for line in figure.lines} == set(probes)


def test_pptmon_fig7_has_the_rates_of_the_paper_beside_none() -> None:
    """Section IV-C: a firewall without rules, 0.5 to 20 samples per second."""
    workflow = named_workflow("pptmon-fig7")
    rates = [
        [m.parameters["rate_hz"] for m in s.monitors if m.monitor == "pptmon"]
        for s in workflow.scenarios
    ]
    assert rates == [[], [0.5], [1], [5], [10], [20]]
    assert [s.levels["variant"] for s in workflow.scenarios] == ["off", "0.5", "1", "5", "10", "20"]
    assert {s.chain.functions[0].knobs["rules"] for s in workflow.scenarios} == {0}


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


def test_pptmon_fig8_has_the_vnfs_of_table_1() -> None:
    workflow = named_workflow("pptmon-fig8")
    assert types(workflow, "vnf") == {
        "IPS": ["ips"],
        "DPI": ["dpi"],
        "firewall": ["firewall"],
        "NAT": ["nat"],
        "load-balancer": ["load_balancer"],
    }


def test_pptmon_fig9_has_the_chains_of_the_paper() -> None:
    """Section IV-E: each ends at nginx behind the load balancer, which ab does not know of."""
    workflow = named_workflow("pptmon-fig9")
    assert types(workflow, "chain") == {
        "SFC1": ["firewall", "load_balancer"],
        "SFC2": ["firewall", "ips", "load_balancer"],
    }
    for scenario in workflow.scenarios:
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
