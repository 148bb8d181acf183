"""The IPS's rules for iptables (nft cannot find a string anywhere in a packet) and Suricata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.vnfs import iptables

CHAIN = "sfcperf-ips"
PASSED = "sfcperf-ips-ok"
"""Packets that were let through, counted behind everything that may drop them."""
DROPS = {
    "pattern": "sfcperf-ips-text",
    "flags": "sfcperf-ips-flags",
    "rate": "sfcperf-ips-rate",
}
"""Why a packet is dropped -> the chain that counts and drops it."""
QUEUE = 0
"""Number of the netfilter queue from which Suricata takes packets."""

_IMPOSSIBLE_FLAGS = ("ALL NONE", "ALL FIN,PSH,URG", "SYN,FIN SYN,FIN", "SYN,RST SYN,RST")
"""Mask and value: null scan, Xmas scan, and what no connection has."""


def netfilter(patterns: Sequence[str], new_per_s: int) -> list[str]:
    """Rules that drop packets with a pattern, packets with impossible TCP flags, and packets that
    open more than `new_per_s` TCP connections per second from one address."""
    rules = [
        f'-m string --algo bm --hex-string "|{pattern.encode().hex()}|" -j {DROPS["pattern"]}'
        for pattern in patterns
    ]
    rules += [f"-p tcp --tcp-flags {flags} -j {DROPS['flags']}" for flags in _IMPOSSIBLE_FLAGS]
    rules.append(
        f"-p tcp --syn -m hashlimit --hashlimit-above {new_per_s}/sec "
        f"--hashlimit-burst {new_per_s} --hashlimit-mode srcip --hashlimit-name {CHAIN} "
        f"-j {DROPS['rate']}"
    )
    return rules


def to_queue() -> list[str]:
    """The rule that hands every packet to the queue. A packet is dropped while nobody listens
    there."""
    return [f"-j NFQUEUE --queue-num {QUEUE}"]


def removal(interfaces: Sequence[str]) -> list[str]:
    """Return what takes all rules and chains away again, for iptables.Chains."""
    chains = (CHAIN, *DROPS.values())
    return [
        f"filter -D FORWARD -j {CHAIN}",
        *(f"filter {option} {chain}" for option in ("-F", "-X") for chain in chains),
        *(f"mangle -D {rule}" for rule in _leaving(interfaces)),
        *(f"mangle {option} {PASSED}" for option in ("-F", "-X")),
    ]


def _leaving(interfaces: Sequence[str]) -> list[str]:
    """Return the rules that lead to PASSED, each without `-A` or `-D`. Packets that leave by the
    host's other interfaces, by which it may be managed, are not counted."""
    return [f"POSTROUTING -o {interface} -j {PASSED}" for interface in interfaces]


def tables(rules: Sequence[str], interfaces: Sequence[str]) -> str:
    """Input of `iptables-nft-restore --noflush` that adds all chains, with these rules in CHAIN.
    Packets that leave by these interfaces are counted."""
    chains = "\n".join(f":{chain} - [0:0]" for chain in (CHAIN, *DROPS.values()))
    drops = "\n".join(f"-A {chain} -j DROP" for chain in DROPS.values())
    body = "\n".join(f"-A {CHAIN} {rule}" for rule in rules)
    leaving = "\n".join(f"-A {rule}" for rule in _leaving(interfaces))
    return f"""*filter
{chains}
{drops}
{body}
-A FORWARD -j {CHAIN}
COMMIT
*mangle
:{PASSED} - [0:0]
-A {PASSED} -j RETURN
{leaving}
COMMIT
"""


def suricata(patterns: Sequence[str]) -> str:
    """Text of a file of Suricata rules, which drop packets that have a pattern."""
    first = 1_000_001  # below are those of others
    return "".join(
        f'drop ip any any -> any any (msg:"sfcperf pattern {number}"; '
        f'content:"|{pattern.encode().hex(" ")}|"; sid:{first + number}; rev:1;)\n'
        for number, pattern in enumerate(patterns)
    )


def counters(saved: str, interfaces: Sequence[str]) -> dict[str, int]:
    """Read `saved`, which `iptables-nft-save --counters` printed: PASSED and each chain in DROPS ->
    packets of its only rule. Chains that are gone are left out. The result is empty if a rule is
    gone that leads from the kernel's own chains to these."""
    packets: dict[str, int] = {}
    jumps = {f"-A {rule}" for rule in (f"FORWARD -j {CHAIN}", *_leaving(interfaces))}
    if not jumps <= {line.partition("] ")[2].strip() for line in saved.splitlines()}:
        return packets
    for line in saved.splitlines():
        # [PACKETS:BYTES] -A CHAIN ...
        words = line.split()
        if len(words) > 3 and words[1] == "-A" and words[2] in (PASSED, *DROPS.values()):
            packets[words[2]] = int(words[0].strip("[]").partition(":")[0])
    return packets


class Rules(iptables.Chains):
    """The rules on a host, for packets between these interfaces."""

    def __init__(self, host: Host, rules: Sequence[str], interfaces: Sequence[str]) -> None:
        super().__init__(host, tables(rules, interfaces), removal(interfaces))
        self._interfaces = interfaces

    def load(self) -> None:
        """Load the chains by `iptables-nft-restore`. Raises MeasurementError, which names the
        kernel modules that the rules need."""
        try:
            super().load()
        except MeasurementError as error:
            raise MeasurementError(
                error.message,
                hint="check that its kernel has the modules of the rules: nft_compat, xt_string, "
                "ts_bm, xt_hashlimit, xt_NFQUEUE",
            ) from error

    def counters(self) -> Mapping[str, int]:
        """Return PASSED and each chain in DROPS -> packets. Raises MeasurementError, also if rules
        are gone."""
        argv = [f"{self.command}-save", "--counters"]
        saved = self._host.run(argv, timeout_s=iptables.COMMAND_TIMEOUT_S).text
        packets = counters(saved, self._interfaces)
        if len(packets) != 1 + len(DROPS):  # PASSED, and those that drop
            raise MeasurementError("the IPS's rules are gone", where=self._host.name)
        return packets
