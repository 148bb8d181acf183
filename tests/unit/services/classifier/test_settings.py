"""Parameters of the classifier."""

from __future__ import annotations

from typing import Any

import pytest

from sfcperf import plugins
from sfcperf.errors import InputError
from sfcperf.services.classifier import settings
from sfcperf.services.classifier.serving.policy import Limits
from sfcperf.workflow.defaults import with_defaults

Classifier = plugins.load("service", "classifier")


def given(**parameters: Any) -> dict[str, Any]:
    return with_defaults(settings.SCHEMA, parameters)


def test_defaults() -> None:
    parameters = given()
    Classifier.check(parameters)
    assert parameters["training"]["seed"] == 1
    assert Classifier.uses(parameters) == ("kafka",)
    assert settings.limits(parameters) == Limits(True, 10, 0.9, 10, 50_000)
    assert all(need.met for need in Classifier.requirements(parameters)[:2])


@pytest.mark.parametrize(
    ("training", "where"),
    [
        ({"pcap": "/a.pcap"}, "training/pcap"),
        ({"labels": "/a.csv"}, "training/labels"),
        ({"pcap": "a.pcap", "labels": "/a.csv"}, "training/pcap"),
        ({"pcap": "/a.pcap", "labels": "a.csv"}, "training/labels"),
        ({"labels": "/a.csv", "labeller": "suricata"}, "training/labels"),
        ({"labeller": "suricata", "suricata_rules": ["/a", "b"]}, "training/suricata_rules/1"),
        ({"suricata_rules": ["/a.rules"]}, "training/suricata_rules"),
    ],
)
def test_captures_come_with_labels_and_places(training: dict[str, str], where: str) -> None:
    with pytest.raises(InputError) as refused:
        Classifier.check(given(training=training))
    assert refused.value.where == where


def test_suricata_labels_captures_without_labels() -> None:
    parameters = given(training={"pcap": "/a.pcap", "labeller": "suricata"})
    Classifier.check(parameters)
    assert "suricata" in [need.name for need in Classifier.requirements(parameters)]
