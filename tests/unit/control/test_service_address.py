"""At which address of this machine the hosts of a run reach its services."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from sfcperf import plugins
from sfcperf.control.drivers import Drivers
from sfcperf.errors import EnvironmentLacks
from sfcperf.workflow.model import Infrastructure


def drivers(monkeypatch: pytest.MonkeyPatch, *addresses: str | None) -> Drivers:
    """Of infrastructures that say these addresses."""

    class Kind:
        @staticmethod
        def service_address(config: Mapping[str, Any]) -> str | None:
            return addresses[config["number"]]

    monkeypatch.setattr(plugins, "load", lambda group, name: Kind)
    infrastructures = [
        Infrastructure(f"driver{number}", {"number": number}) for number in range(len(addresses))
    ]
    workflow: Any = SimpleNamespace(infrastructures=infrastructures)
    return Drivers(workflow)


def test_one_that_all_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    for addresses, found in (
        (["127.0.0.1"], "127.0.0.1"),
        (["127.0.0.1", "10.0.0.1"], "10.0.0.1"),
        (["10.0.0.1", "127.0.0.1", "10.0.0.1"], "10.0.0.1"),
    ):
        assert drivers(monkeypatch, *addresses).service_address() == found
    for unknown, message in (
        (["10.0.0.1", "10.0.1.1"], r"different addresses: 10\.0\.0\.1, 10\.0\.1\.1"),
        (["127.0.0.1", None], "driver1 does not say at which address"),
    ):
        with pytest.raises(EnvironmentLacks, match=message):
            drivers(monkeypatch, *unknown).service_address()


@pytest.mark.parametrize("name", ["local", "openstack"])
def test_only_other_machines_need_another_one(name: str) -> None:
    kind = plugins.load("driver", name)
    overridden = "service_address" in vars(kind)
    assert overridden == kind.elsewhere
