"""What a user gets who installs the wheel: one package, with its data, and nothing else."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from support.wheel import OFFLINE, PIP, TREE, build_wheel, run_command

from sfcperf import plugins
from sfcperf.cli import man_pages
from sfcperf.errors import EnvironmentLacks
from sfcperf.package.kit import wheel as wheels

DATA_FOLDERS = {
    "schemas": "*.json",
    "workflows": "*.json",
    "workflows/profiles": "*.json",
    "playbooks": "*.yml",
    "drivers/conformance": "*.py",
}
SOURCES = {"vnfs": {".yaml", ".c", ".h"}, "sfcperf": {".html", ".j2", ".css", ".js"}}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the project's wheel was installed, without network."""
    folder = tmp_path_factory.mktemp("packaging")
    wheel = build_wheel(folder)
    target = folder / "site"
    run_command([*PIP, "install", *OFFLINE, "--target", str(target), str(wheel)], folder)
    return target


def test_man_finds_the_pages_of_the_present_verbs(site: Path, tmp_path: Path) -> None:
    """Beside the folder of the command, where man(1) looks by itself."""
    pages = man_pages.write(tmp_path)
    inside = site / "share" / "man" / "man1"
    assert {p.name: p.read_text() for p in inside.iterdir()} == {
        p.name: p.read_text() for p in pages
    }
    if shutil.which("man") is None:
        pytest.skip("needs man (make setup)")
    path = f"{site / 'bin'}:{os.environ['PATH']}"
    man = ["env", "-u", "MANPATH", f"PATH={path}", "man", "-w", "sfcperf-run"]
    shown = run_command(man, tmp_path)
    assert shown.strip() == str(inside / "sfcperf-run.1")


def test_what_the_tree_has_is_inside_and_nothing_else_at_the_top(site: Path) -> None:
    """Also VNF descriptors, data-plane sources and templates, wherever they are in the tree."""
    top = {p.name for p in site.iterdir() if p.suffix != ".dist-info"}
    assert top == {"sfcperf", "bin", "share"}
    (licence,) = site.glob("sfcperf-*.dist-info/licenses/LICENSE")
    assert "Apache License" in licence.read_text()
    for folder, pattern in DATA_FOLDERS.items():
        inside = {p.name for p in (site / "sfcperf" / folder).glob(pattern)}
        assert inside == {p.name for p in (TREE / folder).glob(pattern)}, folder
    for folder, suffixes in SOURCES.items():
        root = TREE / folder
        wanted = {p.relative_to(root) for p in root.rglob("*") if p.suffix in suffixes}
        base = site / "sfcperf" / ("" if folder == "sfcperf" else folder)
        assert wanted
        assert [p for p in wanted if not (base / p).is_file()] == []


def test_every_plug_in_imports_from_the_wheel(site: Path) -> None:
    """In an interpreter that sees the wheel first and the source tree not at all."""
    script = (
        "import sys, sfcperf\n"
        f"assert sfcperf.__file__.startswith({str(site)!r}), sfcperf.__file__\n"
        "from sfcperf import plugins\n"
        "from importlib.resources import files\n"
        "assert files('sfcperf.workflows').joinpath('quickstart.json').is_file()\n"
        "for kind in plugins.GROUPS:\n"
        "    for name in plugins.names(kind):\n"
        "        module = plugins.load(kind, name).__module__\n"
        f"        assert sys.modules[module].__file__.startswith({str(site)!r}), module\n"
        "        print(kind, name)\n"
    )
    # -S and a path by hand: the editable install of the tree would otherwise come first.
    libraries = [p for p in sys.path if p.endswith("site-packages")]
    path = f"import sys; sys.path[1:1] = {[str(site), *libraries]!r}\n"
    listed = run_command([sys.executable, "-S", "-c", path + script], site.parent)
    for kind in ("driver", "vnf", "probe", "monitor", "publisher"):
        assert any(line.startswith(f"{kind} ") for line in listed.splitlines()), kind
        assert plugins.names(kind)


def test_the_base_install_needs_no_extra(site: Path, tmp_path: Path) -> None:
    """What a user does first works without the packages of the extras."""
    extras = tomllib.loads((TREE / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert {"elasticsearch", "openflow", "openstack", "p4", "pandas", "security"} <= extras.keys()
    absent = {
        *("confluent_kafka", "elasticsearch", "fastapi", "finsy", "grpc", "msgspec", "openstack"),
        *("os_ken", "pandas", "pydantic", "pyspark", "sklearn", "statsmodels", "tackerclient"),
        *("thriftpy2", "uvicorn"),
    }
    libraries = [p for p in sys.path if p.endswith("site-packages")]
    script = (
        f"import sys; sys.path[1:1] = {[str(site), *libraries]!r}\n"
        f"sys.modules.update(dict.fromkeys({sorted(absent)!r}))\n"  # importing them fails
        "from sfcperf.cli.main import main\n"
        "for words in sys.argv[1:]:\n"
        "    sys.argv = ['sfcperf', *words.split()]\n"
        "    try: main()\n"
        "    except SystemExit as end: assert not end.code, words\n"
    )
    verbs = ["init new", "schema", "list", "show service classifier", "validate quickstart"]
    verbs += ["plan quickstart", "setup --help"]
    assert run_command([sys.executable, "-S", "-c", script, *verbs], tmp_path)


@pytest.mark.exhaustive
def test_the_source_distribution_builds_the_same_wheel(site: Path) -> None:
    """Whoever packages SFCPerf for a distribution starts from the sdist."""
    folder = site.parent / "sdist"
    script = (
        "import sys; from setuptools.build_meta import build_sdist; print(build_sdist(sys.argv[1]))"
    )
    source = site.parent / "source"
    name = run_command([sys.executable, "-c", script, str(folder)], source).split()[-1]
    sdist = str(folder / name)
    run_command([*PIP, "wheel", *OFFLINE, "--wheel-dir", str(folder), sdist], folder)

    def content(wheel: Path) -> set[str]:
        return {n for n in zipfile.ZipFile(wheel).namelist() if not n.endswith("RECORD")}

    (direct,) = site.parent.glob("sfcperf-*.whl")
    (rebuilt,) = folder.glob("sfcperf-*.whl")
    assert content(rebuilt) == content(direct)


def wheel_contents(wheel: Path) -> dict[str, bytes]:
    """Without its record, whose lines may have any order."""
    with zipfile.ZipFile(wheel) as archive:
        names = [
            name for name in archive.namelist() if not name.endswith((".dist-info/RECORD", "/"))
        ]
        return {name: archive.read(name) for name in names}


def test_the_wheel_can_be_put_together_from_what_was_installed(site: Path, tmp_path: Path) -> None:
    """And only from that: a package then has the SFCPerf that ran."""
    (original,) = site.parent.glob("sfcperf-*.whl")
    # Without --ignore-installed, pip removes the SFCPerf of the tests.
    options = [*OFFLINE, "--ignore-installed", "--prefix", str(tmp_path)]
    run_command([*PIP, "install", *options, str(original)], tmp_path)
    (installed,) = tmp_path.rglob("site-packages")
    (tmp_path / "first").mkdir()
    again = wheels._repacked(installed, tmp_path / "first")
    assert again.name == original.name
    assert wheel_contents(again) == wheel_contents(original)
    with (installed / "sfcperf" / "counts.py").open("a") as file:
        file.write("# mine\n")
    (tmp_path / "second").mkdir()
    with pytest.raises(EnvironmentLacks, match="not as it was installed"):
        wheels._repacked(installed, tmp_path / "second")


@pytest.mark.exhaustive
def test_the_same_tree_gives_the_same_wheel(site: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = wheels.wheel(tmp_path / "a"), wheels.wheel(tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()
    (original,) = site.parent.glob("sfcperf-*.whl")
    assert wheel_contents(first) == wheel_contents(original)
