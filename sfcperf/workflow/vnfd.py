"""VNF descriptors: TOSCA YAML, read with tosca-parser (paper, section IV)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.workflow.vnfd_tacker import with_tacker_types

_MAX_BYTES = 1 << 20
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
    """Parse and check a VNFD. Raises InputError naming the file."""
    try:
        if not path.is_file() and path.exists():
            raise InputError(f"the VNF descriptor {path} cannot be read: it is not a file")
        changed_ns = path.stat().st_mtime_ns
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"the VNF descriptor {path} cannot be read: {reason}") from error
    return _read(path, changed_ns)


@lru_cache(maxsize=64)
def _read(path: Path, _changed_ns: int) -> Descriptor:
    tree = _yaml(path)
    if "repositories" in tree or "://" in str(tree.get("imports", "")):
        raise InputError(
            f"the VNF descriptor {path} imports from the network",
            allowed="imports of files beside it",
        )
    template = _parse(tree, path)
    sizes = [_compute(node) for node in template.nodetemplates]
    vcpus = [cpus for cpus, _ in sizes if cpus is not None]
    memory = [mib for _, mib in sizes if mib is not None]
    properties, left_open = _properties(tree)
    return Descriptor(
        sum(vcpus) if vcpus else None,
        sum(memory) if memory else None,
        properties.get("image") or _image(tree),
        properties.get("flavor"),
        properties.get("user_data"),
        left_open,
    )


def _yaml(path: Path) -> dict[str, Any]:
    import yaml

    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise InputError(f"the VNF descriptor {path} is larger than {_MAX_BYTES} bytes")
        tree = yaml.safe_load(content)
    except OSError as error:
        raise InputError(f"the VNF descriptor {path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"the VNF descriptor {path} is not YAML: {text}") from None
    if not isinstance(tree, dict) or "tosca_definitions_version" not in tree:
        raise InputError(
            f"the VNF descriptor {path} is not TOSCA: it has no tosca_definitions_version",
            allowed="tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0",
        )
    topology = tree.get("topology_template")
    if not isinstance(topology, dict) or not topology.get("node_templates"):
        raise InputError(f"the VNF descriptor {path} is empty: it has no node_templates")
    return tree


def _parse(tree: dict[str, Any], path: Path) -> Any:
    from toscaparser.common.exception import ExceptionCollector
    from toscaparser.tosca_template import ToscaTemplate

    try:
        if "imports" in tree:
            return ToscaTemplate(str(path))
        return ToscaTemplate(yaml_dict_tpl=with_tacker_types(tree))
    except Exception as error:
        # A malformed template may make the parser raise anything.
        reports = ExceptionCollector.getExceptionsReport(False)
        text = "; ".join(reports) or f"{type(error).__name__}: {error}"
        raise InputError(
            f"the VNF descriptor {path} is not valid TOSCA: {' '.join(text.split())}"
        ) from error
    finally:
        ExceptionCollector.stop()


def _compute(node: Any) -> tuple[int | None, int | None]:
    """`num_cpus` and `mem_size` (MiB) of a node template; None where it has none."""
    capabilities = node.get_capabilities()
    for name in _COMPUTE:
        if name in capabilities:
            given = {prop.name: prop.value for prop in capabilities[name].get_properties_objects()}
            cpus, memory = given.get("num_cpus"), given.get("mem_size")
            # Anything else is a TOSCA function (get_input), with a value only at deployment.
            return (
                cpus if isinstance(cpus, int) else None,
                _mebibytes(memory) if isinstance(memory, str) else None,
            )
    return None, None


def _image(tree: dict[str, Any]) -> str | None:
    """The first artifact that is an image; the parser has no model of artifacts of a VDU."""
    for node in tree["topology_template"]["node_templates"].values():
        for artifact in (node.get("artifacts") or {}).values():
            if isinstance(artifact, dict) and "Image" in str(artifact.get("type", "")):
                file = artifact.get("file")
                return Path(file).stem if isinstance(file, str) and file else None
    return None


VDU_TYPES = ("tosca.nodes.nfv.VDU", "tosca.nodes.nfv.VDU.Tacker", "tosca.nodes.nfv.Vdu.Compute")
_PROPERTIES = {
    "image": "image",
    "flavor": "flavor",
    "user_data": "user_data",
    "boot_data": "user_data",
}
"""Property -> field of Descriptor."""


def _properties(tree: dict[str, Any]) -> tuple[dict[str, str], frozenset[str]]:
    """The first VDU's properties in _PROPERTIES, and the names of those that are not literal
    strings. The parser would only give properties that the type declares."""
    nodes = tree["topology_template"]["node_templates"].values()
    vdus = (node for node in nodes if node.get("type") in VDU_TYPES)
    first: dict[str, Any] = next(vdus, {})
    properties = first.get("properties") or {}
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
    return math.ceil(mib)
