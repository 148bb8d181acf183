"""Results of a run for Prometheus: OpenMetrics text 1.0.

Every family is a gauge, because its text is the same in Prometheus' older format (version 0.0.4).
So servers can read it, and node_exporter's textfile collector, which knows only the older format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sfcperf.errors import InputError
from sfcperf.presentation.levels import level_text
from sfcperf.results.records import Summary
from sfcperf.results.store import RunStore
from sfcperf.results.tables.columns import PREFIX

_BASE_UNITS = {
    "ns": ("seconds", 1e9),
    "us": ("seconds", 1e6),
    "ms": ("seconds", 1e3),
    "s": ("seconds", 1.0),
    "bit/s": ("bytes_per_second", 8.0),
    "byte/s": ("bytes_per_second", 1.0),
    "B/s": ("bytes_per_second", 1.0),
    "byte": ("bytes", 1.0),
    "bytes": ("bytes", 1.0),
    "B": ("bytes", 1.0),
    "%": ("ratio", 100.0),
}
"""Unit -> base unit of Prometheus, which counts in seconds and bytes
(https://prometheus.io/docs/practices/naming/), and how many of the unit make one base unit."""
_SUFFIXES = ("_per_s", "_ns", "_us", "_ms", "_s", "_bps", "_pps", "_bytes", "_ratio", "_percent")
"""Units at the end of metrics' names. Of two that fit a name the longer one comes first, because
the first that fits is taken."""
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})
_NO_NAME = re.compile(r"[^A-Za-z0-9_]")
"""Characters that a name of Prometheus cannot have."""


@dataclass
class _Family:
    """A metric family of OpenMetrics: the samples of one name, labels -> value."""

    help: str
    unit: str
    samples: dict[tuple[tuple[str, str], ...], float] = field(default_factory=dict)

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of the family, which has this name."""
        yield f"# TYPE {name} gauge"
        if self.unit:
            yield f"# UNIT {name} {self.unit}"
        yield f"# HELP {name} {self.help.translate(_ESCAPES)}"
        for labels, value in self.samples.items():
            texts = (f'{key}="{text.translate(_ESCAPES)}"' for key, text in labels)
            yield f"{name}{{{','.join(texts)}}} {value!r}"


@dataclass
class _Exposition:
    """The families of one OpenMetrics text, by name. All samples have the labels `common`."""

    common: Mapping[str, str]
    families: dict[str, _Family] = field(default_factory=dict)

    def put(
        self, name: str, help: str, value: float, labels: Mapping[str, str], unit: str = ""
    ) -> None:
        """Add a sample to the family `name`. `help` and `unit` (empty: none) are the family's, and
        are taken from its first sample."""
        family = self.families.setdefault(name, _Family(help, unit))
        family.samples[tuple({**self.common, **labels}.items())] = float(value)

    def text(self) -> str:
        """Return the text of all families, in the order in which they were added."""
        lines = (line for name, family in self.families.items() for line in family.lines(name))
        return "\n".join([*lines, "# EOF\n"])


def openmetrics(store: RunStore) -> str:
    """Return the summaries of a run as OpenMetrics text, in base units. A metric has three
    families: `sfcperf_NAME_UNIT` is the declared centre of the trials; `..._ci_low_UNIT` and
    `..._ci_high_UNIT` are the bounds of its interval, where there is one. `sfcperf_row_trials` is
    how many trials count. Labels: `workflow`, `scenario`, `probe` (its label), `metric` (its name
    in summary.json), `factor_NAME`.

    `sfcperf_run_info` has the run id, `sfcperf_run_trials` the number of trials by status,
    `sfcperf_run_ended_timestamp_seconds` the time of the end (Unix time).

    Raises InputError for a run without summaries, and for factors that cannot be told apart.
    """
    summaries, manifest = store.summaries(), store.manifest()
    if not summaries:
        raise InputError(
            "this run has no summaries to export",
            where=str(store.folder),
            hint=f"`sfcperf report {store.folder}` summarises the trials that there are",
        )
    about = {
        (probe["label"], metric["name"]): metric["description"]
        for probe in manifest["probes"]
        for metric in probe["metrics"]
    }
    exposition = _Exposition({"workflow": manifest["name"]})
    _put_run(exposition, store.run_id, manifest)
    for row in summaries:
        _put_row(exposition, row, about.get((row.label, row.metric), row.metric))
    return exposition.text()


def _put_run(exposition: _Exposition, run_id: str, manifest: Mapping[str, Any]) -> None:
    """Add the samples about the run itself: what it is, its trials by status, and when it ended, if
    it has ended."""
    info = {"run": run_id, "status": manifest["status"], "version": manifest["sfcperf_version"]}
    exposition.put("sfcperf_run_info", "the run that these numbers are from", 1, info)
    for status, number in manifest["trials"].items():
        exposition.put("sfcperf_run_trials", "trials by status", number, {"status": status})
    if ended_at := manifest["ended_at"]:
        ended_s = datetime.fromisoformat(ended_at).timestamp()
        name, help = "sfcperf_run_ended_timestamp_seconds", "when the run ended, Unix time"
        exposition.put(name, help, ended_s, {}, "seconds")


def _put_row(exposition: _Exposition, row: Summary, about: str) -> None:
    """Add the samples of a row of the summary: number of trials, centre, and bounds where there are
    any. `about`: description of the metric."""
    labels, found = _labels(row), row.estimate()
    exposition.put("sfcperf_row_trials", "trials that count in a number", row.n, labels)
    name, unit, divisor = _name(row)
    for part, of_part, value in (
        ("", f"{row.centre} of the trials", found.value),
        ("_ci_low", "lower bound of the interval", found.low),
        ("_ci_high", "upper bound of the interval", found.high),
    ):
        if value is not None:
            full = f"{name}{part}_{unit}" if unit else f"{name}{part}"
            exposition.put(full, f"{about}; {of_part}", value / divisor, labels, unit)


def _labels(row: Summary) -> dict[str, str]:
    """Return the labels of a row's samples. Raises InputError if two factors get the same label."""
    names = {factor: PREFIX + _NO_NAME.sub("_", factor) for factor in row.scenario}
    if len(set(names.values())) < len(names):
        raise InputError(
            f"labels of Prometheus cannot tell these factors apart: {', '.join(names)}",
            allowed="names that differ in letters, digits or `_`",
        )
    own = {"scenario": row.scenario_id, "probe": row.label, "metric": row.metric}
    return own | {names[factor]: level_text(level) for factor, level in row.scenario.items()}


def _name(row: Summary) -> tuple[str, str, float]:
    """Return a family's name without its unit, the base unit, and how many of the row's unit make
    one base unit: `sfcperf_rtt`, `seconds` and 1e6 for `rtt_us`."""
    suffix = next((end for end in _SUFFIXES if row.metric.endswith(end)), "")
    if row.unit in _BASE_UNITS:
        unit, divisor = _BASE_UNITS[row.unit]
    elif row.unit == "1/s":
        unit, divisor = "packets_per_second" if suffix == "_pps" else "per_second", 1.0
    elif row.unit == "1":
        unit, divisor = "ratio" if suffix == "_ratio" else "", 1.0
    else:
        unit, divisor = _NO_NAME.sub("_", row.unit), 1.0
    stem = row.metric.removesuffix(suffix) if unit else row.metric
    return f"sfcperf_{_NO_NAME.sub('_', stem)}", unit, divisor
