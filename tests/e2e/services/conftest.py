from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.services.classifier import ClassifierBench, classifier_bench
from support.services.service import kafka as kafka


@pytest.fixture(scope="session")
def shared(kafka: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClassifierBench]:
    """A classifier of all tests that begin a trial of their own."""
    knobs = {"max_rules": 100_000, "allow": ["198.51.0.0/30"]}
    with classifier_bench(kafka, tmp_path_factory.mktemp("bench"), "shared", knobs) as made:
        yield made
