"""Connections of os-ken to switches, and the SDN-Mon messages that they carry."""

from __future__ import annotations

import struct
import threading
from typing import Any

from os_ken.lib.dpid import dpid_to_str

from sfcperf.dataplane.sdnmon.controller.calls import PendingCalls
from sfcperf.dataplane.sdnmon.controller.errors import (
    AgentRefusal,
    CallError,
    NoAgent,
    Reason,
    WrongAnswer,
)
from sfcperf.dataplane.sdnmon.controller.messages import EXPERIMENTER, Features, Request, read

LEAST_OPENFLOW = 4
"""OpenFlow 1.3, as its version is on the wire."""
_HEADER = struct.Struct("!BBHIII")
_OFPT_EXPERIMENTER = 4
_OFPET_BAD_REQUEST, _OFPET_EXPERIMENTER = 1, 0xFFFF
_UNKNOWN = (1, 3, 4)
"""Codes of OFPET_BAD_REQUEST that say: the type, the experimenter or its type is not known."""


class Switch:
    """A connected switch. The application SdnMon makes it when the switch has said which one it is,
    and hands it the messages that come."""

    def __init__(self, datapath: Any) -> None:
        self.datapath = datapath
        self.id: int = datapath.id
        self.name: str = dpid_to_str(datapath.id)
        self.calls = PendingCalls(self.name, self._send)
        self.features: Features | None = None
        """What the agent can do. None: there is no agent, or it has not answered yet."""
        self.problem: CallError | None = None
        """Why `features` is None, if that is known."""
        self.reading = threading.Lock()
        """Held by whoever asks for statistics: the agent sends one reply at a time."""

    @property
    def address(self) -> str:
        """Address and port from which the switch is connected."""
        host, port, *_ = self.datapath.address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @property
    def openflow(self) -> int:
        """Version of OpenFlow, as on the wire."""
        return int(self.datapath.ofproto.OFP_VERSION)

    def _send(self, request: Request, xid: int) -> bool:
        """Send a request with this xid. Returns False if the connection ends. Raises NoAgent."""
        if self.openflow < LEAST_OPENFLOW:
            raise NoAgent("SDN-Mon needs OpenFlow 1.3 or later", where=self.name)
        message = self.datapath.ofproto_parser.OFPExperimenter(
            self.datapath, EXPERIMENTER, int(request.kind), request.content
        )
        message.set_xid(xid)
        return bool(self.datapath.send_msg(message))

    def refused(self, message: Any) -> None:
        """Fail the call that this OFPT_ERROR is about. Another application may have caused it;
        it is then ignored."""
        # OpenFlow 1.0 knows no such errors.
        experimenter = getattr(message, "experimenter", None)
        if message.type == _OFPET_EXPERIMENTER:
            if experimenter == EXPERIMENTER:
                text = (message.data or b"").decode("utf-8", "backslashreplace")
                known = message.exp_type in list(Reason)
                reason = Reason(message.exp_type) if known else message.exp_type
                self.calls.failed(message.xid, AgentRefusal(reason, text))
        elif _is_ours(message.data or b""):
            if message.type == _OFPET_BAD_REQUEST and message.code in _UNKNOWN:
                error: CallError = NoAgent("the switch does not know SDN-Mon: it has no agent")
            else:
                words = f"OpenFlow error of type {message.type}, code {message.code}"
                error = WrongAnswer(words)
            self.calls.failed(message.xid, error)

    def received(self, message: Any) -> Any:
        """Take an experimenter message of SDN-Mon. Returns it if it answers no request, else
        None."""
        try:
            found = read(message.exp_type, message.data)
        except WrongAnswer as error:
            self.calls.failed(message.xid, error)
            return None
        if message.xid == 0:
            return found
        self.calls.answered(message.xid, found)
        return None


def _is_ours(failed: bytes) -> bool:
    """Say whether these bytes are the start of a request of SDN-Mon. With an error, switches
    send back 64 bytes or more of what they refuse."""
    if len(failed) < _HEADER.size:
        return False
    _, kind, _, _, experimenter, _ = _HEADER.unpack_from(failed)
    return bool(kind == _OFPT_EXPERIMENTER and experimenter == EXPERIMENTER)
