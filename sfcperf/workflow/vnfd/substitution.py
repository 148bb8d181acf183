"""Requirements that a descriptor's `substitution_mappings` meet.

Packages of SOL001 leave them open in the node templates: what the VNF is connected to is known only
where it is used. tosca-parser counts the assignments in node templates alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def with_mapped_requirements(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The descriptor with an assignment, of no node, of each requirement that is mapped and has
    none (TOSCA Simple Profile in YAML 1.3, sections 2.11 and 3.8.10)."""
    topology = tree["topology_template"]
    nodes = dict(topology["node_templates"])
    for node_name, requirement in _mapped(topology.get("substitution_mappings"), nodes):
        node = nodes.get(node_name)
        if not isinstance(node, dict):
            continue
        requirements = node.get("requirements") or []
        # The parser says what is wrong with anything else.
        if isinstance(requirements, list) and not any(
            isinstance(each, dict) and requirement in each for each in requirements
        ):
            nodes[node_name] = {**node, "requirements": [*requirements, {requirement: {}}]}
    return {**tree, "topology_template": {**topology, "node_templates": nodes}}


def _mapped(mappings: Any, nodes: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Node template and requirement: of the substituted type, and what each is mapped to, which is
    `NAME: [NODE, REQUIREMENT]` or `NAME: {mapping: [NODE, REQUIREMENT]}`."""
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
