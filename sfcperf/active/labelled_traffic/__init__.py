"""labelled_traffic: attacks and benign traffic, replayed through the chain."""

from sfcperf.active.labelled_traffic.probe import LabelledTraffic
from sfcperf.active.labelled_traffic.replay_plan import Key, ReplayOutcome, ReplayPlan
from sfcperf.active.labelled_traffic.replay_probe import KEEP_CAPTURES, ReplayProbe

__all__ = ["KEEP_CAPTURES", "Key", "LabelledTraffic", "ReplayOutcome", "ReplayPlan", "ReplayProbe"]
