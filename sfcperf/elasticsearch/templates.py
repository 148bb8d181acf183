"""Component and index templates: installed when they are not there or are older than ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sfcperf
from sfcperf.elasticsearch import answers
from sfcperf.elasticsearch.mappings import STREAMS, VERSION, Stream, data_stream, mappings
from sfcperf.errors import EnvironmentLacks

if TYPE_CHECKING:
    from elastic_transport import ObjectApiResponse
    from elasticsearch import Elasticsearch

OWNER = "sfcperf"
PRIORITY = 200
"""Priority of the index templates. It is above that of the server's own templates (100), which are
for names such as `logs-*`."""
MAX_FIELDS = 1000
"""Largest number of fields of one index. Factors beyond it are kept and not indexed, and no
document is refused."""


def component_template(stream: Stream) -> dict[str, Any]:
    """Return the component template with settings and mappings of a stream."""
    return {
        "template": {
            "settings": {
                "index": {
                    "number_of_shards": 1,
                    "auto_expand_replicas": "0-1",
                    "mapping": {
                        "total_fields": {
                            "limit": MAX_FIELDS,
                            "ignore_dynamic_beyond_limit": True,
                        }
                    },
                }
            },
            "mappings": mappings(stream),
        },
        "version": VERSION,
        "_meta": _meta(stream),
    }


def index_template(stream: Stream, prefix: str) -> dict[str, Any]:
    """Return the index template that makes a stream of this name a data stream.

    `NAME@custom` is the user's: settings there (replicas, life cycle) win over ours, and survive
    every new version.
    """
    name = data_stream(stream, prefix)
    return {
        "index_patterns": [name],
        "data_stream": {},
        "composed_of": [f"{name}@sfcperf", f"{name}@custom"],
        "ignore_missing_component_templates": [f"{name}@custom"],
        "priority": PRIORITY,
        "version": VERSION,
        "_meta": _meta(stream),
    }


def install(client: Elasticsearch, prefix: str) -> list[str]:
    """Install templates that are missing or older; return the names of those that were written.

    A newer SFCPerf's templates are left as they are: fields are only ever added. Streams that
    exist get the new fields at once.

    Raises EnvironmentLacks when a template of that name is not SFCPerf's, DeliveryFailed for an
    answer that makes no sense, elasticsearch.ApiError when the server refuses.
    """
    # `quiet` does not raise for a template that does not exist.
    quiet = client.options(ignore_status=404)
    written = []
    for stream in STREAMS.values():
        name = data_stream(stream, prefix)
        part = f"{name}@sfcperf"
        found = quiet.cluster.get_component_template(name=part)
        if _is_older(_installed(found, "component_template"), part):
            body = component_template(stream)
            answers.acknowledged(client.cluster.put_component_template(name=part, body=body))
            written.append(part)
        found = quiet.indices.get_index_template(name=name)
        if _is_older(_installed(found, "index_template"), name):
            body = index_template(stream, prefix)
            answers.acknowledged(client.indices.put_index_template(name=name, body=body))
            written.append(name)
        if part in written and client.indices.exists(index=name):
            answers.acknowledged(client.indices.put_mapping(index=name, body=mappings(stream)))
    return written


def _installed(answer: ObjectApiResponse[Any], kind: str) -> Mapping[str, Any] | None:
    """Return the one template in an answer of the server; None if there is none."""
    if answer.meta.status == 404:
        return None
    found = answers.part(answer, list, f"{kind}s")
    return answers.part(found[0], dict, kind) if found else None


def _is_older(found: Mapping[str, Any] | None, name: str) -> bool:
    """Whether an installed template must be replaced: it is missing or older than ours. Raises
    EnvironmentLacks if it is not SFCPerf's."""
    if found is None:
        return True
    if "_meta" not in found or answers.part(found, dict, "_meta").get("managed_by") != OWNER:
        raise EnvironmentLacks(
            f"the server has a template {name!r} that is not SFCPerf's",
            hint="choose other names with --prefix (`prefix` in the workflow)",
        )
    return "version" not in found or answers.part(found, int, "version") < VERSION


def _meta(stream: Stream) -> dict[str, Any]:
    """Return what tells that a template is SFCPerf's (`managed_by`), and what it is for."""
    return {
        "managed_by": OWNER,
        "sfcperf_version": sfcperf.__version__,
        "description": stream.description,
    }
