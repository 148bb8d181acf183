"""The trials of a run: rounds, groups that share a deployment, attempts, and the sentinel."""

from sfcperf.control.trials.rounds import Rounds

__all__ = ["Rounds"]
