"""A parameter that chooses a probe which offers loads, with that probe's own parameters for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sfcperf import plugins
from sfcperf.active.base import Probe
from sfcperf.active.load import LoadGenerator
from sfcperf.errors import EnvironmentLacks, MeasurementError

DEFAULT = "iperf3"


def load_schema(description: str, chooser: str) -> dict[str, Any]:
    """JSON Schema of the parameter. `chooser`: name of the probe that has it, and which is not
    asked whether it offers loads.

    A probe whose package does not work is left out: who names it is told so by the choices.
    """
    offering = dict(_offering(chooser))
    return {
        "type": "object",
        "required": ["probe"],
        "properties": {
            "probe": plugins.choice("Name of a probe that can offer loads.", sorted(offering))
        },
        "allOf": [_branch(name, offers) for name, offers in sorted(offering.items())],
        "default": {"probe": DEFAULT},
        "description": description,
    }


def offers_of(load: Mapping[str, Any], port: int | None = None) -> LoadGenerator:
    """What offers the loads that the parameter describes, to this port (None: any). Raises
    MeasurementError if the probe has lost that ability since the workflow was loaded."""
    offers = offering_class(load)
    parameters = {key: value for key, value in load.items() if key != "probe"}
    return offers(parameters, port)


def offering_class(load: Mapping[str, Any]) -> type[LoadGenerator]:
    """Its class."""
    probe: type[Probe] = plugins.load("probe", load["probe"])
    if probe.offers is None:
        raise MeasurementError(f"the probe {load['probe']!r} does not offer loads")
    return probe.offers


def _offering(chooser: str) -> Iterator[tuple[str, type[LoadGenerator]]]:
    for name in plugins.names("probe"):
        if name == chooser:
            continue
        try:
            probe: type[Probe] = plugins.load("probe", name)
        except EnvironmentLacks:
            continue
        if probe.offers is not None:
            yield name, probe.offers


def _branch(name: str, offers: type[LoadGenerator]) -> dict[str, Any]:
    """Ties the parameters to the name."""
    parameters = dict(offers.parameters)
    properties = {"probe": {"const": name, "description": "Name of the probe."}}
    return {
        "if": {"required": ["probe"], "properties": {"probe": {"const": name}}},
        "then": {**parameters, "properties": {**properties, **parameters["properties"]}},
    }
