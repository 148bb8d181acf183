"""Runs on a cloud whose APIs fail: nothing is lost, nothing is left, and what never ends is told.

Troubles of `support.faulty_cloud.troubles` meet one run all together. Those that meet a later call
of their sort there meet the first one in another run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.cloud.cloud_runs import PLANNED, CloudLab, workflow
from support.cloud.openstack_context import lifecycle_context
from support.faulty_cloud.clouds import NAME
from support.faulty_cloud.faults import Answer, Straggle
from support.faulty_cloud.proxy import Proxy
from support.faulty_cloud.rules import Rule
from support.faulty_cloud.troubles import MAKING, OF_TACKER, READING, REMOVING

from sfcperf.drivers.openstack.cleanup.journal_cleanup import clean_up
from sfcperf.drivers.openstack.network.networks import prepare_networks
from sfcperf.drivers.openstack.resources.context import LifecycleContext
from sfcperf.errors import DeploymentError
from sfcperf.hosts.ssh import make_key

pytestmark = [pytest.mark.server, pytest.mark.exhaustive, pytest.mark.usefixtures("proxy")]

ALL: Sequence[Rule] = [*READING.values(), *MAKING.values(), *REMOVING.values()]


def days() -> list[list[Rule]]:
    """All troubles; then those of second calls, of third ones, each at the first of its sort."""
    found = [list(ALL)]
    seen = Counter[tuple[str, str, str]]()
    for rule in ALL:
        sort = (rule.service, rule.method, rule.path)
        if turn := seen[sort]:
            found += [[]] * (turn + 1 - len(found))
            found[turn] = [*found[turn], replace(rule, nth=1)]
        seen[sort] += 1
    return found


@pytest.fixture
def lab(new_lab: Callable[..., CloudLab]) -> CloudLab:
    return new_lab(workflow(NAME))


@pytest.mark.parametrize("day", days(), ids=["all troubles", "second ones", "third ones"])
def test_a_run_survives(lab: CloudLab, proxy: Proxy, day: list[Rule]) -> None:
    with proxy.failing(*day) as script:
        status = lab.run()
    assert status == 0, lab.said
    assert lab.trials == [(trial, "valid") for trial in PLANNED]
    assert script.silent == [], "the run never made these calls"
    assert lab.run("clean") == 0
    assert "nothing to clean" in lab.said


def test_a_run_by_tacker_survives(new_lab: Callable[..., CloudLab], proxy: Proxy) -> None:
    """Two scenarios: another chain through the same VMs."""
    lab = new_lab(workflow(NAME, lifecycle="tacker"))
    with proxy.failing(*OF_TACKER.values()) as script:
        status = lab.run()
    assert status == 0, lab.said
    assert lab.trials == [(trial, "valid") for trial in PLANNED]
    assert script.silent == [], "the run never made these calls"
    lines = (lab.run_folder / "trials.jsonl").read_text().splitlines()
    first, second = (json.loads(line)["deployment"] for line in lines)
    assert lab.run("clean") == 0
    assert "nothing to clean" in lab.said
    for stood in (first, second):
        assert stood["traversal"]["proven"]
        assert stood["facts"]["chain"]["chained_by"] == "networking-sfc, by a VNFFG of Tacker"
    assert "vnffg" in first["facts"]["chain"]
    assert first["facts"]["chain"]["chain"] != second["facts"]["chain"]["chain"]
    machines = [{m["server"] for m in d["facts"]["machines"].values()} for d in (first, second)]
    assert machines[0] == machines[1]


def test_a_password_that_is_never_right(lab: CloudLab, proxy: Proxy) -> None:
    refused = Rule(Answer(401), "identity", "POST", r"/auth/tokens$", times=None)
    with proxy.failing(refused) as script:
        assert lab.run() == 3, lab.said
    assert "HTTP 401" in lab.said
    assert "Traceback" not in lab.said
    assert script.silent == []
    assert lab.trials == []


def test_networks_that_are_never_made(new_lab: Callable[..., CloudLab], proxy: Proxy) -> None:
    """A trial that fails is not tried again."""
    design = {"rounds": 1, "warmup_rounds": 0, "max_retries": 0}
    lab = new_lab({**workflow(NAME), "design": design})
    with proxy.failing(Rule(Answer(503), "network", "POST", r"/networks$", times=None)) as script:
        assert lab.run() == 1, lab.said
    assert "HTTP 503" in lab.said
    assert "Traceback" not in lab.said
    assert script.silent == []
    assert lab.trials == [(trial, "failed") for trial in PLANNED]
    assert lab.run("clean") == 0


@pytest.fixture
def context(tmp_path: Path, leftovers: None) -> LifecycleContext:
    """Of a run of its own, without a run around it."""
    return lifecycle_context(tmp_path, {"cloud": NAME})


def test_requests_that_come_late_make_no_doubles(
    context: LifecycleContext, proxy: Proxy, tmp_path: Path
) -> None:
    """They were given up and made again, and are heard when others already remove."""
    late = [
        Rule(Straggle(3), "network", "POST", r"/networks$"),
        Rule(Straggle(3), "network", "POST", r"/security-groups$"),
        Rule(Straggle(2), "compute", "POST", r"/os-keypairs$"),
    ]
    with proxy.failing(*late) as script:
        prepare_networks(context, "#!/bin/sh\n", make_key(tmp_path)[1])
        removed = clean_up(context.journal.outstanding())
    assert script.silent == []
    twice = Counter(line.split()[0] for line in removed)
    assert twice == {"subnet": 1, "network": 2, "security-group": 2, "keypair": 1}, removed


def test_what_cannot_be_removed_is_named(
    context: LifecycleContext, proxy: Proxy, tmp_path: Path
) -> None:
    prepare_networks(context, "#!/bin/sh\n", make_key(tmp_path)[1])
    with (
        proxy.failing(Rule(Answer(503), "network", "DELETE", r"/networks/", times=None)),
        pytest.raises(DeploymentError, match=f"network {context.names.of('data')}.*503") as caught,
    ):
        clean_up(context.journal.outstanding())
    removed = clean_up(context.journal.outstanding())
    # What neutron has to remove after the network is not tried while neutron does not answer.
    assert [line.split()[0] for line in removed] == ["network", "security-group"]
    for line in removed:
        assert line.partition(" (")[0] in caught.value.message
