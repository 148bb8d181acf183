"""Which image a file has, and what is refused before a run."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples
from support.vnfs.image_layout import HERE, Layout
from support.workflows.file import load_workflow

from sfcperf.errors import InputError, WorkflowError
from sfcperf.vnfs.program.function import AnyProgram
from sfcperf.vnfs.program.image import Image, read
from sfcperf.workflow.defaults import with_defaults

ELSEWHERE = "arm64" if HERE == "amd64" else "amd64"
NAME = "org.opencontainers.image.ref.name"


def named(descriptor: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**descriptor, "annotations": {NAME: name}}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "image")


def archive(folder: Path, prefix: str = "") -> Path:
    file = folder.with_suffix(".tar")
    with tarfile.open(file, "w") as tar:
        for path in sorted(folder.rglob("*")):
            tar.add(path, f"{prefix}{path.relative_to(folder)}", recursive=False)
    return file


@pytest.mark.parametrize("prefix", [None, "", "./"])
def test_a_layout_in_a_folder_or_a_tar(layout: Layout, prefix: str | None) -> None:
    descriptor = layout.manifest(Entrypoint=["a"], Cmd=["b", "c"])
    folder = layout.write(descriptor)
    found = read(folder if prefix is None else archive(folder, prefix))
    assert (found.digest, found.architecture) == (descriptor["digest"], HERE)
    assert found.command == ("a", "b", "c")
    assert len(found.layers) == 1


def test_one_of_several_by_its_name(layout: Layout) -> None:
    first, second = layout.manifest(Cmd=["first"]), layout.manifest(Cmd=["second"])
    folder = layout.write(named(first, "one"), named(second, "two"), named(second, "latest"))
    with pytest.raises(InputError, match="2 images") as told:
        read(folder)
    assert told.value.allowed == "latest, one, two"
    assert read(folder, "latest").digest == read(folder, "two").digest == second["digest"]
    with pytest.raises(InputError, match="no image 'three'"):
        read(folder, "three")


def test_several_names_of_one_image_are_one(layout: Layout) -> None:
    only = layout.manifest(Cmd=["a"])
    assert read(layout.write(named(only, "one"), named(only, "two"))).digest == only["digest"]


def test_the_platform_is_that_of_this_machine(layout: Layout) -> None:
    """Also where the index names platforms that were not saved, and things that are no images."""
    own = layout.manifest(Cmd=["a"])
    absent = {"digest": f"sha256:{'0' * 64}"}
    attestation = layout.blob({"config": layout.blob({"os": "unknown"}), "layers": []})
    other = layout.manifest(ELSEWHERE, Cmd=["a"])
    index = layout.blob({"manifests": [other, absent, attestation, own]})
    assert read(layout.write(named(index, "all")), "all").digest == own["digest"]


def test_an_archive_of_docker_save(tmp_path: Path) -> None:
    """Its layers may be links to those of another image."""
    config = json.dumps(
        {"architecture": HERE, "os": "linux", "rootfs": {}, "config": {"Cmd": ["a"]}}
    ).encode()
    listed = [{"Config": "c.json", "RepoTags": ["own:1"], "Layers": ["2/layer.tar"]}]
    file = tmp_path / "saved.tar"
    with tarfile.open(file, "w") as tar:
        for name, content in {
            "manifest.json": json.dumps(listed).encode(),
            "c.json": config,
            "1/layer.tar": b"abc",
        }.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("2/layer.tar")
        link.type, link.linkname = tarfile.SYMTYPE, "../1/layer.tar"
        tar.addfile(link)
    found = read(file, "own:1")
    assert found.digest == f"sha256:{hashlib.sha256(config).hexdigest()}"
    assert found.command == ("a",)


def _not_json(layout: Layout) -> None:
    (layout.folder / "index.json").write_text("{")


BROKEN: dict[str, tuple[Callable[[Layout], Any], str]] = {
    "nothing": (lambda layout: None, "no image"),
    "not-json": (_not_json, "damaged"),
    "empty": (lambda layout: layout.write(), "no image for linux"),
    "no-digest": (lambda layout: layout.write({}), "damaged"),
    "outside": (lambda layout: layout.write({"digest": "sha256:../../../x"}), "no digest"),
    "windows": (
        lambda layout: layout.write(
            layout.blob({"config": layout.blob({"os": "windows", "rootfs": {}}), "layers": []})
        ),
        "no image for linux",
    ),
    "text": (
        lambda layout: layout.write(layout.manifest(Cmd="a b")) and layout.write("x"),  # type: ignore[arg-type]
        "damaged",
    ),
    "words": (lambda layout: layout.write(layout.manifest(Cmd=[1])), "damaged"),
    "no-layer": (
        lambda layout: layout.write(
            layout.blob(
                {
                    "config": layout.blob({"os": "linux", "rootfs": {}, "architecture": HERE}),
                    "layers": [{"digest": f"sha256:{'0' * 64}"}],
                }
            )
        ),
        "cannot be read",
    ),
    "zstandard": (
        lambda layout: layout.write(layout.manifest(layer=bytes.fromhex("28b52ffd00"))),
        "Zstandard",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_image_is_refused(layout: Layout, name: str) -> None:
    write, message = BROKEN[name]
    write(layout)
    with pytest.raises(InputError, match=message):
        read(layout.folder)


def test_a_changed_blob_is_noticed(layout: Layout) -> None:
    manifest = layout.manifest(Cmd=["a"])
    folder = layout.write(manifest)
    changed = folder / "blobs" / manifest["digest"].replace(":", "/")
    changed.write_text(changed.read_text() + " ")
    with pytest.raises(InputError, match="another digest"):
        read(folder)


@pytest.mark.parametrize(
    "content", [b"", b"text", gzip.compress(b"\0" * 10240, mtime=0), b"\0" * 10240]
)
def test_a_file_that_is_no_image_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "image.tar"
    file.write_bytes(content)
    with pytest.raises(InputError) as told:
        read(file)
    assert told.value.allowed is not None


def test_indexes_of_indexes_end(layout: Layout) -> None:
    """However many paths lead to a blob, it is read once; and not at any depth."""
    below = [layout.manifest(Cmd=["a"])]
    for depth in range(6):
        below = [layout.blob({"depth": depth, "manifests": below * 50})]
    with pytest.raises(InputError, match="no image for linux"):
        read(layout.write(*below))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["manifests", "digest", "annotations", NAME, "config", "layers", "os"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(JSON, JSON, JSON)
@examples(300)
def test_whatever_the_json_of_a_layout_is(
    tmp_path_factory: pytest.TempPathFactory, index: Any, manifest: Any, config: Any
) -> None:
    layout = Layout(tmp_path_factory.mktemp("any") / "image")
    below = layout.blob(manifest)
    image = layout.blob({"config": layout.blob(config), "layers": [layout.blob(b"")]})
    (layout.folder / "index.json").write_text(
        json.dumps(index if index else {"manifests": [below, image]})
    )
    try:
        assert isinstance(read(layout.folder), Image)
    except InputError:
        return


@given(st.data())
@examples(300)
def test_whatever_the_bytes_of_a_tar_are(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("any")
    layout = Layout(folder / "image")
    file = archive(layout.write(layout.manifest(Cmd=["a"])))
    content = bytearray(file.read_bytes())
    at = st.integers(0, len(content) - 1)
    for place, byte in data.draw(st.lists(st.tuples(at, st.integers(0, 255)), max_size=8)):
        content[place] = byte
    file.write_bytes(content[: data.draw(at | st.just(len(content)))])
    try:
        assert isinstance(read(file), Image)
    except InputError:
        return


@pytest.mark.parametrize("target", ["loop", "absent"])
def test_links_that_lead_nowhere(tmp_path: Path, target: str) -> None:
    file = tmp_path / "image.tar"
    with tarfile.open(file, "w") as tar:
        for name, linked in (("index.json", target), ("loop", "index.json")):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, linked
            tar.addfile(link)
    with pytest.raises(InputError, match=r"no file index.json"):
        read(file)


def loaded(folder: Path, knobs: Mapping[str, Any]) -> Any:
    document = {
        "sfcperf": 1,
        "name": "image",
        "vnfs": {"own": {"type": "program", "knobs": knobs}},
        "chain": {"functions": [{"vnf": "own"}]},
        "probes": [{"probe": "ping"}],
    }
    file = folder / "workflow.json"
    file.write_text(json.dumps(document))
    return load_workflow(file).scenarios[0].chain.functions[0].knobs


def test_its_path_starts_at_the_workflow_and_those_of_its_commands_do_not(
    tmp_path: Path, layout: Layout
) -> None:
    layout.write(layout.manifest())
    counters = ["bin/counters"]
    knobs = loaded(tmp_path, {"image": "image", "command": ["./own"], "counters": counters})
    assert knobs["image"] == str(tmp_path / "image")
    assert (knobs["command"], knobs["counters"]) == (["./own"], counters)


@pytest.mark.parametrize(
    ("knobs", "where", "message"),
    [
        ({"image": "absent"}, "image", "there is no file"),
        ({"image": "image"}, "image", "neither an entrypoint nor a command"),
        ({"image": "image", "image_name": "x"}, "image", "no image 'x'"),
        ({"image": "image", "command": ["{{x}}"]}, "command/0", "there is no {{x}}"),
        ({"image": "image", "capabilities": ["NET_ADMN"]}, "capabilities/0", "NET_ADMN"),
        ({"command": ["x"], "privileged": True}, "privileged", "no `image`"),
        ({"command": ["x"], "capabilities": ["NET_ADMIN"]}, "capabilities", "no `image`"),
        ({"command": ["x"], "files": {"a": "image"}}, "files/a", "is a folder"),
        ({"image": "empty", "command": ["x"]}, "image", "it is no image"),
    ],
)
def test_errors_point_to_their_place(
    tmp_path: Path, layout: Layout, knobs: dict[str, Any], where: str, message: str
) -> None:
    layout.write(layout.manifest())
    (tmp_path / "empty").mkdir()
    with pytest.raises(WorkflowError) as told:
        loaded(tmp_path, knobs)
    assert told.value.others == ()
    assert told.value.where == f"/vnfs/own/knobs/{where}"
    assert message in told.value.message


@pytest.mark.parametrize("architecture", [HERE, ELSEWHERE])
def test_another_architecture_is_an_unmet_requirement(layout: Layout, architecture: str) -> None:
    image = layout.write(layout.manifest(architecture, Cmd=["a"]))
    knobs = with_defaults(AnyProgram.parameters, {"image": str(image), "command": ["no-such"]})
    unmet = [need.name for need in AnyProgram.requirements(knobs) if not need.met]
    missing_tools: Sequence[str] = ("umoci", "crun")
    assert [name for name in unmet if name not in missing_tools] == (
        [] if architecture == HERE else ["image image"]
    )
