"""What happens in a run, for whatever displays it, adds up its time or traces it."""

from sfcperf.control.events.listener import Listener
from sfcperf.control.events.phases import Phases
from sfcperf.control.events.tracing import traced

__all__ = ["Listener", "Phases", "traced"]
