"""ndr: throughput with no loss (NDR) and with a bounded loss (PDR), by MLRsearch (RFC 9971)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf.active.base import Probe, ProbeResult, samples
from sfcperf.active.load import Load, LoadGenerator
from sfcperf.active.ndr.load_parameters import load_schema, offering_class, offers_of
from sfcperf.active.ndr.throughput_search import SearchResult, Settings, offered, search
from sfcperf.errors import InputError, MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import Requirement, integer, number, object_schema, port
from sfcperf.results.searches import GoalResult, OfferedLoad, Search, write_search
from sfcperf.results.values import Metric

NDR, PDR = "ndr", "pdr"
LATENCY_PERCENT = (100, 90, 50, 10)
"""Loads at which the latency is measured, in percent of the NDR."""
_PERCENTILES = {
    "p50": "median (RFC 8219: typical latency)",
    "p99": "99th percentile",
    "p999": "99.9th percentile (RFC 8219: worst-case latency)",
}
_USUAL_SUMS = 2.5
"""Time that a search usually takes, as a multiple of a goal's duration sum; seen in simulations."""
_OVERHEAD = 1.3
"""Time that a load takes with its preparation, as a multiple of its duration."""

_METRICS = {
    NDR: Metric(
        "ndr_pps",
        "1/s",
        "throughput without loss: conditional throughput (RFC 9971) for the goal loss ratio 0",
        better="higher",
        primary=True,
    ),
    PDR: Metric(
        "pdr_pps",
        "1/s",
        "conditional throughput (RFC 9971) for the goal loss ratio pdr_loss_ratio",
        better="higher",
    ),
}


class _Parameters:
    """Descriptor that computes the schema of Ndr's parameters when it is asked for. The schema
    contains the parameters of all probes that offer loads; these are plug-ins, which are looked up
    only then."""

    def __get__(self, instance: Any, owner: type[Probe]) -> Mapping[str, Any]:
        load = load_schema(
            "What offers the loads: a probe that can, with what remains the same for all loads. "
            "The search sets the rate and the duration.",
            owner.name,
        )
        return object_schema({"load": load, **_OWN})


_OWN: Mapping[str, Any] = {
    "port": port(
        "Destination port of the packets. Default: the port that the classifier matches; if it "
        "matches none, the load chooses one.",
        1024,
    ),
    "pdr_loss_ratio": number(
        "Goal loss ratio of the PDR; 0: only the NDR is searched.", (0, 0.5), default=0.005
    ),
    "exceed_ratio": number(
        "Goal exceed ratio: share of the trials at a load that may lose more than the goal loss "
        "ratio, while the load still counts as carried. 0: none, as in RFC 2544.",
        (0, 0.9),
        default=0.5,
    ),
    "relative_width": number(
        "Goal width: the search ends when the bounds are at most this ratio of the upper one "
        "apart. Not below pdr_loss_ratio, says RFC 9971.",
        (0.0005, 0.5),
        default=0.005,
    ),
    "trial_duration_s": number(
        "Goal final trial duration, seconds. RFC 2544: 60.", (0.1, 3600), default=1
    ),
    "initial_trial_duration_s": number(
        "Goal initial trial duration, seconds: the first loads are that short, if "
        "trial_duration_s is longer.",
        (0.1, 3600),
        default=1,
    ),
    "trials_per_load": integer(
        "Goal duration sum, in trials of trial_duration_s: after so many, a load is known to be a "
        "lower or an upper bound; usually after fewer. RFC 2544: 1.",
        (1, 1000),
        default=21,
    ),
    "min_load_pps": number(
        "Least load that is offered, packets per second.", (1, 1_000_000_000), default=100
    ),
    "max_load_pps": number(
        "Highest load that is offered, packets per second. Lower it to spare the endpoints the "
        "first, highest loads.",
        (2, 10_000_000_000),
        default=10_000_000,
    ),
    "max_search_s": number(
        "Time of a search, seconds; one that needs more is untrusted and shows what is known.",
        (1, 86_400),
        default=900,
    ),
    "latency_duration_s": number(
        "After the search, latency is measured for so long at each of "
        f"{', '.join(map(str, LATENCY_PERCENT))} % of the NDR, seconds, if the load can measure "
        "it; 0: it is not.",
        (0, 3600),
        default=10,
    ),
}


class Ndr(Probe):
    """A search for the throughput of the chain, client to server. Each load lasts for a trial
    duration of RFC 9971; all of them together are one trial of the run."""

    name = "ndr"
    title = "Throughput without loss (NDR) and with a bounded loss (PDR), by MLRsearch (RFC 9971)"
    parameters = _Parameters()

    _offers: LoadGenerator | None = None
    """What offers the loads, after `prepare`."""
    _loads = 0
    """Number of loads that were offered so far, which numbers their folders."""

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Require nothing: the tools are those of the probe that offers the loads; see `uses`."""
        return []

    @classmethod
    def uses(cls, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """Name the probe that offers the loads."""
        return (parameters["load"]["probe"],)

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Refuse a least load that is not below the highest one, and trial durations that are too
        short for the probe that offers the loads. Raises InputError."""
        if parameters["min_load_pps"] >= parameters["max_load_pps"]:
            raise InputError(
                f"min_load_pps {parameters['min_load_pps']} is not below max_load_pps "
                f"{parameters['max_load_pps']}",
                where="min_load_pps",
                allowed=f"less than {parameters['max_load_pps']}",
            )
        shortest_s = offering_class(parameters["load"]).shortest_s
        for key in ("trial_duration_s", "initial_trial_duration_s"):
            if parameters[key] < shortest_s:
                raise InputError(
                    f"{parameters['load']['probe']} cannot offer a load for {parameters[key]:g} s",
                    where=key,
                    allowed=f"{shortest_s:g} or more",
                )

    @classmethod
    def metrics(cls, parameters: Mapping[str, Any]) -> tuple[Metric, ...]:
        """Return the NDR, the PDR unless `pdr_loss_ratio` is 0, and latencies if the load can
        measure them."""
        throughputs = [_METRICS[name] for name, _ in _loss_ratios(parameters)]
        return (*throughputs, *(metric for _, _, metric in _latency_metrics(parameters)))

    @classmethod
    def ip_protocols(cls, parameters: Mapping[str, Any]) -> frozenset[str]:
        """Return the protocols of the packets of the loads."""
        return offering_class(parameters["load"]).ip_protocols(parameters["load"])

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the duration of a usual search, which noise makes longer, plus the time to measure
        latencies."""
        duration_sum_s = parameters["trials_per_load"] * parameters["trial_duration_s"]
        usual_s = _OVERHEAD * (_USUAL_SUMS * duration_sum_s + 5 * parameters["trial_duration_s"])
        latency_s = len(_latency_percent(parameters)) * float(parameters["latency_duration_s"])
        return float(min(parameters["max_search_s"], usual_s) + latency_s)

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """Return half of the packets of the least load in the shortest trial."""
        shortest_s = min(parameters["trial_duration_s"], parameters["initial_trial_duration_s"])
        return max(1, int(parameters["min_load_pps"] * shortest_s // 2))

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Prepare the tools that offer the loads."""
        self._offers = offers_of(self.parameters["load"], self.parameters.get("port"))
        self._offers.prepare(deployment, raw_dir)

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Search, then measure latencies. Raises MeasurementError when a load fails, or when not
        one load was carried for any goal."""
        found = search(
            _settings(self.parameters),
            lambda rate_pps, duration_s: self._offer(deployment, raw_dir, rate_pps, duration_s),
        )
        later = self._latencies(found, deployment, raw_dir)
        write_search(self._document(found, later), raw_dir)
        if all(goal.throughput_pps is None for goal in found.goals):
            raise MeasurementError("; ".join(_doubts(found.goals)), where=str(raw_dir))
        values: dict[str, float | None] = {
            f"{goal.name}_pps": goal.throughput_pps for goal in found.goals
        }
        # Not strict: `later` is empty if there is no NDR.
        seen = dict(zip(_latency_percent(self.parameters), later, strict=False))
        for percent, percentile, metric in _latency_metrics(self.parameters):
            latency = seen[percent].latency_us if percent in seen else None
            values[metric.name] = latency[percentile] if latency else None
        return ProbeResult(
            samples(self.metrics(self.parameters), values),
            tuple(_doubts(found.goals)),
            _notes(found),
        )

    def cleanup(self) -> None:
        """Stop the tools that offer the loads."""
        if self._offers is not None:
            self._offers.cleanup()

    def _offer(
        self, deployment: Deployment, raw_dir: Path, rate_pps: float, duration_s: float
    ) -> Load:
        """Offer a load, with its files in a folder of its own, `load-0001` and so on."""
        assert self._offers is not None  # prepare has been called
        self._loads += 1
        folder = raw_dir / f"load-{self._loads:04}"
        folder.mkdir(exist_ok=True)
        return self._offers.offer(deployment, folder, rate_pps, duration_s)

    def _latencies(
        self, found: SearchResult, deployment: Deployment, raw_dir: Path
    ) -> list[OfferedLoad]:
        """Offer one load at each share of the NDR in `_latency_percent`, and return them in this
        order; their records have the latency. Nothing is offered if there is no NDR, or if no
        latency is measured."""
        # The NDR is the first goal (`_loss_ratios`).
        ndr_pps = found.goals[0].throughput_pps
        if not ndr_pps:
            return []
        duration_s = float(self.parameters["latency_duration_s"])
        return [
            offered(
                self._offer(deployment, raw_dir, ndr_pps * percent / 100, duration_s),
                duration_s,
                self.parameters["relative_width"],
                "latency",
            )
            for percent in _latency_percent(self.parameters)
        ]

    def _document(self, found: SearchResult, later: Sequence[OfferedLoad]) -> Search:
        """Return the content of search.json. `later` are the loads whose latency was measured after
        the search."""
        parameters = self.parameters
        return Search(
            parameters["load"],
            parameters["min_load_pps"],
            parameters["max_load_pps"],
            found.goals,
            (*found.offered, *later),
        )


def _loss_ratios(parameters: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """Return name and goal loss ratio of each goal. There is no PDR if its loss ratio is 0."""
    ratio = float(parameters["pdr_loss_ratio"])
    return ((NDR, 0.0), (PDR, ratio)) if ratio else ((NDR, 0.0),)


def _settings(parameters: Mapping[str, Any]) -> Settings:
    """Return the parameters in the terms of RFC 9971. The initial trials are no longer than the
    final ones."""
    trial_s = float(parameters["trial_duration_s"])
    return Settings(
        _loss_ratios(parameters),
        parameters["exceed_ratio"],
        parameters["relative_width"],
        min(trial_s, parameters["initial_trial_duration_s"]),
        trial_s,
        parameters["trials_per_load"] * trial_s,
        parameters["min_load_pps"],
        parameters["max_load_pps"],
        parameters["max_search_s"],
    )


def _latency_percent(parameters: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the loads at which the latency is measured, in percent of the NDR; empty if the load
    cannot measure it, or it is not asked for."""
    has_latency = offering_class(parameters["load"]).has_latency
    return LATENCY_PERCENT if has_latency and parameters["latency_duration_s"] else ()


def _latency_metrics(parameters: Mapping[str, Any]) -> Iterator[tuple[int, str, Metric]]:
    """Give the metrics of latencies, each with its load in percent of the NDR and its percentile
    (`p50`)."""
    for percent in _latency_percent(parameters):
        for percentile, words in _PERCENTILES.items():
            yield (
                percent,
                percentile,
                Metric(
                    f"latency_{percent}_{percentile}_us",
                    "us",
                    f"one-way latency at {percent} % of the NDR, {words}",
                    better="lower",
                ),
            )


def _doubts(goals: Sequence[GoalResult]) -> list[str]:
    """Say of each irregular goal result what is known instead of the NDR or PDR, and why."""
    return [f"{_claim(goal)}: {goal.irregular}" for goal in goals if goal.irregular]


def _claim(goal: GoalResult) -> str:
    """Say what is known of a goal's throughput by its bounds, either of which may be None."""
    name = goal.name.upper()
    lower, upper = goal.lower_pps, goal.upper_pps
    if lower is None and upper is None:
        return f"the {name} is not known"
    if lower is None:
        return f"the {name} is below {upper:.0f} packets/s"
    if upper is None:
        return f"the {name} is at least {lower:.0f} packets/s"
    return f"the {name} is between {lower:.0f} and {upper:.0f} packets/s"


def _notes(found: SearchResult) -> dict[str, Any]:
    """Return the notes of a trial: how many loads the search offered, and each goal's bounds."""
    return {
        "loads_offered": len(found.offered),
        **{
            goal.name: {
                "lower_bound_pps": goal.lower_pps,
                "upper_bound_pps": goal.upper_pps,
                "goal_loss_ratio": goal.loss_ratio,
                "limit": goal.upper_limit or None,
                "regular": not goal.irregular,
            }
            for goal in found.goals
        },
    }
