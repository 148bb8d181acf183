"""attribution.json: the arithmetic judged by numpy and scipy, the document by its schema."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy
import pytest
from support.records.attributed import Seen, seen_run, telemetry
from support.records.plans import made_up_plan
from support.records.trials import run_folder, trial
from support.schemas import validator

from sfcperf.analysis.attribution import AttributionAnalysis
from sfcperf.analysis.statistics import mean_interval
from sfcperf.control import publishing
from sfcperf.errors import InputError
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.values import Observation


def analysed(store: RunStore) -> dict[str, Any]:
    return dict(AttributionAnalysis({}).analyse(store))


def trial_means(store: RunStore, source: str, metric: str) -> dict[str, float]:
    groups = defaultdict(list)
    for row in telemetry(store):
        if (row["source"], row["metric"]) == (source, metric):
            groups[row["trial_id"]].append(row["value"])
    return {name: float(numpy.mean(values)) for name, values in groups.items()}


def expected(means: list[float]) -> dict[str, Any]:
    found = mean_interval(means, 0.95)
    approximately = {"mean_us": numpy.mean(means), "ci_low_us": found.low, "ci_high_us": found.high}
    return {"trials": len(means)} | {k: pytest.approx(v) for k, v in approximately.items()}


def without_description(found: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in found.items() if k not in ("samples", "median_us", "p99_us")}


def test_estimates_are_over_the_means_of_trials(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run", Seen(rounds=6))
    (path,) = analysed(store)["paths"]
    names = ["fw-1", "nat-2"]
    means = {name: trial_means(store, name, "processing_time_us") for name in names}
    whole = trial_means(store, "chain", "end_to_end_us")
    found = {function["name"]: function for function in path["functions"]}
    assert list(found) == ["fw-1", "nat-2", "forwarder-3"]
    for name in names:
        assert without_description(found[name]["time"]) == expected(list(means[name].values()))
        everything = [
            row["value"]
            for row in telemetry(store)
            if (row["source"], row["metric"]) == (name, "processing_time_us")
        ]
        assert found[name]["time"]["samples"] == len(everything) == 180
        assert found[name]["time"]["median_us"] == pytest.approx(numpy.median(everything))
        p99 = numpy.percentile(everything, 99, method="weibull")
        assert found[name]["time"]["p99_us"] == pytest.approx(p99)
        captured = trial_means(store, name, "captured_processing_time_mean_us")
        assert found[name]["captured"] == expected(list(captured.values()))
        differences = [means[name][t] - captured[t] for t in captured]
        assert found[name]["difference"] == expected(differences)
    sums = {t: sum(means[name][t] for name in names) for t in whole}
    assert path["sum"] == expected(list(sums.values()))
    assert without_description(path["end_to_end"]) == expected(list(whole.values()))
    assert path["residual"] == expected([whole[t] - sums[t] for t in whole])
    assert (found["forwarder-3"]["seen"], found["forwarder-3"]["time"]) == (False, None)
    assert found["forwarder-3"]["type"] == "forwarder"
    assert any("forwarder-3 is not seen" in text for text in path["remarks"])


def test_the_document_is_as_its_schema_says_and_is_read_back(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run", Seen(reverse=True), scenarios=2)
    document = analysed(store)
    validator("attribution").validate(json.loads((store.folder / "attribution.json").read_text()))
    read = store.document(RunFile.ATTRIBUTION)
    assert json.loads(json.dumps(document)) == {k: read[k] for k in read if k != "schema_version"}
    seen = [(path["scenario_id"], path["path"]) for path in document["paths"]]
    assert seen == [
        (scenario, path)
        for scenario in ("s000", "s001")
        for path in ("forward", "reverse", "round trip")
    ]
    # trial() gives each record a round-trip time of 100 us.
    round_trip = document["paths"][2]
    assert round_trip["end_to_end"]["mean_us"] == 100
    forward, reverse = (path["sum"]["mean_us"] for path in document["paths"][:2])
    assert round_trip["sum"]["mean_us"] == pytest.approx(forward + reverse)
    assert round_trip["residual"]["mean_us"] == pytest.approx(100 - forward - reverse)


def test_a_negative_residual_is_said(tmp_path: Path) -> None:
    (path,) = analysed(seen_run(tmp_path / "run", Seen(end_to_end=60)))["paths"]
    assert path["residual"]["ci_high_us"] < 0
    assert path["remarks"][0].startswith("The residual is negative")
    (near,) = analysed(seen_run(tmp_path / "near", Seen(end_to_end=105)))["paths"]
    assert near["residual"]["ci_low_us"] < 0 < near["residual"]["ci_high_us"]
    assert "not significantly different from 0" in near["remarks"][0]


def test_without_end_to_end_there_is_a_hint_and_no_residual(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run", Seen(end_to_end=None))
    assert publishing.analyse(store) == []
    (path,) = store.document(RunFile.ATTRIBUTION)["paths"]
    assert (path["end_to_end"], path["residual"], path["end_to_end_source"]) == (None, None, "")
    assert path["sum"] is not None
    assert any('"metrics": ["time", "delay"]' in text for text in path["remarks"])


def test_one_trial_has_no_interval(tmp_path: Path) -> None:
    (path,) = analysed(seen_run(tmp_path / "run", Seen(rounds=1, end_to_end=10)))["paths"]
    assert (path["sum"]["trials"], path["sum"]["ci_low_us"]) == (1, None)
    assert "The means have no intervals: one trial shows no dispersion." in path["remarks"]


def test_a_vnf_without_samples_leaves_no_sum(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run", Seen(truncated=30))
    for record in store.trials():
        kept = [
            Observation(r["time_ns"], r["source"], r["metric"], r["unit"], r["value"])
            for r in telemetry(store)
            if r["trial_id"] == record.trial_id
            and (r["source"], r["metric"]) != ("nat-2", "processing_time_us")
        ]
        store.write_trial_telemetry(record, kept)
    store.merge_telemetry()
    (path,) = analysed(store)["paths"]
    assert (path["sum"], path["residual"]) == (None, None)
    assert path["functions"][1]["time"] is None
    assert any("no sample has nat-2" in text for text in path["remarks"])
    assert any("150 of 150 samples are truncated" in text for text in path["remarks"])


def test_only_valid_trials_count(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run", Seen(rounds=3))
    lines = (store.folder / "trials.jsonl").read_text().splitlines()
    bad = json.loads(lines[0]) | {"status": "untrusted", "reasons": ["no"]}
    (store.folder / "trials.jsonl").write_text("\n".join([json.dumps(bad), *lines[1:]]) + "\n")
    (path,) = analysed(store)["paths"]
    assert path["sum"]["trials"] == 2


def test_a_run_that_pptmon_did_not_see_has_no_document(tmp_path: Path) -> None:
    without = run_folder(tmp_path / "without", [trial(1)])
    assert analysed(without)["paths"] == []
    without.write_trial_telemetry(trial(1), [Observation(1, "fwd-1", "cpu_cores", "1", 0.5)])
    without.merge_telemetry()
    assert publishing.analyse(without) == []
    assert not (without.folder / "attribution.json").exists()
    assert without.document(RunFile.ATTRIBUTION) is None


def test_damaged_telemetry_is_told(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run")
    store.telemetry_path.write_bytes(b"PAR1 no more")
    with pytest.raises(InputError, match="not readable as Parquet"):
        analysed(store)


def test_a_trial_that_nobody_observed_is_told(tmp_path: Path) -> None:
    """It is valid, so a reader of the results counts it."""
    store = seen_run(tmp_path / "run", Seen(rounds=3))
    record = store.trials()[1]
    lost = record.trial_id
    store.write_trial_telemetry(record, [Observation(1, "fw-1", "cpu_cores", "1", 0.5)])
    store.merge_telemetry()
    (path,) = analysed(store)["paths"]
    assert path["sum"]["trials"] == 2
    assert any(text.startswith("1 of 3 trials") and lost in text for text in path["remarks"])


class TestSffs:
    """SFFs and links, from made-up observations of the monitor sff."""

    TOLD = (
        ("router-1", "processing_time_us", 4.0),
        ("router-1", "away_us", 7.0),
        ("forwarder-2", "away_us", 2.0),
        ("sff@n/spi1-si255", "sff_time_us", 0.5),
        ("sff@n/spi1-si254", "sff_time_us", 0.25),
        ("sff@n/spi1-si253", "sff_time_us", 0.25),
        ("server", "since_first_us", 10.0),
        ("router-1", "pptmon_visible", 1.0),
        ("forwarder-2", "pptmon_visible", 0.0),
        ("chain", "pptmon_samples", 1.0),
    )
    BACK = tuple(
        ("client" if source == "server" else source, f"reverse_{metric}", number)
        for source, metric, number in TOLD
        if metric in ("processing_time_us", "away_us", "sff_time_us", "since_first_us")
    )

    def paths(self, folder: Path, *told: tuple[str, str, float]) -> dict[str, Any]:
        record = trial(values=[30.0])
        store = run_folder(folder, [record])
        functions = [
            {"name": "router-1", "type": "router", "position": 1},
            {"name": "forwarder-2", "type": "forwarder", "position": 2},
        ]
        store.write_plan(made_up_plan(["s000"], functions=functions))
        seen = [Observation(1, source, name, "us", value) for source, name, value in told]
        store.write_trial_telemetry(record, seen)
        store.merge_telemetry()
        document = analysed(store)
        written = json.loads((store.folder / "attribution.json").read_text())
        validator("attribution").validate(written)
        return {path["path"]: path for path in document["paths"]}

    def test_vnfs_sffs_and_links_add_up(self, tmp_path: Path) -> None:
        path = self.paths(tmp_path / "run", *self.TOLD)["forward"]
        parts = {part["name"]: part["time"]["mean_us"] for part in path["parts"]}
        # The forwarder's own time is unknown, the router's links are 7 less 4.
        assert parts == {"SFFs": 1.0, "links": 3.0, "forwarder-2 and its links": 2.0}
        assert path["sum"]["mean_us"] == 4.0
        # Until the last lookup begins, and that lookup.
        assert path["end_to_end"]["mean_us"] == 10.25
        assert path["residual"]["mean_us"] == pytest.approx(10.25 - 4 - 6)
        assert any("shown together with the links" in text for text in path["remarks"])

    def test_the_round_trip_has_the_endpoints_as_well(self, tmp_path: Path) -> None:
        path = self.paths(tmp_path / "run", *self.TOLD, *self.BACK)["round trip"]
        parts = {part["name"]: part["time"]["mean_us"] for part in path["parts"]}
        assert parts["endpoints"] == pytest.approx(30 - 2 * 10.25)
        assert (parts["SFFs"], parts["links"]) == (2.0, 6.0)
        assert path["end_to_end"]["mean_us"] == 30.0
        assert path["residual"]["mean_us"] == pytest.approx(0.5)

    @pytest.mark.parametrize("observed", [(), (("sff@n/spi1-si255", "sff_time_us", 0.5),)])
    def test_a_trial_that_was_not_timed_is_told(
        self, tmp_path: Path, observed: tuple[tuple[str, str, float], ...]
    ) -> None:
        """Without pptmon: means are over the other one."""
        records = [trial(n, values=[30.0]) for n in (1, 2)]
        store = run_folder(tmp_path / "run", records)
        functions = [{"name": "router-1", "type": "router", "position": 1}]
        store.write_plan(made_up_plan(["s000"], functions=functions))
        timed = [t for t in self.TOLD if t[1] in ("away_us", "sff_time_us", "since_first_us")]
        for record, told in zip(records, (timed, observed), strict=True):
            rows = [Observation(1, source, name, "us", value) for source, name, value in told]
            store.write_trial_telemetry(record, rows)
        store.merge_telemetry()
        (path,) = analysed(store)["paths"]
        assert {part["time"]["trials"] for part in path["parts"]} == {1}
        lost = records[1].trial_id
        assert any(text.startswith("1 of 2 trials") and lost in text for text in path["remarks"])

    @pytest.mark.parametrize("never", [False, True])
    def test_a_sum_has_each_vnf_without_its_links(self, tmp_path: Path, never: bool) -> None:
        """No sample of the second trial, or of any, has the second router."""
        own = ("router-2", "processing_time_us", 1.0)
        told = [
            *((source.replace("forwarder", "router"), *more) for source, *more in self.TOLD),
            ("router-2", "pptmon_visible", 1.0),
        ]
        told.remove(("router-2", "pptmon_visible", 0.0))
        store = run_folder(tmp_path / "run", [trial(n, values=[30.0]) for n in (1, 2)])
        functions = [{"name": f"router-{n}", "type": "router", "position": n} for n in (1, 2)]
        store.write_plan(made_up_plan(["s000"], functions=functions))
        for record, further in zip(store.trials(), ([] if never else [own], []), strict=True):
            rows = [Observation(1, source, name, "us", v) for source, name, v in [*told, *further]]
            store.write_trial_telemetry(record, rows)
        store.merge_telemetry()
        (path,) = analysed(store)["paths"]
        assert path["residual"]["trials"] == 2
        if never:
            assert path["sum"] is None
            assert any("no sample has router-2" in text for text in path["remarks"])
        else:
            assert (path["sum"]["trials"], path["sum"]["mean_us"]) == (1, 5.0)

    def test_without_pptmon_functions_come_with_their_links(self, tmp_path: Path) -> None:
        told = [t for t in self.TOLD if "pptmon" not in t[1] and "processing" not in t[1]]
        path = self.paths(tmp_path / "run", *told)["forward"]
        parts = {part["name"] for part in path["parts"]}
        assert parts == {"SFFs", "router-1 and its links", "forwarder-2 and its links"}
        assert path["sum"] is None
        assert path["residual"]["mean_us"] == pytest.approx(10.25 - 1 - 7 - 2)
