"""VNF descriptors: TOSCA YAML, read with tosca-parser (paper, section IV)."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.workflow.schema import own_schema
from sfcperf.workflow.vnfd.checks import check_ancestry, without_patterns
from sfcperf.workflow.vnfd.files import descriptor_files, merged
from sfcperf.workflow.vnfd.substitution import with_mapped_requirements
from sfcperf.workflow.vnfd.tacker import with_tacker_types
from sfcperf.workflow.vnfd.tosca_parser import template_class

_MAX_NODES = 500
_Places = Mapping[str, tuple[str, ...]]
_TOSCA: _Places = {"vcpus": ("num_cpus",), "memory_mib": ("mem_size",)}
_SOL001: _Places = {
    "vcpus": ("virtual_cpu", "num_virtual_cpu"),
    "memory_mib": ("virtual_memory", "virtual_mem_size"),
}
_SIZES: Mapping[str, _Places] = {"nfv_compute": _TOSCA, "host": _TOSCA, "virtual_compute": _SOL001}
"""Capability that states sizes, by profile -> field of Descriptor -> path in its properties (ETSI
GS NFV-SOL 001, 6.3.1: VirtualCompute)."""


@dataclass(frozen=True)
class Descriptor:
    """The parts of a VNFD that a run needs; None if they are absent."""

    vcpus: int | None
    """Sum of `num_cpus` or `num_virtual_cpu` of its VDUs."""
    memory_mib: int | None
    """Sum of `mem_size` or `virtual_mem_size` of its VDUs, MiB, rounded up."""
    image: str | None = None
    """Image that its first VDU is made from: as Tacker's `image` property names it, or the file of
    its image artifact without its ending, as an image service names it."""
    flavor: str | None = None
    """Flavor of its first VDU (Tacker's property)."""
    user_data: str | None = None
    """Its first VDU's own user data, for cloud-init: Tacker's `user_data`, SOL001's `boot_data`."""
    left_open: frozenset[str] = frozenset()
    """Which of the others have no fixed value, but inputs without a default or files of a
    package."""
    unused: tuple[str, ...] = ()
    """What else it says of resources, which no driver uses: properties of capabilities, and nodes
    of storage."""


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
        checked = without_patterns(with_tacker_types(with_mapped_requirements(tree)))
        return template(yaml_dict_tpl=checked)
    except Exception as error:
        # A malformed template may make the parser raise anything.
        reports = ExceptionCollector.getExceptionsReport(False)
        text = "; ".join(reports) or f"{type(error).__name__}: {error}"
        raise InputError(f"is not valid TOSCA: {' '.join(text.split())}") from error
    finally:
        ExceptionCollector.stop()


def _descriptor(tree: Mapping[str, Any], template: Any) -> Descriptor:
    stated = [_sizes(node) for node in template.nodetemplates]
    totals, open_sizes = {}, set()
    for field, read in _READ.items():
        present = [sizes[field] for sizes in stated if field in sizes]
        values = [read(*each) for each in present]
        fixed = [value for value in values if value is not None]
        if len(fixed) < len(values):
            open_sizes.add(field)
        elif fixed:
            totals[field] = _within(field, present[0][0], sum(fixed))
    properties, left_open = _properties(tree)
    return Descriptor(
        totals.get("vcpus"),
        totals.get("memory_mib"),
        properties.get("image") or _image(tree),
        properties.get("flavor"),
        properties.get("user_data"),
        left_open | open_sizes,
        tuple(_unused(tree)),
    )


def _within(field: str, source: str, value: int) -> int:
    """The value if a workflow could ask for it, too."""
    limits = own_schema()["$defs"]["resources"]["properties"][field]
    if not limits["minimum"] <= value <= limits["maximum"]:
        unit = " MiB" if field == "memory_mib" else ""
        raise InputError(
            f"has {source} of {value}{unit} in all",
            allowed=f"{limits['minimum']} to {limits['maximum']}{unit}",
        )
    return value


def _sizes(node: Any) -> dict[str, tuple[str, Any]]:
    """Field of Descriptor -> the name and the value that a node template gives it; None where that
    is the value of an input without a default."""
    capabilities = node.get_capabilities()
    found: dict[str, tuple[str, Any]] = {}
    for name, paths in _SIZES.items():
        if name not in capabilities:
            continue
        values = {prop.name: prop.value for prop in capabilities[name].get_properties_objects()}
        for field, (*parents, last) in paths.items():
            inner: Any = values
            for step in parents:
                inner = inner.get(step) if isinstance(inner, dict) else None
            if isinstance(inner, dict) and last in inner:
                found.setdefault(field, (last, inner[last]))
    return found


def _vcpus(source: str, value: Any) -> int | None:
    """A number of CPUs, which may be quoted; None for a TOSCA function (`get_input`), with a value
    only at deployment. Raises InputError for values that no machine has."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _within("vcpus", source, value)
    _check_open(source, value, "a whole number")
    return None


def _memory_mib(source: str, value: Any) -> int | None:
    """The same of an amount of memory."""
    if isinstance(value, str):
        return _mebibytes(source, value)
    _check_open(source, value, "a number and its unit (2 GiB)")
    return None


_READ = {"vcpus": _vcpus, "memory_mib": _memory_mib}


def _check_open(source: str, value: Any, allowed: str) -> None:
    if isinstance(value, str | int | float | list):
        raise InputError(f"has {source} of {value!r}", allowed=allowed)


def _unused(tree: Mapping[str, Any]) -> Iterator[str]:
    for name, node in tree["topology_template"]["node_templates"].items():
        if "Storage" in str(node["type"]):
            yield f"node {name} of type {node['type']}"
        for capability, content in _mapping(node, "capabilities").items():
            used = _SIZES.get(capability, {}).values()
            for path in _paths(_mapping(content, "properties")):
                if not any(path[: len(known)] == known for known in used):
                    yield f"{'/'.join((str(capability), *path))} of {name}"


def _paths(properties: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Of properties, and of the properties of their data types."""
    for key, value in properties.items():
        inner = _paths(value) if isinstance(value, dict) and value else [()]
        yield from ((str(key), *path) for path in inner)


def _image(tree: Mapping[str, Any]) -> str | None:
    """The first artifact that is an image; the parser has no model of artifacts of a VDU."""
    for node in tree["topology_template"]["node_templates"].values():
        for artifact in _mapping(node, "artifacts").values():
            if isinstance(artifact, dict) and "Image" in str(artifact.get("type", "")):
                file = artifact.get("file")
                return Path(file).stem if isinstance(file, str) and file else None
    return None


def _mapping(node: Any, key: str) -> Mapping[str, Any]:
    """A part of a node template that the parser does not check."""
    value = (node.get(key) if isinstance(node, dict) else None) or {}
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
    values = {
        field: _content(properties[name])
        for name, field in _PROPERTIES.items()
        if properties.get(name) is not None
    }
    texts = {field: value for field, value in values.items() if isinstance(value, str)}
    return texts, frozenset(values) - frozenset(texts)


def _content(value: Any) -> Any:
    """The content of a value, which SOL001's BootData (7.1.12) nests."""
    for key in ("content_or_file_data", "content"):
        if isinstance(value, dict) and key in value:
            value = value[key]
    return value


def _mebibytes(source: str, size: str) -> int:
    from toscaparser.elements.scalarunit import ScalarUnit_Size

    mib: float = ScalarUnit_Size(size).get_num_from_scalar_unit("MiB")
    most = own_schema()["$defs"]["resources"]["properties"]["memory_mib"]["maximum"]
    if not mib <= most:
        raise InputError(f"has {source} of {mib:g} MiB", allowed=f"up to {most} MiB")
    return math.ceil(mib)
