"""A system under test that is known exactly, to judge searches for its throughput.

Its loss ratio in a trial at load L is `max(0, 1 - C/L)`, where the capacity C of a trial is
normally distributed around the true one, and to which, in some trials, a burst of lost packets is
added. So the exceed probability of a load (RFC 9971, "SUT Behaviors": of a trial to lose more than
the goal loss ratio) is known, and with it what a search can find.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import floor
from pathlib import Path
from random import Random
from typing import Any

from scipy.optimize import brentq
from scipy.stats import binom, norm

from sfcperf.active.load import Latency, Load, LoadGenerator
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import object_schema


@dataclass(frozen=True)
class System:
    capacity_pps: float
    noise: float = 0.0
    """Standard deviation of a trial's capacity, as a ratio of it."""
    burst_probability: float = 0.0
    """Of a trial to have a burst of losses."""
    burst_ratio: float = 0.02
    """Share of the trial's packets that a burst loses."""
    sender_pps: float = 1e12
    """The sender offers no more."""
    holds_back: bool = False
    """It takes the sender's time: what it cannot carry is not sent."""

    def exceed_probability(self, load_pps: float, goal_loss_ratio: float) -> float:
        calm = self._too_slow(load_pps, goal_loss_ratio)
        burst = self._too_slow(load_pps, goal_loss_ratio - self.burst_ratio)
        return self.burst_probability * burst + (1 - self.burst_probability) * calm

    def _too_slow(self, load_pps: float, loss_ratio: float) -> float:
        """Probability that more than this ratio is lost for want of capacity."""
        if loss_ratio < 0:
            return 1.0
        short = load_pps * (1 - loss_ratio) / self.capacity_pps - 1
        return float(norm.cdf(short / self.noise)) if self.noise else float(short > 0)

    def truth(self, goal_loss_ratio: float, exceed_ratio: float) -> float:
        """The load whose exceed probability is the goal exceed ratio: more is a failure by the
        goal's own words, less is not."""
        return self._load_where(
            lambda load: self.exceed_probability(load, goal_loss_ratio) - exceed_ratio
        )

    def undecidable(
        self, goal_loss_ratio: float, exceed_ratio: float, trials: int
    ) -> tuple[float, float]:
        """The loads that so many trials classify as lower bound with a probability between 95 % and
        5 %: which of them is called a bound is mostly chance. A single one without noise."""

        def excess(probability: float) -> Callable[[float], float]:
            most = floor(exceed_ratio * trials)
            return lambda load: (
                probability
                - float(binom.cdf(most, trials, self.exceed_probability(load, goal_loss_ratio)))
            )

        return self._load_where(excess(0.95)), self._load_where(excess(0.05))

    def _load_where(self, crosses: Callable[[float], float]) -> float:
        return float(brentq(crosses, self.capacity_pps / 2, 2 * self.capacity_pps, xtol=1e-6))


@dataclass
class Simulation:
    """The system at work; time passes only in it."""

    system: System
    random: Random
    now_s: float = 0.0
    loads: list[Load] = field(default_factory=list)

    def clock(self) -> float:
        return self.now_s

    def offer(self, rate_pps: float, duration_s: float) -> Load:
        system = self.system
        self.now_s += duration_s
        sent = round(min(rate_pps, system.sender_pps) * duration_s)
        capacity = system.capacity_pps * (1 + system.noise * self.random.gauss(0, 1))
        over = lost = max(0, sent - int(capacity * duration_s))
        if system.holds_back:
            sent, lost = sent - over, 0
        if self.random.random() < system.burst_probability:
            lost = min(sent, lost + max(1, round(system.burst_ratio * sent)))
        withheld = over if system.holds_back else 0
        latency = Latency(10, 20, rate_pps)
        load = Load(rate_pps, sent, sent - lost, duration_s, latency=latency, withheld=withheld)
        self.loads.append(load)
        return load


class SimulatedLoad(LoadGenerator):
    """Offers loads to the system that is set on the class."""

    parameters = object_schema({})
    protocols = frozenset({"udp"})
    shortest_s = 0.1
    system = System(10_000)

    def __init__(self, parameters: Mapping[str, Any], port: int | None = None) -> None:
        super().__init__(parameters, port)
        self._simulation = Simulation(self.system, Random(1))

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        pass

    def offer(
        self, deployment: Deployment, raw_dir: Path, rate_pps: float, duration_s: float
    ) -> Load:
        return self._simulation.offer(rate_pps, duration_s)

    def cleanup(self) -> None:
        pass
