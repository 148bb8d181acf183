"""Imports of descriptors: files of their own folder, in every form and at every depth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from support.attacks.descriptors import (
    OUTSIDE,
    TYPES,
    URLS,
    forms,
    importing,
    nested_import,
    template,
)

from sfcperf import yaml_input
from sfcperf.errors import InputError
from sfcperf.workflow.vnfd import read_descriptor

ACME = """tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0
node_types: {acme.Node: {derived_from: tosca.nodes.Root}}
"""


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "vnfd.yaml"


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("form", forms(""))
@pytest.mark.parametrize("target", [*OUTSIDE, *URLS])
@pytest.mark.parametrize("nested", [False, True])
def test_nothing_else_is_imported(tmp_path: Path, form: str, target: str, nested: bool) -> None:
    imports = forms(target)[form]
    secret = {"../secret.yaml": "root:x:0:0\n"}
    files = nested_import(imports) if nested else {"vnfd.yaml": importing(imports)}
    with pytest.raises(InputError, match=r"imports|has an import") as caught:
        read_descriptor(write(tmp_path / "vnfd", {**secret, **files}))
    assert "root:" not in str(caught.value)


@pytest.mark.parametrize("form", ["string", "named", "dict", "bare-dict"])
def test_types_beside_it_are_imported(tmp_path: Path, form: str) -> None:
    text = importing(forms("sub/acme.yaml")[form]) + "    N: {type: acme.Node}\n"
    deeper = ACME + "imports: [../more.yaml]\n"
    more = {"sub/acme.yaml": deeper, "more.yaml": TYPES}
    assert read_descriptor(write(tmp_path, {"vnfd.yaml": text, **more})).vcpus is None


def test_a_prefix_of_imported_types(tmp_path: Path) -> None:
    imports = "[{a: {file: acme.yaml, namespace_prefix: my}}]"
    text = importing(imports) + "    N: {type: my.acme.Node}\n"
    read_descriptor(write(tmp_path, {"vnfd.yaml": text, "acme.yaml": ACME}))


def test_a_link_out_of_the_folder(tmp_path: Path) -> None:
    path = write(tmp_path / "vnfd", {"vnfd.yaml": importing("[types.yaml]")})
    (tmp_path / "secret.yaml").write_text(TYPES)
    (tmp_path / "vnfd" / "types.yaml").symlink_to("../secret.yaml")
    with pytest.raises(InputError, match="not in its folder"):
        read_descriptor(path)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ("num_cpus: -5", "num_cpus"),
        ("num_cpus: 0", "num_cpus"),
        ("num_cpus: 1025", "num_cpus"),
        ("mem_size: 0 MB", "mem_size"),
        ("mem_size: 999999 TB", "mem_size"),
    ],
)
def test_sizes_that_no_machine_has(tmp_path: Path, properties: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_descriptor(write(tmp_path, {"vnfd.yaml": template(properties)}))


def test_types_whose_sizes_the_parser_does_not_check(tmp_path: Path) -> None:
    vdu = """
    T:
      type: tosca.nodes.nfv.VDU.Tacker
      capabilities: {nfv_compute: {properties: {num_cpus: 0}}}
"""
    with pytest.raises(InputError, match="num_cpus") as caught:
        read_descriptor(write(tmp_path, {"vnfd.yaml": template(vdu=vdu)}))
    assert caught.value.allowed == "1 to 1024"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [*a]", "alias of itself"),
        ("a: *b", "without an anchor"),
        ("a: &a [0,0,0,0,0,0]\nb: [*a, *a]", "too many values at line 2"),
        ("a: &a " + "x" * 1200 + "\nb: *a", "too long at line 2"),
        ("a: 1" + ":59" * 100, "not YAML: too long a number at line 1"),
        ("a: !secret 5", "not YAML"),
        ("a: [", "not YAML"),
        *((f"a: !!{tag} x", "not YAML") for tag in ("timestamp", "int", "float", "bool", "omap")),
        ("a: !!int ''", "not YAML"),
    ],
)
def test_yaml_is_bounded(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        yaml_input.loads(text.encode(), "it", max_values=20)
    assert "secret" not in str(caught.value)


def test_yaml_within_its_limits() -> None:
    known = yaml_input.loads(b"a: &a [1, 0x10, 1.5]\nb: *a", "it")
    assert known == {"a": [1, 16, 1.5], "b": [1, 16, 1.5]}
    with pytest.raises(InputError, match="nested too deeply at line 1"):
        yaml_input.loads(b"a: " + b"[" * 100, "it")
