"""pptmon says what is wrong: its options, the interfaces, the kernel."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.needs import compiled
from support.network.wires import Lab, ip
from support.pptmon.process import BINARY
from support.tiers import examples

from sfcperf.hosts.process import inside

NOWHERE = ["--mode", "source", "--vnf-id", "1", "--ingress", "nowhere0", "--egress", "nowhere1"]


@dataclass(frozen=True)
class Ended:
    """A pptmon that has ended."""

    status: int
    events: list[dict[str, Any]]
    stderr: str

    @property
    def error(self) -> str:
        """Of the only event, `failed`, which stderr says as well."""
        [event] = self.events
        assert event["event"] == "failed"
        return str(event["error"])


def _run(argv: list[str], namespace: Path | None = None) -> Ended:
    with inside(namespace):
        done = subprocess.run(argv, check=False, capture_output=True, timeout=30)
    lines = done.stdout.decode().splitlines()
    # Messages repeat a part of a long option, whose last character may be cut.
    stderr = done.stderr.decode(errors="replace")
    return Ended(done.returncode, [json.loads(line) for line in lines], stderr)


@pytest.fixture(scope="module")
def binary() -> str:
    return compiled(BINARY)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--mode", "middle"], "--mode: source, transit, sink or source-sink, not 'middle'"),
        (["--vnf-id", "256"], "--vnf-id: a whole number from 0 to 255, not '256'"),
        (["--vnf-id", " 1"], "--vnf-id: a whole number from 0 to 255, not ' 1'"),
        (["--period-ms", "-1"], "--period-ms: milliseconds, 0 (every packet) to 1e9, not '-1'"),
        (["--period-ms", "nan"], "--period-ms: milliseconds"),
        (["--rate", "0"], "--rate: samples per second, 1e-6 to 1e6, not '0'"),
        (["--rate", "1", "--period-ms", "1"], "--period-ms and --rate exclude each other"),
        (["--format", "json"], "--format: paper or rfc, not 'json'"),
        (["--carrier", "pigeon"], "--carrier: auto, l4 or nsh, not 'pigeon'"),
        (["--metrics", "time,luck"], "--metrics: time, delay"),
        (["--metrics", "delay,delay"], "--metrics: delay is given twice"),
        (["--attach", "xdp"], "--attach: auto, tcx or clsact, not 'xdp'"),
        (["--filter", ""], "--filter: '': parts are proto=, src=, dst=, sport=, dport="),
        (["--filter", "proto=icmp"], "--filter: proto=icmp: tcp or udp"),
        (["--filter", "sport=0"], "--filter: sport=0: a port, 1 to 65535"),
        (["--filter", "src=10.0.0.300"], "--filter: src=10.0.0.300: an IPv4 or IPv6 address"),
        (["--filter", "src=10.0.0.0/33"], "src=10.0.0.0/33: the prefix length is 0 to 32"),
        (["--filter", "dst=fd00::1/64"], "--filter: dst=fd00::1/64: address bits are set behind"),
        (["--filter", "src=10.0.0.1,dst=::1"], "src and dst are of different IP versions"),
        (["--filter", "sport=1,sport=2"], "--filter: sport is given twice"),
        (["--filter", "port=1,dst=::"], "--filter: 'port=1': parts are proto=, src=, dst="),
        (["--filter", "sport=" + "1" * 99], "--filter: sport=1111"),
        (["more"], "'more' is not an option"),
        (["--frobnicate"], "wrong options; stderr says which"),
    ],
)  # fmt: skip
def test_wrong_options(binary: str, arguments: list[str], complaint: str) -> None:
    ended = _run([binary, *NOWHERE, *arguments])
    assert ended.status == 2
    assert complaint in ended.error
    assert "--help" in ended.stderr


@pytest.mark.parametrize("missing", ["--mode", "--vnf-id", "--ingress", "--egress"])
def test_missing_options(binary: str, missing: str) -> None:
    at = NOWHERE.index(missing)
    ended = _run([binary, *NOWHERE[:at], *NOWHERE[at + 2 :]])
    assert (ended.status, ended.error) == (2, f"{missing} is missing")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--period-ms", "0.5"], ["--period-ms", "0"], ["--rate", "0.5"], ["--rate", "1e6"],
        ["--metrics", "time,delay"], ["--format", "rfc", "--carrier", "nsh"],
        ["--filter", "proto=tcp,src=10.0.0.0/24,dst=10.0.1.1,sport=5201,dport=80"],
        ["--filter", "src=fd00::/64,dst=::/0"], ["--filter", "dst=0.0.0.0/0"],
    ],
)  # fmt: skip
def test_right_options(binary: str, arguments: list[str]) -> None:
    """They get as far as the interfaces, which are not there."""
    ended = _run([binary, *NOWHERE, *arguments])
    assert ended.status == 1
    assert ended.error.startswith("interface nowhere0: No such device; available: ")


_WORD = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
_OPTION = st.sampled_from(
    ["--mode", "--vnf-id", "--period-ms", "--rate", "--filter", "--format", "--carrier",
     "--metrics", "--attach"]
)  # fmt: skip
_LIKELY = st.text("0123456789.,=:/-+esrcdtpo", max_size=80)

_VALUE = (_WORD | _LIKELY).filter(lambda value: not value.startswith("-"))
"""Others could be abbreviations of --help, whose status is another."""


@examples(150)
@given(arguments=st.lists(_OPTION | _VALUE, max_size=4))
def test_any_option_is_taken_or_refused(binary: str, arguments: list[str]) -> None:
    ended = _run([binary, *NOWHERE, *arguments])
    assert ended.status in (1, 2)
    assert ended.error


@pytest.fixture
def spare(lab: Lab) -> tuple[Path, list[str]]:
    """A namespace with interfaces, and the options for them."""
    host, outside = lab.host("vnf"), lab.host("outside")
    lab.join((host, "eth0"), (outside, "out0"))
    lab.join((host, "eth1"), (outside, "out1"))
    assert host.namespace is not None
    options = ["--mode", "sink", "--vnf-id", "1", "--ingress", "eth0", "--egress", "eth1"]
    return host.namespace, options


@pytest.mark.root
def test_interfaces_that_do_not_do(binary: str, spare: tuple[Path, list[str]]) -> None:
    namespace, options = spare

    def error(*more: str) -> str:
        ended = _run([binary, *options, *more], namespace)
        assert ended.status == 1
        return ended.error

    for egress, complaint in (
        ("eth2", "interface eth2: No such device; available: eth0, eth1"),
        ("lo", "interface lo: is not an Ethernet interface; available: eth0, eth1"),
        ("a-name-that-is-too-long", "interface a-name-that-is-too-long: No such device"),
    ):
        assert complaint in error("--egress", egress)
    tc = ["tc", "-n", namespace.name, "qdisc", "add", "dev", "eth0", "ingress"]
    subprocess.run(tc, check=True, timeout=10)
    assert "tc qdisc del dev eth0 ingress" in error("--attach", "clsact")
    ip("-n", namespace.name, "link", "set", "eth1", "down")
    assert "interface eth1: is down" in error()


@pytest.mark.root
def test_three_capabilities_are_needed_and_enough(
    binary: str, spare: tuple[Path, list[str]]
) -> None:
    namespace, options = spare
    for without, named in (
        ("-all", "CAP_BPF CAP_PERFMON CAP_NET_ADMIN"),
        ("-net_admin", "CAP_NET_ADMIN"),
        ("-bpf,-sys_admin", "CAP_BPF"),
        ("-perfmon,-sys_admin", "CAP_PERFMON"),
    ):
        argv = ["setpriv", f"--bounding-set={without}", f"--inh-caps={without}", binary, *options]
        ended = _run(argv, namespace)
        assert ended.status == 3
        assert f"the permission: {named};" in ended.error
    for hook in ("tcx", "clsact"):
        argv = ["setpriv", "--bounding-set=-all,+bpf,+perfmon,+net_admin", binary, *options]
        ended = _run(["timeout", "--preserve-status", "1", *argv, "--attach", hook], namespace)
        assert ended.status == 0, ended.stderr
        assert [event["event"] for event in ended.events] == ["ready", "counters"]


def _hidden(folder: str, then: str, argv: list[str]) -> Ended:
    """Run with a folder of /sys replaced, in a mount namespace of its own."""
    script = f'mount -t tmpfs none {folder} && {then} exec "$@"'
    return _run(["unshare", "--mount", "sh", "-c", script, "sh", *argv])


@pytest.mark.root
def test_without_types_of_the_kernel(binary: str) -> None:
    if any(Path("/boot").glob(f"vmlinux*{os.uname().release}")):
        pytest.skip("libbpf finds the kernel's types in /boot as well")
    ended = _hidden("/sys/kernel/btf", "", [binary, "--check"])
    assert ended.status == 3
    [check] = ended.events
    assert check["met"] is False
    assert "CONFIG_DEBUG_INFO_BTF" in check["lacks"][0]


@pytest.mark.root
def test_locked_down(binary: str) -> None:
    mode = "echo 'none integrity [confidentiality]' > /sys/kernel/security/lockdown;"
    ended = _hidden("/sys/kernel/security", mode, [binary, "--check"])
    assert ended.status == 3
    assert "lockdown=integrity" in ended.events[0]["lacks"][0]


@pytest.mark.root
def test_in_a_user_namespace(binary: str) -> None:
    """It has all capabilities there, and the kernel listens to none of them."""
    ended = _run(["unshare", "--user", "--map-root-user", "--net", binary, "--check"])
    assert ended.status == 3
    assert "user namespace" in ended.events[0]["lacks"][0]


@pytest.mark.root
@pytest.mark.parametrize("hook", ["tcx", "clsact"])
def test_check(binary: str, hook: str) -> None:
    ended = _run([binary, "--check", "--attach", hook])
    assert (ended.status, ended.stderr) == (0, "")
    known = {"event": "check", "kernel": os.uname().release, "met": True, "lacks": []}
    assert ended.events == [known | {"attach": hook}]


def test_check_without_permission(binary: str) -> None:
    argv = ["setpriv", "--bounding-set=-all", binary] if os.geteuid() == 0 else [binary]
    ended = _run([*argv, "--check"])
    assert ended.status == 3
    [check] = ended.events
    assert (check["met"], check["attach"]) == (False, None)
    assert "cannot run here for lack of the permission" in ended.stderr
