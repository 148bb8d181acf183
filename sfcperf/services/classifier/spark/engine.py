"""The engine `spark`: a decision tree of MLlib, and Structured Streaming."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfcperf import retry
from sfcperf.environment import tools
from sfcperf.errors import DeploymentError, EnvironmentLacks
from sfcperf.plugins import Requirement, choice, integer, number, object_schema
from sfcperf.results.files import replace_file
from sfcperf.services import jars
from sfcperf.services.base import ServiceContext
from sfcperf.services.classifier.engine import Broker, Engine
from sfcperf.services.classifier.examples import Examples
from sfcperf.services.classifier.spark.batch import MAX_BINS, MAX_DEPTH
from sfcperf.services.classifier.spark.session import JARS
from sfcperf.services.classifier.spark.stream import MICRO_BATCH, REAL_TIME
from sfcperf.services.classifier.supervised import Supervised

START_TIMEOUT_S = 180.0
_LONGEST_FAILURE_S = 60.0
"""A query that fails for longer has a problem, for example no workers."""

PARAMETERS = object_schema(
    {
        "master": {
            "type": "string",
            "pattern": r"^(local\[([0-9]+|\*)\]|spark://.+|yarn|k8s://.+)$",
            "default": "local[4]",
            "description": "Where Spark works: local[THREADS] (this machine), spark://HOST:PORT, yarn "
            "or k8s://URL. Real-time mode needs as many threads as the topic of records has "
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
            default=5,
        ),
        "most_records": integer(
            "Of a micro-batch, so that a backlog is worked off in parts.",
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
    default={},
    description="Of the engine spark.",
)
