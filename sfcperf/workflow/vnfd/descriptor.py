"""VNF descriptors: TOSCA YAML, read with tosca-parser (paper, section IV)."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.workflow.schema import own_schema
from sfcperf.workflow.vnfd.checks import check_ancestry, without_patterns
from sfcperf.workflow.vnfd.files import descriptor_files, merged
from sfcperf.workflow.vnfd.tacker import with_tacker_types
from sfcperf.workflow.vnfd.tosca_parser import template_class

_MAX_NODES = 500
_COMPUTE = ("nfv_compute", "host")
"""Capabilities that carry `num_cpus` and `mem_size`, by profile."""


@dataclass(frozen=True)
class Descriptor:
    """The parts of a VNFD that a run needs; None if they are absent."""

    vcpus: int | None
    """Sum of `num_cpus` of its VDUs."""
    memory_mib: int | None
    """Sum of `mem_size` of its VDUs, MiB, rounded up."""
    image: str | None = None
    """Image that its first VDU is made from: as Tacker's `image` property names it, or the file of
    its image artifact without its ending, as an image service names it."""
    flavor: str | None = None
    """Flavor of its first VDU (Tacker's property)."""
    user_data: str | None = None
    """Its first VDU's own user data, for cloud-init: Tacker's `user_data`, SOL001's `boot_data`."""
    left_open: frozenset[str] = frozenset()
    """Which of the last three are not literal strings, but inputs or files of a package."""


def read_descriptor(path: Path) -> Descriptor:
    """Parse and check a VNFD with its imports. Raises InputError naming the file."""
    try:
        changed_ns = path.stat().st_mtime_ns
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"the VNF descriptor {path} cannot be read: {reason}") from error
    return _read(path, changed_ns)


def descriptor_tree(path: Path) -> dict[str, Any]:
    """The tree of a VNFD with the types that it imports. Raises InputError naming the file."""
    tree = merged(descriptor_files(path))
    topology = tree.get("topology_template")
    nodes = topology.get("node_templates") if isinstance(topology, dict) else None
    if not nodes:
        raise InputError(f"the VNF descriptor {path} is empty: it has no node_templates")
    if not isinstance(nodes, dict):
        raise InputError(
            f"the VNF descriptor {path} has node_templates that are no mapping",
            allowed="{NAME: {type: ...}}",
        )
    if len(nodes) > _MAX_NODES:
        raise InputError(
            f"the VNF descriptor {path} has {len(nodes)} node_templates",
            allowed=f"up to {_MAX_NODES}",
        )
    return tree


@lru_cache(maxsize=64)
def _read(path: Path, _changed_ns: int) -> Descriptor:
    tree = descriptor_tree(path)
    try:
        return _descriptor(tree, _parse(tree))
    except InputError as error:
        raise InputError(
            f"the VNF descriptor {path} {error.message}", allowed=error.allowed
        ) from None


def _parse(tree: dict[str, Any]) -> Any:
    template = template_class()  # before anything else imports parts of the parser
    from toscaparser.common.exception import ExceptionCollector

    # Its messages, which may contain anything, are in its exceptions.
    logging.getLogger("tosca").addHandler(logging.NullHandler())
    check_ancestry(tree)
    try:
        return template(yaml_dict_tpl=without_patterns(with_tacker_types(tree)))
    except Exception as error:
        # A malformed template may make the parser raise anything.
        reports = ExceptionCollector.getExceptionsReport(False)
        text = "; ".join(reports) or f"{type(error).__name__}: {error}"
        raise InputError(f"is not valid TOSCA: {' '.join(text.split())}") from error
    finally:
        ExceptionCollector.stop()


def _descriptor(tree: Mapping[str, Any], template: Any) -> Descriptor:
    sizes = [_compute(node) for node in template.nodetemplates]
    vcpus = [cpus for cpus, _ in sizes if cpus is not None]
    memory = [mib for _, mib in sizes if mib is not None]
    properties, left_open = _properties(tree)
    return Descriptor(
        _within("vcpus", "num_cpus", sum(vcpus)) if vcpus else None,
        _within("memory_mib", "mem_size", sum(memory)) if memory else None,
        properties.get("image") or _image(tree),
        properties.get("flavor"),
        properties.get("user_data"),
        left_open,
    )


def _within(resource: str, source: str, value: int) -> int:
    """The value if a workflow could ask for it, too."""
    limits = own_schema()["$defs"]["resources"]["properties"][resource]
    if not limits["minimum"] <= value <= limits["maximum"]:
        unit = " MiB" if resource == "memory_mib" else ""
        raise InputError(
            f"has {source} of {value}{unit} in all",
            allowed=f"{limits['minimum']} to {limits['maximum']}{unit}",
        )
    return value


def _compute(node: Any) -> tuple[int | None, int | None]:
    """`num_cpus` and `mem_size` (MiB) of a node template; None where it has none. Raises InputError
    for values that no machine has."""
    capabilities = node.get_capabilities()
    for name in _COMPUTE:
        if name in capabilities:
            given = {prop.name: prop.value for prop in capabilities[name].get_properties_objects()}
            cpus, memory = given.get("num_cpus"), given.get("mem_size")
            # Anything else is a TOSCA function (get_input), with a value only at deployment.
            return (
                _within("vcpus", "num_cpus", cpus) if isinstance(cpus, int) else None,
                _mebibytes(memory) if isinstance(memory, str) else None,
            )
    return None, None


def _image(tree: Mapping[str, Any]) -> str | None:
    """The first artifact that is an image; the parser has no model of artifacts of a VDU."""
    for node in tree["topology_template"]["node_templates"].values():
        for artifact in _mapping(node, "artifacts").values():
            if isinstance(artifact, dict) and "Image" in str(artifact.get("type", "")):
                file = artifact.get("file")
                return Path(file).stem if isinstance(file, str) and file else None
    return None


def _mapping(node: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A part of a node template that the parser does not check."""
    value = node.get(key) or {}
    if not isinstance(value, dict):
        raise InputError(f"has {key} that are no mapping", allowed=f"{key}: {{NAME: ...}}")
    return value


VDU_TYPES = ("tosca.nodes.nfv.VDU", "tosca.nodes.nfv.VDU.Tacker", "tosca.nodes.nfv.Vdu.Compute")
_PROPERTIES = {
    "image": "image",
    "flavor": "flavor",
    "user_data": "user_data",
    "boot_data": "user_data",
}
"""Property -> field of Descriptor."""


def _properties(tree: Mapping[str, Any]) -> tuple[dict[str, str], frozenset[str]]:
    """The first VDU's properties in _PROPERTIES, and the names of those that are not literal
    strings. The parser would only give properties that the type declares."""
    nodes = tree["topology_template"]["node_templates"].values()
    vdus = (node for node in nodes if node.get("type") in VDU_TYPES)
    first: dict[str, Any] = next(vdus, {})
    properties = _mapping(first, "properties")
    given = {
        field: _content(properties[name])
        for name, field in _PROPERTIES.items()
        if properties.get(name) is not None
    }
    texts = {field: value for field, value in given.items() if isinstance(value, str)}
    return texts, frozenset(given) - frozenset(texts)


def _content(value: Any) -> Any:
    """The content of a value, which SOL001's BootData (7.1.12) nests."""
    for key in ("content_or_file_data", "content"):
        if isinstance(value, dict) and key in value:
            value = value[key]
    return value


def _mebibytes(size: str) -> int:
    from toscaparser.elements.scalarunit import ScalarUnit_Size

    mib: float = ScalarUnit_Size(size).get_num_from_scalar_unit("MiB")
    most = own_schema()["$defs"]["resources"]["properties"]["memory_mib"]["maximum"]
    if not mib <= most:
        raise InputError(f"has mem_size of {mib:g} MiB", allowed=f"up to {most} MiB")
    return math.ceil(mib)
