"""Files of tables that sfc-sff refuses, and what it says about them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from support.fuzzing import SEEDS, mutated
from support.needs import compiled
from support.network.wires import Lab, ip, space
from support.tiers import examples

from sfcperf.dataplane import binaries
from sfcperf.dataplane.sff.process import BINARY

Check = Callable[[str | bytes], subprocess.CompletedProcess[str]]

NODE = "node 02:00:00:00:00:01 address 192.0.2.1\n"
PORTS = "".join(
    f"port {number} interface p{number} kind {kind} mtu 1500\n"
    for number, kind in enumerate(("endpoint", "nsh", "plain", "plain", "underlay"), 1)
)
SOUND = (
    NODE
    + "tap near far on no\ntrace 1024\n"
    + PORTS
    + """\
path 1 255 from 1 to nsh port 2 mac 02:00:00:00:00:02  # comment
path 1 254 to plain port 3 mac 02:00:00:00:00:03 back 4
\t path 1 253 to gpe port 5 mac 02:00:00:00:00:05 address 192.0.2.5
path 2 1 to end-gpe port 5 mac 02:00:00:00:00:05 address 192.0.2.5

path 16777215 1 to end port 1
station 02:00:00:00:00:11 port 1
station 02:00:00:00:00:12 port 5 mac 02:00:00:00:00:05 address 192.0.2.5
route 192.0.2.5 port 5
rule 1 path 1 255
rule 1 path 1 255 version 4 protocol tcp source 10.0.0.0/8 source-port 1-65535
rule 1 path 2 255 destination 2001:db8::/32 protocol udp destination-port 53 version 6
rule 1 path 2 255 protocol 132 destination-port 0-65535
"""
)


@pytest.fixture
def check(tmp_path: Path) -> Check:
    binary = compiled(BINARY)
    file = tmp_path / "sff.tables"

    def run(tables: str | bytes) -> subprocess.CompletedProcess[str]:
        file.write_bytes(tables.encode() if isinstance(tables, str) else tables)
        argv = [binary, "--tables", str(file), "--check"]
        return subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)

    return run


def test_a_sound_file(check: Check) -> None:
    done = check(SOUND)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert check(SOUND.rstrip("\n")).returncode == 0


MAC = "02:00:00:00:00:09"
WRONG = {
    "unknown line": ("ports 9", "node, tap, trace, port, path, station, route, or rule"),
    "second node": (f"node {MAC}", "a node already"),
    "second tap": ("tap near far on no", "a tap already"),
    "trace": ("trace 3", "'3' is not a power of 2"),
    "trace too seldom": ("trace 2097152", "not a number from 0 to 1048576"),
    "port without number": ("port", "port has no value"),
    "port 0": ("port 0 interface p9 kind nsh mtu 1500", "'0', not a number from 1 to 255"),
    "port 256": ("port 256 interface p9 kind nsh mtu 1500", "not a number from 1 to 255"),
    "port twice": ("port 1 interface p9 kind nsh mtu 1500", "port 1 is there already"),
    "interface twice": ("port 9 interface p1 kind nsh mtu 1500", "port 1 has the interface p1"),
    "long name": ("port 9 interface a123456789012345 kind nsh mtu 1500", "longer than the 15"),
    "kind": ("port 9 interface p9 kind none mtu 1500", "endpoint, nsh, plain, underlay"),
    "mtu": ("port 9 interface p9 kind nsh mtu 67", "mtu is '67', not a number from 68 to 9000"),
    "xdp": ("port 9 interface p9 kind nsh mtu 1500 xdp 1", "not one of: no, yes"),
    "unparsed": (
        "port 9 interface p9 kind endpoint mtu 1500 unparsed no",
        "not one of: drop, bypass",
    ),
    "unparsed's kind": (
        "port 9 interface p9 kind nsh mtu 1500 unparsed bypass",
        "only ports of kind endpoint",
    ),
    "order": ("port 9 kind nsh", "expected 'interface' and its value"),
    "more words": ("route 192.0.2.9 port 5 6", "unexpected '6'"),
    "SPI": ("path 16777216 1 to end port 1", "path is '16777216', not a number from 0 to 16777215"),
    "SI 0": ("path 3 0 to end port 1", "SI is '0', not a number from 1 to 255"),
    "SI 256": ("path 3 256 to end port 1", "not a number from 1 to 255"),
    "no SI": ("path 3", "SI has no value"),
    "path twice": ("path 1 255 to end port 1", "SPI 1 SI 255 is there already"),
    "action": ("path 3 1 to go port 1", "to is 'go', not one of: nsh, plain, gpe, end, end-gpe"),
    "from no port": ("path 3 1 from 9 to end port 1", "there is no port 9 above"),
    "to no port": ("path 3 1 to end port 9", "there is no port 9 above"),
    "kind of port": ("path 3 1 to end port 2", "is of kind nsh; this takes one of kind endpoint"),
    "kind of back": (f"path 3 1 to plain port 3 mac {MAC} back 2", "takes one of kind plain"),
    "no back": (f"path 3 1 to plain port 3 mac {MAC}", "expected 'back'"),
    "no mac": ("path 3 1 to nsh port 2", "expected 'mac'"),
    "short mac": ("path 3 1 to nsh port 2 mac 2:0:0:0:0:1", "not a MAC address such as 02:"),
    "signed mac": ("path 3 1 to nsh port 2 mac -1:00:00:00:00:01", "not a MAC address"),
    "long mac": (f"path 3 1 to nsh port 2 mac {MAC}:09", "not a MAC address"),
    "no address": (f"path 3 1 to gpe port 5 mac {MAC}", "expected 'address'"),
    "address": (f"path 3 1 to gpe port 5 mac {MAC} address 192.0.2", "not an IPv4 address"),
    "station twice": ("station 02:00:00:00:00:11 port 1", "this station is there already"),
    "station's kind": (f"station {MAC} port 2", "port 2 is of kind nsh"),
    "route twice": ("route 192.0.2.5 port 5", "this route is there already"),
    "route's kind": ("route 192.0.2.9 port 1", "takes one of kind underlay"),
    "rule's kind": ("rule 2 path 1 255", "takes one of kind endpoint"),
    "condition": ("rule 1 path 1 255 dport 5", "version, protocol, source, destination"),
    "version": ("rule 1 path 1 255 version 5", "version is '5', not one of: 4, 6"),
    "protocol": ("rule 1 path 1 255 protocol gre", "icmp, tcp, udp, sctp, icmpv6, a number"),
    "protocol 256": ("rule 1 path 1 255 protocol 256", "a number from 0 to 255"),
    "protocol twice": ("rule 1 path 1 255 protocol 1 protocol 1", "a protocol already"),
    "source": ("rule 1 path 1 255 source host", "source is 'host', not an IPv4 or IPv6 address"),
    "source twice": ("rule 1 path 1 255 source ::1 source ::1", "there is a source already"),
    "prefix": ("rule 1 path 1 255 source 10.0.0.0/33", "'33', not a number from 0 to 32"),
    "no prefix": ("rule 1 path 1 255 source 10.0.0.0/", "'', not a number from 0 to 32"),
    "IPv6 prefix": ("rule 1 path 1 255 source ::/129", "'129', not a number from 0 to 128"),
    "mixed": ("rule 1 path 1 255 source ::1 destination 10.0.0.1", "IPv4 and IPv6 in one rule"),
    "version before": ("rule 1 path 1 255 version 4 source ::1", "IPv4 and IPv6 in one rule"),
    "version after": ("rule 1 path 1 255 source ::1 version 4", "IPv4 and IPv6 in one rule"),
    "ports of ICMP": ("rule 1 path 1 255 protocol icmp source-port 1", "require protocol tcp, udp"),
    "ports of anything": ("rule 1 path 1 255 source-port 1", "require protocol tcp, udp, or sctp"),
    "port number": ("rule 1 path 1 255 protocol tcp source-port 65536", "from 0 to 65535"),
    "range": ("rule 1 path 1 255 protocol tcp source-port 5-4", "ends at '4', not a number from 5"),
    "ports twice": (
        "rule 1 path 1 255 protocol tcp source-port 5 source-port 5",
        "there is a source-port already",
    ),
    "masks": (
        "rule 1 path 1 255 protocol tcp source-port 1-65534 destination-port 1-65534",
        "more than 64 different masks",
    ),
    "zero byte": ("route 192.0.2.9 port 5\0 6", "zero bytes"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_line(check: Check, tmp_path: Path, what: str) -> None:
    line, said = WRONG[what]
    before = SOUND.count("\n")
    done = check(f"{SOUND}{line}\n# more\n")
    assert done.returncode == 1
    assert done.stderr.startswith(f"sfc-sff: {tmp_path}/sff.tables:{before + 1}: ")
    assert said in done.stderr
    [event] = map(json.loads, done.stdout.splitlines())
    assert event["event"] == "failed"
    assert said in event["error"]


WRONG_FILES = {
    "empty": ("", "a line 'node MAC' is missing"),
    "no node": (PORTS, "a line 'node MAC' is missing"),
    "no address": (f"node {MAC}\n" + PORTS, "because port 5 is of kind underlay"),
    "tap is a port": (NODE + "tap p1 far on no\n" + PORTS, "port 1 has the interface p1, which is"),
    "tap is one": (NODE + "tap near near on no\n", "the tap's ends are both 'near'"),
    "tap alone": (NODE + "tap near\n", "the tap's other end has no value"),
    "tap's state": (NODE + "tap near far on maybe\n", "on is 'maybe', not one of: no, yes"),
    "many paths": (
        NODE + PORTS + "".join(f"path {spi} 1 to end port 1\n" for spi in range(2048)),
        "more than 2047 paths",
    ),
    "many stations": (
        NODE + PORTS + "".join(f"station 02:00:00:00:00:{n:02x} port 1\n" for n in range(33)),
        "more than 32 stations",
    ),
    "many routes": (
        NODE + PORTS + "".join(f"route 10.0.{n}.1 port 5\n" for n in range(256)),
        "more than 255 routes",
    ),
}


@pytest.mark.parametrize("what", WRONG_FILES)
def test_a_wrong_file(check: Check, what: str) -> None:
    tables, said = WRONG_FILES[what]
    done = check(tables)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "/sff.tables:" in done.stderr
    assert said in done.stderr


def test_files_that_cannot_be_read(check: Check, tmp_path: Path) -> None:
    check("")
    program = str(binaries.find(BINARY))
    for path, said in ((tmp_path, "Is a directory"), (tmp_path / "none", "No such file")):
        argv = [program, "--tables", str(path), "--check"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 1
        assert f"cannot read {path}: {said}" in done.stderr


WORDS = [
    *sorted({word.encode() for word in SOUND.split()}),
    *(b"0", b"-1", b"4294967296", b"99999999999999999999", b"\0", b"\xff", b"#", b"\r\n", b"\n"),
    *(b"ff:ff:ff:ff:ff:ff", b"::ffff:1.2.3.4", b"/", b"0-0", b"65535-65535", b"a" * 300, b"%s%n"),
]


@given(SEEDS)
@examples(1000, HealthCheck.function_scoped_fixture)
def test_no_file_makes_it_crash(check: Check, seed: int) -> None:
    """Exit status 0 or 1, and a complaint of one line in the second case."""
    done = check(mutated(seed, [SOUND.encode()], WORDS))
    assert done.returncode in (0, 1), done.stderr
    assert done.stderr.count("\n") == done.returncode
    assert ("/sff.tables" in done.stderr) == (done.returncode == 1)


# --- what else keeps it from starting ---


@pytest.mark.root
def test_interfaces_that_it_cannot_use(lab: Lab, tmp_path: Path) -> None:
    host = lab.host("sff")
    lab.join((host, "p1"), (host, "q1"))
    ip("-n", space(host), "link", "add", "b0", "type", "bridge")
    file = tmp_path / "sff.tables"
    argv = ["ip", "netns", "exec", space(host), str(binaries.find(BINARY)), "--tables", str(file)]
    for line, said in (
        ("port 1 interface none0 kind nsh mtu 1500\n", "there is no interface none0"),
        ("port 1 interface b0 kind nsh mtu 1500\n", "cannot attach to b0: its driver has no"),
        ("tap near0 p1 on no\n", "there is no interface near0"),
        ("tap p1 far0 on no\n", "there is no interface far0"),
    ):
        file.write_text(NODE + line)
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
        assert (done.returncode, said in done.stderr) == (1, True), done.stderr
        assert said in json.loads(done.stdout)["error"]


@pytest.mark.root
def test_without_root(tmp_path: Path) -> None:
    program = str(binaries.find(BINARY))
    done = subprocess.run([program, "--probe"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    argv = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", program]
    for options in (["--probe"], ["--tables", str(tmp_path / "sff.tables")]):
        (tmp_path / "sff.tables").write_text(NODE)
        done = subprocess.run([*argv, *options], capture_output=True, text=True, timeout=20)
        assert (done.returncode, "requires root, or CAP_BPF" in done.stderr) == (1, True)


def test_wrong_options() -> None:
    for words, said in (
        ("", "--tables is missing"),
        ("--tables", "requires an argument"),
        ("--tables x more", "'more' is not an option"),
        ("--tables x --rules -1", "a whole number from 0 to 10000000, not '-1'"),
        ("--nothing", "unrecognized option"),
    ):
        argv = [str(binaries.find(BINARY)), *words.split()]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
