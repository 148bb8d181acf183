"""Monitor: passive sensing beside a probe (paper: passive data collection)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.management.deployment import Deployment
from sfcperf.management.observable import AskObservable
from sfcperf.plugins import Instrument
from sfcperf.results.flows import FlowRecord
from sfcperf.results.values import Observation
from sfcperf.workflow.model import Scenario


class Monitor(Instrument):
    """Passive sensing beside a probe. One object observes one trial.

    The order of calls is `start`, then the probe's `measure`, then `stop` and `flows`, all on one
    thread. What a monitor does in between runs on threads or processes of its own. `stop` is called
    also when `start` or the probe raised.

    `parameters` are validated and complete, units in their names. Files go to `raw_dir`, an
    existing folder of this trial, with names that begin with the monitor's; a trial that is retried
    finds those of the attempt before, and replaces them.

    MeasurementError from `start` or `stop` makes the trial fail; after CannotBeMeasured it is not
    tried again. A single sample that fails is counted instead (metric `monitor_errors`).
    """

    cost: ClassVar[str]
    """What running it costs the measured system, in words.

    What it really used is reported once per trial, with the monitor's name as source: in the metric
    `monitor_cpu_s`, its CPU time from `start` to `stop`, and optionally, where starting and ending
    cost more than observing, in `monitor_cpu_cores`, the CPUs that it used in between."""

    protocols: ClassVar[frozenset[str]] = frozenset()
    """Protocols of the packets that the monitor sends itself, of `icmp`, `tcp` and `udp`. Most
    monitors send none."""

    @classmethod
    def check_scenario(
        cls, parameters: Mapping[str, Any], scenario: Scenario, observable: AskObservable
    ) -> None:
        """Refuse, before a run, a scenario that cannot be observed with these parameters. The
        default accepts all. `observable` asks the driver what can be observed of the scenario
        (Driver.observable).

        Raises InputError (`where`: a parameter) or EnvironmentLacks.
        """
        return

    @classmethod
    def scenario_warnings(cls, parameters: Mapping[str, Any], scenario: Scenario) -> Sequence[str]:
        """Return warnings that the user should read before a run of a scenario that can be
        observed, such as that nothing will be seen. The default gives none."""
        return ()

    @classmethod
    def trial_s(cls, parameters: Mapping[str, Any]) -> float:
        """Estimate the time by which `start` and `stop` prolong a trial, seconds, for plans and
        progress bars. The default, 0, is for monitors that take next to no time."""
        return 0.0

    @abstractmethod
    def start(self, deployment: Deployment, raw_dir: Path) -> None:
        """Begin to observe. Returns when the monitor observes, since the probe begins then."""

    @abstractmethod
    def stop(self) -> Sequence[Observation]:
        """End the observation, and return what was observed, in time order."""

    def flows(self) -> Sequence[FlowRecord]:
        """Return the flows that functions or switches listed during the trial. It is called once,
        after `stop`, unless `stop` raised. The default has none."""
        return ()
