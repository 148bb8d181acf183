"""Engine: trains a model (batch layer), and classifies records with it (speed layer).

An engine does only what engines do differently. Everything else is the same for all: the records'
labels and the split into flows that train and flows that test (`examples`), the metrics, the store
of models (`models`), and all that follows a verdict (`serving`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfcperf.plugins import Requirement
from sfcperf.services.base import ServiceContext
from sfcperf.services.classifier.examples import Examples

LARGEST_LETTER_BYTES = 900_000
"""Longest content of a dead letter. With its headers, a longer one may be more than the broker
takes (`message.max.bytes`). The speed layer could then never commit its record, and would read it
for ever."""
LARGEST_KEY_BYTES = 1024
"""Longest key of a record that its verdict or dead letter also gets. `sfc-ids` writes 127 bytes at
most."""


@dataclass(frozen=True)
class Broker:
    """The broker, and its topics: records come from one, verdicts and dead letters go to the
    others. All topics have the same number of partitions."""

    bootstrap: str
    """ADDRESS:PORT of brokers, separated by commas."""
    records: str
    """Name of the topic of records; the topics of verdicts and of dead letters follow."""
    verdicts: str
    dead_letters: str
    group: str
    """Consumer group for which the speed layer commits its offsets in `records`."""


class Engine(ABC):
    """One engine in one run. The run's thread makes all calls.

    The speed layer reads the topic `records` from the offsets that it committed, for `Broker.group`
    or in a place of its own, else from the beginning. For each record it writes a verdict
    (schemas/verdict.schema.json, see `verdicts`). If `records.parse` would refuse the record, it
    writes a dead letter instead: the record as it was, or its first `LARGEST_LETTER_BYTES`, with
    the headers `partition`, `offset` and `reason`. Both have the record's key, unless that is
    longer than `LARGEST_KEY_BYTES`. They go to the partition with the number of the record's, in
    the order of the records. An offset is committed after that. So a speed layer that is killed at
    any time misses no record; a verdict that is written twice is recognised by the record's offset.
    When the speed layer dies, the engine starts it again at once.
    """

    name: ClassVar[str]
    """Name in workflows."""

    @classmethod
    @abstractmethod
    def requirements(cls, parameters: Mapping[str, Any]) -> list[Requirement]:
        """What the machine that runs sfcperf must have for this engine, beside what all engines
        need."""

    @abstractmethod
    def __init__(
        self, context: ServiceContext, parameters: Mapping[str, Any], broker: Broker
    ) -> None:
        """`parameters` are those of the classifier. Nothing is started yet."""

    @abstractmethod
    def version(self) -> str:
        """Version of the training. A stored model of another version is not used; it is trained
        anew."""

    def start(self) -> None:
        """Start what takes long, before chains are deployed. Records are not read yet. Raises
        EnvironmentLacks."""
        return

    @abstractmethod
    def train(self, examples: Examples, folder: Path) -> Mapping[str, Any]:
        """Write a model to an existing empty folder; return facts of it for readers (`depth`,
        `leaves`). The same examples give the same model; `Examples.weights` count. Raises
        EnvironmentLacks."""

    @abstractmethod
    def predict(self, folder: Path, features: NDArray[np.int64]) -> Sequence[str]:
        """Label each row with the model in the folder, as the speed layer would."""

    @abstractmethod
    def classify(self, folder: Path) -> None:
        """Classify records with the model in the folder from now on, instead of any other; no
        record is lost between the two. Return when records are being classified. Raises
        DeploymentError."""

    @abstractmethod
    def problem(self) -> str | None:
        """Say why the speed layer has failed and is not started again; None while it works or is
        being started again. Never raises MeasurementError."""

    @property
    @abstractmethod
    def restarts(self) -> int:
        """How often the speed layer died and was started again."""

    def facts(self) -> Mapping[str, Any]:
        """Facts for readers of the results: versions, for instance."""
        return {}

    @abstractmethod
    def stop(self) -> None:
        """End the engine. Harmless when called again."""
