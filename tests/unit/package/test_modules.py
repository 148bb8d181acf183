"""Third-party plug-ins: found, and packed so that they work from a folder on the search path."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfcperf.errors import EnvironmentLacks
from sfcperf.package.modules import third_party, used_plugins

METADATA = "Metadata-Version: 2.1\nName: acme-probes\nVersion: 1.2\nRequires-Dist: sfcperf\n"
NEEDS = 'Requires-Dist: numpy>=1.26\nRequires-Dist: pytest; extra == "test"\n'
RECORD = """\
acme/__init__.py,,
acme/probe.py,,
acme/data/table.csv,,
acme/__pycache__/probe.cpython-311.pyc,,
../../bin/acme,,
acme_probes-1.2.dist-info/METADATA,,
acme_probes-1.2.dist-info/RECORD,,
"""
EDITABLE = "__editable__.acme_probes-1.2.pth,,\nacme_probes-1.2.dist-info/METADATA,,\n"


@pytest.fixture(params=["installed", "editable"])
def site(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A distribution with one probe; importing it would fail the test."""
    editable = request.param == "editable"
    source = tmp_path / "source" if editable else tmp_path / "site"
    info = tmp_path / "site" / "acme_probes-1.2.dist-info"
    info.mkdir(parents=True)
    (source / "acme" / "data").mkdir(parents=True)
    (source / "acme" / "__pycache__").mkdir()
    (source / "acme" / "__init__.py").write_text("raise SystemExit('imported')\n")
    (source / "acme" / "probe.py").write_text("class Probe: pass\n")
    (source / "acme" / "data" / "table.csv").write_text("a\n")
    (source / "acme" / "__pycache__" / "probe.cpython-311.pyc").write_bytes(b"x")
    (info / "METADATA").write_text(METADATA + NEEDS)
    (info / "entry_points.txt").write_text("[sfcperf.probes]\nacme = acme.probe:Probe\n")
    (info / "RECORD").write_text(EDITABLE if editable else RECORD)
    (info / "direct_url.json").write_text('{"url": "file:///home/ada/acme"}')
    for folder in {source, tmp_path / "site"}:
        monkeypatch.syspath_prepend(str(folder))
    yield source
    assert "acme" not in sys.modules


def test_its_files_are_told_without_importing_it(site: Path) -> None:
    (module,) = third_party({("probe", "acme"), ("probe", "ping"), ("driver", "local")})
    assert (module.distribution, module.version) == ("acme-probes", "1.2")
    assert module.provides == (("probe", "acme"),)
    assert module.requires == ("numpy>=1.26",)
    assert sorted(module.files) == [
        "acme/__init__.py",
        "acme/data/table.csv",
        "acme/probe.py",
        "acme_probes-1.2.dist-info/METADATA",
        "acme_probes-1.2.dist-info/entry_points.txt",
    ]


def test_what_is_packed_is_an_entry_point_again(site: Path, tmp_path: Path) -> None:
    (module,) = third_party({("probe", "acme")})
    for name, path in module.files.items():
        target = tmp_path / "unpacked" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    code = (
        "from importlib.metadata import entry_points; "
        "print([p.dist.version for p in entry_points(group='sfcperf.probes') if p.name == 'acme'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(tmp_path / "unpacked")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "['1.2']\n"


def test_one_that_is_not_installed_here() -> None:
    with pytest.raises(EnvironmentLacks, match="'nowhere'"):
        third_party({("probe", "nowhere")})


def test_used_plugins_come_from_the_documents() -> None:
    manifest = {
        "driver": "local",
        "probes": [{"probe": "ping"}],
        "monitors": [{"monitor": "cpu"}],
        "modules": [{"kind": "driver", "name": "other"}],
    }
    applied = {"publish": [{"to": "report"}], "analyses": [{"analysis": "merge"}]}
    plan = {"resolved": {"s": {"chain": {"functions": [{"vnf": "a", "type": "forwarder"}]}}}}
    assert used_plugins(manifest, applied, plan) == {
        ("driver", "local"),
        ("driver", "other"),
        ("probe", "ping"),
        ("monitor", "cpu"),
        ("publisher", "report"),
        ("analysis", "merge"),
        ("vnf", "forwarder"),
    }
