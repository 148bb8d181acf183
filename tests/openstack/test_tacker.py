"""The life cycle by Tacker, against a real one: a chain that packets cross, and nothing is left."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from typing import Any

import pytest
from support.cloud.openstack_context import endpoint, function, public_key

from sfcperf import plugins, retry
from sfcperf.drivers.openstack.compute.servers import Machine, console
from sfcperf.drivers.openstack.lifecycle.tacker import TackerLifecycle
from sfcperf.drivers.openstack.model.specs import ChainPlan, MachinePlan
from sfcperf.drivers.openstack.network.networks import prepare_networks
from sfcperf.drivers.openstack.resources.context import LifecycleContext
from sfcperf.workflow.model import Match

pytestmark = pytest.mark.exhaustive

# The function forwards from its second to its third interface and counts; the client pings.
FORWARDING = r"""#!/bin/sh
say() { echo "proof: $*" >/dev/console; }
if [ -e /sys/class/net/eth2 ]; then
	echo 1 >/proc/sys/net/ipv4/ip_forward
	for i in all eth0 eth1 eth2; do
		echo 0 >/proc/sys/net/ipv4/conf/$i/rp_filter
		echo 0 >/proc/sys/net/ipv4/conf/$i/send_redirects
		echo 1 >/proc/sys/net/ipv4/conf/$i/arp_ignore
	done
	ip route add 10.31.8.1/32 dev eth1
	ip route add 10.31.8.2/32 dev eth2
	while sleep 1; do
		say "in $(cat /sys/class/net/eth1/statistics/rx_packets)" \
			"out $(cat /sys/class/net/eth2/statistics/tx_packets)"
	done &
elif ip address | grep -q 'inet 10.31.8.1/'; then
	while sleep 0.5; do ping -c 1 -W 1 10.31.8.2 >/dev/null && say answered; done &
fi
"""
FILLED_WITHIN_S = 60.0
MANY = 8
"""Packets: more than the odd ARP or multicast of a minute."""


def functions_plan(context: LifecycleContext, number: int) -> MachinePlan:
    plan = function(context.names, number)
    vnfd = plugins.load("vnf", "forwarder").folder / "vnfd.yaml"
    return replace(plan, spec=replace(plan.spec, vnfd=vnfd))


def said(context: LifecycleContext, machine: Machine) -> list[str]:
    text = console(context.cloud, machine.server_id)
    return [line.strip() for line in text.splitlines() if "proof: " in line]


def counted(context: LifecycleContext, machine: Machine) -> tuple[int, int]:
    """Packets in and out of the function, as it says itself; zeros before it says any."""
    numbers = [re.search(r"in (\d+) out (\d+)", line) for line in said(context, machine)]
    last = next((found for found in reversed(numbers) if found), None)
    return (int(last[1]), int(last[2])) if last else (0, 0)


def until(condition: Any, what: str) -> None:
    filled = retry.until(condition, timeout_s=FILLED_WITHIN_S, period_s=1)
    assert filled, f"not within {FILLED_WITHIN_S:g} s: {what}"


def test_packets_cross_a_chain_of_tacker(context: LifecycleContext, cloud: Any) -> None:
    """With instances of `vnflcm`, as on servers that have no VNFFG: a run that has one is in
    test_faults."""
    life = TackerLifecycle(context, "etsi")
    assert all(need.met for need in life.requirements(context.cloud, context.config))
    run_networks = prepare_networks(context, FORWARDING, public_key(), "10.31.8.0/24")
    client = endpoint(context.names, 1, "client", "10.31.8.1")
    server = endpoint(context.names, 2, "server", "10.31.8.2")
    fwd = functions_plan(context, 3)
    plans = [client, server, fwd]

    machines = life.make(plans, run_networks)
    again = life.make(plans, run_networks)
    assert [m.server_id for m in again] == [m.server_id for m in machines]
    made = cloud.compute.get_server(machines[2].server_id)
    assert made.name == fwd.name
    if made.user_data is not None:
        assert base64.b64decode(made.user_data).decode() == FORWARDING
    until(lambda: "answered" in " ".join(said(context, machines[0])), "a ping without a chain")
    until(lambda: counted(context, machines[2]) != (0, 0), "counters of the function")

    before = counted(context, machines[2])
    chain = ChainPlan(client.name, server.name, (fwd.name,), Match("icmp"), False)
    facts = life.chain(chain, {machine.plan.name: machine for machine in machines})
    assert facts["tacker_api"] == "etsi"
    assert "vnffg" not in facts
    assert cloud.network.get_sfc_port_chain(facts["chain"]).port_pair_groups

    def crossed() -> bool:
        now = counted(context, machines[2])
        return all(new >= old + MANY for new, old in zip(now, before, strict=True))

    until(crossed, "pings that cross the function")

    life.unchain()
    assert not list(cloud.network.sfc_port_chains())
    life.remove(machines)
    kinds = {resource.kind for resource in context.journal.outstanding()}
    assert "server" not in kinds
    assert not kinds & {"vnf", "vnffg", "vnf-instance", "port-chain", "stack"}
