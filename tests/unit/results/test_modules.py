"""Modules of a run: each plug-in that took part, and the code of those that are not ours."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.engine import Bench
from support.schemas import violations
from support.workflows.file import load_workflow

from sfcperf import plugins
from sfcperf.results.provenance import modules_of
from sfcperf.workflow.load import load_document

ROOT = Path(__file__).parents[3]


def test_a_shipped_workflow_uses_modules_of_the_release_only() -> None:
    workflow = load_workflow(ROOT / "workflows" / "quickstart.json")
    modules = modules_of(workflow)
    assert {(entry["kind"], entry["name"]) for entry in modules} >= {
        ("driver", "local"),
        ("vnf", "forwarder"),
        ("probe", "iperf3"),
        ("monitor", "cpu"),
        ("analysis", "summary"),
        ("publisher", "report"),
    }
    assert all(entry["release"] and "files" not in entry for entry in modules)
    assert len(modules) == len({(entry["kind"], entry["name"]) for entry in modules})


def test_the_code_of_other_packages_is_named_with_its_hashes(bench: Bench) -> None:
    bench.start(
        monitors=[{"monitor": "fake"}],
        publish=[{"to": "fake"}],
        services={"store": {"service": "fake", "folder": str(bench.resources)}},
    )
    assert violations(bench.folder()) == []
    by_kind = {entry["kind"]: entry for entry in bench.manifest()["modules"]}
    assert set(by_kind) == set(plugins.GROUPS)
    assert by_kind["analysis"]["release"]
    for kind in ("driver", "vnf", "probe", "monitor", "service", "publisher"):
        entry = by_kind[kind]
        assert entry["package"] == {"name": "sfcperf-fakes", "version": "1"}
        assert not entry["release"]
        assert entry["object"].startswith("support.fake")
        files = {file["path"]: file["sha256"] for file in entry["files"]}
        assert "support/fakes.py" in files
        assert not [path for path in files if "__pycache__" in path]
        for path, digest in files.items():
            content = (Path(entry["root"]) / path).read_bytes()
            assert hashlib.sha256(content).hexdigest() == digest


def test_drivers_of_all_variants_are_there(bench: Bench) -> None:
    there = {
        "infrastructure.driver": "other-fake",
        "infrastructure.config.folder": str(bench.resources),
    }
    workflow = load_document(bench.document(variants={"a": {}, "b": there}), bench.results)
    drivers = [entry["name"] for entry in modules_of(workflow) if entry["kind"] == "driver"]
    assert drivers == ["fake", "other-fake"]


def test_a_resume_with_other_code_says_so(bench: Bench) -> None:
    bench.start(publish=[{"to": "fake", "fail": True}])
    path = bench.folder() / "run.json"
    document = json.loads(path.read_text())
    for entry in document["modules"]:
        if entry["kind"] == "probe":
            entry["files"][0]["sha256"] = "0" * 64
    path.write_text(json.dumps(document))
    bench.resume()
    changed = [p for p in bench.manifest()["problems"] if "other code" in p]
    assert changed == ["resumed with other code of the probe plug-in fake"]


SCRIPT = """
import json, sys
from pathlib import Path
from sfcperf.results.provenance.modules import _code
from sfcperf import plugins
print(json.dumps(_code(plugins.load("probe", "lonely"))))
"""


def described(folder: Path, module: str) -> dict[str, Any]:
    """A probe of this module, asked for in a process that finds it in `folder`."""
    info = folder / "lonely-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lonely\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[sfcperf.probes]\nlonely = {module}:Ping\n")
    code = "from sfcperf.active.ping import Ping as Base\n\nclass Ping(Base):\n    pass\n"
    file = folder / f"{module.replace('.', '/')}.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={"PYTHONPATH": str(folder), "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_module_without_a_package_and_one_in_a_namespace_package_are_one_file(
    tmp_path: Path,
) -> None:
    for name in ("lonely", "shared.space.lonely"):
        folder = tmp_path / name
        folder.mkdir()
        found = described(folder, name)
        assert found["root"] == str(folder)
        assert [file["path"] for file in found["files"]] == [f"{name.replace('.', '/')}.py"]
