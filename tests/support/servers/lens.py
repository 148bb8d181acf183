"""What Kibana would ask Elasticsearch for a Lens layer, a KQL query or a Vega panel."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_METRICS = {
    "average": "avg",
    "max": "max",
    "min": "min",
    "sum": "sum",
    "unique_count": "cardinality",
}


def search(layer: Mapping[str, Any], kql: str) -> dict[str, Any]:
    """A search: groups nested in the layer's order, its numbers in the innermost."""
    columns = [(name, layer["columns"][name]) for name in layer["columnOrder"]]
    inner: dict[str, Any] = {
        name: _metric(column) for name, column in columns if not column["isBucketed"]
    }
    aggregations = {name: found for name, found in inner.items() if found}
    for name, column in reversed([c for c in columns if c[1]["isBucketed"]]):
        bucket = _bucket(column)
        # What orders groups is asked for in their own level too, as Kibana does.
        by = column["params"].get("orderBy", {}).get("columnId")
        aggregations |= {by: inner[by]} if by else {}
        if aggregations:
            bucket["aggs"] = aggregations
        aggregations = {name: bucket}
    body: dict[str, Any] = {"size": 0, "track_total_hits": True, "query": query(kql)}
    return {**body, **({"aggs": aggregations} if aggregations else {})}


def _metric(column: Mapping[str, Any]) -> dict[str, Any]:
    operation, source = column["operationType"], column["sourceField"]
    if operation == "count":
        return {}
    if operation == "last_value":
        order = [{column["params"]["sortField"]: "desc"}]
        return {"top_hits": {"size": 1, "sort": order, "_source": [source]}}
    return {_METRICS[operation]: {"field": source}}


def _bucket(column: Mapping[str, Any]) -> dict[str, Any]:
    operation, source = column["operationType"], column["sourceField"]
    if operation == "terms":
        by = column["params"]["orderBy"]
        order = {by.get("columnId", "_key"): column["params"]["orderDirection"]}
        return {"terms": {"field": source, "size": column["params"]["size"], "order": order}}
    if operation == "date_histogram":
        return {"date_histogram": {"field": source, "fixed_interval": "1s", "min_doc_count": 1}}
    assert operation == "range"
    return {"histogram": {"field": source, "interval": 0.1, "min_doc_count": 1}}


def query(kql: str) -> dict[str, Any]:
    """The KQL that the dashboards use: conditions `[not ]FIELD : VALUE` joined by `and`."""
    must, must_not = [], []
    for part in filter(None, kql.split(" and ")):
        name, value = part.removeprefix("not ").split(" : ")
        term = {"term": {name: json.loads(value)}}
        (must_not if part.startswith("not ") else must).append(term)
    return {"bool": {"filter": must, "must_not": must_not}}


def vega_search(spec: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Index and body of a Vega panel in a dashboard without filters, as Kibana fills it in."""
    url = spec["data"]["url"]
    everything = {"gte": "1970-01-01", "lte": "2100-01-01"}

    def filled(value: Any) -> Any:
        if value == {"%timefilter%": True}:
            return everything
        if isinstance(value, dict):
            return {key: filled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [filled(item) for item in value if not _is_clause(item)]
        return value

    return url["index"], filled(url["body"])


def _is_clause(item: Any) -> bool:
    return isinstance(item, str) and item.startswith("%dashboard_context-")


def leaves(
    aggregations: Mapping[str, Any], layer: Mapping[str, Any]
) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
    """(Keys of the groups, innermost bucket) of an answer to `search`."""
    buckets = [n for n in layer["columnOrder"] if layer["columns"][n]["isBucketed"]]

    def walk(level: Mapping[str, Any], left: list[str], keys: tuple[Any, ...]) -> Iterator[Any]:
        if not left:
            yield keys, level
            return
        for bucket in level[left[0]]["buckets"]:
            key = bucket.get("key_as_string", bucket["key"])
            yield from walk(bucket, left[1:], (*keys, key))

    return walk(aggregations, buckets, ())


def last_value(bucket: Mapping[str, Any], column: str, source: str) -> Any:
    """The value that a `last_value` column shows; None where no document has one."""
    (hit,) = bucket[column]["hits"]["hits"]
    value: Any = hit["_source"]
    for part in source.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
