"""Knobs of functions that have a rule interface: what it may do."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfcperf.errors import InputError
from sfcperf.plugins import array, choice, integer, number

LONGEST_TTL_S = 86_400
MOST_RULES = 1_000_000
LEASE_S = 3.0
"""If the policy is fail-closed, packets are dropped when the server has been silent for so long."""
TICK_S = 1.0
"""How often the server says that it works. Rules that have expired are removed as often."""

KNOBS: Mapping[str, Any] = {
    "on_failure": choice(
        "What happens to packets while the process that takes rules does not work. `fail-open`: "
        "they pass, unless a rule that was set before drops them. `fail-closed`: all are dropped, "
        f"at once when the process has died, and after {LEASE_S:g} s when it hangs.",
        ["fail-open", "fail-closed"],
        default="fail-open",
    ),
    "max_rules": integer(
        "The most rules by flow, and the most rules by source. When there are so many, new ones "
        "are refused; existing ones can be renewed.",
        (1, MOST_RULES),
        default=100_000,
    ),
    "max_changes_per_s": integer(
        "How many rules by flow, and how many by source, can be set or renewed per second; up to "
        "this many at once.",
        (1, 10_000_000),
        default=10_000,
    ),
    "max_ttl_s": number(
        "The longest time that a rule can be set for.", (0.1, LONGEST_TTL_S), default=3600
    ),
    "allow": array(
        "Addresses that are never blocked, as prefixes (`192.0.2.0/24`). Rules for them, and for "
        "flows with them, are refused.",
        {"type": "string", "minLength": 1, "maxLength": 49},
        maxItems=1000,
        default=[],
    ),
}
"""Schema of these knobs."""


@dataclass(frozen=True)
class Policy:
    """The values of these knobs, for one function."""

    fail_closed: bool
    max_rules: int
    """Limit for rules by flow, and as many by source."""
    max_changes_per_s: int
    """Limit for rules by flow, and as many by source."""
    max_ttl_s: float
    allow: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]

    @classmethod
    def of(cls, knobs: Mapping[str, Any]) -> Policy:
        """Read knobs that `check` has accepted."""
        return cls(
            fail_closed=knobs["on_failure"] == "fail-closed",
            max_rules=int(knobs["max_rules"]),
            max_changes_per_s=int(knobs["max_changes_per_s"]),
            max_ttl_s=float(knobs["max_ttl_s"]),
            allow=tuple(_network(str(prefix)) for prefix in knobs["allow"]),
        )


def _network(prefix: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Read a prefix. Raises ValueError."""
    if "%" in prefix:
        raise ValueError("a prefix has no zone")
    return ipaddress.ip_network(prefix)


def check(knobs: Mapping[str, Any]) -> None:
    """Refuse prefixes that are none. Raises InputError, `where` being `allow/INDEX`."""
    for index, prefix in enumerate(knobs["allow"]):
        try:
            _network(str(prefix))
        except ValueError as error:
            raise InputError(
                f"this is no prefix: {error}",
                where=f"allow/{index}",
                allowed="an IPv4 or IPv6 address, or a prefix such as 192.0.2.0/24",
            ) from error
