"""Fulfils requirements that a descriptor's `substitution_mappings` map.

Packages of SOL001 leave these open in the node templates, since what the VNF is connected to is
known only where it is used. tosca-parser sees only assignments in node templates, and would refuse
the descriptor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def with_mapped_requirements(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Copy the descriptor, and give each mapped requirement that has no assignment an empty one:
    `{REQUIREMENT: {}}`, which names no node (TOSCA Simple Profile in YAML 1.3, sections 2.11 and
    3.8.10)."""
    topology = tree["topology_template"]
    nodes = dict(topology["node_templates"])
    for node_name, requirement in _mapped(topology.get("substitution_mappings"), nodes):
        node = nodes.get(node_name)
        if not isinstance(node, dict):
            continue
        requirements = node.get("requirements") or []
        # Anything that is no list is left for the parser to refuse.
        if isinstance(requirements, list) and not any(
            isinstance(each, dict) and requirement in each for each in requirements
        ):
            nodes[node_name] = {**node, "requirements": [*requirements, {requirement: {}}]}
    return {**tree, "topology_template": {**topology, "node_templates": nodes}}


def _mapped(mappings: Any, nodes: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (node template, requirement) for each requirement in `substitution_mappings`. A mapping
    is `NAME: [NODE, REQUIREMENT]` or `NAME: {mapping: [NODE, REQUIREMENT]}`. It concerns the
    requirement NAME of all nodes of the substituted type, and REQUIREMENT of NODE."""
    requirements = mappings.get("requirements") if isinstance(mappings, dict) else None
    for each in requirements if isinstance(requirements, list) else [requirements]:
        for name, target in each.items() if isinstance(each, dict) else ():
            for node_name, node in nodes.items():
                if isinstance(node, dict) and node.get("type") == mappings.get("node_type"):
                    yield node_name, name
            target = target.get("mapping") if isinstance(target, dict) else target
            match target:
                case [str() as node_name, str() as requirement]:
                    yield node_name, requirement
