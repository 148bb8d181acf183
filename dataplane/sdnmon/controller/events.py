"""What applications of os-ken observe (`set_ev_cls`): switches, and what they send on their own.

Whoever observes an event has the application SdnMon loaded with it.
"""

from __future__ import annotations

from os_ken.controller.event import EventBase
from os_ken.controller.handler import register_service

from sfcperf.dataplane.sdnmon.controller.messages import Features, Overflow


class EventSendToController(EventBase):
    """A switch sent an overflow notification on its own (the paper's sendToController)."""

    def __init__(self, switch_id: int, message: Overflow) -> None:
        super().__init__()
        self.switch_id = switch_id
        self.message = message


class EventSwitch(EventBase):
    """A switch is ready for calls because its agent has answered, or it left (`features` is
    None)."""

    def __init__(self, switch_id: int, features: Features | None) -> None:
        super().__init__()
        self.switch_id = switch_id
        self.features = features


register_service("sfcperf.dataplane.sdnmon.controller.app")
