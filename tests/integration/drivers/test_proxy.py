"""Programs that end connections: redirected, proven by connections of their own, and what is wrong
with them is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.network.echoes import ping
from support.records.scenarios import scenario

from sfcperf.active.server import start_server
from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.hosts.procfs import udp_ports
from sfcperf.management.deployment import Deployment
from sfcperf.vnfs.program.redirect import REDIRECT
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import Match

pytestmark = pytest.mark.root

CONTENT = bytes(range(256)) * 4096
"""A megabyte, which fills segments."""

HAPROXY = [
    "defaults",
    "  timeout connect 5s",
    "  timeout client 60s",
    "  timeout server 60s",
    "listen web",
]
SQUID = [
    "http_access allow all",
    "http_port 3128",
    "cache deny all",
    "access_log none",
    "pid_filename none",
    "pinger_enable off",
    "netdb_filename none",
    "shutdown_lifetime 0 seconds",
]


def proxy(command: list[str], redirect: Mapping[str, Any], **knobs: Any) -> dict[str, Any]:
    """Knobs of a proxy."""
    known = with_defaults(REDIRECT, redirect)
    return {"attach": "proxy", "command": command, "redirect": known, **knobs}


def socat(protocol: str, listen: str, connect: str, **redirect: Any) -> dict[str, Any]:
    command = ["socat", f"{listen}:{{{{listen}}}},fork", connect]
    return proxy(command, {"protocol": protocol, "ports": [80], **redirect})


def haproxy(bind: str, *lines: str, **redirect: Any) -> dict[str, Any]:
    """Knobs of HAProxy with these lines in its configuration."""
    known = {"ports": [80], "listen": 8080, **redirect}
    lines = (*HAPROXY, *(f"  {line}" for line in (f"bind {bind}", *lines)))
    return proxy(["haproxy", "-db", "-f", "h.cfg"], known, files={"h.cfg": list(lines)})


def squid(mode: str, **redirect: Any) -> dict[str, Any]:
    known = {"ports": [80], "listen": 3129, **redirect}
    lines = [*SQUID, f"http_port {{{{listen}}}} {mode}"]
    return proxy(["squid", "-N", "-f", "s.conf"], known, files={"s.conf": lines})


WEB: dict[str, dict[str, Any]] = {
    "haproxy": haproxy(":{{listen}}", "mode http", "server web {{server}}:80"),
    "haproxy-to-another-port": haproxy(
        ":{{listen}}", "mode tcp", "server web {{server}}:81", server_ports=[81]
    ),
    "haproxy-transparent": haproxy(
        ":{{listen}} transparent",
        "mode tcp",
        "source 0.0.0.0 usesrc clientip",
        "server web {{server}}:80",
        transparent=True,
    ),
    "squid": squid("intercept"),
    "squid-transparent": squid("tproxy", transparent=True),
    "socat-by-ipv6-sockets": socat("tcp", "TCP6-LISTEN", "TCP:{{server}}:80"),
}
DNSMASQ = ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv"]
DNS = proxy(
    [*DNSMASQ, "--port={{listen}}", "--server={{server}}"],
    {"protocol": "udp", "ports": [53], "listen": 5353},
)
EACH = [
    pytest.param(name, marks=[] if name == "haproxy" else pytest.mark.exhaustive) for name in WEB
]


@pytest.mark.parametrize("dataplane", ["ebpf", "ovs"], indirect=True)
@pytest.mark.parametrize("name", EACH)
def test_each_is_proven_and_serves(driver: LocalDriver, name: str) -> None:
    chain = scenario(["router", "program", "nat"], knobs=WEB[name])
    deployment = driver.deploy(chain)
    proof = driver.prove_traversal(deployment, chain)
    assert proof.problems == ()
    assert proof.data_planes == {
        "router-1": "counters",
        "program-2": "connections",
        "nat-3": "counters",
    }
    before = deployment.functions[1].counters()["connections"]
    [port] = WEB[name]["redirect"]["server_ports"] or [80]
    with web_server(deployment, port):
        assert [fetched(deployment) for _ in range(3)] == [CONTENT] * 3
    assert deployment.functions[1].counters()["connections"] >= before + 3
    assert ping(deployment, 3) == 3
    assert driver.problems(deployment) == []


@pytest.mark.parametrize("dataplane", ["ebpf"], indirect=True)
def test_what_enters_the_chain_may_be_what_two_proxies_take(driver: LocalDriver) -> None:
    match = Match(ip_proto="tcp", destination_port=80)
    chain = scenario(["program", "program"], knobs=WEB["haproxy"], match=match)
    deployment = driver.deploy(chain)
    proof = driver.prove_traversal(deployment, chain)
    assert proof.problems == ()
    assert set(proof.data_planes.values()) == {"connections"}
    with web_server(deployment):
        assert fetched(deployment) == CONTENT


@pytest.mark.parametrize("dataplane", ["ebpf"], indirect=True)
def test_dns(driver: LocalDriver, tmp_path: Path) -> None:
    chain = scenario(["program", "router"], knobs=DNS)
    deployment = driver.deploy(chain)
    proof = driver.prove_traversal(deployment, chain)
    assert proof.problems == ()
    assert proof.data_planes["program-1"] == "connections"
    server, address = deployment.server.host, deployment.server.address
    answering = server.spawn(
        [*DNSMASQ, f"--listen-address={address}", "--address=/example.com/192.0.2.1"]
    )
    assert answering.becomes(
        lambda: 53 in udp_ports(server.read_text("/proc/net/udp")), timeout_s=10, period_s=0.01
    )
    queries = tmp_path / "queries"
    queries.write_text("".join(f"name{number}.example.com A\n" for number in range(100)))
    argv = ["dnsperf", "-s", address, "-d", str(queries), "-n", "1"]
    said = deployment.client.host.run(argv, timeout_s=30).text
    answering.stop()
    assert "NOERROR 100 (100.00%)" in said, said


@pytest.mark.parametrize("dataplane", ["ebpf"], indirect=True)
@pytest.mark.parametrize("knobs", [WEB["haproxy"], DNS], ids=["tcp", "udp"])
@pytest.mark.gate_runs(1)
def test_a_missing_redirection_is_told(driver: LocalDriver, knobs: dict[str, Any]) -> None:
    """The kernel then forwards, and client and server notice nothing."""
    chain = scenario(["program"], knobs=knobs)
    deployment = driver.deploy(chain)
    [function] = deployment.functions
    function.host.run(["nft", "delete", "table", "ip", "sfcperf-proxy"], timeout_s=10)
    proof = driver.prove_traversal(deployment, chain)
    assert not proof.proven
    assert proof.data_planes == {"program-1": "connections"}
    assert "connections cross it while its process is stopped" in proof.problems[-1]
    if knobs is not DNS:
        assert [p.partition(": ")[2] for p in proof.problems[:-1]] == [
            f"it has no connection with {end.address}"
            for end in (deployment.client, deployment.server)
        ]
    [problem] = driver.problems(deployment)
    assert problem.startswith("program-1: nothing is redirected any more")


@pytest.mark.parametrize("dataplane", ["ebpf"], indirect=True)
def test_a_program_that_opens_no_connection_is_told(driver: LocalDriver) -> None:
    knobs = socat("tcp", "TCP-LISTEN", "EXEC:cat")
    chain = scenario(["program"], knobs=knobs)
    proof = driver.prove_traversal(driver.deploy(chain), chain)
    assert proof.problems == (
        "program-1, tcp port 80: what a client sends does not reach the server",
    )


@contextmanager
def web_server(deployment: Deployment, port: int = 80) -> Iterator[None]:
    """The server of Python, with one file."""
    host, address = deployment.server.host, deployment.server.address
    (host.workdir / "file").write_bytes(CONTENT)
    argv = ["python3", "-m", "http.server", "--bind", address, "--directory", str(host.workdir)]
    log = host.workdir / "log"
    server = start_server(host, [*argv, str(port)], port=port, stdout=log, stderr=log)
    try:
        yield
    finally:
        server.stop()


def fetched(deployment: Deployment) -> bytes:
    argv = ["curl", "-sS", "--max-time", "10", f"http://{deployment.server.address}/file"]
    return deployment.client.host.run(argv, timeout_s=15).stdout
