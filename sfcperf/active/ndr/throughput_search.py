"""Search for the highest loads with no loss and with a bounded loss: MLRsearch (RFC 9971).

In RFC 9971's terms this module is the Manager. The package MLRsearch is the Controller: it chooses
loads and durations and classifies them. A LoadGenerator is the Measurer.

A search whose time is over or whose lowest load is too high still gives what is known: an irregular
goal result, which says why it is one. The package itself would raise an exception then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from sfcperf.active.load import Load
from sfcperf.errors import MeasurementError
from sfcperf.results.searches import GoalResult, OfferedLoad, UpperLimit

if TYPE_CHECKING:
    from MLRsearch import MultipleLossRatioSearch, SearchGoal

_OF_THE_WIDTH = 0.5
"""How much slower than asked for a sender may be, as a share of the goal width. If it is even
slower, the missing packets count as lost: bounds are loads that were asked for, and have to be true
of what was sent."""
_ROUNDING = 1e-9
"""Ratios that differ by less are the same."""
_TRIES = 3
"""How often a load is offered at most if the sender is too slow, though it was fast enough
before."""

Offer = Callable[[float, float], Load]
"""Function that offers a load. Its arguments are packets per second and seconds."""


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
    """Time of the search. A load is not offered if it would end later than that."""


@dataclass(frozen=True)
class SearchResult:
    """What a search found: a result for each goal, in the order of the settings, and all loads in
    the order in which they were offered."""

    goals: tuple[GoalResult, ...]
    offered: tuple[OfferedLoad, ...]


def search(
    settings: Settings, offer: Offer, clock: Callable[[], float] = time.monotonic
) -> SearchResult:
    """Search until the bounds of all goals are close enough, or the time is over. `clock` gives
    seconds. Raises MeasurementError when the package MLRsearch fails, which would be an error in
    it. Exceptions of `offer` pass through."""
    from MLRsearch import Config, MultipleLossRatioSearch

    config = Config()
    # The package checks that min_load is below max_load whenever one of them is set. So max_load is
    # raised first, and set to its own value when min_load is there.
    config.max_load = max(settings.max_load_pps, config.max_load)
    config.min_load = settings.min_load_pps
    config.max_load = settings.max_load_pps
    config.goals = goals = [_goal(settings, ratio) for _, ratio in settings.loss_ratios]
    config.search_duration_max = float("inf")  # the measurer watches the time
    config.warmup_duration = 0
    controller = MultipleLossRatioSearch(config)
    measurer = _Measurer(settings, offer, clock)
    try:
        # Without a deadline, it ends only when each goal has a regular result, or one that
        # `min_load` or `max_load` makes irregular.
        with suppress(_DeadlineReached):
            controller.search(measurer, debug=_ignore)
    except (RuntimeError, ValueError) as error:
        raise MeasurementError(f"MLRsearch failed: {error}") from error
    results = [
        _Judge(settings, controller, measurer, goal).result(name)
        for (name, _), goal in zip(settings.loss_ratios, goals, strict=True)
    ]
    return SearchResult(tuple(results), tuple(measurer.offered))


def _goal(settings: Settings, loss_ratio: float) -> SearchGoal:
    """Return the package's form of a goal with this loss ratio."""
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
    """Ignore a debug message. Without this function, the package would log to the root logger."""


class _DeadlineReached(Exception):
    """Ends a search whose next load would end too late."""


class _Measurer:
    """The Measurer of a search. The package MLRsearch calls `measure` for each load that it wants
    to be offered (the class stands in for the package's AbstractMeasurer). All loads are kept, with
    what became of them."""

    def __init__(self, settings: Settings, offer: Offer, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._offer = offer
        self._clock = clock
        self._started = clock()
        self._fastest_pps = 0.0
        """Highest rate at which the sender has sent so far."""
        self.offered: list[OfferedLoad] = []
        self.by_load: dict[float, list[tuple[OfferedLoad, Any]]] = {}
        """Intended load -> each load offered at it, as our record and as the package's result."""

    def measure(self, intended_duration: float, intended_load: float) -> Any:
        """Offer a load, and return the package's MeasurementResult. The package calls this method,
        with these names of arguments: seconds, and packets per second. Raises _DeadlineReached if
        the load would end after the search's time."""
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
        """Offer a load. It is offered again, _TRIES times in all at most, if the sender was too
        slow this time but has sent faster before. If the chain withheld packets, it is not offered
        again."""
        for _ in range(_TRIES):
            load = self._offer(rate_pps, duration_s)
            self._fastest_pps = max(self._fastest_pps, load.sent_pps)
            if self._reached(load) or load.withheld or rate_pps > self._fastest_pps:
                break
            if self._is_late(duration_s):
                break
        return load

    def _reached(self, load: Load) -> bool:
        """Whether the sender was fast enough for a bound to be true of what it sent."""
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
    """Return the record of a load that was to last for `duration_s`. If its sender was too slow,
    there are two cases. The chain withheld packets: they count as lost. It withheld none: the
    record says that the endpoints were the limit."""
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
    """Turns what a search knows about one goal, at its end, into the goal's result. `search` makes
    one for each goal, and calls `result`."""

    def __init__(
        self,
        settings: Settings,
        controller: MultipleLossRatioSearch,
        measurer: _Measurer,
        goal: SearchGoal,
    ) -> None:
        self._settings = settings
        self._measurer = measurer
        self._goal = goal
        self._target = controller.scaling.goal_to_final_target[goal]
        self._bounds = controller.database.get_relevant_bounds(self._target)

    def result(self, name: str) -> GoalResult:
        """Return the goal's result: a regular one, or an irregular one with the reason. An upper
        bound that is not the chain's own is left out."""
        # `clo` and `chi`: the package's names of the relevant lower and upper bound.
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
        """Return the conditional throughput of the lower bound (RFC 9971, "Conditional
        Throughput"), packets per second; None without a lower bound.

        It is computed here because the package (MLRsearch 1.2.1) has an error of rounding. It
        compares products of durations exactly. Where exactly as many trials are bad as the exceed
        ratio allows, 27 s x (1 - 1/3) comes out above 18 s; the package then takes the loss ratio
        of a bad trial, or raises an exception if there is none. An exceed ratio that is greater by
        _ROUNDING avoids that.
        """
        lower = self._bounds.clo
        if lower is None:
            return None
        (stat,) = lower.target_to_stat.values()
        target = replace(stat.target, exceed_ratio=stat.target.exceed_ratio + _ROUNDING)
        loss_ratio: float = replace(stat, target=target).pessimistic_loss_ratio
        return float(lower) * (1 - loss_ratio)

    def _upper_limit(self, lower: float | None, upper: float | None) -> UpperLimit:
        """Say what keeps the throughput from being higher: `chain`, `endpoints`, or `max_load`, the
        highest load that was allowed. Empty: nothing is known, since the search ended before."""
        if upper is not None:
            return "chain" if self._is_of_the_chain(upper) else "endpoints"
        return "max_load" if lower == self._settings.max_load_pps else ""

    def _is_of_the_chain(self, upper: float) -> bool:
        """Whether the load `upper` is an upper bound because of the chain. The load is judged once
        more by some of its trials: those that the endpoints did not limit, and those in which the
        chain lost more than the goal loss ratio all the same."""
        from MLRsearch.target_stat import TargetStat

        stat = TargetStat(self._target)
        for entry, result in self._measurer.by_load[upper]:
            if not entry.limited or entry.loss_ratio > self._goal.loss_ratio:
                stat.add(result)
        # Whether the load can still become a lower bound, if all further trials are good.
        can_be_lower: bool
        can_be_lower, _ = stat.estimates()
        return not can_be_lower

    def _irregular(self, lower: float | None, upper: float | None, limit: UpperLimit) -> str:
        """Say why the goal's result is irregular; empty if it is a regular one."""
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
        """Return the clause that the time was over, for `_irregular`."""
        return f"the time of {self._settings.max_search_s:g} s was over"

    def _of_endpoints(self, upper: float | None) -> str:
        """Say how the endpoints limited the loads at the upper bound, by the latest of them."""
        assert upper is not None
        reasons = [entry.limited for entry, _ in self._measurer.by_load[upper] if entry.limited]
        return f"the endpoints, not the chain, were the limit: {reasons[-1]}"


def _pps(load: Any) -> float | None:
    """Return a load of the package as packets per second; None for a bound that is not known."""
    return None if load is None else float(load)
