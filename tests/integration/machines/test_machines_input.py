"""Machines that cannot be used: each is named before anything is built, with what to do."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.network import lab
from support.records.scenarios import scenario, topology

from sfcperf.drivers.machines.checks import check_machines
from sfcperf.drivers.machines.config import machine_configs
from sfcperf.drivers.machines.driver import MachinesDriver, _asked
from sfcperf.errors import EnvironmentLacks
from sfcperf.playbooks.lab.namespaces import CARDS, NamespaceLab
from sfcperf.plugins import Requirement
from sfcperf.workflow.defaults import with_defaults

pytestmark = pytest.mark.root


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NamespaceLab]:
    if reason := lab.lacking():
        pytest.skip(reason)
    with lab.namespace_lab(tmp_path_factory.mktemp("lab"), machines=1) as made:
        yield made


def requirement(machine: NamespaceLab, changes: dict[str, Any], **config: Any) -> Requirement:
    """What `doctor` says of the machine; `changes` are to its part of the configuration."""
    known = lab.config(machine)
    machines = {name: {**each, **changes} for name, each in known["machines"].items()}
    full = with_defaults(MachinesDriver.parameters, {**known, "machines": machines, **config})
    [found] = [n for n in MachinesDriver.requirements(full) if n.name == "machine node1"]
    return found


def test_a_machine_that_is_ready(machine: NamespaceLab) -> None:
    found = requirement(machine, {})
    assert found.met, found.detail
    assert "CPUs" in found.detail


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nics": ["ens99"]}, "no network card ens99"),
        ({"nics": ["mgmt"]}, "SSH connection"),
        ({"python": "/no/such/python3"}, "no agent runs"),
    ],
)
def test_what_a_machine_lacks(machine: NamespaceLab, changes: dict[str, Any], words: str) -> None:
    found = requirement(machine, changes)
    assert not found.met
    assert words in found.detail
    assert found.remedy


def test_a_machine_that_does_not_answer(machine: NamespaceLab) -> None:
    found = requirement(machine, {"ssh": f"root@{machine.network}.77"})
    assert not found.met
    assert "nobody can log in" in found.detail
    assert found.remedy


def test_a_card_that_leads_to_the_world(machine: NamespaceLab) -> None:
    route = f"ip route add default dev {CARDS[1]}"
    machine.run("node1", route)
    try:
        found = requirement(machine, {"nics": [CARDS[1]]})
    finally:
        machine.run("node1", "ip route del default")
    assert not found.met
    assert "default route" in found.detail


def test_two_nodes_that_are_one_machine(machine: NamespaceLab) -> None:
    known = lab.config(machine)
    twice = {**known["machines"], "node2": {**known["machines"]["node1"], "nics": [CARDS[1]]}}
    config = with_defaults(MachinesDriver.parameters, {**known, "machines": twice})
    with pytest.raises(EnvironmentLacks, match="same machine"):
        MachinesDriver.check_capacity(config, [scenario(["router"], where=topology("T2"))])


def test_a_card_whose_packets_are_too_small(machine: NamespaceLab) -> None:
    config = with_defaults(MachinesDriver.parameters, lab.config(machine))
    [known] = machine_configs(config).values()
    facts = _asked(known)
    assert facts.nic is not None
    # A veth takes 65,535 bytes: the card of a real machine is made up.
    small = replace(facts, nic=replace(facts.nic, most_mtu=1500))
    check_machines({"node1": small}, 1500)
    with pytest.raises(EnvironmentLacks, match="at most 1500"):
        check_machines({"node1": small}, 1501)


def test_keys_that_do_not_fit(machine: NamespaceLab, tmp_path: Path) -> None:
    empty = tmp_path / "known_hosts"
    empty.touch()
    found = requirement(machine, {}, known_hosts=str(empty))
    assert not found.met
    assert "known_hosts" in found.remedy
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    found = requirement(machine, {}, identity=str(key))
    assert not found.met
    assert "identity" in found.remedy
