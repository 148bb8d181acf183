"""Rules and knobs in their forms: canonical, and as nft and sfc-firewall get them."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.tiers import examples

from sfcperf.errors import InputError, MeasurementError
from sfcperf.hosts.base import CompletedCommand, Host
from sfcperf.vnfs.firewall.function import Firewall
from sfcperf.vnfs.nsh_firewall.function import NshFirewall
from sfcperf.vnfs.packet_filter.sets import SetTable
from sfcperf.vnfs.rule_interface import policy
from sfcperf.vnfs.rule_interface.keeper import RuleKeeper, decoded
from sfcperf.vnfs.rule_interface.rules import Flow, Source, canonical, flow
from sfcperf.vnfs.rule_interface.table import Operation, PutRule, RemoveRule, RuleTable
from sfcperf.workflow.defaults import with_defaults

A, B = ("192.0.2.1", 80), ("198.51.100.7", 1234)


def test_both_directions_are_one_flow() -> None:
    assert flow(6, A, B) == flow(6, B, A) == Flow(6, A, B)
    assert flow(6, ("192.0.2.1", 9), ("192.0.2.1", 8)) == flow(
        6, ("192.0.2.1", 8), ("192.0.2.1", 9)
    )
    assert flow(6, A, B) != flow(17, A, B)


def test_what_is_no_flow() -> None:
    """ICMP has no ports; addresses are both IPv4, or both IPv6."""
    for protocol, other in ((1, B), (6, ("2001:db8::1", 80))):
        with pytest.raises(ValueError, match=r"."):
            flow(protocol, A, other)


@examples(500)
@given(st.ip_addresses().map(str) | st.from_regex(r"[0-9.]{5,17}|[0-9a-f:.]{2,20}"))
@example("192.0.2.1\0")
@example("192.0.2.1 ")
@example("2001:DB8:0:0::1")
@example("192.0.2.01")
@example("\ud800")
def test_addresses_are_those_of_ipaddress(text: str) -> None:
    """Which may be slower, and reads the same."""

    def read(reader: Callable[[str], object]) -> object:
        try:
            return str(reader(text))
        except ValueError:
            return None

    assert read(canonical) == read(ipaddress.ip_address)


def test_rules_survive_json() -> None:
    for rule in (Source("192.0.2.1"), flow(6, A, B)):
        assert decoded(json.loads(json.dumps(rule))) == rule


@pytest.mark.parametrize(
    ("kind", "prefix"),
    [(Firewall, "192.0.2.1/24"), (NshFirewall, "x"), (Firewall, "fe80::1%1")],
)
def test_a_wrong_prefix_is_refused(kind: Any, prefix: str) -> None:
    knobs = with_defaults(kind.parameters, {"allow": ["192.0.2.0/24", prefix]})
    with pytest.raises(InputError, match="no prefix") as raised:
        kind.check(knobs)
    assert raised.value.where == "allow/1"


@pytest.mark.parametrize(("knob", "value"), [("engine", "iptables"), ("default", "drop")])
def test_rules_by_rest_are_those_of_nftables(knob: str, value: str) -> None:
    knobs = with_defaults(Firewall.parameters, {knob: value, "rules_by": "rest"})
    with pytest.raises(InputError, match="rules by REST do not work") as raised:
        Firewall.check(knobs)
    assert raised.value.where == knob
    Firewall.check(knobs | {"rules_by": "workflow"})


class Listening:
    """A host that keeps what nft is told."""

    name = "there"

    def __init__(self) -> None:
        self.told: list[str] = []

    def run(self, argv: Any, *, stdin: bytes = b"", **_: Any) -> CompletedCommand:
        self.told.append(stdin.decode())
        return CompletedCommand(tuple(argv), 0, b"", b"")


def test_commands_for_nft_keep_their_order() -> None:
    host = Listening()
    sets = SetTable(cast(Host, host), "t", [], fail_closed=False)
    one, other = Source("192.0.2.1"), Source("192.0.2.2")
    ping = flow(1, ("192.0.2.1", 0), ("192.0.2.9", 0))
    sets.change(
        [
            PutRule(one, 1.5, renew=False),
            PutRule(other, 2, renew=False),
            PutRule(one, 3, renew=True),
            PutRule(one, 4, renew=True),
            RemoveRule(other),
            PutRule(flow(6, A, B), 5, renew=False),
            RemoveRule(ping),
        ],
        None,
    )
    assert host.told[0].splitlines() == [
        "add element ip t sources { 192.0.2.1 timeout 1500ms, 192.0.2.2 timeout 2000ms }",
        "add element ip t sources { 192.0.2.1 }",
        "delete element ip t sources { 192.0.2.1 }",
        "add element ip t sources { 192.0.2.1 timeout 4000ms }",
        "add element ip t sources { 192.0.2.2 }",
        "delete element ip t sources { 192.0.2.2 }",
        "add element ip t flows { 6 . 192.0.2.1 . 80 . 198.51.100.7 . 1234 timeout 5000ms }",
        "add element ip t pairs { 1 . 192.0.2.1 . 192.0.2.9 }",
        "delete element ip t pairs { 1 . 192.0.2.1 . 192.0.2.9 }",
    ]


class Failing(RuleTable):
    """A data plane that can be lost."""

    versions = frozenset((4,))
    lost = False

    def __init__(self) -> None:
        self.changes: list[tuple[list[Operation], float | None]] = []

    def change(self, operations: Any, lease_s: float | None) -> None:
        if self.lost:
            raise MeasurementError("the host is gone")
        self.changes.append((list(operations), lease_s))


def keeper(table: RuleTable, **knobs: Any) -> RuleKeeper:
    given = with_defaults(NshFirewall.parameters, knobs)
    return RuleKeeper(policy.Policy.of(given), table)


def test_a_data_plane_that_is_lost_is_said_to_those_who_change() -> None:
    table = Failing()
    rules = keeper(table)
    put = ["put", [[["192.0.2.1"], 60]]]
    assert rules.answer([put]) == [{"added": 1, "renewed": 0, "refused": []}]
    table.lost = True
    failed, listed = rules.answer([["put", [[["192.0.2.2"], 60]]], ["list", 0, 10]])
    assert failed == {"error": "the host is gone"}
    assert "rules" in listed
    # Asked again when it is back, the rule is put again.
    table.lost = False
    assert [each[0] for each in rules.answer([["list", 0, 10]])[0]["rules"]] == [
        Source("192.0.2.1")
    ]
    rules.answer([["put", [[["192.0.2.2"], 60]]]])
    assert table.changes[-1] == ([PutRule(Source("192.0.2.2"), 60, renew=False)], None)


def test_what_is_asked_for_at_once_is_one_change() -> None:
    table = Failing()
    rules = keeper(table, on_failure="fail-closed")
    rules.answer([["put", [[[f"192.0.2.{n}"], 60]]] for n in range(5)] + [["tick"]])
    [(operations, lease_s)] = table.changes
    assert (len(operations), lease_s) == (5, policy.LEASE_S)
    rules.answer([["clear"], ["status"]])
    assert table.changes[1] == ([RemoveRule(Source(f"192.0.2.{n}")) for n in range(5)], None)
    rules.fail()
    assert table.changes[2] == ([], 0.0)


def test_fail_open_needs_no_lease() -> None:
    table = Failing()
    rules = keeper(table)
    rules.answer([["tick"]])
    rules.fail()
    assert table.changes == []
