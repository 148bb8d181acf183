"""Real tools on a machine that has nothing but busybox."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.network import ssh_servers
from support.network.ssh_servers import SshServer
from support.network.wires import eventually

from sfcperf.errors import DeploymentError
from sfcperf.hosts.carry import equip
from sfcperf.hosts.ssh import SshHost

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(bool(ssh_servers.lacking()), reason=ssh_servers.lacking()),
]
TOOLS = ("ab", "ethtool", "httperf", "ip", "iperf3", "iptables-nft", "nft", "nginx", "ping")
TOOLS += ("stdbuf", "sysctl", "tc", "tcpdump")
WORKDIR = Path("/tmp/it's-a-folder")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    with ssh_servers.dropbear(tmp_path_factory.mktemp("guest")) as made:
        yield made


@pytest.fixture(scope="module")
def host(server: SshServer) -> Iterator[SshHost]:
    made = SshHost("guest", server.access, WORKDIR)
    made.wait_reachable(20)
    assert equip(made, TOOLS) == TOOLS
    made.run(["ip", "link", "set", "lo", "up"], timeout_s=10)
    yield made
    made.close()


def _inodes(server: SshServer) -> set[tuple[str, int, int]]:
    folder = server.root / "tmp" / WORKDIR.name / "carried"
    stats = [(path, path.lstat()) for path in folder.rglob("*")]
    return {(str(path), each.st_ino, each.st_mtime_ns) for path, each in stats}


def test_a_second_call_copies_nothing(host: SshHost, server: SshServer) -> None:
    before = _inodes(server)
    assert equip(host, TOOLS) == TOOLS
    assert equip(host, ("ip",)) == ("ip",)
    assert _inodes(server) == before
    assert not list((server.root / "tmp" / WORKDIR.name / "carried").glob(".part-*"))


@pytest.mark.exhaustive
def test_another_tool_brings_only_what_is_new(host: SshHost, server: SshServer) -> None:
    objects = server.root / "tmp" / WORKDIR.name / "carried" / "objects"
    before = {path.name for path in objects.iterdir()}
    assert equip(host, ("diff", "ping")) == ("diff", "ping")
    (new,) = {path.name for path in objects.iterdir()} - before
    assert new.endswith("-diff")


def test_a_program_is_called_by_its_name_and_ended(host: SshHost, tmp_path: Path) -> None:
    """Tools of probes are in active/test_probes_by_ssh.py."""
    folder, configuration = host.workdir / "www", tmp_path / "nginx.conf"
    configuration.write_text(
        "daemon off; master_process off; pid nginx.pid; error_log stderr; user root root;\n"
        "events {} http { access_log off; client_body_temp_path t; proxy_temp_path t;\n"
        "fastcgi_temp_path t; uwsgi_temp_path t; scgi_temp_path t;\n"
        "server { listen 127.0.0.1:8099; root .; } }\n"
    )
    host.put(configuration, folder / "nginx.conf")
    argv = ["nginx", "-e", "stderr", "-p", str(folder), "-c", "nginx.conf"]
    nginx = host.spawn(argv, stderr=tmp_path / "said")
    listening = ":1FA3 00000000:0000 0A "
    assert eventually(lambda: listening in host.read_text("/proc/net/tcp"), 30)
    # It is the program itself by now, not the script that calls it, and is called so.
    assert host.read_text(f"/proc/{nginx.pid}/comm") == "nginx\n"
    assert "-nginx\n" in host.read_text(f"/proc/{nginx.pid}/maps")
    host.close()  # nginx writes over its environment, and is ended nevertheless
    assert nginx.wait(10) in (-9, -15, 0)
    assert listening not in host.read_text("/proc/net/tcp")


def test_tools_of_the_kernel(host: SshHost, tmp_path: Path) -> None:
    batch = b"link add dummy-s type veth peer name dummy-t\nlink set dummy-s up\n"
    host.run(["ip", "-batch", "-"], timeout_s=10, stdin=batch)
    shown = json.loads(host.run(["ip", "-j", "link", "show", "dummy-s"], timeout_s=10).text)
    assert shown[0]["ifname"] == "dummy-s"
    rate = ["tbf", "rate", "1mbit", "burst", "10k", "latency", "10ms"]
    host.run(["tc", "qdisc", "add", "dev", "dummy-s", "root", *rate], timeout_s=10)
    host.run(["ethtool", "-K", "dummy-s", "tx", "off"], timeout_s=10)
    host.run(["sysctl", "-q", "-e", "-w", "net.ipv4.ip_forward=1"], timeout_s=10)
    assert host.read_text("/proc/sys/net/ipv4/ip_forward") == "1\n"
    host.run(["nft", "-f", "-"], timeout_s=10, stdin=b"table ip s {\nchain c {\ncounter\n}\n}\n")
    assert "nftables" in json.loads(host.run(["nft", "-j", "list", "ruleset"], timeout_s=10).text)
    # Extensions of iptables are files that it looks for by itself.
    argv = ["iptables-nft", "-A", "INPUT", "-m", "comment", "--comment", "x", "-j", "ACCEPT"]
    host.run(argv, timeout_s=10)
    pcap = tmp_path / "pcap"
    argv = ["tcpdump", "-i", "lo", "-n", "-c", "2", "-w", "-", "--immediate-mode", "-Z", "root"]
    capture = host.spawn([*argv, "icmp"], stdout=pcap, stderr=tmp_path / "said")
    assert eventually(lambda: "listening on lo" in (tmp_path / "said").read_text(), 30)
    host.run(["ping", "-c", "1", "127.0.0.1"], timeout_s=10)
    assert capture.wait(10) == 0
    assert pcap.stat().st_size > 100
    said = host.run(["stdbuf", "-oL", "ping", "-V"], timeout_s=10)
    assert "iputils" in said.text and not said.stderr


def test_a_folder_where_nothing_may_be_executed(server: SshServer, host: SshHost) -> None:
    host.run(["mkdir", "/mnt"], timeout_s=10)
    host.run(["mount", "-t", "tmpfs", "-o", "noexec", "none", "/mnt"], timeout_s=10)
    other = SshHost("guest", server.access, Path("/mnt/w"))
    try:
        with pytest.raises(DeploymentError, match="does not run programs that are copied there"):
            equip(other, ["ping"])
    finally:
        other.close()
        host.run(["umount", "-l", "/mnt"], timeout_s=10)
