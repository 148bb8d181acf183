"""The IPS as a VNF type: what looks like an attack is dropped, inline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.environment.tools import tool
from sfcperf.errors import InputError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement, array, choice, integer, object_schema
from sfcperf.vnfs.ips import rules, suricata
from sfcperf.vnfs.ips.suricata import Suricata
from sfcperf.vnfs.kernel_forwarding import COMMAND_TIMEOUT_S, KernelForwarding, KernelFunction

MAX_PATTERN_BYTES = 100
PATTERNS = (
    "/etc/passwd",
    "/etc/shadow",
    "../../..",
    "cmd.exe",
    "xp_cmdshell",
    "UNION SELECT",
    "' OR '1'='1",
    "<script>alert(",
    "() { :;};",
    "${jndi:",
    "/bin/sh -i",
    "<?php system(",
)
"""Well-known beginnings of attacks; none is in what the probes send."""


class RunningIps(KernelForwarding):
    """A host whose kernel forwards what the inspector lets through."""

    _inspector: Suricata | None = None

    def set_up(self) -> None:
        """Load the rules. Where Suricata inspects, start it first, since packets are dropped while
        nobody listens to the queue. Raises MeasurementError, DeploymentError."""
        knobs = self._knobs
        patterns = [str(pattern) for pattern in knobs["patterns"]]
        if _choose(self._host, str(knobs["engine"])) == "suricata":
            config = str(knobs["config"])
            self._inspector = Suricata.start(self._host, self._attachment, config, patterns)
            body = rules.to_queue()
        else:
            body = rules.netfilter(patterns, int(knobs["new_connections_per_s"]))
        self._engine = rules.Rules(self._host, body, self._interfaces)
        super().set_up()

    def facts(self) -> Mapping[str, Any]:
        """Return the engine that inspects."""
        return {"engine": "suricata" if self._inspector else "nftables"}

    def counters(self) -> Mapping[str, int]:
        """Return the counters of kernel forwarding, `forwarded` and `dropped` corrected by the
        IPS's own.

        With the engine `nftables`, `dropped_by_ips` is the sum of `dropped_pattern`,
        `dropped_flags` and `dropped_rate`. With Suricata, `inspected` packets were given to it,
        and for `dropped_queue` packets it was too slow; `dropped_by_ips` is the latter and the
        inspected packets that it did not let through, waiting ones included. Raises
        MeasurementError.
        """
        kernel = super().counters()
        own = self._engine.counters()
        forwarded = own[rules.PASSED]
        if self._inspector is None:
            drops = {f"dropped_{name}": own[chain] for name, chain in rules.DROPS.items()}
            dropped = sum(drops.values())
        else:
            # The queue is read after the rules, so that packets which pass in between do not make
            # the difference negative. When nobody listens any more, at least the forwarded packets
            # were inspected.
            inspected, queue_drops = self._inspector.queue() or (forwarded, 0)
            inspected = unwrapped(inspected, forwarded)
            dropped = max(inspected - forwarded, 0) + queue_drops
            drops = {"inspected": inspected, "dropped_queue": queue_drops}
        return {
            **kernel,
            **drops,
            "forwarded": forwarded,
            "dropped": kernel["dropped"] + dropped,
            "dropped_by_ips": dropped,
        }

    def problem(self) -> str | None:
        """Return what is wrong with kernel forwarding or Suricata, None while both work."""
        return super().problem() or (self._inspector.problem() if self._inspector else None)

    def pids(self) -> tuple[int, ...]:
        """Return the id of Suricata's process; none with the engine `nftables`."""
        return () if self._inspector is None else (self._inspector.pid,)

    def data_plane_pids(self) -> tuple[int, ...]:
        """Return the id of Suricata's process, without whose verdict the kernel lets no packet
        pass; none with the engine `nftables`."""
        return self.pids()

    def take_away(self) -> None:
        """Remove the rules, then end Suricata."""
        super().take_away()
        if self._inspector is not None:
            self._inspector.stop()


def unwrapped(remainder: int, near: int) -> int:
    """Return the number that is nearest to `near` among those that are `remainder` modulo 2^32."""
    return near + (remainder - near + (1 << 31)) % (1 << 32) - (1 << 31)


def _suricata() -> Requirement:
    """Require Suricata. The remedy also names the engine that needs none."""
    found = tool(suricata.COMMAND, "suricata")
    if found.met:
        return found
    remedy = (
        "install the package suricata (on Debian 12 from bookworm-backports), or set the IPS's "
        "knob `engine` to `nftables`"
    )
    return Requirement(found.name, False, found.detail, remedy)


def _choose(host: Host, wanted: str) -> str:
    """Return the engine, `suricata` or `nftables`, for the knob `engine`: `auto` is Suricata where
    the host has it, else nftables."""
    if wanted != "auto":
        return wanted
    try:
        host.run([suricata.COMMAND, "-V"], timeout_s=COMMAND_TIMEOUT_S)
    except MeasurementError:
        return "nftables"
    return "suricata"


class Ips(KernelFunction):
    """Forwards IPv4, and drops packets that look like an attack."""

    name = "ips"
    title = "Inline intrusion prevention: Suricata, or rules of the kernel's packet filter"
    running = RunningIps
    parameters = object_schema(
        {
            "engine": choice(
                "`suricata` inspects packets from NFQUEUE. `nftables` uses rules of the kernel's "
                "packet filter (strings, flags, rates), which do not follow streams. `auto` is "
                "Suricata if it is installed, otherwise nftables.",
                ["auto", "suricata", "nftables"],
                default="auto",
            ),
            "patterns": array(
                "Strings that no packet may contain.",
                {"type": "string", "minLength": 1, "maxLength": MAX_PATTERN_BYTES},
                maxItems=1000,
                uniqueItems=True,
                default=list(PATTERNS),
            ),
            "new_connections_per_s": integer(
                "Engine `nftables`: new TCP connections per second that an address may open.",
                (1, 1_000_000),
                default=100_000,
            ),
            "config": {
                "description": "Engine `suricata`: path of Suricata's configuration. A host that "
                "lacks it gets that of the machine that runs sfcperf, with its rules.",
                "type": "string",
                "default": suricata.CONFIG,
            },
        }
    )

    @classmethod
    def check(cls, knobs: Mapping[str, Any]) -> None:
        """Refuse patterns that are too long in bytes: the schema can only limit characters. Raises
        InputError."""
        for index, pattern in enumerate(knobs["patterns"]):
            if (size := len(pattern.encode())) > MAX_PATTERN_BYTES:
                raise InputError(
                    f"the pattern has {size} bytes in UTF-8",
                    where=f"patterns/{index}",
                    allowed=f"at most {MAX_PATTERN_BYTES} bytes",
                )

    @classmethod
    def carried_by_process(cls, knobs: Mapping[str, Any]) -> bool:
        """Return True unless the engine is `nftables`."""
        return bool(knobs["engine"] != "nftables")

    @classmethod
    def own_requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """Require `iptables-nft`, and Suricata when it is asked for by name. With the engine
        `auto`, say which one that is on this machine."""
        needs = [tool(f"iptables-nft{part}", "iptables") for part in ("-restore", "-save")]
        if knobs["engine"] == "suricata":
            needs.append(_suricata())
        elif knobs["engine"] == "auto":
            found = "suricata" if _suricata().met else "nftables, because Suricata is not installed"
            needs.append(Requirement("engine of ips", True, found))
        return needs
