"""Another application of os-ken, as a user writes one: it forwards, and uses SdnMon's calls.

Loaded by `sfcperf sdnmon controller --app support.sdnmon.other_app`. It appends what happens to the
file that SDNMON_OTHER_APP names.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from os_ken.base.app_manager import OSKenApp, lookup_service_brick
from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub

from sfcperf.dataplane.sdnmon.controller.errors import AgentRefusal
from sfcperf.dataplane.sdnmon.controller.events import EventSendToController, EventSwitch
from sfcperf.dataplane.sdnmon.controller.messages import status_request

_TIMEOUT_S = 10


class OtherApp(OSKenApp):  # type: ignore[misc]
    """Lets the switch forward as a bridge does; begins to monitor it by the paper's calls."""

    def _say(self, **event: Any) -> None:
        with Path(os.environ["SDNMON_OTHER_APP"]).open("a") as file:
            file.write(json.dumps(event) + "\n")

    @set_ev_cls(ofp_event.EventOFPStateChange, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def _forward(self, event: Any) -> None:
        datapath = event.datapath
        parser, ofproto = datapath.ofproto_parser, datapath.ofproto
        actions = [parser.OFPActionOutput(ofproto.OFPP_NORMAL)]
        apply = parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)
        flow = parser.OFPFlowMod(datapath, priority=1, instructions=[apply])
        datapath.send_msg(flow)
        datapath.send_msg(parser.OFPBarrierRequest(datapath))

    @set_ev_cls(ofp_event.EventOFPBarrierReply, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def _forwards(self, event: Any) -> None:
        self._say(event="forwards", switch=event.msg.datapath.id)

    @set_ev_cls(EventSwitch)  # type: ignore[untyped-decorator]
    def _switch(self, event: EventSwitch) -> None:
        self._say(event="switch", switch=event.switch_id, there=event.features is not None)
        if event.features is not None:
            hub.spawn(self._monitor, event.switch_id)

    def _monitor(self, switch: int) -> None:
        mon: Any = lookup_service_brick("SdnMon")
        try:
            mon.setMonitoringModeOn("ip_proto,tp_dst", 5, 1000, switch, threshold=3, capacity=100)
            mon.addMonitoringEntry({"ip_proto": 6, "tp_dst": 9}, switch)
            found = mon.requestStatistics(switch)
            status = mon.sendToSwitch(status_request(), switch).result(_TIMEOUT_S)
            self._say(
                event="monitoring", switch=switch, entries=len(found), threshold=status.threshold
            )
            mon.setMonitoringModeOn("ip_proto", 5, 1000, switch)
        except AgentRefusal as error:
            self._say(event="refused", switch=switch, reason=error.reason.name)

    @set_ev_cls(EventSendToController)  # type: ignore[untyped-decorator]
    def _notified(self, event: EventSendToController) -> None:
        self._say(event="overflow", switch=event.switch_id, entries=event.message.entries)
