"""labelled_traffic: attacks and benign traffic, replayed through the chain."""

from sfcperf.active.labelled_traffic.probe import LabelledTraffic
from sfcperf.active.labelled_traffic.replay import SENDER, Replay
from sfcperf.active.labelled_traffic.replay_plan import Key, Replayed, ReplayPlan

__all__ = ["SENDER", "Key", "LabelledTraffic", "Replay", "ReplayPlan", "Replayed"]
