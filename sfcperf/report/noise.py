"""Noise: what the machine did during each trial, and which trials the noise gate excluded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sfcperf.counts import count_text
from sfcperf.presentation import palette, units
from sfcperf.presentation.pages import Chart, trial_anchor
from sfcperf.results.noise_gate import (
    GATE_REASON,
    Reading,
    account_text,
    is_outside,
    outside,
    steal_meanwhile,
)
from sfcperf.results.records import TrialRecord
from sfcperf.workflow.model import NoiseGate

_WATCHED = (
    (
        "quiet_steal_ratio",
        "Steal before and after",
        "1",
        "Share of the time that the CPUs in use wanted just before or just after the trial.",
        "max_steal_ratio",
    ),
    (
        "steal_ratio",
        "Steal while measuring",
        "1",
        "Share of the time of the CPUs in use. Slow trials cause it, too: no trial is excluded "
        "for it.",
        "",
    ),
    (
        "run_queue",
        "Run queue",
        "tasks/CPU",
        "Tasks of other programs that waited for a CPU in the pause before the trial.",
        "max_run_queue",
    ),
    (
        "other_cpu_ratio",
        "CPU used by others",
        "1",
        "Share of the time of all CPUs.",
        "max_other_cpu_ratio",
    ),
    (
        "frequency_drop_ratio",
        "Frequency drop",
        "1",
        "How far the frequency was below the run's median.",
        "max_frequency_drop_ratio",
    ),
)
"""Key of the evidence, title, unit, what it is, the limit's name (empty: it is not judged). The
keys are those of TrialRecord.noise, the limits fields of NoiseGate."""


@dataclass(frozen=True)
class OutsideTrial:
    """A trial outside the noise gate."""

    trial: str
    reason: str
    rerun: str | None
    """Trial that was run in its place; None when it stays outside."""


@dataclass(frozen=True)
class NoiseSection:
    """What the report says of noise."""

    lead: tuple[str, ...]
    """Sentences at the start of the section."""
    trials: tuple[OutsideTrial, ...]
    charts: tuple[Chart, ...]
    """A chart over the time of the run for each kind of evidence that changed."""
    constant: tuple[str, ...]
    """Sentences about what never changed, or could not be observed."""


def noise_section(
    manifest: Mapping[str, Any], trials: Sequence[TrialRecord], readings: Sequence[Reading]
) -> NoiseSection | None:
    """Return the section; None for a run of an SFCPerf that did not record noise yet."""
    watched = [record for record in trials if record.noise]
    if not watched and not readings:
        return None
    limits = limits_of(manifest)
    start = min(
        _seconds(at) for at in [*(r.started_at for r in watched), *(r.started_at for r in readings)]
    )
    found = [
        _chart(theirs, start, limits, f"{where}{key}", key, f"{title}{of}", unit, meaning, limit)
        for where, of, theirs in _by_machine(watched)
        for key, title, unit, meaning, limit in _WATCHED
    ]
    charts = [chart for chart in found if isinstance(chart, Chart)]
    words = [text for text in found if isinstance(text, str)]
    if any(reading.value is not None for reading in readings):
        charts.append(_sentinel(readings, start))
    return NoiseSection(
        lead=tuple(_lead(manifest, watched)),
        trials=tuple(_outside(trials)),
        charts=tuple(charts),
        constant=tuple(words),
    )


def limits_of(manifest: Mapping[str, Any]) -> NoiseGate | None:
    """Return the limits of the run's noise gate; None when it had none. Its other fields have their
    defaults."""
    gate = manifest["design"].get("noise_gate")
    if gate is None:
        return None
    limits: dict[str, Any] = {limit: gate.get(limit) for *_, limit in _WATCHED if limit}
    return NoiseGate(**limits)


def noise_findings(manifest: Mapping[str, Any], trials: Sequence[TrialRecord]) -> Iterator[str]:
    """Yield what the verdict says of noise: stolen CPU time, which excludes no trial; in a run
    without a gate, noise beyond the default limits; and other runs on the same machine."""
    watched = [record for record in trials if record.noise]
    limits = limits_of(manifest)
    stolen = [record for record in watched if steal_meanwhile(record.noise, limits or NoiseGate())]
    if stolen:
        example = steal_meanwhile(stolen[0].noise, limits or NoiseGate())
        yield (
            f"The hypervisor took CPU time during {len(stolen)} of "
            f"{count_text(len(watched), 'trial')} ({stolen[0].trial_id}: {example}). They count: a "
            "slow trial has more stolen because it is slow, and excluding slow trials would make "
            "the results too good."
        )
    if limits is None:
        noisy = [record for record in watched if outside(record.noise, NoiseGate())]
        if noisy:
            example = outside(noisy[0].noise, NoiseGate())[0].removeprefix(GATE_REASON)
            yield (
                f"The machine was not quiet during {len(noisy)} of "
                f"{count_text(len(watched), 'trial')} ({noisy[0].trial_id}: {example}). With "
                "`design.noise_gate` such trials are run again."
            )
    beside = [record for record in watched if record.noise.get("other_runs")]
    if beside:
        yield (
            f"Another run was measured on this machine during {len(beside)} of "
            f"{count_text(len(watched), 'trial')}."
        )


def _lead(manifest: Mapping[str, Any], watched: Sequence[TrialRecord]) -> Iterator[str]:
    """Yield the sentences at the start of the section. `watched`: trials with evidence."""
    account = manifest.get("noise")
    if isinstance(account, Mapping):
        text = account_text(account).removeprefix(GATE_REASON)
        yield f"{text[0].upper()}{text[1:]}."
    elif limits_of(manifest) is None:
        yield "This run has no noise gate: noise was recorded, but no trial was run again."
    if any(record.noise.get("scope") == "controller" for record in watched):
        known = any(record.noise.get("machines") for record in watched)
        which = "values without the name of a node" if known else "these values"
        yield (
            f"The chain ran on other machines: {which} describe the machine that controlled the "
            "run."
        )


def _outside(trials: Sequence[TrialRecord]) -> Iterator[OutsideTrial]:
    """Yield the trials outside the gate, each with all of its reasons."""
    reruns = {record.rerun_of: record.trial_id for record in trials if record.rerun_of}
    for record in trials:
        if is_outside(record):
            reasons = [r.removeprefix(GATE_REASON) for r in record.reasons]
            yield OutsideTrial(record.trial_id, "; ".join(reasons), reruns.get(record.trial_id))


def _chart(
    watched: Sequence[TrialRecord],
    start: float,
    limits: NoiseGate | None,
    name: str,
    key: str,
    title: str,
    unit: str,
    meaning: str,
    limit_name: str,
) -> Chart | str:
    """Draw one kind of evidence; return a sentence instead if it was not observed or never changed.
    `watched`: trials with evidence; `start`: Unix time of the run's first trial, seconds; `name`:
    of the chart; the last five: an entry of _WATCHED."""
    seen = [record for record in watched if isinstance(record.noise.get(key), int | float)]
    if not seen:
        # Where the frequency is not known, `frequency_source` says why.
        why = {record.noise.get("frequency_source", "") for record in watched}
        reason = "; ".join(sorted(filter(None, why))) if "frequency" in key else "not observed"
        return f"{title}: {reason or 'not observed'}."
    values = [float(record.noise[key]) for record in seen]
    limit = getattr(limits or NoiseGate(), limit_name) if limit_name else None
    known = [*values, *([] if limit is None else [limit])]
    scale = units.scale_for(known, unit, key)
    limit_words = "limit" if limits is not None else "limit of a default gate"
    if len(set(values)) == 1:
        shown = "" if limit is None else scale.with_unit(f"{limit * scale.factor:g}")
        limit_text = "" if limit is None else f" ({limit_words}: {shown})"
        trials = "the only trial" if len(seen) == 1 else f"all {len(seen)} trials"
        return f"{title}: {scale.quantity(values[0])} in {trials}{limit_text}."
    inside = [record for record in seen if not is_outside(record)]
    beyond = [record for record in seen if is_outside(record)]
    series = [_points("trials", inside, key, start, 0, scale)]
    if beyond:
        series.append(_points("outside the gate", beyond, key, start, 1, scale))
    if limit is not None:
        ends = [_seconds(seen[0].started_at) - start, _seconds(seen[-1].ended_at) - start]
        series.append(_line(limit_words, ends, [limit * scale.factor] * 2, 6))
    note = f"{meaning} {count_text(len(seen), 'trial')}."
    return Chart(f"noise-{name}", title, note, _data(units.axis_label(title, scale.unit), series))


def _by_machine(
    watched: Sequence[TrialRecord],
) -> Iterator[tuple[str, str, Sequence[TrialRecord]]]:
    """Yield, for each machine, the beginning of the names of its charts, the end of their titles,
    and the trials with its evidence as theirs. Both are empty for the machine that runs sfcperf."""
    yield "", "", watched
    for node in sorted({node for r in watched for node in r.noise.get("machines", {})}):
        theirs = [r for r in watched if node in r.noise.get("machines", {})]
        yield (
            f"{node}-",
            f", {node}",
            [replace(r, noise=r.noise["machines"][node]) for r in theirs],
        )


def _sentinel(readings: Sequence[Reading], start: float) -> Chart:
    """Draw the readings that have a value, and the median with which each was compared."""
    measured = [reading for reading in readings if reading.value is not None]
    first = measured[0]
    scale = units.scale_for([r.value or 0.0 for r in measured], first.unit, first.metric)

    def x(chosen: Sequence[Reading]) -> list[float]:
        return [round(_seconds(reading.started_at) - start, 3) for reading in chosen]

    series = []
    for name, departed, style in (("readings", False, 0), ("departed", True, 1)):
        if chosen := [r for r in measured if r.departed is departed]:
            y = [(r.value or 0.0) * scale.factor for r in chosen]
            series.append(_scattered(name, x(chosen), y, [None] * len(y), style))
    if known := [r for r in measured if r.reference is not None]:
        y = [(r.reference or 0.0) * scale.factor for r in known]
        series.append(_line("median so far", x(known), y, 6))
    title = f"Sentinel: {units.metric_title(first.metric)}"
    failed = len(readings) - len(measured)
    note = f"{count_text(len(measured), 'measurement')} of a chain without functions."
    if failed:
        note += f" {failed} more failed."
    return Chart("noise-sentinel", title, note, _data(units.axis_label(title, scale.unit), series))


def _data(y_label: str, series: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the data of a chart over the time of the run."""
    x_label = units.axis_label("Time since the run's first trial", "s")
    return {"kind": "time", "xLabel": x_label, "yLabel": y_label, "series": series}


def _points(
    name: str,
    records: Sequence[TrialRecord],
    key: str,
    start: float,
    style: int,
    scale: units.Scale,
) -> dict[str, Any]:
    """Return a point for each trial, at its start: the value of its evidence `key`."""
    x = [round(_seconds(record.started_at) - start, 3) for record in records]
    y = [float(f"{record.noise[key] * scale.factor:.5g}") for record in records]
    return _scattered(name, x, y, [trial_anchor(r.trial_id) for r in records], style)


def _scattered(
    name: str, x: Sequence[float], y: Sequence[Any], anchors: Sequence[Any], style: int
) -> dict[str, Any]:
    """Points that no line joins. `anchors`: the trial that a click on each point goes to, or
    None."""
    return {**_line(name, x, y, style), "anchors": list(anchors), "points": True}


def _line(name: str, x: Sequence[float], y: Sequence[Any], style: int) -> dict[str, Any]:
    """A joined line for the chart. Its points stand for no trial, so that none links to one.
    `style`: number of a palette style."""
    return {
        "name": name,
        "style": palette.style(style).plotly(),
        "x": list(x),
        "y": list(y),
        "anchors": [None] * len(x),
    }


def _seconds(at: str) -> float:
    """Return the Unix time of a moment (ISO 8601), seconds."""
    return datetime.fromisoformat(at).timestamp()
