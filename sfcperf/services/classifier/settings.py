"""Parameters of the service `classifier`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.errors import InputError
from sfcperf.plugins import array, choice, integer, number, object_schema
from sfcperf.services.classifier.serving.policy import Limits
from sfcperf.services.classifier.spark import settings as spark
from sfcperf.traffic.capture_files import check_absolute, check_both

ENGINES: Mapping[str, str] = {
    "scikit-learn": "sfcperf.services.classifier.scikit:ScikitEngine",
    "spark": "sfcperf.services.classifier.spark.engine:SparkEngine",
}
"""Name of each engine -> its class."""
FILE, SURICATA = "file", "suricata"
"""Values of the parameter `labeller`."""
FLOWS, FLOWS_AND_SOURCES = "flows", "flows-and-sources"
"""Values of the parameter `rules`."""
_MOST_SEED = 2**53 - 1

_TRAINING = object_schema(
    {
        "seed": integer(
            "Seed of the trace (`sfcperf traffic make`), which is kept for the next run, and of "
            "the split into flows that train and the rest.",
            (0, _MOST_SEED),
            default=1,
        ),
        "duration_s": number("How long that trace is, seconds.", (10, 3600), default=60),
        "further_seeds": array(
            "Of further traces, as long, all of whose flows train. Traces of several seeds show "
            "each kind of attack in several forms.",
            integer("A seed.", (0, _MOST_SEED)),
            default=[],
            maxItems=20,
            uniqueItems=True,
        ),
        "pcap": {
            "type": "string",
            "default": "",
            "description": "A capture of your own instead: an absolute path.",
        },
        "labels": {
            "type": "string",
            "default": "",
            "description": "The file with its labels: an absolute path.",
        },
        "labeller": choice(
            "Whose labels train. `file`: the true ones of a trace that is made, or your own file. "
            "`suricata`: those that Suricata's alerts give (how-to/label-traffic).",
            (FILE, SURICATA),
            default=FILE,
        ),
        "suricata_rules": array(
            "Absolute paths of Suricata's rules; none: those of SFCPerf.",
            {"type": "string", "minLength": 1},
            default=[],
            maxItems=100,
        ),
    },
    description="What the model is trained with.",
    default={},
)

SCHEMA = object_schema(
    {
        "engine": choice(
            "What trains the model and classifies records.", ENGINES, default="scikit-learn"
        ),
        "kafka": {
            "type": "string",
            "minLength": 1,
            "default": "kafka",
            "description": "Name of the service whose records are classified.",
        },
        "training": _TRAINING,
        "share": number(
            "Share of the trace's flows that train. The others say how good the model is; 1: all "
            "train, and nothing says it.",
            (0.001, 1),
            default=0.2,
        ),
        "rules": choice(
            "`flows`: a flow that is an attack is blocked by its 5-tuple. `flows-and-sources`: all "
            "packets from an address are too, when enough of its flows are attacks.",
            (FLOWS, FLOWS_AND_SOURCES),
            default=FLOWS_AND_SOURCES,
        ),
        "source_after_flows": integer(
            "A source is blocked when at least this number of its flows are attacks,",
            (1, 1_000_000),
            default=10,
        ),
        "source_min_ratio": number("and at least this share of them is.", (0.01, 1), default=0.9),
        "ttl_s": number(
            "How long a rule is in force. It is renewed by a verdict when half of that is over.",
            (0.5, 3600),
            default=10,
        ),
        "max_flow_rules": integer(
            "The most rules by flow in force. Half of them are for flows of sources with more "
            "than one flow, so that spoofed sources cannot fill the table.",
            (2, 1_000_000),
            default=50_000,
        ),
        "spark": spark.SCHEMA,
    }
)
"""JSON Schema of the parameters."""
PER_CHAIN = frozenset(
    {"share", "rules", "source_after_flows", "source_min_ratio", "ttl_s", "max_flow_rules"}
)
"""Parameters that may differ between scenarios."""


def check(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that do not fit together. Raises InputError."""
    training = parameters["training"]
    own_labels = training["labeller"] == FILE
    if own_labels or training["labels"]:
        check_both(training["pcap"], training["labels"], "training/")
    for name in ("pcap", "labels"):
        check_absolute(training[name], f"training/{name}")
    rules = training["suricata_rules"]
    for index, rule in enumerate(rules):
        check_absolute(rule, f"training/suricata_rules/{index}")
    if rules and own_labels:
        raise InputError(
            "rules are for Suricata, which does not label", where="training/suricata_rules",
            allowed=f"with `labeller` `{SURICATA}`",
        )  # fmt: skip


def limits(parameters: Mapping[str, Any]) -> Limits:
    """The policy's limits, from the parameters."""
    return Limits(
        sources=parameters["rules"] == FLOWS_AND_SOURCES,
        source_after_flows=int(parameters["source_after_flows"]),
        source_min_ratio=float(parameters["source_min_ratio"]),
        ttl_s=float(parameters["ttl_s"]),
        max_flow_rules=int(parameters["max_flow_rules"]),
    )
