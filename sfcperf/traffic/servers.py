"""Servers that actors talk to: nginx, OpenSSH, dnsmasq, iperf3, and the far end of a DNS
tunnel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sfcperf import retry
from sfcperf.errors import MeasurementError
from sfcperf.hosts import process
from sfcperf.traffic.testbed import Testbed

WEB_PORT = 80
SSH_PORT = 22
DNS_PORT = 53
IPERF_PORTS = range(5201, 5209)
"""Ports of the iperf3 servers. There are several, because each serves one test at a time."""
PAGES = {"1k": 1_000, "8k": 8_000, "40k": 40_000, "200k": 200_000, "1m": 1_000_000}
"""Name of an object of the web server -> its size, bytes."""
PRIVATE = "private"
"""Folder of the web server that asks for a password."""
ZONE = "example.test"
"""Zone of the DNS server; all names in it have the address of the web server."""
TUNNEL_ZONE = "t.example.test"
TUNNEL_SECRET = "benchmark"
TUNNEL_SERVER = "172.31.213.1"
"""Address of the tunnel's far end inside the tunnel."""
_SSH_REPLY_BYTES = 60_000
"""Length of what the SSH server sends to a user who logs in."""
_START_TIMEOUT_S = 15.0
_COMMAND_TIMEOUT_S = 30.0

_NGINX = """\
daemon off;
master_process off;
user root root;
pid nginx.pid;
error_log stderr error;
worker_rlimit_nofile 4096;
events {{ worker_connections 2048; }}
http {{
    access_log off;
    client_body_temp_path temp;
    proxy_temp_path temp;
    fastcgi_temp_path temp;
    uwsgi_temp_path temp;
    scgi_temp_path temp;
    server {{
        listen {port};
        root pages;
        location /{private}/ {{ auth_basic "private"; auth_basic_user_file passwords; }}
    }}
}}
"""
_SSHD = """\
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
PasswordAuthentication yes
PermitRootLogin yes
StrictModes no
UsePAM no
MaxStartups 100
ForceCommand head -c {reply} /dev/urandom
"""


@dataclass(frozen=True)
class Servers:
    """IPv4 addresses of the servers, and the key to log in by SSH."""

    web: str
    ssh: str
    dns: str
    tunnel: str
    iperf: str
    ssh_key: Path
    """Private key of the user that may log in by SSH."""


def start(testbed: Testbed, servers: Servers, folder: Path) -> None:
    """Start all servers, each on a machine of its own, and return when they listen. `folder` is for
    their files. Raises MeasurementError when one does not listen."""
    for name in ("web", "ssh", "dns", "tunnel", "iperf"):
        testbed.add(name, [getattr(servers, name)], server=True)
    _web(testbed, folder)
    _ssh(testbed, servers, folder)
    _dns(testbed, servers, folder)
    secret = ["-P", TUNNEL_SECRET, TUNNEL_SERVER, TUNNEL_ZONE]
    testbed.start("tunnel", ["iodined", "-f", "-c", *secret], folder / "iodined.txt")
    for port in IPERF_PORTS:
        testbed.start("iperf", ["iperf3", "-s", "-p", str(port)], folder / f"iperf3-{port}.txt")
    for name, protocol, ports in (
        ("web", "tcp", [WEB_PORT]), ("ssh", "tcp", [SSH_PORT]), ("dns", "udp", [DNS_PORT]),
        ("tunnel", "udp", [DNS_PORT]), ("iperf", "tcp", IPERF_PORTS),
    ):  # fmt: skip
        for port in ports:
            _await(testbed, name, protocol, port, folder)


def _web(testbed: Testbed, folder: Path) -> None:
    """Start nginx with the PAGES, and with a folder that asks for a password."""
    home = folder / "nginx"
    (home / "temp").mkdir(parents=True)
    (home / "pages" / PRIVATE).mkdir(parents=True)
    for name, size in PAGES.items():
        (home / "pages" / name).write_bytes(b"x" * size)
    (home / "passwords").write_text("")  # nobody's password is right
    (home / "nginx.conf").write_text(_NGINX.format(port=WEB_PORT, private=PRIVATE))
    testbed.start("web", ["nginx", "-p", f"{home}/", "-c", "nginx.conf"], folder / "nginx.txt")


def _ssh(testbed: Testbed, servers: Servers, folder: Path) -> None:
    """Make the keys of server and user, and start sshd. Each log-in only gets some random bytes."""
    for key in (folder / "host_key", servers.ssh_key):
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
        process.run(argv, timeout_s=_COMMAND_TIMEOUT_S)
    configuration = folder / "sshd_config"
    text = _SSHD.format(port=SSH_PORT, folder=folder, reply=_SSH_REPLY_BYTES)
    configuration.write_text(text)
    # Debian's sshd needs this folder for its unprivileged part. It does not exist on a machine
    # where no service of sshd has been started.
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    testbed.start(
        "ssh", ["/usr/sbin/sshd", "-D", "-e", "-f", str(configuration)], folder / "sshd.txt"
    )


def _dns(testbed: Testbed, servers: Servers, folder: Path) -> None:
    """Start dnsmasq, which answers for all names of ZONE with the address of the web server."""
    # --no-daemon instead of --keep-in-foreground: with the latter, dnsmasq changes its group, and
    # the kernel forgets that it is to end with us (prctl(2), PR_SET_PDEATHSIG).
    argv = ["dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--no-resolv", "--no-hosts"]
    argv += ["--pid-file=", f"--address=/{ZONE}/{servers.web}", "--log-facility=-"]
    testbed.start("dns", argv, folder / "dnsmasq.txt")


def _await(testbed: Testbed, name: str, protocol: str, port: int, folder: Path) -> None:
    """Wait until a server listens on a port. Raises MeasurementError when it takes too long."""
    listening = re.compile(rf":{port}\s")

    def listens() -> bool:
        flag = "-t" if protocol == "tcp" else "-u"
        return bool(listening.search(testbed.run(name, ["ss", "-H", "-n", "-l", flag])))

    if not retry.until(listens, timeout_s=_START_TIMEOUT_S, period_s=0.1):
        raise MeasurementError(
            f"the {name} server does not listen on {protocol} port {port} after "
            f"{_START_TIMEOUT_S:g} s",
            where=str(folder),
        )
