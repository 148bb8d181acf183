"""What happens in a run, for whatever displays it, adds up its time or traces it."""

from sfcperf.control.events.listener import Listener
from sfcperf.control.events.timeline import Timeline
from sfcperf.control.events.tracing import traced

__all__ = ["Listener", "Timeline", "traced"]
