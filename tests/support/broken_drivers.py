"""Drivers that break one line of the contract each, for tests of the conformance suite."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from sfcperf.drivers.base import DriverContext, Journal, Resource
from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.management.deployment import Deployment, TraversalProof
from sfcperf.workflow.model import Match, Scenario


class BufferedJournal:
    """Keeps for itself what is intended, until it is told to write."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.waiting: list[Resource] = []

    def intend(self, resources: Iterable[Resource]) -> None:
        self.waiting += resources

    def removed(self, resources: Iterable[Resource]) -> None:
        self.journal.removed(resources)

    def outstanding(self) -> list[Resource]:
        return [*self.waiting[::-1], *self.journal.outstanding()]


class WritesLate(LocalDriver):
    """First made, then written down."""

    def __init__(self, context: DriverContext) -> None:
        self.buffer = BufferedJournal(context.journal)
        super().__init__(replace(context, journal=self.buffer))

    def deploy(self, scenario: Scenario) -> Deployment:
        deployment = super().deploy(scenario)
        self.buffer.journal.intend(self.buffer.waiting)
        self.buffer.waiting.clear()
        return deployment


class MakesMore(LocalDriver):
    """Something is never written down."""

    def deploy(self, scenario: Scenario) -> Deployment:
        extra = f"sfcperf-{self.context.tag}-extra"
        subprocess.run(["ip", "netns", "add", extra], check=True)
        return super().deploy(scenario)


class ProvesAnything(LocalDriver):
    def prove_traversal(self, deployment: Deployment, scenario: Scenario) -> TraversalProof:
        proof = super().prove_traversal(deployment, scenario)
        return replace(proof, proven=True, problems=())


class ProvesFromTheWorkflow(LocalDriver):
    """The order is that of the workflow, on the way back as well."""

    def prove_traversal(self, deployment: Deployment, scenario: Scenario) -> TraversalProof:
        proof = super().prove_traversal(deployment, scenario)
        return replace(proof, reverse=proof.reverse[::-1])


class AlwaysWell(LocalDriver):
    def problems(self, deployment: Deployment) -> list[str]:
        return []

    def deploy(self, scenario: Scenario) -> Deployment:
        deployment = super().deploy(scenario)
        functions = tuple(replace(f, alive=lambda: None) for f in deployment.functions)
        return replace(deployment, functions=functions)


class AcceptsAnything(LocalDriver):
    @classmethod
    def validate(cls, config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> None:
        return


class IgnoresTheMatch(LocalDriver):
    def deploy(self, scenario: Scenario) -> Deployment:
        return super().deploy(replace(scenario, chain=replace(scenario.chain, match=Match())))


class NeverBypasses(LocalDriver):
    def deploy(self, scenario: Scenario) -> Deployment:
        chain = replace(scenario.chain, reverse="symmetric")
        return super().deploy(replace(scenario, chain=chain))


class NamesThemBackwards(LocalDriver):
    def deploy(self, scenario: Scenario) -> Deployment:
        deployment = super().deploy(scenario)
        return replace(deployment, functions=deployment.functions[::-1])


class CountsNothing(LocalDriver):
    def deploy(self, scenario: Scenario) -> Deployment:
        deployment = super().deploy(scenario)
        zero = {"received": 0, "forwarded": 0, "dropped": 0}
        functions = tuple(replace(f, counters=lambda: zero) for f in deployment.functions)
        return replace(deployment, functions=functions)


class MetersOfOthers(LocalDriver):
    """The client's control group stands for those of all functions."""

    def deploy(self, scenario: Scenario) -> Deployment:
        deployment = super().deploy(scenario)
        client = deployment.meters["client"]
        return replace(deployment, meters={f.name: client for f in deployment.functions})


class HopsElsewhere(LocalDriver):
    """An interface of the client that the chain does not use."""

    def deploy(self, scenario: Scenario) -> Deployment:
        deployment = super().deploy(scenario)
        client, *others = deployment.hops
        astray = replace(client, host=deployment.client.host, interface="lo")
        return replace(deployment, hops=(astray, *others))


class SaysAnotherMtu(LocalDriver):
    def deploy(self, scenario: Scenario) -> Deployment:
        deployment = super().deploy(scenario)
        return replace(deployment, client=replace(deployment.client, mtu=9000))


class TearsNothingDown(LocalDriver):
    def teardown(self, deployment: Deployment) -> None:
        return


class TearsTheNextDown(LocalDriver):
    def teardown(self, deployment: Deployment) -> None:
        self.close()


class HidesTheCause(LocalDriver):
    def deploy(self, scenario: Scenario) -> Deployment:
        try:
            return super().deploy(scenario)
        except Exception as error:
            raise RuntimeError("it did not work") from error


class RemovesInDryRuns(LocalDriver):
    @classmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        return LocalDriver.undo(resources, dry_run=False)


class UndoesNothing(LocalDriver):
    left: ClassVar[list[Resource]] = []
    """For the test to remove."""

    @classmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        cls.left += resources
        return LocalDriver.undo(resources, dry_run=True)


SHARED_TAG = f"s{os.getpid() % 100_000:05d}"
"""Of this process: tests run in several."""


class SharesItsNames(LocalDriver):
    """Two runs get the same names."""

    def __init__(self, context: DriverContext) -> None:
        super().__init__(replace(context, tag=SHARED_TAG))


class DescribesNothing(LocalDriver):
    parameters: ClassVar[Mapping[str, Any]] = {
        **LocalDriver.parameters,
        "properties": {
            **LocalDriver.parameters["properties"],
            "undescribed": {"type": "integer", "default": 1},
        },
    }


class TakesAnyKey(LocalDriver):
    parameters: ClassVar[Mapping[str, Any]] = {
        **LocalDriver.parameters,
        "additionalProperties": True,
    }
