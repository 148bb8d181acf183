"""The analysis `attribution`: attribution.json, which VNF the time of a chain goes to.

The trial is the unit of replication: samples within a trial are averaged first, intervals are over
the means of trials. The residual is taken trial by trial (end-to-end minus the VNFs' sum), so that
what both share does not widen it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any, ClassVar

from sfcperf.analysis.attribution_data import (
    ROUND_TRIP,
    RTT,
    PathTimes,
    TrialTimes,
    path_times,
)
from sfcperf.analysis.attribution_remarks import remarks
from sfcperf.analysis.base import Analysis
from sfcperf.analysis.confidence import confidence_of, first_look_of
from sfcperf.analysis.intervals import LOOKS_METHOD, MEAN_METHOD, mean_interval
from sfcperf.results.percentiles import percentiles
from sfcperf.results.store import RunStore

_FROM_DELAY = "first ingress to last egress, by pptmon's metric delay"
_FROM_PROBE = f"{RTT} of the probe"


@dataclass(frozen=True)
class Estimate:
    """A time, over trials; all in us."""

    trials: int
    mean_us: float
    ci_low_us: float | None
    """None for one trial, which says nothing of dispersion."""
    ci_high_us: float | None


@dataclass(frozen=True)
class Described(Estimate):
    """With a description of the samples of all trials; these are not independent."""

    samples: int
    median_us: float | None
    p99_us: float | None
    """None for fewer than 99 samples."""


@dataclass(frozen=True)
class FunctionShare:
    """What one VNF takes."""

    name: str
    type: str
    """Empty in a run folder that does not say it."""
    seen: bool
    """Whether pptmon can see it: its time is in the residual otherwise."""
    time: Described | None
    """None for a VNF of which there is no sample."""
    captured: Estimate | None
    """Mean time of all packets by captures (monitor `transit-time`); None without."""
    difference: Estimate | None
    """Reported minus captured, trial by trial."""


@dataclass(frozen=True)
class PathAttribution:
    """Where the time of one scenario goes, along one path, while one probe measured."""

    scenario_id: str
    scenario: Mapping[str, Any]
    label: str
    path: str
    functions: tuple[FunctionShare, ...]
    """In chaining order."""
    sum: Estimate | None
    """Of the VNFs that are seen; None when no trial has a sample of each of them."""
    end_to_end: Described | None
    end_to_end_source: str
    """How it was measured; empty without."""
    residual: Estimate | None
    """End-to-end minus sum."""
    remarks: tuple[str, ...]


class AttributionAnalysis(Analysis):
    """Writes attribution.json when the monitor pptmon saw something: per scenario and probe the
    mean processing time of each VNF, their sum, the end-to-end time where it was measured, and the
    residual between them. It is made of every run; a workflow need not ask for it."""

    name: ClassVar[str] = "attribution"
    title: ClassVar[str] = "Which VNF the time goes to: pptmon's times against end-to-end"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }

    def analyse(self, run: RunStore) -> Mapping[str, Any]:
        """The document of attribution.json; nothing is written when it has no paths. Raises
        InputError when the run folder is damaged."""
        confidence, first_look = confidence_of(run), first_look_of(run)
        estimator = _Estimator(confidence, first_look)
        times = list(path_times(run))
        chains = _chains(run) if times else {}
        document = {
            "run_id": run.run_id,
            "confidence": confidence,
            "method": MEAN_METHOD if first_look is None else LOOKS_METHOD,
            "paths": [asdict(estimator.attribution(path, chains)) for path in times],
        }
        if document["paths"]:
            run.write_attribution(document)
        return document


@dataclass(frozen=True)
class _Estimator:
    """Makes estimates, all at one confidence."""

    confidence: float
    first_look: int | None

    def attribution(
        self, times: PathTimes, chains: Mapping[str, Mapping[str, str]]
    ) -> PathAttribution:
        """`chains`: scenario id -> VNFs in order, with their types."""
        record = times.trials[0].record
        functions = tuple(self._functions(times, chains.get(record.scenario_id, {})))
        seen = [function.name for function in functions if function.seen]
        sums = [(t, sum(t.functions.values())) for t in _whole(times, seen)]
        residuals = [t.end_to_end - total for t, total in sums if t.end_to_end is not None]
        total = self.estimate([total for _, total in sums])
        residual = self.estimate(residuals)
        known = [trial for trial in times.trials if trial.end_to_end is not None]
        end_to_end = self.described(
            [trial.end_to_end for trial in known if trial.end_to_end is not None],
            [value for trial in known for value in trial.end_to_end_samples],
        )
        source = _FROM_PROBE if times.path == ROUND_TRIP else _FROM_DELAY
        return PathAttribution(
            scenario_id=record.scenario_id,
            scenario=record.scenario,
            label=record.label,
            path=times.path,
            functions=functions,
            sum=total,
            end_to_end=end_to_end,
            end_to_end_source=source if end_to_end is not None else "",
            residual=residual,
            remarks=tuple(remarks(times, seen, residual, end_to_end)),
        )

    def _functions(self, times: PathTimes, chain: Mapping[str, str]) -> Iterator[FunctionShare]:
        observed = {name for trial in times.trials for name in trial.functions}
        unseen = {name for trial in times.trials for name in trial.unseen}
        for name in [*chain, *sorted((observed | unseen) - chain.keys())]:
            trials = [trial for trial in times.trials if name in trial.functions]
            compared = [trial for trial in trials if name in trial.captured]
            yield FunctionShare(
                name=name,
                type=chain.get(name, ""),
                seen=name not in unseen,
                time=self.described(
                    [trial.functions[name] for trial in trials],
                    [value for trial in trials for value in trial.samples.get(name, ())],
                ),
                captured=self.estimate(
                    [trial.captured[name] for trial in times.trials if name in trial.captured]
                ),
                difference=self.estimate(
                    [trial.functions[name] - trial.captured[name] for trial in compared]
                ),
            )

    def estimate(self, means: Sequence[float]) -> Estimate | None:
        """Of the means of trials; None without any."""
        if not means:
            return None
        found = mean_interval(means, self.confidence, self.first_look)
        low, high = (None, None) if found is None else (found.low, found.high)
        return Estimate(len(means), fmean(means), low, high)

    def described(self, means: Sequence[float], samples: Sequence[float]) -> Described | None:
        """The same, with what the samples of all trials look like."""
        found = self.estimate(means)
        if found is None:
            return None
        middle = float(median(samples)) if samples else None
        high = percentiles(samples, [99])[99]
        return Described(**asdict(found), samples=len(samples), median_us=middle, p99_us=high)


def _whole(times: PathTimes, seen: Sequence[str]) -> list[TrialTimes]:
    """Trials with a sample of each VNF that can be seen."""
    return [t for t in times.trials if seen and t.functions.keys() >= set(seen)]


def _chains(run: RunStore) -> dict[str, dict[str, str]]:
    """Scenario id -> VNF -> its type, in chaining order, from plan.json."""
    resolved = run.plan().get("resolved")
    chains: dict[str, dict[str, str]] = {}
    for scenario_id, scenario in resolved.items() if isinstance(resolved, dict) else ():
        functions = scenario.get("chain", {}).get("functions", [])
        chains[scenario_id] = {str(f["name"]): str(f["type"]) for f in functions}
    return chains
