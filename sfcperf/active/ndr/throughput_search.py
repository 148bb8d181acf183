"""Search for the highest loads with no loss and with a bounded loss: MLRsearch (RFC 9971).

In RFC 9971's terms this is the Manager. The package MLRsearch is the Controller: it chooses loads
and durations and classifies them. An LoadGenerator is the Measurer.

Contrary to the package, which raises then, a search whose time is over or whose lowest load is too
high gives what is known: an irregular goal result, which says why it is one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from sfcperf.active.load import Load
from sfcperf.errors import MeasurementError
from sfcperf.results.searches import GoalResult, OfferedLoad, UpperLimit

if TYPE_CHECKING:
    from MLRsearch import MultipleLossRatioSearch, SearchGoal

_OF_THE_WIDTH = 0.5
"""Share of the width that a sender may be slower than asked for: what is missing counts as lost
beyond it. Bounds are loads that were asked for, so that they must be true of what was sent."""
_ROUNDING = 1e-9
"""Ratios that differ by less are the same."""
_TRIES = 3
"""At a load that the sender has reached before."""

Offer = Callable[[float, float], Load]
"""Offers a load, packets per second, for some seconds."""


@dataclass(frozen=True)
class Settings:
    """What to search for, and within which limits; names as in RFC 9971 where it has one."""

    loss_ratios: tuple[tuple[str, float], ...]
    """Name and goal loss ratio of each goal."""
    exceed_ratio: float
    relative_width: float
    initial_trial_duration_s: float
    trial_duration_s: float
    duration_sum_s: float
    min_load_pps: float
    max_load_pps: float
    max_search_s: float
    """No load is offered that would end later."""


@dataclass(frozen=True)
class SearchResult:
    """What a search found."""

    goals: tuple[GoalResult, ...]
    offered: tuple[OfferedLoad, ...]


def search(
    settings: Settings, offer: Offer, clock: Callable[[], float] = time.monotonic
) -> SearchResult:
    """Search. `clock`: seconds. Raises MeasurementError when the package MLRsearch fails, which
    would be an error in it; what `offer` raises passes through."""
    from MLRsearch import Config, MultipleLossRatioSearch

    config = Config()
    # The package compares each limit with the other one as it is set.
    config.max_load = max(settings.max_load_pps, config.max_load)
    config.min_load = settings.min_load_pps
    config.max_load = settings.max_load_pps
    config.goals = goals = [_goal(settings, ratio) for _, ratio in settings.loss_ratios]
    config.search_duration_max = float("inf")  # the measurer watches the time
    config.warmup_duration = 0
    controller = MultipleLossRatioSearch(config)
    measurer = _Measurer(settings, offer, clock)
    time_is_up = False
    try:
        controller.search(measurer, debug=_ignore)
    except _DeadlineReached:
        time_is_up = True
    except (RuntimeError, ValueError) as error:
        raise MeasurementError(f"MLRsearch failed: {error}") from error
    results = [
        _Judge(settings, controller, measurer, goal, time_is_up).result(name)
        for (name, _), goal in zip(settings.loss_ratios, goals, strict=True)
    ]
    return SearchResult(tuple(results), tuple(measurer.offered))


def _goal(settings: Settings, loss_ratio: float) -> SearchGoal:
    from MLRsearch import SearchGoal

    return SearchGoal(
        loss_ratio=loss_ratio,
        exceed_ratio=settings.exceed_ratio,
        relative_width=settings.relative_width,
        initial_trial_duration=settings.initial_trial_duration_s,
        final_trial_duration=settings.trial_duration_s,
        duration_sum=settings.duration_sum_s,
        fail_fast=False,
    )


def _ignore(_text: str) -> None:
    """The package would log to the root logger."""


class _DeadlineReached(Exception):
    """The next load would end too late."""


class _Measurer:
    """Measures for MLRsearch (its AbstractMeasurer), and keeps what it measured."""

    def __init__(self, settings: Settings, offer: Offer, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._offer = offer
        self._clock = clock
        self._started = clock()
        self._fastest_pps = 0.0
        self.offered: list[OfferedLoad] = []
        self.by_load: dict[float, list[tuple[OfferedLoad, Any]]] = {}
        """Intended load -> what was offered, with the package's own form of it."""

    def measure(self, intended_duration: float, intended_load: float) -> Any:
        """Offer a load. Raises _TimeIsUp if it would end after the search's time."""
        from MLRsearch import MeasurementResult

        if self._is_late(intended_duration):
            raise _DeadlineReached
        load = self._offered(intended_load, intended_duration)
        entry = offered(load, intended_duration, self._settings.relative_width)
        result = MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=load.sent,
            forwarding_count=load.received,
            # RFC 9971, "Measurer": a severe deviation of the offered from the intended load
            # is turned into a higher loss ratio.
            intended_count=load.sent
            if self._reached(load)
            else round(intended_load * load.duration_s),
        )
        self.offered.append(entry)
        self.by_load.setdefault(intended_load, []).append((entry, result))
        return result

    def _offered(self, rate_pps: float, duration_s: float) -> Load:
        """Offer a load; again if the sender, which has sent faster before, was slow this time."""
        for _ in range(_TRIES):
            load = self._offer(rate_pps, duration_s)
            self._fastest_pps = max(self._fastest_pps, load.sent_pps)
            if self._reached(load) or load.withheld or rate_pps > self._fastest_pps:
                break
            if self._is_late(duration_s):
                break
        return load

    def _reached(self, load: Load) -> bool:
        return load.reached(_OF_THE_WIDTH * self._settings.relative_width)

    def _is_late(self, duration_s: float) -> bool:
        """Whether a load of this duration would end after the search's time."""
        return self._clock() - self._started + duration_s > self._settings.max_search_s


def offered(
    load: Load,
    duration_s: float,
    relative_width: float,
    purpose: Literal["search", "latency"] = "search",
) -> OfferedLoad:
    """For the record, a load that was to last for so long."""
    limited = load.endpoint_limit
    reached = load.reached(_OF_THE_WIDTH * relative_width)
    withheld = 0 if reached else load.withheld
    if not reached and not withheld:
        slow = f"the sender reached {load.sent_pps:.0f} of {load.rate_pps:.0f} packets/s"
        limited = f"{slow}; {limited}" if limited else slow
    return OfferedLoad(
        load.rate_pps,
        duration_s,
        load.sent,
        load.received,
        load.loss_ratio if not withheld else (load.lost + withheld) / (load.sent + withheld),
        purpose,
        limited,
        None if load.latency is None else load.latency.percentiles(),
        withheld,
    )


class _Judge:
    """Turns what is known of one goal into its result."""

    def __init__(
        self,
        settings: Settings,
        controller: MultipleLossRatioSearch,
        measurer: _Measurer,
        goal: SearchGoal,
        time_is_up: bool,
    ) -> None:
        self._settings = settings
        self._measurer = measurer
        self._goal = goal
        self._time_is_up = time_is_up
        self._target = controller.scaling.goal_to_final_target[goal]
        self._bounds = controller.database.get_relevant_bounds(self._target)

    def result(self, name: str) -> GoalResult:
        """Regular, or irregular with the reason."""
        lower, upper = _pps(self._bounds.clo), _pps(self._bounds.chi)
        limit = self._upper_limit(lower, upper)
        return GoalResult(
            name,
            self._goal.loss_ratio,
            self._goal.exceed_ratio,
            self._goal.relative_width,
            self._goal.final_trial_duration,
            self._goal.duration_sum,
            lower,
            upper if limit == "chain" else None,
            self._conditional_throughput(),
            limit,
            self._irregular(lower, upper, limit),
        )

    def _conditional_throughput(self) -> float | None:
        """Of the lower bound (RFC 9971, "Conditional Throughput"), packets per second.

        Not the package's own (MLRsearch 1.2.1): it multiplies durations and compares the products
        exactly, so that where as many trials are bad as may be, 27 s x (1 - 1/3) > 18 s has it
        take a bad trial's loss ratio, or raise if there is none.
        """
        lower = self._bounds.clo
        if lower is None:
            return None
        (stat,) = lower.target_to_stat.values()
        target = replace(stat.target, exceed_ratio=stat.target.exceed_ratio + _ROUNDING)
        loss_ratio: float = replace(stat, target=target).pessimistic_loss_ratio
        return float(lower) * (1 - loss_ratio)

    def _upper_limit(self, lower: float | None, upper: float | None) -> UpperLimit:
        if upper is not None:
            return "chain" if self._is_of_the_chain(upper) else "endpoints"
        return "max_load" if lower == self._settings.max_load_pps else ""

    def _is_of_the_chain(self, upper: float) -> bool:
        """Whether a load is an upper bound by those trials alone that the endpoints did not
        limit, and those in which the chain lost too much of what was sent all the same."""
        from MLRsearch.target_stat import TargetStat

        stat = TargetStat(self._target)
        for entry, result in self._measurer.by_load[upper]:
            if not entry.limited or entry.loss_ratio > self._goal.loss_ratio:
                stat.add(result)
        can_be_lower: bool
        can_be_lower, _ = stat.estimates()
        return not can_be_lower

    def _irregular(self, lower: float | None, upper: float | None, limit: UpperLimit) -> str:
        if limit == "endpoints":
            return self._of_endpoints(upper)
        if limit == "max_load":
            return "max_load_pps, the highest load that was allowed, was not too much"
        if lower is not None and upper is not None:
            width = (upper - lower) / upper
            if width <= self._settings.relative_width + _ROUNDING:
                return ""
            return f"{self._time()} while the bounds were {width:.2%} apart"
        if upper is not None and upper <= self._settings.min_load_pps:
            return "min_load_pps, the lowest load that was allowed, was too much"
        missing = "lower" if upper is not None else "upper"
        return (
            f"{self._time()} before there was {'a' if missing == 'lower' else 'an'} {missing} bound"
        )

    def _time(self) -> str:
        return f"the time of {self._settings.max_search_s:g} s was over"

    def _of_endpoints(self, upper: float | None) -> str:
        assert upper is not None
        reasons = [entry.limited for entry, _ in self._measurer.by_load[upper] if entry.limited]
        return f"the endpoints, not the chain, were the limit: {reasons[-1]}"


def _pps(load: Any) -> float | None:
    return None if load is None else float(load)
