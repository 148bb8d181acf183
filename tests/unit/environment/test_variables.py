"""What child processes do not get: secrets."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

import sfcperf
from sfcperf.environment.variables import forget_proxies, of_tools, without_secrets
from sfcperf.hosts import process
from sfcperf.package.scan import scan

ROOT = Path(sfcperf.__file__).parents[1]
STARTS_SFCPERF = {"sfcperf/package/replay/repeat.py", "drivers/conformance/killed_deployment.py"}
"""Their child is sfcperf itself, which logs in as its parent would."""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SFCPERF_ES_PASSWORD", "correct-horse"),
        ("SFCPERF_ES_API_KEY", "correct-horse"),
        ("OS_PASSWORD", "correct-horse"),
        ("OS_APPLICATION_CREDENTIAL_SECRET", "correct-horse"),
        ("OS_TOKEN", "correct-horse"),
        ("MYSQL_PWD", "correct-horse"),
        ("minisign_passphrase", "correct-horse"),
        ("HTTPS_PROXY", "http://me:correct-horse@proxy:3128"),
    ],
)
def test_a_tool_gets_no_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    for groups in ([], [tmp_path / "cgroup.procs"]):
        seen = process.run(["env"], timeout_s=60, cgroups=groups).text.splitlines()
        assert not any(line.startswith(f"{name}=") for line in seen)
    report = tmp_path / "report.html"
    report.write_text(f"<p>{value}</p>")
    assert any(name in finding.what for finding in scan({"report.html": report}))


def test_a_tool_gets_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {"PWD": "/a", "SFCPERF_STATE_DIR": "/run/a", "HTTP_PROXY": "http://proxy:3128"}
    for name, value in others.items():
        monkeypatch.setenv(name, value)
    assert others.items() <= without_secrets().items()


@pytest.mark.parametrize("name", ["http_proxy", "ALL_PROXY", "no_proxy", "HYDRA_PROXY_HTTP"])
def test_packets_of_a_tool_take_no_way_round_the_chain(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "proxy:3128")
    assert name in without_secrets()
    assert name not in of_tools()
    assert not process.run(["printenv", name], timeout_s=60, check=False).text


def test_grpc_finds_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"http_proxy": "a", "grpc_proxy": "b", "HOME": "/root"})
    forget_proxies()
    assert os.environ == {"HOME": "/root"}


def _starts(tree: ast.AST) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "subprocess"
        and node.func.attr in ("run", "Popen", "call", "check_call", "check_output")
    ]


def test_every_place_that_starts_a_child_says_what_it_gets() -> None:
    found = {}
    for folder in ("sfcperf", "drivers", "vnfs"):
        for path in (ROOT / folder).rglob("*.py"):
            for call in _starts(ast.parse(path.read_text())):
                given = [ast.unparse(k.value) for k in call.keywords if k.arg == "env"]
                found[f"{path.relative_to(ROOT)}:{call.lineno}"] = given
    assert len(found) > 5
    careless = {
        place
        for place, given in found.items()
        if place.partition(":")[0] not in STARTS_SFCPERF
        and not any(
            "without_secrets()" in text or "of_tools()" in text or text == "{}" for text in given
        )
    }
    assert careless == set()
