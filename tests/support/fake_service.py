"""A service that is a file, for the engine's tests; `support.fakes` declares it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf import waiting
from sfcperf.drivers.base import Resource
from sfcperf.errors import DeploymentError, EnvironmentLacks
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import Requirement, object_schema
from sfcperf.services.base import RunningService, Service, ServiceContext
from sfcperf.workflow.model import Scenario


class RunningFake(RunningService):
    """A file and perhaps a process; notes in `outputs` how it is called."""

    def __init__(self, context: ServiceContext, parameters: Mapping[str, Any]) -> None:
        self._context = context
        self._parameters = parameters
        self._calls = context.outputs / "calls"
        self._trials = 0
        self._broken = False
        self.file = Path(parameters["folder"]) / f"{context.tag}-{context.name}"

    def note(self, call: str) -> None:
        with self._calls.open("a") as calls:
            calls.write(f"{call}\n")

    @property
    def address(self) -> str:
        return "192.0.2.1:9"

    def problem(self) -> str | None:
        if self._broken and self._parameters["mute"]:
            raise OSError("it does not answer")
        return "its file is away" if self._broken else None

    def recover(self) -> None:
        self.note("recover")
        if self._parameters["final"]:
            raise EnvironmentLacks("nothing brings it back")
        self._broken = False

    def counters(self) -> Mapping[str, int]:
        return {"trials": self._trials}

    def facts(self) -> Mapping[str, Any]:
        return {"version": "1"}

    def chain_deployed(self, deployment: Deployment, scenario: Scenario) -> Mapping[str, Any]:
        (spec,) = (spec for spec in scenario.services if spec.name == self._context.name)
        self.note(f"chain_deployed {scenario.id}")
        if scenario.id == self._parameters["refuses"]:
            raise DeploymentError("this chain is nothing for it")
        return {"limit": spec.parameters["limit"]}

    def chain_removed(self) -> None:
        self.note("chain_removed")

    def begin_trial(self) -> None:
        self.note("begin_trial")

    def end_trial(self) -> tuple[str, ...]:
        self.note("end_trial")
        self._trials += 1
        self._broken = self._trials == self._parameters["breaks_in"]
        return ("something is under way",) if self._parameters["doubts"] else ()

    def stop(self) -> None:
        self.note("stop")
        if self._parameters["stuck"]:
            raise OSError("it does not stop")
        self.file.unlink(missing_ok=True)


class FakeService(Service):
    """Its resource is a file TAG-NAME in a folder."""

    name = "fake"
    title = "Serves nothing"
    per_chain = frozenset({"limit"})
    parameters = object_schema(
        {
            "folder": {"type": "string"},
            "command": {"type": "array", "items": {"type": "string"}, "default": []},
            "start_s": {"type": "number", "default": 0},
            "fails": {"type": "boolean", "default": False},
            "final": {"type": "boolean", "default": False},
            "stuck": {"type": "boolean", "default": False},
            "doubts": {"type": "boolean", "default": False},
            "refuses": {"type": "string", "default": ""},
            "breaks_in": {"type": "integer", "default": 0},
            "mute": {"type": "boolean", "default": False},
            "limit": {"type": "integer", "default": 0},
        },
        required=["folder"],
    )

    @classmethod
    def requirements(cls, parameters: Mapping[str, Any]) -> list[Requirement]:
        return []

    @classmethod
    def start(cls, context: ServiceContext, parameters: Mapping[str, Any]) -> RunningService:
        running = RunningFake(context, parameters)
        running.note("start")
        context.journal.intend([Resource("file", running.file.name, {"path": str(running.file)})])
        running.file.touch()
        if parameters["command"]:
            context.spawn(parameters["command"], context.outputs / "printed")
        waiting.sleep(parameters["start_s"])
        if parameters["fails"]:
            raise EnvironmentLacks("it does not want to", hint="ask it again")
        return running

    @classmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        paths = [Path((resource.detail or {})["path"]) for resource in resources]
        there = [path for path in paths if path.exists()]
        for path in [] if dry_run else there:
            path.unlink()
        return [f"file {path.name}" for path in there]
