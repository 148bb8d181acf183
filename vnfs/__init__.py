"""Virtual network functions."""

from sfcperf.vnfs.base import Attachment, NetworkFunction, RunningFunction

__all__ = ["Attachment", "NetworkFunction", "RunningFunction"]
