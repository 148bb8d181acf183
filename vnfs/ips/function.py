"""The IPS as a VNF type: what looks like an attack is dropped, inline."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.environment.tools import tool
from sfcperf.errors import InputError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement
from sfcperf.vnfs import kernel_forwarding
from sfcperf.vnfs.base import Attachment, NetworkFunction
from sfcperf.vnfs.ips import rules, suricata
from sfcperf.vnfs.ips.suricata import Suricata
from sfcperf.vnfs.kernel_forwarding import KernelForwarding

COMMAND_TIMEOUT_S = 30.0
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


class Ips(NetworkFunction):
    """Forwards IPv4 that it has looked into, and drops attacks."""

    name: ClassVar[str] = "ips"
    title: ClassVar[str] = "inline intrusion prevention: Suricata, or rules of the kernel's filter"
    nsh_aware: ClassVar[bool] = False
    interfaces: ClassVar[int] = 2
    folder: ClassVar[Path] = Path(__file__).resolve().parent
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "engine": {
                "description": "`suricata` inspects by NFQUEUE; `nftables` are rules of the "
                "kernel's filter (strings, flags, rates), which follow no streams; `auto`: "
                "Suricata where it is installed.",
                "enum": ["auto", "suricata", "nftables"],
                "default": "auto",
            },
            "patterns": {
                "description": "Strings that no packet may have.",
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": MAX_PATTERN_BYTES},
                "maxItems": 1000,
                "uniqueItems": True,
                "default": list(PATTERNS),
            },
            "new_connections_per_s": {
                "description": "Engine `nftables`: new TCP connections that one address may open "
                "in a second.",
                "type": "integer",
                "minimum": 1,
                "maximum": 1_000_000,
                "default": 100_000,
            },
            "config": {
                "description": "Engine `suricata`: its configuration on the host.",
                "type": "string",
                "default": suricata.CONFIG,
            },
        },
    }

    @classmethod
    def check(cls, knobs: Mapping[str, Any]) -> None:
        """Patterns have a limit in bytes, which the schema, in characters, cannot say."""
        for index, pattern in enumerate(knobs["patterns"]):
            if (size := len(pattern.encode())) > MAX_PATTERN_BYTES:
                raise InputError(
                    f"the pattern has {size} bytes in UTF-8",
                    where=f"patterns/{index}",
                    allowed=f"at most {MAX_PATTERN_BYTES} bytes",
                )

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """`ip`, `sysctl`, `iptables-nft`; Suricata when it is asked for by name, else which engine
        `auto` is on this machine."""
        needs = [tool(f"iptables-nft{part}", "iptables") for part in ("-restore", "-save")]
        if knobs["engine"] == "suricata":
            needs.append(_suricata())
        elif knobs["engine"] == "auto":
            found = "suricata" if _suricata().met else "nftables, since Suricata is not installed"
            needs.append(Requirement("engine of ips", True, found))
        return [*kernel_forwarding.requirements(), *needs]

    @classmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningIps:
        """Routes, rules or Suricata, then forwarding on."""
        engine = _choose(host, str(knobs["engine"]))
        patterns = [str(pattern) for pattern in knobs["patterns"]]
        with kernel_forwarding.deployment_errors(host, attachment):
            running = RunningIps(host, attachment)
            with kernel_forwarding.all_or_nothing(running):
                running.add_routes()
                if engine == "suricata":
                    config = str(knobs["config"])
                    running.inspector = Suricata.start(host, attachment, config, patterns)
                    body = rules.to_queue()
                else:
                    body = rules.netfilter(patterns, int(knobs["new_connections_per_s"]))
                running.load(rules.tables(body, attachment.interfaces))
                running.forward()
        return running


def _suricata() -> Requirement:
    found = tool(suricata.COMMAND, "suricata")
    if found.met:
        return found
    remedy = (
        "install the package suricata (on Debian 12 from bookworm-backports), or set the IPS's "
        "knob `engine` to `nftables`"
    )
    return Requirement(found.name, False, found.detail, remedy)


def _choose(host: Host, wanted: str) -> str:
    if wanted != "auto":
        return wanted
    try:
        host.run([suricata.COMMAND, "-V"], timeout_s=COMMAND_TIMEOUT_S)
    except MeasurementError:
        return "nftables"
    return "suricata"


class RunningIps(KernelForwarding):
    """A host whose kernel forwards what the inspector lets through."""

    inspector: Suricata | None = None

    def load(self, text: str) -> None:
        """Put the rules there in one transaction. Raises MeasurementError."""
        self._remove()
        try:
            self._restore(text)
        except MeasurementError as error:
            raise MeasurementError(
                error.message,
                hint="does its kernel have what the rules are made of? nft_compat, xt_string, "
                "ts_bm, xt_hashlimit and xt_NFQUEUE are modules of their own",
            ) from error

    def facts(self) -> Mapping[str, Any]:
        """The engine that inspects."""
        return {"engine": "suricata" if self.inspector else "nftables"}

    def counters(self) -> Mapping[str, int]:
        """As of kernel forwarding, whose `forwarded` and `dropped` are put right by the IPS's own:
        `dropped_by_ips`, the sum of `dropped_pattern`, `dropped_flags` and `dropped_rate` with
        engine `nftables`; with Suricata what it was given (`inspected`) and did not let through,
        packets that wait for it included, and `dropped_queue`, for which it was too slow.

        Raises MeasurementError.
        """
        kernel = super().counters()
        own = self._counted()
        forwarded = own[rules.PASSED]
        if self.inspector is None:
            mine = {f"dropped_{name}": own[chain] for name, chain in rules.DROPS.items()}
            dropped = sum(mine.values())
        else:
            # The order matters: what passes later must not make the difference negative.
            inspected, full = self.inspector.queue() or (forwarded, 0)
            dropped = max(inspected - forwarded, 0) + full
            mine = {"inspected": inspected, "dropped_queue": full}
        total = kernel["dropped"] + dropped
        return {
            **kernel,
            **mine,
            "forwarded": forwarded,
            "dropped": total,
            "dropped_by_ips": dropped,
        }

    def problem(self) -> str | None:
        """Also when the inspector has ended, or the rules are gone."""
        if (problem := super().problem()) is not None:
            return problem
        if self.inspector is not None and (problem := self.inspector.problem()) is not None:
            return problem
        try:
            self._counted()
        except MeasurementError as error:
            return error.message
        return None

    def pids(self) -> tuple[int, ...]:
        """The inspector's."""
        return () if self.inspector is None else (self.inspector.pid,)

    def take_away(self) -> None:
        """The rules, then the inspector."""
        self._remove()
        if self.inspector is not None:
            self.inspector.stop()

    def _counted(self) -> dict[str, int]:
        argv = ["iptables-nft-save", "--counters"]
        found = rules.counters(
            self._host.run(argv, timeout_s=COMMAND_TIMEOUT_S).text, self._interfaces
        )
        if len(found) != 1 + len(rules.DROPS):
            raise MeasurementError("the IPS's rules are gone", where=self._host.name)
        return found

    def _remove(self) -> None:
        with suppress(MeasurementError):
            self._restore(rules.removal(self._interfaces))

    def _restore(self, text: str) -> None:
        argv = ["iptables-nft-restore", "--wait", "--noflush"]
        self._host.run(argv, stdin=text.encode(), timeout_s=COMMAND_TIMEOUT_S)
