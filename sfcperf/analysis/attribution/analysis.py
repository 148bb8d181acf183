"""The analysis `attribution`: attribution.json.

The trial is the unit of replication: samples within a trial are averaged first, intervals are over
the means of trials. The residual is taken per trial (end-to-end minus the sum of the VNFs), so that
variation that both share does not widen it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from sfcperf.analysis.attribution.estimates import DescribedEstimate, Estimate, Estimator
from sfcperf.analysis.attribution.path_times import ROUND_TRIP, RTT, PathTimes, path_times
from sfcperf.analysis.attribution.ranking import Ranking, ranking
from sfcperf.analysis.attribution.remarks import remarks
from sfcperf.analysis.base import NO_PARAMETERS, Analysis
from sfcperf.analysis.planned import rules_of
from sfcperf.analysis.statistics import LOOKS, MEAN_METHOD
from sfcperf.results.store import RunFile, RunStore

_FROM_DELAY = "first ingress to last egress, by pptmon's metric delay"
_FROM_SFF = "from the SFF's first receipt to its last sending, by the monitor sff"
_FROM_PROBE = f"{RTT} of the probe"


@dataclass(frozen=True)
class FunctionShare:
    """Time of one VNF."""

    name: str
    type: str
    """Empty if the run folder does not say it."""
    seen: bool
    """Whether pptmon can observe it; if not, its time is in the residual."""
    time: DescribedEstimate | None
    """None for a VNF without samples."""
    captured: Estimate | None
    """Mean time of all packets by captures; None without the monitor `transit-time`."""
    difference: Estimate | None
    """Reported minus captured, per trial."""


@dataclass(frozen=True)
class PathPart:
    """A part of the end-to-end time that is not a VNF: `SFFs`, `links`, `endpoints`, or a VNF
    together with its links."""

    name: str
    time: DescribedEstimate


@dataclass(frozen=True)
class PathAttribution:
    """Times of one scenario along one path while one probe measured."""

    scenario_id: str
    scenario: Mapping[str, Any]
    label: str
    path: str
    functions: tuple[FunctionShare, ...]
    """In chaining order."""
    ranking: Ranking | None
    """Of the VNFs with samples; None if no trial has samples of all of them."""
    sum: Estimate | None
    """Of the VNFs that are seen; None if no trial has samples of all of them."""
    end_to_end: DescribedEstimate | None
    end_to_end_source: str
    """How it was measured; empty without it."""
    parts: tuple[PathPart, ...]
    """Of the end-to-end time, besides the VNFs; empty without the monitor sff."""
    residual: Estimate | None
    """End-to-end minus sum and other parts."""
    remarks: tuple[str, ...]


class AttributionAnalysis(Analysis):
    """Writes attribution.json if the monitor pptmon or sff observed packets: per scenario and
    probe, the mean processing time of each VNF (pptmon) and their sum; that of the SFFs, and of the
    links between them and the VNFs (sff); the end-to-end time if it was measured; and the residual,
    which none of these explains. Runs on every run, even if the workflow does not request it."""

    name: ClassVar[str] = "attribution"
    title: ClassVar[str] = (
        "Share of each VNF, of SFFs and of links in the end-to-end time, from pptmon and sff"
    )
    parameters: ClassVar[Mapping[str, Any]] = NO_PARAMETERS

    def analyse(self, run: RunStore) -> Mapping[str, Any]:
        """The document of attribution.json, which is written unless it has no paths."""
        rules = rules_of(run)
        estimator = Estimator(rules)
        times = list(path_times(run))
        chains = _chains(run) if times else {}
        document = {
            "run_id": run.run_id,
            "confidence": rules.confidence,
            "method": MEAN_METHOD + (LOOKS if rules.first_look is not None else ""),
            "paths": [asdict(_attribution(path, chains, estimator)) for path in times],
        }
        if times:
            run.write_document(RunFile.ATTRIBUTION, document)
        return document


def _attribution(
    times: PathTimes, chains: Mapping[str, Mapping[str, str]], estimator: Estimator
) -> PathAttribution:
    """`chains`: scenario id -> VNFs in order, with their types."""
    record = times.trials[0].record
    functions = tuple(_functions(times, chains.get(record.scenario_id, {}), estimator))
    seen = [function.name for function in functions if function.seen]
    complete = [t for t in times.trials if (seen or t.parts) and t.explains(seen)]
    sums = [(t, sum(t.functions.values())) for t in complete]
    residuals = [
        t.end_to_end - total - sum(t.parts.values())
        for t, total in sums
        if t.end_to_end is not None
    ]
    residual = estimator.estimate(residuals)
    known = [trial for trial in times.trials if trial.end_to_end is not None]
    end_to_end = estimator.described(
        [trial.end_to_end for trial in known if trial.end_to_end is not None],
        [value for trial in known for value in trial.end_to_end_samples],
    )
    # The first VNF stands for all: their trials are the same.
    first = [t.functions[seen[0]] for t in times.trials if seen and seen[0] in t.functions]
    withheld = estimator.why_bare(first) if first else ""
    crossed = any(trial.crossing is not None for trial in times.trials)
    source = _FROM_PROBE if times.path == ROUND_TRIP else _FROM_SFF if crossed else _FROM_DELAY
    return PathAttribution(
        scenario_id=record.scenario_id,
        scenario=record.scenario,
        label=record.label,
        path=times.path,
        functions=functions,
        ranking=ranking(times.trials, [f.name for f in functions if f.time], estimator.rules),
        sum=estimator.estimate([total for t, total in sums if t.functions]),
        end_to_end=end_to_end,
        end_to_end_source=source if end_to_end is not None else "",
        parts=tuple(_parts(times, estimator)),
        residual=residual,
        remarks=tuple(remarks(times, seen, residual, end_to_end, withheld)),
    )


def _parts(times: PathTimes, estimator: Estimator) -> Iterator[PathPart]:
    for name in dict.fromkeys(name for trial in times.trials for name in trial.parts):
        values = [trial.parts[name] for trial in times.trials if name in trial.parts]
        if (time := estimator.described(values, [])) is not None:
            yield PathPart(name, time)


def _functions(
    times: PathTimes, chain: Mapping[str, str], estimator: Estimator
) -> Iterator[FunctionShare]:
    observed = {name for trial in times.trials for name in trial.functions}
    unseen = {name for trial in times.trials for name in trial.unseen}
    for name in [*chain, *sorted((observed | unseen) - chain.keys())]:
        trials = [trial for trial in times.trials if name in trial.functions]
        compared = [trial for trial in trials if name in trial.captured]
        yield FunctionShare(
            name=name,
            type=chain.get(name, ""),
            seen=name not in unseen,
            time=estimator.described(
                [trial.functions[name] for trial in trials],
                [value for trial in trials for value in trial.samples.get(name, ())],
            ),
            captured=estimator.estimate(
                [trial.captured[name] for trial in times.trials if name in trial.captured]
            ),
            difference=estimator.estimate(
                [trial.functions[name] - trial.captured[name] for trial in compared]
            ),
        )


def _chains(run: RunStore) -> dict[str, dict[str, str]]:
    """Scenario id -> VNF -> its type, in chaining order, from plan.json."""
    return {
        scenario_id: {f["name"]: f["type"] for f in scenario["chain"]["functions"]}
        for scenario_id, scenario in run.resolved().items()
    }
