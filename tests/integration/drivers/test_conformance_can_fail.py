"""The conformance suite sees what it is there to see: each of these drivers breaks one line of the
contract, and a test of the suite fails on it that passes on the driver as it is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from support import broken_drivers, local

from sfcperf.drivers.conformance import DriverConformance
from sfcperf.drivers.local.cleanup import remove_resources
from sfcperf.errors import DeploymentError, SfcperfError

pytestmark = pytest.mark.root

Check = Callable[[Any], object]


def three(suite: Any) -> Any:
    return suite.deployed(3)


BROKEN: dict[type, Check] = {
    broken_drivers.WritesLate: lambda s: s.test_resources_are_in_the_journal_before_they_exist(),
    broken_drivers.MakesMore: lambda s: s.test_close_removes_everything(),
    broken_drivers.ProvesAnything: lambda s: s.test_a_broken_chain_is_not_proven(-1),
    broken_drivers.ProvesFromTheWorkflow: lambda s: s.test_the_chain_is_proven(),
    broken_drivers.AlwaysWell: lambda s: s.test_a_broken_chain_is_not_proven(0),
    broken_drivers.AcceptsAnything: lambda s: s.test_it_refuses_the_impossible("100000 vCPUs"),
    broken_drivers.IgnoresTheMatch: lambda s: s.test_the_classifier_lets_in_only_what_it_matches(),
    broken_drivers.NeverBypasses: lambda s: s.test_replies_may_bypass_the_chain(),
    broken_drivers.NamesThemBackwards: lambda s: s.test_its_functions_are_those_of_the_chain(
        three(s)
    ),
    broken_drivers.CountsNothing: lambda s: s.test_functions_count_packets(three(s)),
    broken_drivers.MetersOfOthers: lambda s: s.test_meters_measure(three(s)),
    broken_drivers.HopsElsewhere: lambda s: s.test_hops_are_on_the_path(three(s)),
    broken_drivers.SaysAnotherMtu: lambda s: s.test_endpoints_are_as_asked(three(s)),
    broken_drivers.TearsNothingDown: lambda s: s.test_teardown_ends_processes_and_can_be_repeated(),
    broken_drivers.TearsTheNextDown: lambda s: s.test_teardown_ends_processes_and_can_be_repeated(),
    broken_drivers.RemovesInDryRuns: lambda s: (
        s.test_a_killed_deployment_is_undone_from_its_journal("deployed")
    ),
    broken_drivers.UndoesNothing: lambda s: s.test_a_killed_deployment_is_undone_from_its_journal(
        "deployed"
    ),
    broken_drivers.SharesItsNames: lambda s: s.test_two_runs_do_not_affect_each_other(),
    broken_drivers.DescribesNothing: lambda s: s.test_its_parameters_are_a_complete_schema(),
    broken_drivers.TakesAnyKey: lambda s: s.test_its_parameters_are_a_complete_schema(),
}

IN_THE_GATE = {
    broken_drivers.ProvesAnything,
    broken_drivers.AcceptsAnything,
    broken_drivers.TearsNothingDown,
    broken_drivers.UndoesNothing,
    broken_drivers.TakesAnyKey,
}


def suite_of(kind: type) -> Any:
    """The suite as its author would have it for this driver; pytest does not run it."""

    class Suite(DriverConformance):
        driver = f"{kind.__module__}:{kind.__qualname__}"
        encapsulations = frozenset({"nsh-eth", "nsh-vxlan-gpe"})
        pings = 3

        def traces(self, tag: str) -> list[str]:
            return local.traces(tag)

    return Suite


@pytest.mark.parametrize(
    "kind",
    [
        kind if kind in IN_THE_GATE else pytest.param(kind, marks=pytest.mark.exhaustive)
        for kind in BROKEN
    ],
    ids=lambda kind: kind.__name__,
)
def test_a_broken_driver_is_found(
    kind: type, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What never comes need not be waited for.
    monkeypatch.setattr("sfcperf.drivers.conformance.removal._END_TIMEOUT_S", 1.0)
    suite = suite_of(kind)
    request.addfinalizer(lambda: _remove(suite))
    with pytest.raises((AssertionError, pytest.fail.Exception, SfcperfError)):
        BROKEN[kind](suite())


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", [broken_drivers.HidesTheCause])
def test_a_hidden_cause_is_found(
    kind: type, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = suite_of(kind)
    request.addfinalizer(lambda: _remove(suite))
    with pytest.raises(RuntimeError):
        suite().test_a_deployment_that_fails_is_reported_and_removed(DeploymentError, monkeypatch)


def _remove(suite: Any) -> None:
    """All of it, whatever the broken driver says of its own."""
    remove_resources(broken_drivers.UndoesNothing.left)
    run = suite._run
    if run is None:
        return
    suite._run = None
    remove_resources(run.journal.ever)
    # What is never written down, and what is under another name.
    for tag in (run.tag, broken_drivers.SHARED_TAG):
        listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
        for line in listed.splitlines():
            if line.startswith(f"sfcperf-{tag}-"):
                subprocess.run(["ip", "netns", "del", line.split()[0]], check=True)
    run.closed = True
    run.remove()
    assert local.traces(run.tag) == []
