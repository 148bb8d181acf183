"""Runs on a cloud whose APIs fail: nothing is lost, nothing is left, and what never ends is told.

By default all troubles of one sort meet one run, since booting its three machines costs more than
all the rest. SFCPERF_TEST_EACH_TROUBLE=1 gives each trouble a run of its own (about half an hour).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from openstack.connection import Connection
from support.cloud_runs import PLANNED, CloudLab, workflow
from support.faulty_cloud.clouds import NAME, before, write_clouds
from support.faulty_cloud.faults import Answer
from support.faulty_cloud.proxy import Proxy
from support.faulty_cloud.rules import Rule
from support.faulty_cloud.troubles import CHANGING, MAKING, READING, REMOVING

pytestmark = [pytest.mark.server, pytest.mark.slow]

SORTS: Mapping[str, Mapping[str, Rule]] = {
    "reading and removing": {**READING, **REMOVING},
    "making and changing": {**MAKING, **CHANGING},
}
EACH = {name: {name: rule} for sort in SORTS.values() for name, rule in sort.items()}
CHOSEN = EACH if os.environ.get("SFCPERF_TEST_EACH_TROUBLE") else SORTS


@pytest.fixture(scope="module")
def proxy(cloud: Connection) -> Iterator[Proxy]:
    with before(cloud) as running:
        yield running


@pytest.fixture
def lab(cloud: Connection, proxy: Proxy, tmp_path: Path) -> CloudLab:
    clouds = Path(os.environ["OS_CLIENT_CONFIG_FILE"])
    file = write_clouds(proxy, clouds, cloud.config.name, tmp_path)
    return CloudLab(tmp_path, workflow(NAME), {"OS_CLIENT_CONFIG_FILE": str(file)})


@pytest.mark.parametrize("sort", CHOSEN)
def test_a_run_survives(lab: CloudLab, proxy: Proxy, leftovers: None, sort: str) -> None:
    with proxy.failing(*CHOSEN[sort].values()) as script:
        status = lab.run()
    assert status == 0, lab.said
    assert lab.trials == [(trial, "valid") for trial in PLANNED]
    assert script.silent == [], "the run never made these calls: the test tests nothing"
    assert lab.run("clean") == 0
    assert lab.said.endswith("nothing to clean\n")


FOR_EVER = {
    "make a network: 503": Rule(Answer(503), "network", "POST", r"/networks$", times=None),
    "authenticate: 401": Rule(Answer(401), "identity", "POST", r"/auth/tokens$", times=None),
}
"""Troubles before a machine is booted, and what is to be read of each."""


@pytest.mark.parametrize("trouble", FOR_EVER)
def test_what_never_ends_is_told(
    lab: CloudLab, proxy: Proxy, leftovers: None, trouble: str
) -> None:
    with proxy.failing(FOR_EVER[trouble]) as script:
        status = lab.run()
    assert status in {1, 3}, lab.said
    assert str(FOR_EVER[trouble].fault.status) in lab.said
    assert "Traceback" not in lab.said
    assert script.silent == []
    assert lab.run("clean") == 0, lab.said


def test_what_cannot_be_removed_is_told_and_cleaned_later(
    lab: CloudLab, proxy: Proxy, leftovers: None
) -> None:
    """The network service stays away from the moment when the run has measured."""
