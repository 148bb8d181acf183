"""Whose requirements are gathered, and how they are put together."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sfcperf import plugins
from sfcperf.environment import gather
from sfcperf.errors import EnvironmentLacks, ExitCode
from sfcperf.plugins import Requirement
from sfcperf.workflow.model import Infrastructure, ServiceSpec

PARAMETERS = {"type": "object", "properties": {"speed": {"default": 3}, "name": {}}}


class Plugin:
    """Any plug-in: says what it needs, and notes what it was asked with."""

    parameters = PARAMETERS
    elsewhere = False

    def __init__(self, *needs: Requirement) -> None:
        self.needs = list(needs)
        self.asked: list[Any] = []

    def requirements(self, *arguments: Any) -> list[Requirement]:
        self.asked.append(arguments)
        return self.needs


Installed = dict[tuple[str, str], Plugin]


def need(name: str, *, met: bool = True) -> Requirement:
    return Requirement(name, met, "found" if met else "not found", "" if met else f"get {name}")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Installed:
    """Plug-ins by kind and name, in place of those that are installed."""
    table: Installed = {
        ("driver", "here"): Plugin(need("root")),
        ("driver", "there"): Plugin(need("credentials")),
        ("vnf", "fwd"): Plugin(need("clang")),
        ("vnf", "nat"): Plugin(need("nft")),
        ("probe", "ping"): Plugin(need("ping")),
        ("probe", "http"): Plugin(need("httperf"), need("ping")),
        ("monitor", "cpu"): Plugin(),
        ("service", "broker"): Plugin(need("java")),
    }

    def load(kind: str, name: str) -> Plugin:
        try:
            return table[kind, name]
        except KeyError:
            raise EnvironmentLacks(f"{name} cannot be imported", hint="reinstall") from None

    monkeypatch.setattr(
        plugins,
        "names",
        lambda kind: tuple(n for k, n in table if k == kind) + BROKEN.get(kind, ()),
    )
    monkeypatch.setattr(plugins, "load", load)
    return table


BROKEN: dict[str, tuple[str, ...]] = {}


def workflow(driver: str = "here") -> Any:
    """A workflow that uses `fwd`, `ping` and `cpu`."""
    scenario = SimpleNamespace(
        chain=SimpleNamespace(functions=(SimpleNamespace(type="fwd", knobs={"engine": "x"}),)),
        probes=(SimpleNamespace(plugins=("ping",)),),
        monitors=(SimpleNamespace(monitor="cpu"),),
    )
    infrastructure = Infrastructure(driver, {"a": 1})
    return SimpleNamespace(
        infrastructures=(infrastructure,),
        infrastructure_of=lambda scenario: infrastructure,
        scenarios=(scenario, scenario),
        services=(ServiceSpec("store", "broker", {"size": 2}),),
        publish=(),
        folder=Path(),
    )


def test_a_workflow_asks_only_what_it_uses(installed: Installed) -> None:
    names = [r.name for r in gather.of_workflow(workflow())]
    assert names == ["root", "java", "clang", "ping"]
    assert installed["service", "broker"].asked == [({"size": 2},)]
    assert installed["driver", "here"].asked == [({"a": 1},)]
    assert installed["vnf", "fwd"].asked[0] == ({"engine": "x"},)


def test_whoever_uses_no_service_lacks_nothing_of_it(installed: Installed) -> None:
    assert "java" not in [r.name for r in gather.of_installed()]
    assert [r.name for r in gather.of_services()] == ["java"]
    assert installed["service", "broker"].asked == [({"speed": 3},)]


def test_this_kernel_does_not_matter_where_hosts_are_other_machines(installed: Installed) -> None:
    installed["vnf", "fwd"].needs.append(Requirement("TUN", False, "no", of_this_kernel=True))
    with pytest.raises(EnvironmentLacks, match="TUN"):
        gather.check(workflow())
    installed["driver", "there"].elsewhere = True
    gather.check(workflow("there"))
    for driver, asked in ((None, True), ("here", True), ("there", False)):
        names = [need.name for need in gather.of_installed(driver)]
        assert ("TUN" in names) is asked


def test_without_a_workflow_all_are_asked_with_their_defaults(installed: Installed) -> None:
    names = [r.name for r in gather.of_installed()]
    assert names == ["root", "credentials", "clang", "nft", "ping", "httperf"]
    assert installed["vnf", "nat"].asked == [({"speed": 3},)]


def test_without_a_workflow_one_driver_can_be_chosen_and_configured(installed: Installed) -> None:
    names = [r.name for r in gather.of_installed(driver="there", config={"speed": 9})]
    assert "root" not in names
    assert "credentials" in names
    assert installed["driver", "there"].asked == [({"speed": 9},)]
    assert installed["vnf", "nat"].asked == [({"speed": 3},)]


def test_a_plug_in_that_does_not_import_hides_nothing(
    installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BROKEN, "probe", ("broken",))
    by_name = {r.name: r for r in gather.of_installed()}
    assert not by_name["probe broken"].met
    assert by_name["probe broken"].remedy == "reinstall"
    assert "httperf" in by_name


def test_missing_wins_when_two_plug_ins_disagree(installed: Installed) -> None:
    installed["monitor", "cpu"].needs = [need("ping", met=False)]
    by_name = {r.name: r for r in gather.of_workflow(workflow())}
    assert not by_name["ping"].met


def test_check_names_all_that_is_missing(installed: Installed) -> None:
    gather.check(workflow())
    installed["vnf", "fwd"].needs = [need("clang", met=False)]
    installed["probe", "ping"].needs = [need("ping", met=False)]
    with pytest.raises(EnvironmentLacks) as caught:
        gather.check(workflow())
    assert caught.value.exit_code == ExitCode.ENVIRONMENT
    assert "clang" in caught.value.message
    assert "ping" in caught.value.message
    assert caught.value.hint == "get clang; get ping"


def test_a_plug_in_that_cannot_say_what_it_needs_hides_no_other(
    installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any) -> list[Requirement]:
        raise KeyError("speed")

    monkeypatch.setattr(installed["probe", "http"], "requirements", broken)
    found = {need.name: need for need in gather.of_installed()}
    assert not found["probe http"].met
    assert "KeyError" in found["probe http"].detail
    assert found["ping"].met


def test_an_infrastructure_elsewhere_is_checked_when_it_is_asked_for(installed: Installed) -> None:
    installed["driver", "there"].elsewhere = True
    assert gather.infrastructures_elsewhere() == ["there"]
    names = [each.name for each in gather.of_installed()]
    assert "root" in names and "credentials" not in names
    names = [each.name for each in gather.of_installed("there")]
    assert "credentials" in names
