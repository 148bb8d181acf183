"""The probe ndr, without a network: its parameters, and what it makes of a search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.local import small_workflow
from support.probing import values
from support.records.trials import run_folder, trial
from support.schemas import validator
from support.simulated_system import SimulatedLoad, System
from support.workflows.file import load_workflow

from sfcperf import plugins
from sfcperf.active.base import ProbeResult
from sfcperf.active.ndr import Ndr
from sfcperf.active.ping import Ping
from sfcperf.errors import InputError, MeasurementError, WorkflowError
from sfcperf.results.searches import search_of
from sfcperf.workflow.schema import parameters_with_defaults


class Simulated(Ping):
    """A third party's probe, whose loads go to a simulated system."""

    name = "simulated"
    offers = SimulatedLoad


class Point:
    """As an entry point of an installed package."""

    name, group, value, dist = "simulated", "sfcperf.probes", "simulated:Simulated", None

    def load(self) -> type[Simulated]:
        return Simulated


@contextmanager
def simulated(system: System, **load: Any) -> Iterator[None]:
    SimulatedLoad.system = system
    for key, value in load.items():
        setattr(SimulatedLoad, key, value)
    try:
        with plugins.further([Point()]):  # type: ignore[list-item]
            yield
    finally:
        SimulatedLoad.has_latency = False


def parameters(**given: Any) -> dict[str, Any]:
    known = {"load": {"probe": "simulated"}, "max_load_pps": 1_000_000}
    return parameters_with_defaults("probe", "ndr", known | given)


def measured(raw: Path, **given: Any) -> ProbeResult:
    probe = Ndr(parameters(**given))
    deployment: Any = None
    try:
        probe.prepare(deployment, raw)
        return probe.measure(deployment, raw)
    finally:
        probe.cleanup()


# Parameters


def workflow(tmp_path: Path, **probe: Any) -> Path:
    path = tmp_path / "workflow.json"
    path.write_text(json.dumps(small_workflow(probes=[{"probe": "ndr", **probe}])))
    return path


def test_defaults_are_also_those_of_the_load(tmp_path: Path) -> None:
    (scenario,) = load_workflow(workflow(tmp_path)).scenarios
    (probe,) = scenario.probes
    assert probe.parameters["load"] == {"probe": "iperf3", "streams": 1}
    assert probe.plugins == ("ndr", "iperf3")
    assert Ndr.ip_protocols(probe.parameters) == {"udp"}


@pytest.mark.parametrize(
    ("given", "where", "message"),
    [
        ({"load": {"probe": "iperf3", "frame_byte": 64}}, "load/frame_byte", "not known here"),
        ({"load": {"probe": "iperf3", "frame_bytes": 63}}, "load/frame_bytes", "at least 64"),
        ({"load": {"probe": "ping"}}, "load/probe", "not known here"),
        ({"load": {"frame_bytes": 64}}, "load", "the key 'probe' is missing"),
        ({"load": {"probe": "iperf3", "rate_bps": 1000}}, "load/rate_bps", "not known here"),
        ({"min_load_pps": 500, "max_load_pps": 500}, "min_load_pps", "is not below max_load_pps"),
        ({"trial_duration_s": 0.5}, "trial_duration_s", "iperf3 cannot offer a load for 0.5 s"),
    ],
)
def test_mistakes_are_shown_where_they_are(
    tmp_path: Path, given: dict[str, Any], where: str, message: str
) -> None:
    with pytest.raises(WorkflowError) as caught:
        load_workflow(workflow(tmp_path, **given))
    assert f"/probes/0/{where}: " in str(caught.value)
    assert message in str(caught.value)


def test_a_factor_varies_the_load(tmp_path: Path) -> None:
    path = workflow(tmp_path, load={"probe": "iperf3", "frame_bytes": "${frame}"})
    path.write_text(json.dumps(json.loads(path.read_text()) | {"factors": {"frame": [64, 512]}}))
    scenarios = load_workflow(path).scenarios
    assert [s.probes[0].parameters["load"]["frame_bytes"] for s in scenarios] == [64, 512]


def test_a_probe_of_another_package_can_offer_the_loads() -> None:
    assert "simulated" not in json.dumps(dict(Ndr.parameters))
    with simulated(System(1000)):
        assert Draft202012Validator(Ndr.parameters).is_valid({"load": {"probe": "simulated"}})
        assert [m.name for m in Ndr.metrics(parameters(pdr_loss_ratio=0))] == ["ndr_pps"]
    assert "simulated" not in json.dumps(dict(Ndr.parameters))


# Results


def test_a_search(tmp_path: Path) -> None:
    with simulated(System(12_345)):
        result = measured(tmp_path)
    assert result.untrusted == ()
    assert values(result)["ndr_pps"] == pytest.approx(12_345, rel=0.006)
    assert 12_345 * 0.99 < values(result)["pdr_pps"] <= 12_346
    notes = result.notes["ndr"]
    assert notes["lower_bound_pps"] <= 12_345 <= notes["upper_bound_pps"]
    assert (notes["limit"], notes["regular"]) == ("chain", True)
    validator("search").validate(json.loads((tmp_path / "search.json").read_text()))


def test_latency_at_shares_of_the_throughput(tmp_path: Path) -> None:
    """The 99.9th percentile of the simulated system is the rate."""
    with simulated(System(10_000), has_latency=True):
        result = measured(tmp_path)
        names = [metric.name for metric in Ndr.metrics(parameters())]
        without = measured(tmp_path, latency_duration_s=0)
    found = values(result)
    assert list(found) == names
    assert set(values(without)) == {"ndr_pps", "pdr_pps"}
    for percent in (100, 90, 50, 10):
        assert found[f"latency_{percent}_p50_us"] == 10
        assert found[f"latency_{percent}_p99_us"] == 20
        assert found[f"latency_{percent}_p999_us"] == found["ndr_pps"] * percent / 100


@pytest.mark.parametrize(
    ("system", "given", "reason"),
    [
        (System(50_000, sender_pps=9_000), {}, "the NDR is at least 9001 packets/s: the endpoints"),
        (System(1e9), {}, "the NDR is at least 1000000 packets/s: max_load_pps"),
        (
            System(10_000, burst_probability=0.8, burst_ratio=0.001),
            {"min_load_pps": 2000},
            "the NDR is below 2000 packets/s: min_load_pps",
        ),
    ],
)
def test_an_irregular_result_is_untrusted(
    tmp_path: Path, system: System, given: dict[str, Any], reason: str
) -> None:
    with simulated(system):
        result = measured(tmp_path, **given)
    assert any(text.startswith(reason) for text in result.untrusted), result.untrusted
    assert not result.notes["ndr"]["regular"]


def test_without_any_load_that_is_carried_the_trial_fails(tmp_path: Path) -> None:
    with simulated(System(10)), pytest.raises(MeasurementError, match="the NDR is below 100"):
        measured(tmp_path)
    # What was tried is kept.
    assert json.loads((tmp_path / "search.json").read_text())["offered"]


# The document


def test_it_is_read_as_it_was_written_or_refused(tmp_path: Path) -> None:
    record = replace(trial(1), probe="ndr")
    store = run_folder(tmp_path / "run", [record])
    raw = store.raw(f"{record.trial_id}/attempt-1")
    with simulated(System(12_345)):
        result = measured(raw)
    search = search_of(record, store.folder)
    assert search.load == {"probe": "simulated"}
    assert search.goals[0].lower_pps == result.notes["ndr"]["lower_bound_pps"]
    assert len(search.offered) == result.notes["loads_offered"]
    assert search_of(replace(record, attempts=2), store.folder) is None
    assert search_of(replace(record, raw="../.."), store.folder) is None
    for text in ("{", "{}", '{"schema_version": 2}'):
        (raw / "search.json").write_text(text)
        with pytest.raises(InputError, match=r"not (the JSON of )?a search"):
            search_of(record, store.folder)
