"""Summaries for Prometheus, as Prometheus' own parsers read them."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.openmetrics import parser as openmetrics_parser
from prometheus_client.parser import text_string_to_metric_families as prometheus_families
from support.records.runs import RunOptions, build_run

from sfcperf.errors import InputError
from sfcperf.presentation.openmetrics import openmetrics
from sfcperf.results.store import RunStore

AWKWARD = 'a "b"\\\nc'
OPTIONS = RunOptions(topologies=("T1", AWKWARD), telemetry=False)

Key = tuple[str, str, str]


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return build_run(tmp_path / "run", OPTIONS)


def values(text: str, family: str) -> dict[Key, float]:
    """Scenario, probe and metric -> value."""
    families = openmetrics_parser.text_string_to_metric_families(text)
    (found,) = (parsed for parsed in families if parsed.name == family)
    return {
        (s.labels["scenario"], s.labels["probe"], s.labels["metric"]): s.value
        for s in found.samples
    }


@pytest.mark.parametrize(
    ("family", "metric", "per_unit"),
    [
        ("sfcperf_rtt_seconds", "rtt_us", 1e6),
        ("sfcperf_rate_bytes_per_second", "rate_bps", 8),
        ("sfcperf_rate_packets_per_second", "rate_pps", 1),
        ("sfcperf_replies_per_second", "replies_per_s", 1),
        ("sfcperf_loss_ratio", "loss_ratio", 1),
    ],
)
def test_summaries_in_base_units(
    store: RunStore, family: str, metric: str, per_unit: float
) -> None:
    rows = {
        (row.scenario_id, row.label, row.metric): row.estimate()
        for row in store.summaries()
        if row.metric == metric
    }
    text = openmetrics(store)
    centres = {key: e.value / per_unit for key, e in rows.items() if e.value is not None}
    assert values(text, family) == pytest.approx(centres)
    unit = family.removeprefix(f"sfcperf_{family.split('_')[1]}")
    highs = {key: e.high / per_unit for key, e in rows.items() if e.high is not None}
    assert values(text, family.removesuffix(unit) + "_ci_high" + unit) == pytest.approx(highs)


def test_labels_come_back_as_they_were(store: RunStore) -> None:
    parsed = openmetrics_parser.text_string_to_metric_families(openmetrics(store))
    labels = [sample.labels for family in parsed for sample in family.samples]
    assert {of["factor_topology"] for of in labels if "factor_topology" in of} == {"T1", AWKWARD}
    assert {of["workflow"] for of in labels} == {OPTIONS.name}
    assert {of["run"] for of in labels if "run" in of} == {store.run_id}


def test_the_textfile_collectors_format_reads_the_same(store: RunStore) -> None:
    text = openmetrics(store)
    first, second = (
        [(s.name, s.labels, s.value) for family in families for s in family.samples]
        for families in (
            openmetrics_parser.text_string_to_metric_families(text),
            prometheus_families(text),
        )
    )
    assert first == second


def test_a_run_without_summaries_is_bad_input(store: RunStore) -> None:
    (store.folder / "summary.json").unlink()
    with pytest.raises(InputError, match="no summaries"):
        openmetrics(store)
