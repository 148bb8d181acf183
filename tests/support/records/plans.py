"""plan.json made up for tests: valid whatever is left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from support.records.manifests import run_manifest

_RESOURCES = {"vcpus": 1, "memory_mib": 256}
_MATCH = {
    "ip_proto": "any",
    "source": None,
    "destination": None,
    "source_port": None,
    "destination_port": None,
}
_CHAIN = {
    "match": _MATCH,
    "encapsulation": "auto",
    "reverse": "symmetric",
    "spi": 10,
    "initial_si": 255,
    "bypass_unparsed": False,
}
_PLACEMENT = {"client": "node1", "server": "node1", "chain": "node1"}
_NODE = {"name": "node1", "vcpus": None, "memory_mib": None}
_TOPOLOGY = {"name": "T1", "nodes": [_NODE], "links": [], "placement": _PLACEMENT}
_ENDPOINT = {"node": "node1", "resources": None, "options": {}}


def made_up_plan(
    ids: Iterable[str] = ("s000",),
    *,
    probes: Sequence[Mapping[str, Any]] = ({"label": "ping"},),
    functions: Sequence[Mapping[str, Any]] = (),
    addresses: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A plan of no rounds with these scenarios, which are alike. Of probes (`label`) and functions
    (`name`, `type`, `position`) the other keys have defaults. `addresses`: client, server -> IP."""
    known = run_manifest("made-up")
    resolved = {name: _scenario(name, probes, functions, addresses or {}) for name in ids}
    return {
        "name": known["name"],
        "driver": known["driver"],
        "seed": known["seed"],
        "order": known["design"]["order"],
        "scenarios": [
            {
                "id": name,
                "scenario": {},
                "topology": "T1",
                "functions": [function["name"] for function in functions],
                "probes": [probe["label"] for probe in probes],
            }
            for name in resolved
        ],
        "rounds": [],
        "trials": 1,
        "max_rounds": 1,
        "estimated_s": 1.0,
        "resolved": resolved,
    }


def _scenario(
    name: str,
    probes: Sequence[Mapping[str, Any]],
    functions: Sequence[Mapping[str, Any]],
    addresses: Mapping[str, str],
) -> dict[str, Any]:
    ends = {
        end: {"name": end, "address": addresses.get(end), **_ENDPOINT}
        for end in ("client", "server")
    }
    function = {"vnf": "fwd", "node": "node1", "resources": _RESOURCES, "knobs": {}, "vnfd": None}
    return {
        "id": name,
        "levels": {},
        "topology": _TOPOLOGY,
        "client": ends["client"],
        "server": ends["server"],
        "chain": {**_CHAIN, "functions": [{**function, **given} for given in functions]},
        "probes": [
            {"index": index, "probe": given["label"], "parameters": {}, **given}
            for index, given in enumerate(probes)
        ],
        "monitors": [],
    }
