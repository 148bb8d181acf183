"""Real programs as functions of a chain: proven, counted, and gone afterwards, whatever they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.local import local_driver
from support.network.echoes import ping
from support.records.scenarios import scenario

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.errors import DeploymentError
from sfcperf.hosts.procfs import process_stat

pytestmark = pytest.mark.root

BRIDGE = [
    ["ip", "link", "add", "br0", "type", "bridge"],
    ["ip", "link", "set", "{{ingress}}", "master", "br0"],
    ["ip", "link", "set", "{{egress}}", "master", "br0"],
    ["ip", "link", "set", "br0", "up"],
]
NFTABLES = [
    "table ip own {",
    "  counter seen { }",
    "  chain forward {",
    "    type filter hook forward priority 0;",
    "    ip daddr {{server}} counter name seen",
    "  }",
    "}",
]
WIRE = {"attach": "bridged", "command": ["socat", "INTERFACE:{{ingress}}", "INTERFACE:{{egress}}"]}
PROGRAMS: dict[str, tuple[dict[str, Any], str]] = {
    "socat": (WIRE, "process"),
    "socat-by-a-shell": (
        {"attach": "bridged", "command": ["sh", "-c", f"{' '.join(WIRE['command'])}; true"]},
        "process",
    ),
    "bridge": ({"attach": "bridged", "setup": BRIDGE}, "counters"),
    "nftables": (
        {
            "files": {"rules.nft": NFTABLES},
            "setup": [["nft", "-f", "rules.nft"]],
            "counters": [
                "sh",
                "-c",
                "nft list counter ip own seen | awk '/packets/ { print $1, $2 }'",
            ],
        },
        "counters",
    ),
    "dnsmasq-beside": (
        {
            "command": ["dnsmasq", "--no-daemon", "--port={{port}}", "--no-resolv", "--conf-file"],
            "ready": {"port": 5353},
            "schema": {"port": {"type": "integer", "default": 5353}},
            "data_plane": "kernel",
        },
        "counters",
    ),
}


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("dataplane", ["ebpf", "ovs"], indirect=True)
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_is_proven_and_counted(driver: LocalDriver, name: str) -> None:
    knobs, method = PROGRAMS[name]
    chain = scenario(["program", "router", "program"], knobs=knobs)
    deployment = driver.deploy(chain)
    proof = driver.prove_traversal(deployment, chain)
    assert proof.problems == ()
    assert proof.data_planes == {
        "program-1": method,
        "router-2": "counters",
        "program-3": method,
    }
    first = deployment.functions[0]
    before = first.counters()
    assert ping(deployment, 5) == 5
    rose = {name: count - before[name] for name, count in first.counters().items()}
    assert (rose["received"], rose["forwarded"], rose["dropped"]) == (10, 10, 0)
    if name == "nftables":
        assert rose["packets"] == 5
    assert driver.problems(deployment) == []


@pytest.mark.parametrize("dataplane", ["ebpf"], indirect=True)
def test_a_program_that_the_kernel_forwards_past_is_told(driver: LocalDriver) -> None:
    """As a proxy whose redirection is missing."""
    chain = scenario(["program"], knobs={"command": ["sleep", "1000"]})
    proof = driver.prove_traversal(driver.deploy(chain), chain)
    assert not proof.proven
    [problem] = proof.problems
    assert problem.startswith("program-1: packets cross it while its process is stopped")


@pytest.mark.parametrize("dataplane", ["ebpf"], indirect=True)
def test_one_that_dies_is_told_with_its_last_lines(driver: LocalDriver) -> None:
    command = ["sh", "-c", "echo all is well; sleep 1000; echo no more"]
    chain = scenario(["program"], knobs={"command": command, "ready": {"output": "^all is well$"}})
    deployment = driver.deploy(chain)
    [function] = deployment.functions
    shell, child = sorted(function.data_plane_pids)
    assert driver.problems(deployment) == []
    function.host.run(["kill", "-9", str(shell)], timeout_s=10)
    [problem] = driver.problems(deployment)
    assert problem == "program-1: its program has ended by SIGKILL; it printed: all is well"
    driver.teardown(deployment)
    assert not _runs(child)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "exits": (
        {"command": ["sh", "-c", "echo starting; echo no licence >&2; exit 3"]},
        "its program has ended with status 3; it printed: starting; no licence",
    ),
    "crashes": (
        {"command": ["sh", "-c", "kill -SEGV $$"]},
        "its program has ended by SIGSEGV; it printed: nothing",
    ),
    "not-there": (
        {"command": ["no-such-program"]},
        "its program has ended with status 127; it printed: sh: 1: exec: no-such-program: not",
    ),
    "goes-to-the-background": (
        {"command": ["sh", "-c", "setsid sleep 31415 & exit 0"], "ready": {"port": 99}},
        "its program has ended with status 0, or moved to the background; it printed: nothing",
    ),
    "never-listens": (
        {"command": ["sleep", "1000"], "ready": {"port": 99}, "ready_timeout_s": 0.3},
        "its program was not ready within 0.3 s: nothing listens at port 99",
    ),
    "never-prints": (
        {
            "command": ["sh", "-c", "echo hm; sleep 1000"],
            "ready": {"output": "ready"},
            "ready_timeout_s": 0.3,
        },
        "it printed no line like 'ready'; it printed: hm",
    ),
    "never-answers": (
        {"command": ["sleep", "9"], "ready": {"command": ["false"]}, "ready_timeout_s": 0.3},
        "`false` fails",
    ),
    "ignores-signals": (
        {
            "command": ["sh", "-c", "trap '' TERM INT HUP; echo deaf; while :; do sleep 0.1; done"],
            "ready": {"port": 99},
            "ready_timeout_s": 0.3,
            "stop_timeout_s": 0.3,
        },
        "nothing listens at port 99; it printed: deaf",
    ),
    "ends-when-it-is-ready": (
        {"command": ["sh", "-c", "echo up; exit 5"], "ready": {"output": "up"}},
        "its program has ended with status 5; it printed: up",
    ),
    "a-long-command-fails": (
        {"command": ["sleep", "9"], "setup": [["sh", "-c", f"exit 7 # {'x' * 400}"]]},
        "xxx ...`, ended with 7; it printed: nothing",
    ),
    "setup-fails": (
        {"command": ["sleep", "9"], "setup": [["true"], ["ip", "link", "add", "{{mtu}}"]]},
        "its setup command 2, `ip link add 1400`, ended with",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_programs_are_told_and_leave_nothing(tmp_path: Path, name: str) -> None:
    knobs, told = BAD[name]
    chain = scenario(["program"], knobs=knobs)
    # It looks for anything that is left when it ends.
    with local_driver(tmp_path) as driver:
        with pytest.raises(DeploymentError, match="program-1") as caught:
            driver.deploy(chain)
        assert told in str(caught.value)
        assert str(caught.value).count("program-1: ") == 1
        assert _of_command("31415") == []


def _runs(pid: int) -> bool:
    try:
        return process_stat(Path(f"/proc/{pid}/stat").read_text()).state != "Z"
    except FileNotFoundError:
        return False


def _of_command(word: str) -> list[str]:
    """Processes with this word in their command line."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_text().split("\0")
        except OSError:
            continue
        if word in words:
            found.append(file.parent.name)
    return found
