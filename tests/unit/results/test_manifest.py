"""run.json: made, resumed and finished; facts and versions that go into it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.local import small_workflow
from support.records.trials import trial
from support.schemas import validator

from sfcperf.results.manifest import finish, new_manifest, resumed
from sfcperf.results.provenance import machine, software
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Workflow


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    """What UDP gives is more than what TCP does."""
    document = small_workflow(
        factors={"protocol": ["tcp", "udp"], "n": [0, 1]},
        chain={"functions": [{"vnf": "fwd", "count": "${n}"}]},
        probes=[{"probe": "iperf3", "name": "traffic", "protocol": "${protocol}"}],
        monitors=[{"monitor": "cpu"}],
    )
    return load_document(document, tmp_path)


def begun(workflow: Workflow) -> dict[str, Any]:
    return new_manifest(
        workflow,
        run_id="run",
        tags=["abc123"],
        command=["sfcperf", "run", "w.json"],
        host=machine.host_facts(),
        versions=software.versions(),
    )


def again(manifest: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """The manifest resumed with the same machine and versions, or these."""
    same = {"host": manifest["host"], "versions": manifest["versions"]}
    return resumed(manifest, tags=["def456"], command=["sfcperf", "resume"], **(same | changes))


def check(manifest: Mapping[str, Any]) -> None:
    validator("run").validate(json.loads(json.dumps({"schema_version": 1, **manifest})))


def test_manifests_are_as_the_schema_says_at_every_stage(workflow: Workflow) -> None:
    manifest = begun(workflow)
    check(manifest)
    check(again(manifest))
    done = finish(
        manifest,
        status="complete",
        trials=[trial(1), trial(2, status="failed")],
        stopping={"s000": "planned rounds done"},
        monitor_cpu_s={"cpu": 0.25},
    )
    check(done)
    assert done["trials"] == {"valid": 1, "untrusted": 0, "failed": 1}
    (monitor,) = done["monitors"]
    assert (monitor["monitor"], monitor["cpu_s"]) == ("cpu", 0.25)
    assert manifest["status"] == "running" and manifest["problems"] == []


def test_metrics_are_kept_per_scenario(workflow: Workflow) -> None:
    tcp, udp = begun(workflow)["probes"]
    assert (tcp["scenarios"], udp["scenarios"]) == (["s000", "s001"], ["s002", "s003"])
    names = [{metric["name"] for metric in probe["metrics"]} for probe in (tcp, udp)]
    assert ["retransmits" in each for each in names] == [True, False]
    assert ["jitter_us" in each for each in names] == [False, True]


def test_resuming_on_another_machine_is_a_problem(workflow: Workflow) -> None:
    manifest = begun(workflow)
    assert again(manifest)["problems"] == []
    kernel = manifest["host"]["kernel"] | {"release": "9.9.9"}
    elsewhere = again(manifest, host={**manifest["host"], "kernel": kernel})
    [problem] = elsewhere["problems"]
    assert "kernel release" in problem and "9.9.9" in problem
    assert len(elsewhere["resumed_at"]) == 1 and elsewhere["ended_at"] is None
    assert [session["tag"] for session in elsewhere["sessions"]] == ["abc123", "def456"]


def test_facts_agree_with_other_witnesses_and_hold_no_secret() -> None:
    facts = machine.host_facts()
    uname = subprocess.run(["uname", "-r"], capture_output=True, text=True, check=True)
    assert facts["kernel"]["release"] == uname.stdout.strip()
    assert facts["cpu"]["logical"] == psutil.cpu_count()
    assert facts["memory"]["total_bytes"] == psutil.virtual_memory().total
    somaxconn = Path("/proc/sys/net/core/somaxconn").read_text().strip()
    assert facts["sysctls"]["net.core.somaxconn"] == somaxconn
    # Secrets: the fast-open key, and what follows ` -- ` on the kernel's command line, init's.
    assert "net.ipv4.tcp_fastopen_key" not in facts["sysctls"]
    assert " -- " not in (facts["kernel"]["command_line"] or "")
    packages = software.versions()["packages"]
    assert {"numpy", "scipy", "jsonschema"} <= packages.keys()
    assert "pytest" not in packages


def test_unreadable_facts_are_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "_CPU", tmp_path)
    cpu = machine.host_facts()["cpu"]
    assert (cpu["governor"], cpu["boost"], cpu["smt_active"]) == (None, None, None)


def test_missing_failing_and_hanging_tools_have_no_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tools = {
        "there": ("sh", "-c", "echo; echo 1.2.3 >&2; echo there 4.5"),
        "missing": ("no-such-tool-anywhere", "--version"),
        "failing": ("sh", "-c", "echo 1.0; exit 3"),
        "hanging": ("sleep", "60"),
    }
    monkeypatch.setattr(software, "TOOLS", tools)
    monkeypatch.setattr(software, "_TIMEOUT_S", 0.5)
    found = software.versions()["tools"]
    assert found == {"there": "there 4.5", "missing": None, "failing": None, "hanging": None}


def test_the_revision_is_that_of_our_own_working_tree(tmp_path: Path) -> None:
    git = ("git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.org")

    def run(*arguments: str) -> str:
        done = subprocess.run([*git, *arguments], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    run("init", "-q")
    source = tmp_path / "package.py"
    source.write_text("1\n")
    assert software._revision(source) is None
    run("add", "package.py")
    run("commit", "-q", "-m", "first")
    commit = run("rev-parse", "HEAD")
    assert software._revision(source) == {"commit": commit, "modified": False}
    source.write_text("2\n")
    assert software._revision(source) == {"commit": commit, "modified": True}
