"""VNF descriptors in the run folder: the same content, at the same places to each other."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.engine import Bench
from support.records.manifests import run_manifest
from support.schemas import violations

from sfcperf.errors import InputError
from sfcperf.results.provenance import keep_descriptors
from sfcperf.results.store import RunStore
from sfcperf.workflow.vnfd import read_descriptor

DESCRIPTOR = """tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0
topology_template:
  node_templates:
    VDU1:
      type: tosca.nodes.nfv.VDU
      capabilities: {host: {properties: {num_cpus: 3}}}
"""
TYPES = """tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0
node_types: {}
"""


def importing(*imports: str) -> str:
    listed = "".join(f"  - {entry}\n" for entry in imports)
    return DESCRIPTOR.replace("topology_template", f"imports:\n{listed}topology_template", 1)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_what_it_imports_is_found_from_the_copy(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write(source / "types.yaml", TYPES)
    write(source / "deep" / "more.yaml", importing("{file: ../types.yaml}", "more.yaml"))
    file = write(source / "fw.yaml", importing("types.yaml", "named: deep/more.yaml"))
    (entry,) = keep_descriptors(tmp_path / "run" / "vnfds", {"fw.yaml": file})
    copy = tmp_path / "run" / entry["file"]
    kept = {p.relative_to(copy.parent).as_posix() for p in copy.parent.rglob("*.yaml")}
    assert kept == {"types.yaml", "deep/more.yaml", "fw.yaml"}
    for name in kept:
        assert (copy.parent / name).read_bytes() == (source / name).read_bytes()
    before = read_descriptor(file)
    shutil.rmtree(source)
    assert read_descriptor(copy) == before


def test_files_of_one_name_do_not_meet(tmp_path: Path) -> None:
    files = {
        "a/fw.yaml": write(tmp_path / "a" / "fw.yaml", DESCRIPTOR),
        "b/fw.yaml": write(tmp_path / "b" / "fw.yaml", DESCRIPTOR + "# another\n"),
        "c/fw.yaml": write(tmp_path / "c" / "fw.yaml", DESCRIPTOR),
    }
    entries = keep_descriptors(tmp_path / "run" / "vnfds", files)
    by_path = {entry["path"]: tmp_path / "run" / entry["file"] for entry in entries}
    assert {p: f.read_text() for p, f in by_path.items()} == {
        p: f.read_text() for p, f in files.items()
    }


def with_descriptor(bench: Bench) -> dict[str, Any]:
    write(bench.results.parent / "vnfd" / "sf.yaml", DESCRIPTOR)
    return {"vnfs": {"sf": {"type": "fake", "vnfd": "vnfd/sf.yaml"}}}


def test_a_run_folder_holds_the_descriptors_of_its_workflow(bench: Bench) -> None:
    bench.start(**with_descriptor(bench))
    store = RunStore(bench.folder())
    assert violations(store.folder) == []
    (copy,) = store.descriptors().values()
    assert list(store.descriptors()) == ["vnfd/sf.yaml"]
    assert copy.read_text() == DESCRIPTOR
    assert store.owns(copy)
    hashes = {
        function["vnfd"]["sha256"]
        for scenario in store.resolved().values()
        for function in scenario["chain"]["functions"]
    }
    assert hashes == {hashlib.sha256(copy.read_bytes()).hexdigest()}


def test_each_variant_and_level_has_its_descriptor(bench: Bench) -> None:
    changes = with_descriptor(bench)
    for name in ("one", "two", "three"):
        write(bench.results.parent / f"{name}.yaml", DESCRIPTOR + f"# {name}\n")
    changes["vnfs"]["sf"]["vnfd"] = "${file}.yaml"
    changes["factors"] = {"chain_length": [0, 2], "file": ["one", "two"]}
    # The variant's own file takes the place of the factor's in one of two VNFs.
    changes["vnfs"]["extra"] = {"type": "fake", "vnfd": "one.yaml"}
    variants = {"a": {}, "b": {"vnfs.extra.vnfd": "three.yaml"}}
    bench.start(**changes, variants=variants)
    assert sorted(RunStore(bench.folder()).descriptors()) == ["one.yaml", "three.yaml", "two.yaml"]


def test_a_changed_import_is_noticed_too(bench: Bench) -> None:
    folder = bench.results.parent / "vnfd"
    types = write(folder / "types.yaml", TYPES)
    write(folder / "sf.yaml", importing("types.yaml"))
    changes = {"vnfs": {"sf": {"type": "fake", "vnfd": "vnfd/sf.yaml"}}}
    bench.start(**changes, publish=[{"to": "fake", "fail": True}])
    types.write_text(TYPES + "# changed\n")
    with pytest.raises(InputError, match="or a file that it imports") as caught:
        bench.resume()
    # The copy that the error names is what has to be put back.
    copy = RunStore(bench.folder()).descriptors()["vnfd/sf.yaml"]
    assert caught.value.hint is not None
    assert str(copy.relative_to(bench.folder())) in caught.value.hint
    types.write_bytes(copy.with_name("types.yaml").read_bytes())
    bench.resume()


@pytest.mark.parametrize("file", ["/etc/passwd", "vnfds/../../x", "vnfds/a/..", "raw/x"])
def test_a_manifest_cannot_lead_out_of_the_folder(tmp_path: Path, file: str) -> None:
    entry = {"path": "x.yaml", "file": file, "sha256": "0" * 64}
    store = RunStore.create(tmp_path / "run")
    store.write_manifest({**run_manifest("run"), "vnfds": [entry]})
    with pytest.raises(InputError, match="damaged"):
        store.descriptors()
    store.write_manifest({**run_manifest("run"), "vnfds": [{**entry, "file": "vnfds/a/b..c"}]})
    assert store.descriptors() == {"x.yaml": store.folder / "vnfds/a/b..c"}
