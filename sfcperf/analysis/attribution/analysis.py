"""The analysis `attribution`: attribution.json.

The trial is the unit of replication: samples within a trial are averaged first, and intervals are
over the means of trials. The residual (end-to-end time minus the sum of the VNFs) is computed per
trial, so that its interval is not widened by variation that both terms share.
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
    """Mean processing time of one VNF in a scenario, along one path."""

    name: str
    type: str
    """Type of the VNF; empty if the run folder does not say it."""
    seen: bool
    """Whether pptmon can observe the VNF. If not, its time is in the residual, or with the monitor
    sff in the part that is the VNF with its links."""
    time: DescribedEstimate | None
    """None for a VNF without samples."""
    captured: Estimate | None
    """Mean time of all packets by captures; None without the monitor `transit-time`."""
    difference: Estimate | None
    """Time by pptmon minus time by captures, in trials that have both; None without such trials."""


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
    """VNFs in chaining order."""
    ranking: Ranking | None
    """Order of the VNFs with samples; None if no trial has samples of all of them."""
    sum: Estimate | None
    """Sum of the times of all VNFs that pptmon sees; None if no trial has samples of all of
    them."""
    end_to_end: DescribedEstimate | None
    """None if no trial measured it."""
    end_to_end_source: str
    """How the end-to-end time was measured; empty if it was not."""
    parts: tuple[PathPart, ...]
    """Parts of the end-to-end time besides the VNFs; empty without the monitor sff."""
    residual: Estimate | None
    """End-to-end time minus the sum and the other parts; None if no trial has all of them."""
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
        """Return the document of attribution.json, and write it unless it has no paths."""
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
    """Attribute the time of one scenario along one path. `chains`: scenario id -> VNF -> its type,
    in chaining order."""
    record = times.trials[0].record
    functions = tuple(_functions(times, chains.get(record.scenario_id, {}), estimator))
    seen = [function.name for function in functions if function.seen]
    # Trials that have the time of each VNF that pptmon can see; where it can see none, those that
    # have other parts.
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
    # Why means have no interval is asked for the first VNF only: the others have the same trials.
    first = [t.functions[seen[0]] for t in times.trials if seen and seen[0] in t.functions]
    withheld = estimator.why_bare(first) if first else ""
    # The SFF's end-to-end time replaces pptmon's (path_times).
    crossed = any(trial.crossing is not None for trial in times.trials)
    source = _FROM_PROBE if times.path == ROUND_TRIP else _FROM_SFF if crossed else _FROM_DELAY
    return PathAttribution(
        scenario_id=record.scenario_id,
        scenario=record.scenario,
        label=record.label,
        path=times.path,
        functions=functions,
        ranking=ranking(times.trials, [f.name for f in functions if f.time], estimator.rules),
        # Where a VNF's time is known together with its links only, the total lacks it: it is no
        # sum of the chain, and neither is that of a trial without times of VNFs.
        sum=estimator.estimate([total for t, total in sums if t.functions and t.has(seen)]),
        end_to_end=end_to_end,
        end_to_end_source=source if end_to_end is not None else "",
        parts=tuple(_parts(times, estimator)),
        residual=residual,
        remarks=tuple(remarks(times, seen, residual, end_to_end, withheld)),
    )


def _parts(times: PathTimes, estimator: Estimator) -> Iterator[PathPart]:
    """Yield each part that is not a VNF, estimated over the trials that have it."""
    for name in dict.fromkeys(name for trial in times.trials for name in trial.parts):
        values = [trial.parts[name] for trial in times.trials if name in trial.parts]
        if (time := estimator.described(values, [])) is not None:
            yield PathPart(name, time)


def _functions(
    times: PathTimes, chain: Mapping[str, str], estimator: Estimator
) -> Iterator[FunctionShare]:
    """Yield the VNFs of the `chain` (VNF -> its type) in their order, then others that a monitor
    names. Each is estimated over the trials that have it."""
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
    """Map scenario id -> VNF -> its type, in chaining order, as plan.json has them."""
    return {
        scenario_id: {f["name"]: f["type"] for f in scenario["chain"]["functions"]}
        for scenario_id, scenario in run.resolved().items()
    }
