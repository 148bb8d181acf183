"""The fields of every data stream: the one description that templates, documents, dashboards and
the reference are made from.

Names are nested as the Elastic Common Schema nests them (`host.cpu.model`). One thing has one name
in all streams, so that a filter on `run.id` or `metric.name` holds for a whole dashboard.

- A number is found by its metric's name: `metric.name: "rtt_us"` and then `metric.value`. Probes of
  third parties need no new field.
- A factor is there twice: `factor.NAME`, its level as a keyword, to break down and to filter by;
  `level.NAME`, a number, for an axis, when the level is one. These two are the only fields whose
  names are not known before; their types are. Nothing else is mapped dynamically.
- `chain.length` is the number of service functions, whatever the workflow calls its factors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

FieldType = Literal[
    "boolean", "date", "date_nanos", "double", "flattened", "integer", "keyword", "long", "text"
]

KEYWORD_LENGTH = 1024
"""Characters of a keyword that can be searched; longer ones are kept, not found."""


@dataclass(frozen=True)
class Field:
    """A field of a data stream."""

    name: str
    """Dotted; a last part `*` stands for any name (factors)."""
    type: FieldType
    """Elasticsearch's type of the field."""
    description: str
    unit: str = ""
    """SI unit; `1` for a count or a ratio; empty for what has none, and for `metric.*`, whose
    unit is in `metric.unit`."""

    @property
    def is_pattern(self) -> bool:
        """Whether it stands for fields whose names come with the data."""
        return self.name.endswith(".*")


@dataclass(frozen=True)
class Stream:
    """A data stream."""

    name: str
    """`trials`: behind a prefix, `sfcperf-trials`."""
    description: str
    """What one document is."""
    fields: tuple[Field, ...]
    mutable: bool
    """Whether a document may change after it is sent, since a run can be analysed again or resumed.
    Such documents have `document.hash`."""


_RUN = (
    Field("run.id", "keyword", "Id of the run; the name of its folder unless that was renamed."),
    Field("run.name", "keyword", "Name of the workflow."),
)
_SCENARIO = (
    Field("scenario.id", "keyword", "Id of the scenario in the run: s and its number."),
    Field("scenario.label", "keyword", "Levels of all factors: `chain_length=2 topology=T1`."),
    Field("chain.length", "integer", "Service functions in the chain; 0 is the baseline.", "1"),
    Field("factor.*", "keyword", "Level of the factor, as text."),
    Field("level.*", "double", "Level of the factor, when it is a number."),
)
_PROBE = (
    Field("probe.name", "keyword", "Name of the probe plug-in."),
    Field("probe.label", "keyword", "Label of the probe, unique in the workflow."),
)
_TRIAL = (Field("trial.id", "keyword", "Id of the trial in the run: round, scenario, probe."),)
_METRIC = (
    Field("metric.name", "keyword", "What was measured: rtt_us, rate_bps, loss_ratio, ..."),
    Field("metric.unit", "keyword", "SI unit of all values of this metric: us, bit/s, 1."),
)
_DECLARED = (
    Field("metric.better", "keyword", "Which direction is better: higher, lower, none."),
    Field("metric.primary", "boolean", "Whether short tables and sequential stopping look at it."),
)
_DOCUMENT = (
    Field("document.version", "integer", "Version of this description (mappings.VERSION)."),
)
_HASH = (Field("document.hash", "keyword", "SHA-256 of the document's content."),)

VERSION = 1
"""Of the streams' fields; templates and documents carry it."""

TRIALS = Stream(
    "trials",
    "One metric of one trial. A trial without samples (it failed) has one document all the same.",
    (
        Field("@timestamp", "date", "When the trial's last attempt began, UTC."),
        *_DOCUMENT,
        *_HASH,
        *_RUN,
        *_SCENARIO,
        *_PROBE,
        *_TRIAL,
        Field("trial.first", "boolean", "On one document per trial: filter by it to count trials."),
        Field("trial.round", "integer", "Round, from 1.", "1"),
        Field("trial.status", "keyword", "valid, untrusted or failed; only valid ones count."),
        Field("trial.reasons", "keyword", "Why it is not valid."),
        Field("trial.attempts", "integer", "How often it was run.", "1"),
        Field("trial.ended", "date", "When it ended, UTC."),
        Field("trial.duration_s", "double", "From begin to end of the last attempt.", "s"),
        Field("trial.rerun_of", "keyword", "Trial outside the noise gate that this one replaces."),
        Field("trial.raw", "keyword", "Folder of the tools' raw output in the run folder."),
        Field("trial.packets", "flattened", "SF: packets that it forwarded meanwhile."),
        Field("trial.noise", "flattened", "What the machine did meanwhile (noise gate)."),
        Field("trial.notes", "flattened", "Further facts that probe and control wrote down."),
        Field("chain.id", "keyword", "Id of the deployment."),
        Field("chain.encapsulation", "keyword", "nsh-eth, nsh-vxlan-gpe, none, ..."),
        Field("chain.spi", "long", "Service path identifier (RFC 8300).", "1"),
        Field("chain.proven", "boolean", "Whether traversal of the chain was proven."),
        *_METRIC,
        *_DECLARED,
        Field("metric.value", "double", "Mean of the trial's samples: the number that counts."),
        Field("metric.samples", "double", "All samples of the trial: for percentiles."),
        Field("metric.count", "integer", "Number of these samples.", "1"),
    ),
    mutable=True,
)

SUMMARIES = Stream(
    "summaries",
    "One metric of one scenario over all its valid trials, with its intervals.",
    (
        Field("@timestamp", "date", "When the run began, UTC."),
        *_DOCUMENT,
        *_HASH,
        *_RUN,
        *_SCENARIO,
        *_PROBE,
        *_METRIC,
        *_DECLARED,
        Field("summary.n", "integer", "Valid trials that carry the metric.", "1"),
        Field("summary.mean", "double", "Mean of the trials."),
        Field("summary.median", "double", "Median of the trials."),
        Field("summary.stdev", "double", "Sample standard deviation of the trials."),
        Field("summary.min", "double", "Smallest trial."),
        Field("summary.max", "double", "Largest trial."),
        Field("summary.ci_low", "double", "Lower end of the mean's confidence interval."),
        Field("summary.ci_high", "double", "Upper end of the mean's confidence interval."),
        Field("summary.median_ci_low", "double", "Lower end of the median's interval."),
        Field("summary.median_ci_high", "double", "Upper end of the median's interval."),
        Field("summary.relative_half_width", "double", "Half the mean's interval over mean.", "1"),
        Field("summary.confidence", "double", "Confidence of the intervals.", "1"),
        Field("summary.method", "keyword", "How the interval of the mean was made."),
        Field("summary.median_method", "keyword", "How the interval of the median was made."),
        Field("summary.centre", "keyword", "What describes the trials best: mean or median."),
        Field("summary.valid", "boolean", "Every planned trial is there and valid."),
        Field("summary.reasons", "keyword", "What is wrong with trials, or which are missing."),
        Field("summary.warnings", "keyword", "What a reader must know of these numbers."),
        Field("summary.stop_reason", "keyword", "Why no more rounds of the scenario were run."),
        Field("summary.p5", "double", "5th percentile of the trials."),
        Field("summary.p25", "double", "25th percentile of the trials."),
        Field("summary.p75", "double", "75th percentile of the trials."),
        Field("summary.p95", "double", "95th percentile of the trials."),
        Field("summary.samples_n", "integer", "Samples within the trials, pooled.", "1"),
        Field("summary.samples_p50", "double", "Median of the pooled samples."),
        Field("summary.samples_p95", "double", "95th percentile of the pooled samples."),
        Field("summary.samples_p99", "double", "99th percentile of the pooled samples."),
        Field("summary.normality_p", "double", "p of the test for normality.", "1"),
        Field("summary.autocorrelation", "double", "Of successive trials.", "1"),
        Field("summary.drift_ratio", "double", "Last third of the rounds over the first.", "1"),
        Field("summary.steady", "keyword", "Samples within trials: steady, warm-up, never."),
        Field("summary.outliers", "keyword", "Ids of trials marked as outliers; they count."),
        Field("summary.trials", "keyword", "Ids of the trials that count."),
        Field("summary.excluded", "keyword", "Ids of the trials that do not count."),
    ),
    mutable=True,
)

TELEMETRY = Stream(
    "telemetry",
    "One observation of a monitor during a trial.",
    (
        Field("@timestamp", "date_nanos", "When it was observed, UTC."),
        *_DOCUMENT,
        *_RUN,
        *_SCENARIO,
        *_TRIAL,
        *_PROBE,
        Field("trial.round", "integer", "Round, from 1.", "1"),
        Field("trial.status", "keyword", "valid, untrusted or failed; only valid ones count."),
        Field("telemetry.source", "keyword", "Instance or hop: fwd-1, sff@node1, client."),
        Field("telemetry.elapsed_s", "double", "Since the trial began: lays trials over.", "s"),
        *_METRIC,
        Field("metric.value", "double", "The number that was observed."),
    ),
    mutable=False,
)

RUNS = Stream(
    "runs",
    "One run: its manifest.",
    (
        Field("@timestamp", "date", "When the run began, UTC."),
        *_DOCUMENT,
        *_HASH,
        *_RUN,
        Field("run.description", "text", "Description of the workflow."),
        Field("run.status", "keyword", "running, complete, interrupted, failed."),
        Field("run.ended", "date", "When it ended, UTC."),
        Field("run.duration_s", "double", "From begin to end.", "s"),
        Field("run.driver", "keyword", "Name of the driver plug-in."),
        Field("run.seed", "long", "Seed of the order of trials."),
        Field("run.rounds", "integer", "Rounds that every scenario gets at least.", "1"),
        Field("run.order", "keyword", "Order of scenarios within a round."),
        Field("run.confidence", "double", "Confidence of all intervals.", "1"),
        Field("run.scenarios", "integer", "Number of scenarios.", "1"),
        Field("run.probes", "keyword", "Labels of the probes."),
        Field("run.monitors", "keyword", "Names of the monitors."),
        Field("run.variants", "keyword", "Names of the variants of an interleaved comparison."),
        Field("run.problems", "keyword", "What went wrong beside the trials."),
        Field("run.trials.valid", "integer", "Trials that count.", "1"),
        Field("run.trials.untrusted", "integer", "Trials with reasons not to trust them.", "1"),
        Field("run.trials.failed", "integer", "Trials that were not measured.", "1"),
        Field("run.infrastructure", "flattened", "Settings of the infrastructure."),
        Field("run.tools", "flattened", "Tool: what it says of its version."),
        Field("run.packages", "flattened", "Python package: version."),
        Field("run.sfcperf.version", "keyword", "Version of SFCPerf."),
        Field("run.sfcperf.revision", "keyword", "Commit of its working tree, if it has one."),
        Field("host.architecture", "keyword", "Instruction set."),
        Field("host.cpu.model", "keyword", "Model of the processor."),
        Field("host.cpu.logical", "integer", "Logical CPUs.", "1"),
        Field("host.cpu.governor", "keyword", "Frequency governor."),
        Field("host.memory.total_bytes", "long", "Physical memory.", "B"),
        Field("host.os.kernel", "keyword", "Release of the kernel."),
        Field("host.os.full", "keyword", "Name and version of the distribution."),
        Field("host.hypervisor", "boolean", "Whether the CPU says that it is virtual."),
        Field("host.load_1min", "double", "Load average as the run began.", "1"),
    ),
    mutable=True,
)

STREAMS: Mapping[str, Stream] = {s.name: s for s in (RUNS, TRIALS, SUMMARIES, TELEMETRY)}
"""Name -> data stream, in the order in which they are sent."""

PREFIX = "sfcperf"
"""Before a stream's name, unless the user has another."""


def data_stream(stream: Stream, prefix: str = PREFIX) -> str:
    """Name of the data stream on the server: `sfcperf-trials`."""
    return f"{prefix}-{stream.name}"


def field_names(stream: Stream) -> frozenset[str]:
    """Names of its fields; those of factors as `factor.*`."""
    return frozenset(field.name for field in stream.fields)


def mappings(stream: Stream) -> dict[str, Any]:
    """The `mappings` of the stream's index template: explicit, nothing else is indexed."""
    properties: dict[str, Any] = {}
    for field in stream.fields:
        *parents, last = field.name.split(".")
        level = properties
        for parent in parents:
            level = level.setdefault(parent, {"properties": {}})["properties"]
        if field.is_pattern:
            continue
        level[last] = _mapping(field)
    for parent in _patterns(stream):
        # New names below; their type is that of the dynamic template.
        properties[parent] |= {"type": "object", "dynamic": True}
    templates = [
        {parent: {"path_match": field.name, "mapping": _mapping(field)}}
        for parent, field in _patterns(stream).items()
    ]
    return {"dynamic": False, "properties": properties, "dynamic_templates": templates}


def leaves(stream: Stream) -> Iterator[Field]:
    """Fields with a name of their own."""
    return (field for field in stream.fields if not field.is_pattern)


def _patterns(stream: Stream) -> dict[str, Field]:
    return {f.name.removesuffix(".*"): f for f in stream.fields if f.is_pattern}


def _mapping(field: Field) -> dict[str, Any]:
    mapping: dict[str, Any] = {"type": field.type}
    if field.type in ("keyword", "flattened"):
        mapping["ignore_above"] = KEYWORD_LENGTH
    if field.is_pattern and field.type != "keyword":
        # A level that is no number in some run is no reason to refuse the document.
        mapping["ignore_malformed"] = True
    if field.unit:
        mapping["meta"] = {"unit": field.unit}
    return mapping
