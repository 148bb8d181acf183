"""attribution.json: the arithmetic judged by numpy and scipy, the document by its schema."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy
import pytest
from support.records.attributed import Seen, seen_run, telemetry
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
    assert found is not None
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
    assert read is not None
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
    (path,) = analysed(seen_run(tmp_path / "run", Seen(end_to_end=None)))["paths"]
    assert (path["end_to_end"], path["residual"], path["end_to_end_source"]) == (None, None, "")
    assert path["sum"] is not None
    assert any('"metrics": ["time", "delay"]' in text for text in path["remarks"])


def test_one_trial_has_no_interval(tmp_path: Path) -> None:
    (path,) = analysed(seen_run(tmp_path / "run", Seen(rounds=1, end_to_end=10)))["paths"]
    assert (path["sum"]["trials"], path["sum"]["ci_low_us"]) == (1, None)
    assert "Without an interval" in path["remarks"][0]
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


def test_it_is_made_of_every_run_that_pptmon_saw(tmp_path: Path) -> None:
    store = seen_run(tmp_path / "run")
    assert publishing.analyse(store) == []
    assert store.document(RunFile.ATTRIBUTION) is not None
