"""Engine: trains a model (batch layer), and classifies records with it (speed layer).

All that engines do differently is here. The records' labels, the split into flows that train and
flows that test (`examples`), the metrics and the store of models (`models`) are the same for all,
and so is all that follows a verdict (`serving`).
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
"""Of a dead letter: with its headers, a larger one may be more than the broker takes
(`message.max.bytes`), and would come again for ever."""
LARGEST_KEY_BYTES = 1024
"""Of a record, which verdicts and dead letters have too. `sfc-ids` writes 127 at most."""


@dataclass(frozen=True)
class Broker:
    """Where records come from, and verdicts go to. All topics have as many partitions."""

    bootstrap: str
    """ADDRESS:PORT of brokers, separated by commas."""
    records: str
    """The topics' names."""
    verdicts: str
    dead_letters: str
    group: str
    """Of consumers: the speed layer's offsets in `records` are committed for it."""


class Engine(ABC):
    """One engine in one run. All calls come from the run's thread.

    The speed layer reads the topic `records` from the offsets that it committed, for `Broker.group`
    or in a place of its own, else from the beginning, and writes for each record either a verdict
    (schemas/verdict.schema.json, see `verdicts`) or, if `records.parse` would refuse it, a dead
    letter: the record as it was, or its first `LARGEST_LETTER_BYTES`, with the headers `partition`,
    `offset` and `reason`. Both have the record's key, unless that is longer than
    `LARGEST_KEY_BYTES`, and go to the partition that has the number of the record's, in the order
    of the records. It commits an offset after that, so that what is killed at any time misses no
    record; one that is written twice is recognised by the record's offset. When it dies, the engine
    starts it again at once.
    """

    name: ClassVar[str]
    """In workflows."""

    @classmethod
    @abstractmethod
    def requirements(cls, parameters: Mapping[str, Any]) -> list[Requirement]:
        """What must be there on the machine that runs sfcperf, beside what all engines need."""

    @abstractmethod
    def __init__(
        self, context: ServiceContext, parameters: Mapping[str, Any], broker: Broker
    ) -> None:
        """`parameters` of the classifier. Starts nothing."""

    @abstractmethod
    def version(self) -> str:
        """Of what trains: a model of another version is trained anew."""

    def start(self) -> None:
        """Start what takes long, before chains are deployed; records are not read yet. Raises
        EnvironmentLacks."""
        return

    @abstractmethod
    def train(self, examples: Examples, folder: Path) -> Mapping[str, Any]:
        """Write a model to an existing empty folder; gives facts of it for readers (`depth`,
        `leaves`). The same examples give the same model; `Examples.weights` count. Raises
        EnvironmentLacks."""

    @abstractmethod
    def predict(self, folder: Path, features: NDArray[np.int64]) -> Sequence[str]:
        """The label of each row by the model in the folder, as the speed layer does."""

    @abstractmethod
    def classify(self, folder: Path) -> None:
        """Classify records with the model in the folder from now on, instead of another if there
        was one; no record is lost between the two. Returns when it does. Raises
        DeploymentError."""

    @abstractmethod
    def problem(self) -> str | None:
        """None while the speed layer works, or is being started again; never raises
        MeasurementError."""

    @property
    @abstractmethod
    def restarts(self) -> int:
        """How often the speed layer died and was started again."""

    def facts(self) -> Mapping[str, Any]:
        """What a reader of the results should know: versions, for instance."""
        return {}

    @abstractmethod
    def stop(self) -> None:
        """End it. Harmless when called again."""
