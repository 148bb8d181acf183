"""Saved objects: what they use exists, and they are the same every time."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.servers.kibana import Used, parse, used_fields

from sfcperf import plugins
from sfcperf.elasticsearch.mappings import STREAMS, mappings
from sfcperf.kibana import dashboards, lens, ndjson, vega
from sfcperf.kibana.data_views import data_view_id
from sfcperf.kibana.fields import UnknownField, field

NUMERIC = {"double", "integer", "long"}
DATES = {"date", "date_nanos"}
FIT = {
    "average": NUMERIC,
    "sum": NUMERIC,
    "range": NUMERIC,
    "terms": {"keyword", "boolean"} | NUMERIC,
    "control": {"keyword", "boolean"} | NUMERIC,
    "kql": {"keyword", "boolean"} | NUMERIC | DATES,
    "date_histogram": DATES,
    "last_value": {"keyword", "boolean"} | NUMERIC | DATES,
    "hit": {"keyword", "boolean"} | NUMERIC | DATES,
}
"""What a field's type must be for what Kibana does with it (aggregatable, averaged, on an axis)."""


def objects(prefix: str = "sfcperf") -> list[dict[str, Any]]:
    return parse(ndjson(dashboards.saved_objects(prefix)))[0]


def boards() -> list[dict[str, Any]]:
    return [one for one in objects() if one["type"] == "dashboard"]


def type_of(used: Used) -> str | None:
    """Type in the mappings that the server gets, of a field with a name or of a factor."""
    streams = {data_view_id(name): s for name, s in STREAMS.items()}
    streams |= {f"sfcperf-{name}": s for name, s in STREAMS.items()}
    mapping = mappings(streams[used.data_view])
    level: dict[str, Any] | None = mapping
    for part in used.field.split("."):
        level = (level or {}).get("properties", {}).get(part)
    if level and "type" in level:
        return str(level["type"])
    for template in mapping["dynamic_templates"]:
        (rule,) = template.values()
        if used.field.startswith(rule["path_match"].removesuffix("*")):
            return str(rule["mapping"]["type"])
    return None


def test_every_field_is_mapped_and_fit_for_its_use():
    found = [used for board in boards() for used in used_fields(board)]
    assert {used.how for used in found} == set(FIT), "each kind of use is checked, and occurs"
    wrong = [(used, type_of(used)) for used in found if type_of(used) not in FIT[used.how]]
    assert not wrong


def test_the_file_is_the_same_every_time_and_counts_itself():
    first, again = ndjson(dashboards.saved_objects()), ndjson(dashboards.saved_objects())
    assert first == again
    lines, details = parse(first)
    assert details["exportedCount"] == len(lines) == len(STREAMS) + 4
    assert len({(one["type"], one["id"]) for one in lines}) == len(lines)


def test_references_lead_to_data_views_of_the_file():
    ids = {one["id"] for one in objects() if one["type"] == "index-pattern"}
    for board in boards():
        names = [reference["name"] for reference in board["references"]]
        assert len(set(names)) == len(names)
        assert {reference["id"] for reference in board["references"]} <= ids
        for panel in json.loads(board["attributes"]["panelsJSON"]):
            if panel["type"] == "lens":
                inner = panel["embeddableConfig"]["attributes"]["references"]
                assert {f"{panel['panelIndex']}:{r['name']}" for r in inner} <= set(names)


def test_panels_do_not_overlap_and_stay_in_the_grid():
    for board in boards():
        cells: set[tuple[int, int]] = set()
        for panel in json.loads(board["attributes"]["panelsJSON"]):
            grid = panel["gridData"]
            own = {
                (x, y)
                for x in range(grid["x"], grid["x"] + grid["w"])
                for y in range(grid["y"], grid["y"] + grid["h"])
            }
            assert not own & cells
            assert max(x for x, _ in own) < 48
            cells |= own


def test_another_prefix_has_objects_of_its_own():
    ours, theirs = objects(), objects("lab7")
    assert not {one["id"] for one in ours} & {one["id"] for one in theirs}
    views = [one["attributes"]["title"] for one in theirs if one["type"] == "index-pattern"]
    assert all(title.startswith("lab7-") for title in views)
    assert "sfcperf-summaries" not in ndjson(dashboards.saved_objects("lab7"))


def _without_unit(title: str) -> bool:
    """Whether it names a ratio."""
    probes = [plugins.load("probe", name) for name in plugins.names("probe")]
    reported = [metric for probe in probes for metric in getattr(probe, "reported", ())]
    return title in {metric.name for metric in reported if metric.unit == "1"}


def test_charts_name_the_unit_of_their_axis():
    for board in boards():
        for panel in json.loads(board["attributes"]["panelsJSON"]):
            if panel["type"] == "lens":
                attributes = panel["embeddableConfig"]["attributes"]
                if attributes["visualizationType"] == "lnsXY":
                    assert "[" in attributes["state"]["visualization"]["yTitle"]
            else:
                spec = json.loads(panel["embeddableConfig"]["savedVis"]["params"]["spec"])
                for layer in spec["layer"]:
                    title = layer["encoding"]["y"]["title"]
                    assert "[" in title or _without_unit(title)


def test_a_panel_over_what_is_not_there_cannot_be_made():
    with pytest.raises(UnknownField, match=r"no field 'summary\.meen'"):
        lens.last_value("summaries", "summary.meen", "mean")
    with pytest.raises(UnknownField, match="is keyword"):
        lens.average("summaries", "metric.name", "mean")
    assert field("summaries", "factor.anything", "terms").type == "keyword"


@given(st.text(st.one_of(st.sampled_from('"\\ :*()and!\n'), st.characters(codec="utf-8"))))
def test_a_value_of_a_query_is_one_phrase(value: str) -> None:
    wanted = value.removeprefix("!")
    query = lens.kql("trials", ("trial.status", value))
    phrase = re.fullmatch(r'(?:not )?trial\.status : "((?:[^"\\]|\\.)*)"', query, re.DOTALL)
    assert phrase is not None
    assert re.sub(r"\\(.)", r"\1", phrase[1], flags=re.DOTALL) == wanted


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_names_stay_text_in_vega(metric: str, unit: str) -> None:
    plain = vega.intervals("i", "rtt_us", "us", by="run", title="t").spec
    found = vega.intervals("i", metric, unit, by="run", title=metric).spec
    must = found["data"]["url"]["body"]["query"]["bool"]["must"]
    assert must[1] == {"term": {"metric.name": metric}}
    assert found["title"] == metric
    assert found["transform"] == plain["transform"]
    assert found.keys() == plain.keys()
