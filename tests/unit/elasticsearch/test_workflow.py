"""The publisher in a workflow: what is accepted, and that no secret comes in this way."""

from __future__ import annotations

from typing import Any

import pytest

from sfcperf.elasticsearch.publisher import ElasticsearchPublisher
from sfcperf.workflow.validate import Validator


@pytest.mark.parametrize(
    "parameters",
    [
        {"url": "https://es.lab:9200"},
        {"url": ["https://a:9200", "https://b:9200"], "ca": "ca.pem", "prefix": "lab-1"},
        {"url": "https://es.lab", "fingerprint": "ab" * 32, "patience_s": 0, "insecure": True},
    ],
)
def test_accepted(parameters: dict[str, Any]) -> None:
    assert Validator(ElasticsearchPublisher.parameters).misfits(parameters) == []


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"url": []},
        {"url": "es.lab:9200"},
        {"url": "https://me:geheim@es.lab"},
        {"url": ["https://es.lab", "https://me:geheim@es.lab"]},
        {"url": "https://es.lab", "password": "geheim"},
        {"url": "https://es.lab", "api_key": "geheim"},
        {"url": "https://es.lab", "prefix": "Lab"},
    ],
)
def test_refused_without_repeating_a_secret(parameters: dict[str, Any]) -> None:
    found = Validator(ElasticsearchPublisher.parameters).misfits(parameters)
    assert found
    assert "geheim" not in str(found)
