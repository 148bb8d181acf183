"""The service `classifier`: judges the records of a broker, and has rules set against attacks."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from sfcperf.dataplane import binaries
from sfcperf.environment import tools
from sfcperf.plugins import Requirement
from sfcperf.services.base import RunningService, Service, ServiceContext
from sfcperf.services.classifier import settings
from sfcperf.vnfs.ids.function import BINARY

if TYPE_CHECKING:
    from sfcperf.services.classifier.engine import Engine

LIBRARIES = ("confluent_kafka", "fastapi", "msgspec", "pydantic", "sklearn", "uvicorn")


class Classifier(Service):
    """The lambda architecture of the SFCPerf paper (section VI). Batch layer: a decision tree is
    trained with flows of a trace with labels, extracted as the chain's IDS does. Speed layer: it
    judges each record of the broker. Serving layer: rules follow from the verdicts, and are set at
    all rule interfaces of the chain; status and model can be read by REST."""

    name = "classifier"
    title = "Flow classifier: judges flow records, and blocks attacks by rules"
    parameters = settings.SCHEMA
    per_chain = settings.PER_CHAIN

    @classmethod
    def requirements(cls, parameters: Mapping[str, Any]) -> list[Requirement]:
        """The libraries, the tool that extracts records, what makes a trace, and what the engine
        needs."""
        needs = [tools.python_packages(LIBRARIES, "security"), binaries.requirement(BINARY)]
        training = parameters["training"]
        if not training["pcap"] or training["further_seeds"]:
            from sfcperf.traffic import activities

            needs += activities.requirements()
        if training["labeller"] == settings.SURICATA:
            from sfcperf.traffic import suricata

            needs.append(suricata.requirement())
        return needs + (engine_class(parameters).requirements(parameters) if needs[0].met else [])

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Refuse parameters that contradict each other: for instance, a user's own capture comes
        with labels."""
        settings.check(parameters)

    @classmethod
    def uses(cls, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """The broker's service."""
        return (parameters["kafka"],)

    @classmethod
    def start(cls, context: ServiceContext, parameters: Mapping[str, Any]) -> RunningService:
        """Start both layers; return when the engine is ready to train and the serving layer
        answers. The trace is made now if there is none. Raises EnvironmentLacks."""
        from sfcperf.services.classifier.running import RunningClassifier

        running = RunningClassifier(context, parameters, engine_class(parameters))
        try:
            running.start()
        except BaseException:
            running.stop()
            raise
        return running


def engine_class(parameters: Mapping[str, Any]) -> type[Engine]:
    """Class of the engine that the parameter `engine` names."""
    found: type[Engine] = resolve_name(settings.ENGINES[parameters["engine"]])
    return found
