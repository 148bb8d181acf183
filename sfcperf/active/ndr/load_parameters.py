"""The parameter `load`: it names a probe that offers loads, and has that probe's own parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sfcperf import plugins
from sfcperf.active.base import Probe
from sfcperf.active.load import LoadGenerator
from sfcperf.errors import EnvironmentLacks, MeasurementError

DEFAULT = "iperf3"


def load_schema(description: str, chooser: str) -> dict[str, Any]:
    """Return the JSON Schema of the parameter `load`. `chooser` is the name of the probe that has
    the parameter; it cannot be chosen itself.

    A probe whose package does not work is left out. A user who names it is told which probes can be
    chosen.
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
    """Make the object that offers the loads which the parameter describes, to this destination port
    (None: the object chooses one). Raises MeasurementError if the probe no longer offers loads, as
    it did when the workflow was loaded."""
    offers = offering_class(load)
    parameters = {key: value for key, value in load.items() if key != "probe"}
    return offers(parameters, port)


def offering_class(load: Mapping[str, Any]) -> type[LoadGenerator]:
    """Return the class that offers the loads of the probe named in `load`. Raises MeasurementError
    if that probe does not offer loads."""
    probe: type[Probe] = plugins.load("probe", load["probe"])
    if probe.offers is None:
        raise MeasurementError(f"the probe {load['probe']!r} does not offer loads")
    return probe.offers


def _offering(chooser: str) -> Iterator[tuple[str, type[LoadGenerator]]]:
    """Give the name of each probe that offers loads, and the class that offers them. The probe
    `chooser`, whose schema is being made, is left out."""
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
    """Return a part of the schema: a load whose `probe` is this name has the parameters of the
    class `offers`."""
    parameters = dict(offers.parameters)
    properties = {"probe": {"const": name, "description": "Name of the probe."}}
    return {
        "if": {"required": ["probe"], "properties": {"probe": {"const": name}}},
        "then": {**parameters, "properties": {**properties, **parameters["properties"]}},
    }
