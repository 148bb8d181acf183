"""Parameters of the engine `spark`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from sfcperf.plugins import choice, integer, number, object_schema

REAL_TIME = "real-time"
MICRO_BATCH = "micro-batch"

SCHEMA = object_schema(
    {
        "master": {
            "type": "string",
            "pattern": r"^(local\[([0-9]+|\*)\]|spark://.+|yarn|k8s://.+)$",
            "default": "local[4]",
            "description": "Where Spark works: local[THREADS] (this machine), spark://HOST:PORT, "
            "yarn or k8s://URL. Real-time mode needs as many threads as the topic of records has "
            "partitions.",
        },
        "trigger": choice(
            "real-time: records are classified as they come. micro-batch: together with those that "
            "came meanwhile.",
            (REAL_TIME, MICRO_BATCH),
            default=REAL_TIME,
        ),
        "checkpoint_s": number(
            "In real-time mode, seconds between two checkpoints, each of which is a short pause. A "
            "restart classifies again what came since the last one.",
            (1, 3600),
            default=20,
        ),
        "most_records": integer(
            "Largest number of records in a micro-batch, so that a backlog is processed in parts.",
            (1, 10_000_000),
            default=100_000,
        ),
        "memory_mib": integer("Heap of Spark's driver, MiB.", (512, 1_000_000), default=1024),
        "conf": {
            "type": "object",
            "propertyNames": {"pattern": r"^spark\."},
            "additionalProperties": {"type": "string"},
            "default": {},
            "description": "Further properties of Spark, as a cluster may need them.",
        },
    },
    description="Settings of the engine `spark`.",
    default={},
)
"""JSON Schema of the parameters."""
_LOCAL = re.compile(r"local\[(\*|[0-9]+)\]")


def local(parameters: Mapping[str, Any]) -> bool:
    """Whether Spark works within one JVM of this machine."""
    return _LOCAL.fullmatch(parameters["master"]) is not None


def threads(parameters: Mapping[str, Any]) -> int | None:
    """How many tasks Spark can run at a time; None where a cluster decides."""
    found = _LOCAL.fullmatch(parameters["master"])
    if found is None:
        return None
    return (os.cpu_count() or 1) if found[1] == "*" else int(found[1])
