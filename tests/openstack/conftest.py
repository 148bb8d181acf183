"""The cloud of `make openstack-up`, as tests of the OpenStack driver see it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.cloud.cloud_runs import CloudLab
from support.cloud.openstack_context import lifecycle_context
from support.cloud.openstack_project import inventory, settled
from support.faulty_cloud.clouds import before, write_clouds
from support.faulty_cloud.proxy import Proxy

from sfcperf.drivers.openstack.cleanup.journal_cleanup import clean_up
from sfcperf.drivers.openstack.resources.context import LifecycleContext

if TYPE_CHECKING:
    from openstack.connection import Connection

ABSENT = (
    "needs the cloud: make test-openstack starts it and runs these tests in it (to keep it: make "
    "openstack-up, then playbooks/openstack/enter .venv/bin/python -m pytest tests/openstack)"
)


def _connected(name: str) -> Connection:
    """Fails where the cloud was promised (`make test-openstack`), skips elsewhere."""
    import openstack
    from openstack.exceptions import SDKException

    try:
        if not os.environ.get("OS_CLIENT_CONFIG_FILE"):
            raise SDKException("no cloud is configured")
        connection = openstack.connect(cloud=name)
        connection.authorize()
    except SDKException as error:
        if os.environ.get("SFCPERF_CLOUD_REQUIRED"):
            pytest.fail(f"the cloud does not answer: {error}")
        pytest.skip(f"{ABSENT}: {error}")
    return connection


@pytest.fixture(scope="session")
def cloud() -> Iterator[Connection]:
    """The cloud as an ordinary user of a project sees it."""
    connection = _connected(os.environ.get("OS_CLOUD", "sfcperf"))
    yield connection
    connection.close()


@pytest.fixture(scope="session")
def admin() -> Iterator[Connection]:
    """The cloud as its administrator sees it, in the same project."""
    connection = _connected("sfcperf-admin")
    yield connection
    connection.close()


@pytest.fixture(scope="session")
def _faulty(cloud: Connection) -> Iterator[Proxy]:
    with before(cloud) as running:
        yield running


@pytest.fixture
def proxy(
    cloud: Connection, _faulty: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Proxy:
    """What a test and its commands know as `support.faulty_cloud.clouds.NAME` is behind it."""
    real = Path(os.environ["OS_CLIENT_CONFIG_FILE"])
    file = write_clouds(_faulty, real, cloud.config.name, tmp_path)
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(file))
    return _faulty


@pytest.fixture
def leftovers(cloud: Any) -> Iterator[None]:
    """At the end of the test the project has nothing that it had not at the beginning."""
    before = inventory(cloud)
    yield
    left = settled(before, lambda: inventory(cloud))
    assert not left, f"left in the cloud: {left}"


@pytest.fixture
def new_lab(tmp_path: Path, leftovers: None) -> Iterator[Callable[[Mapping[str, Any]], CloudLab]]:
    """Makes labs of workflows; what a test that failed has left of them is removed."""
    with ExitStack() as stack:

        def make(document: Mapping[str, Any]) -> CloudLab:
            lab = CloudLab(tmp_path, document)
            stack.callback(lab.close)
            return lab

        yield make


@pytest.fixture
def context(cloud: Any, leftovers: None, tmp_path: Path) -> Iterator[LifecycleContext]:
    """What is left of it in the journal is removed, and what remains fails the test."""
    made = lifecycle_context(tmp_path)
    yield made
    made.cloud.close()
    clean_up(made.journal.outstanding())
