"""The IPS's rules for iptables (nft cannot find a string anywhere in a packet) and Suricata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.vnfs import iptables

CHAIN = "sfcperf-ips"
PASSED = "sfcperf-ips-ok"
"""Chain that counts the packets that were let through, behind everything that may drop them."""
DROPS = {
    "pattern": "sfcperf-ips-text",
    "flags": "sfcperf-ips-flags",
    "rate": "sfcperf-ips-rate",
}
"""Why a packet is dropped -> the chain that counts and drops it."""
QUEUE = 0

_IMPOSSIBLE_FLAGS = ("ALL NONE", "ALL FIN,PSH,URG", "SYN,FIN SYN,FIN", "SYN,RST SYN,RST")
"""Mask and value of TCP flags: null scan, Xmas scan, and what no connection has."""


def netfilter(patterns: Sequence[str], new_per_s: int) -> list[str]:
    """Return rules that drop packets with a pattern or with impossible TCP flags, and those of
    an address that opens more than `new_per_s` TCP connections per second."""
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
    """Return the rule that hands every packet to the queue. When nobody listens there, the
    kernel drops it."""
    return [f"-j NFQUEUE --queue-num {QUEUE}"]


def removal(interfaces: Sequence[str]) -> str:
    """Return the input of `iptables-nft-restore --noflush` that removes all chains and rules
    again."""
    chains = [CHAIN, *DROPS.values()]
    leaving = "\n".join(f"-D {rule}" for rule in _leaving(interfaces))
    clear = "\n".join([f"-F {chain}" for chain in chains] + [f"-X {chain}" for chain in chains])
    return f"""*filter
-D FORWARD -j {CHAIN}
{clear}
COMMIT
*mangle
{leaving}
-F {PASSED}
-X {PASSED}
COMMIT
"""


def _leaving(interfaces: Sequence[str]) -> list[str]:
    """Return the rules that lead to the chain PASSED. Packets that leave by other interfaces, by
    which the host may be managed, are not counted there."""
    return [f"POSTROUTING -o {interface} -j {PASSED}" for interface in interfaces]


def tables(rules: Sequence[str], interfaces: Sequence[str]) -> str:
    """Return the input of `iptables-nft-restore --noflush` that loads the rules for packets
    between these interfaces."""
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
    """Return a file of Suricata rules that drop packets with a pattern."""
    first = 1_000_001  # below are those of others
    return "".join(
        f'drop ip any any -> any any (msg:"sfcperf pattern {number}"; '
        f'content:"|{pattern.encode().hex(" ")}|"; sid:{first + number}; rev:1;)\n'
        for number, pattern in enumerate(patterns)
    )


def counters(saved: str, interfaces: Sequence[str]) -> dict[str, int]:
    """Read the output of `iptables-nft-save --counters`: chain -> packets of its only rule.
    Returns nothing unless the rules are there that lead from the kernel's own chains to these."""
    found: dict[str, int] = {}
    leading = {f"-A {rule}" for rule in (f"FORWARD -j {CHAIN}", *_leaving(interfaces))}
    if not leading <= {line.partition("] ")[2].strip() for line in saved.splitlines()}:
        return found
    for line in saved.splitlines():
        # [PACKETS:BYTES] -A CHAIN ...
        words = line.split()
        if len(words) > 3 and words[1] == "-A" and words[2] in (PASSED, *DROPS.values()):
            found[words[2]] = int(words[0].strip("[]").partition(":")[0])
    return found


class Rules(iptables.Chains):
    """The IPS's rules on a host, for packets between these interfaces."""

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
        """Return chain -> packets, read from `iptables-nft-save --counters`. Raises
        MeasurementError if rules are gone."""
        argv = [f"{self.command}-save", "--counters"]
        saved = self._host.run(argv, timeout_s=iptables.COMMAND_TIMEOUT_S).text
        found = counters(saved, self._interfaces)
        if len(found) != 1 + len(DROPS):
            raise MeasurementError("the IPS's rules are gone", where=self._host.name)
        return found
