"""The application SdnMon of os-ken: the paper's calls, by their names.

It touches no flow and no port, and works beside any other application. A call waits for the
switch's answer. Make calls from a thread of your own (`os_ken.lib.hub.spawn`), not from a handler
of events: while a handler waits, the queue of its application fills, and os-ken then reads no
further messages of the switch, among them the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, ClassVar, TypeVar

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import (
    DEAD_DISPATCHER,
    HANDSHAKE_DISPATCHER,
    MAIN_DISPATCHER,
    set_ev_cls,
)
from os_ken.lib import hub

from sfcperf.dataplane.sdnmon.controller import messages
from sfcperf.dataplane.sdnmon.controller.calls import Answer
from sfcperf.dataplane.sdnmon.controller.errors import (
    AgentRefusal,
    CallError,
    NoSuchSwitch,
    Reason,
    WrongAnswer,
)
from sfcperf.dataplane.sdnmon.controller.events import EventSendToController, EventSwitch
from sfcperf.dataplane.sdnmon.controller.flows import Fields, Flow, key_of, layout_of
from sfcperf.dataplane.sdnmon.controller.messages import (
    EXPERIMENTER,
    Features,
    FlowChanges,
    MonitoringOff,
    Overflow,
    PrunedEntries,
    Request,
    Settings,
    Status,
)
from sfcperf.dataplane.sdnmon.controller.notifications import Notifications
from sfcperf.dataplane.sdnmon.controller.statistics import Statistics
from sfcperf.dataplane.sdnmon.controller.switches import Switch

A = TypeVar("A")
TIMEOUT_S = 5.0
"""How long a call waits without a message of the switch."""
_WATCH_S = 0.2
"""How often connections are looked at."""


class SdnMon(OSKenApp):
    """Monitors switches that an agent of SDN-Mon stands before.

    Switches are named by their datapath ID. Every call can raise CallError: NoSuchSwitch,
    SwitchLeft, NoAnswer (after `timeout_s` without a message), NoAgent, AgentRefusal with the
    agent's reason, WrongAnswer. InputError: a value is wrong, and nothing was sent.
    """

    # os-ken reads this: the events that other applications can observe.
    _EVENTS: ClassVar = [EventSendToController, EventSwitch]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.notifications = Notifications()
        """The latest overflow notifications of all switches."""
        self._switches: dict[int, Switch] = {}
        self._connections: set[Any] = set()
        """os-ken's objects for connections, also of switches that have not said yet who they
        are."""

    def start(self) -> None:
        """Start the application's threads (os-ken calls this)."""
        super().start()
        self.threads.append(hub.spawn(self._end_closed_connections))

    @property
    def switches(self) -> dict[int, Switch]:
        """The connected switches, by datapath ID."""
        return dict(self._switches)

    def switch(self, switch_id: int) -> Switch:
        """Return a connected switch. Raises NoSuchSwitch."""
        found = self._switches.get(switch_id)
        if found is None:
            raise NoSuchSwitch("no switch with this ID is connected", where=f"{switch_id:016x}")
        return found

    # --- the paper's calls ---

    def sendToSwitch(self, message: Request, switch_id: int) -> Future[Answer]:
        """Send a message. Returns a future of its answer, whose `result` raises a CallError if the
        call fails; it has no timeout of its own. Raises NoSuchSwitch, SwitchLeft, NoAgent."""
        return self.switch(switch_id).calls.begin(message).answer

    def sendToController(self, message: Overflow, switch_id: int) -> None:
        """Take a message that a switch sent on its own: `notifications` keeps it, and
        applications that observe EventSendToController get it."""
        self.notifications.add(switch_id, message)
        self.send_event_to_observers(EventSendToController(switch_id, message))

    def setMonitoringModeOn(
        self,
        fields: Fields,
        counter_buffer_size: int,
        query_interval_ms: int,
        switch_id: int,
        *,
        timeout_s: float = TIMEOUT_S,
        **options: Any,
    ) -> None:
        """Start to monitor. `fields` are match fields as `ipv4_src/24,tp_dst` or as a mapping of
        masks, `counter_buffer_size` is S_b in slots, `query_interval_ms` is ΔT_q. `options`:
        `mode`, `ratio`, `secret`, `capacity`, `limit`, `threshold` of Settings."""
        settings = Settings(layout_of(fields), counter_buffer_size, query_interval_ms, **options)
        self.call(messages.mode_on(settings), switch_id, timeout_s)

    def setMonitoringModeOff(self, switch_id: int, *, timeout_s: float = TIMEOUT_S) -> None:
        """Stop monitoring, and remove everything from the switch."""
        self.call(messages.mode_off(), switch_id, timeout_s)

    def resetMonitoringTable(
        self,
        fields: Fields,
        counter_buffer_size: int,
        query_interval_ms: int,
        switch_id: int,
        *,
        timeout_s: float = TIMEOUT_S,
        **options: Any,
    ) -> None:
        """Replace the table by an empty one with other settings; the arguments are those of
        setMonitoringModeOn. Without `secret`, the table keeps its secret."""
        settings = Settings(layout_of(fields), counter_buffer_size, query_interval_ms, **options)
        self.call(messages.reset_table(settings), switch_id, timeout_s)

    def addMonitoringEntry(
        self, flow: Flow | Sequence[Flow], switch_id: int, *, timeout_s: float = TIMEOUT_S
    ) -> FlowChanges:
        """Monitor a flow or several, whatever sampling says. A flow is
        `ipv4_src=10.0.0.1,tp_dst=53`, or a mapping. All flows are checked before the first one
        is added."""
        keys = self._keys(flow, switch_id, timeout_s)
        return self._change(messages.add_entries(keys), switch_id, timeout_s)

    def removeMonitoringEntry(
        self, flow: Flow | Sequence[Flow], switch_id: int, *, timeout_s: float = TIMEOUT_S
    ) -> FlowChanges:
        """Stop monitoring a flow or several, which then get no entry by themselves."""
        keys = self._keys(flow, switch_id, timeout_s)
        return self._change(messages.remove_entries(keys), switch_id, timeout_s)

    def setSamplingRatio(
        self, ratio: float, switch_id: int, *, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Set the share of the flows that are monitored, 0 to 1."""
        self.call(messages.set_sampling_ratio(ratio), switch_id, timeout_s)

    def setQueryTimeInterval(
        self, query_interval_ms: int, switch_id: int, *, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Set ΔT_q, the time that counter buffers cover, in ms."""
        self.call(messages.set_query_time_interval(query_interval_ms), switch_id, timeout_s)

    def setOverflowNotificationThreshold(
        self, entries: int, switch_id: int, *, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Have the switch notify when its table has more than `entries`; 0: never."""
        request = messages.set_overflow_notification_threshold(entries)
        self.call(request, switch_id, timeout_s)

    # --- calls that the paper does not name ---

    def setLimit(self, entries: int, switch_id: int, *, timeout_s: float = TIMEOUT_S) -> None:
        """Set how many entries the table may have; no more than its capacity."""
        self.call(messages.set_limit(entries), switch_id, timeout_s)

    def prune(self, switch_id: int, *, timeout_s: float = TIMEOUT_S) -> int:
        """Remove entries that are no longer sampled. Returns how many there were."""
        answer = self.call(messages.prune(), switch_id, timeout_s)
        return _expect(PrunedEntries, answer, switch_id).removed

    def requestStatus(self, switch_id: int, *, timeout_s: float = TIMEOUT_S) -> Status | None:
        """Return the settings and totals of a switch; None if monitoring is off."""
        answer = self.call(messages.status_request(), switch_id, timeout_s)
        return None if isinstance(answer, MonitoringOff) else _expect(Status, answer, switch_id)

    def requestStatistics(
        self, switch_id: int, *, buffers: bool = True, timeout_s: float = TIMEOUT_S
    ) -> Statistics:
        """Return all entries of the table, with their counter buffers if `buffers`. A million
        entries with 5 slots take 120 MB. Callers that ask at the same time wait for one another."""
        switch = self.switch(switch_id)
        with switch.reading:
            # Both at once: the agent answers one after the other.
            about = switch.calls.begin(messages.status_request())
            call = switch.calls.begin(messages.statistics_request(buffers))
            try:
                parts = switch.calls.wait(call, timeout_s)
                status = switch.calls.wait(about, timeout_s)
            finally:
                switch.calls.forget(about, call)
        if isinstance(status, MonitoringOff) or not isinstance(parts, list):
            raise WrongAnswer("the answer is no statistics", where=switch.name)
        return _statistics(_expect(Status, status, switch_id), parts, switch.name)

    # --- how calls are made ---

    def call(self, request: Request, switch_id: int, timeout_s: float = TIMEOUT_S) -> Answer:
        """Send a message, wait for its answer and return it. Raises CallError."""
        calls = self.switch(switch_id).calls
        return calls.wait(calls.begin(request), timeout_s)

    def _keys(self, flow: Flow | Sequence[Flow], switch_id: int, timeout_s: float) -> list[bytes]:
        """Return the keys of flows, made for the fields that the table has now."""
        status = self.requestStatus(switch_id, timeout_s=timeout_s)
        if status is None:
            raise AgentRefusal(Reason.OFF, "monitoring is off", where=f"{switch_id:016x}")
        flows = [flow] if isinstance(flow, str) or not isinstance(flow, Sequence) else flow
        return [key_of(status.layout, each) for each in flows]

    def _change(self, requests: list[Request], switch_id: int, timeout_s: float) -> FlowChanges:
        """Send the parts of a request to add or remove flows, and return the sums of their answers.
        Raises CallError."""
        calls = self.switch(switch_id).calls
        begun = [calls.begin(request) for request in requests]
        parts = [_expect(FlowChanges, calls.wait(each, timeout_s), switch_id) for each in begun]
        return FlowChanges(
            sum(part.done for part in parts),
            sum(part.unchanged for part in parts),
            sum(part.no_room for part in parts),
        )

    # --- events of os-ken ---

    @set_ev_cls(
        ofp_event.EventOFPStateChange, [HANDSHAKE_DISPATCHER, MAIN_DISPATCHER, DEAD_DISPATCHER]
    )
    def _state_changed(self, event: Any) -> None:
        """A connection is new, or its switch has said which one it is, or it has ended."""
        datapath = event.datapath
        if event.state == HANDSHAKE_DISPATCHER:
            self._connections.add(datapath)
        elif event.state == MAIN_DISPATCHER:
            self._connections.add(datapath)
            self._connected(Switch(datapath))
        else:
            self._connections.discard(datapath)
            switch = self._switches.get(datapath.id)
            if switch is not None and switch.datapath is datapath:
                self._left(switch)

    def _connected(self, switch: Switch) -> None:
        """Take a switch, in the place of an earlier connection of it, and ask what its agent can
        do."""
        before = self._switches.get(switch.id)
        if before is not None:
            self._left(before)
        self._switches[switch.id] = switch
        try:
            # The agent sends notifications on a connection only after this request.
            call = switch.calls.begin(messages.features_request())
        except CallError as error:
            switch.problem = error
            return
        call.answer.add_done_callback(lambda answer: self._learnt(switch, answer))

    def _learnt(self, switch: Switch, answer: Future[Answer]) -> None:
        """Note what the agent can do, or why that is not known. Applications that observe
        EventSwitch are told of an agent."""
        error = answer.exception()
        found = None if error else answer.result()
        if isinstance(found, Features) and found.version == messages.FORMATS:
            switch.features = found
            self.send_event_to_observers(EventSwitch(switch.id, found))
        elif isinstance(error, CallError):
            switch.problem = error
        else:
            words = f"the agent speaks another version of SDN-Mon's messages: {found}"
            switch.problem = WrongAnswer(words, where=switch.name)

    def _left(self, switch: Switch) -> None:
        """Forget a switch, and fail the calls that wait for it. Applications that observe
        EventSwitch are told."""
        del self._switches[switch.id]
        switch.calls.end()
        if switch.features is not None:
            self.send_event_to_observers(EventSwitch(switch.id, None))

    @set_ev_cls(ofp_event.EventOFPExperimenter, MAIN_DISPATCHER)
    def _experimenter(self, event: Any) -> None:
        """Take a message of an agent: the answer to a call, or a notification."""
        message = event.msg
        switch = self._switch_of(message.datapath)
        if switch is None or message.experimenter != EXPERIMENTER:
            return
        found = switch.received(message)
        if isinstance(found, Overflow):
            self.sendToController(found, switch.id)

    @set_ev_cls(ofp_event.EventOFPErrorMsg, MAIN_DISPATCHER)
    def _error(self, event: Any) -> None:
        """Take an OpenFlow error, which may be the answer to a call."""
        switch = self._switch_of(event.msg.datapath)
        if switch is not None:
            switch.refused(event.msg)

    def _switch_of(self, datapath: Any) -> Switch | None:
        """Return the switch of this connection; None if it has none, or another one by now."""
        switch = self._switches.get(datapath.id)
        return switch if switch is not None and switch.datapath is datapath else None

    def _end_closed_connections(self) -> None:
        """Look at the connections for ever, and end those whose switch left. With native threads,
        os-ken 4.2 does not notice that, because its sender waits for something to send. An empty
        message that ends the connection wakes the sender."""
        while self.is_active:
            for datapath in list(self._connections):
                if datapath.socket.fileno() < 0:
                    self._connections.discard(datapath)
                    # The sender may end just now; it then takes the queue away.
                    with suppress(AttributeError):
                        datapath.send(b"", close_socket=True)
            hub.sleep(_WATCH_S)


def _expect(kind: type[A], answer: Answer, switch_id: int) -> A:
    """Return the answer if it is of this kind. Raises WrongAnswer."""
    if isinstance(answer, kind):
        return answer
    name = type(answer).__name__
    raise WrongAnswer(f"the answer is {name}, not {kind.__name__}", where=f"{switch_id:016x}")


def _statistics(status: Status, parts: list[Any], name: str) -> Statistics:
    """Join the parts of a reply; `name` is that of the switch. Raises WrongAnswer if their keys or
    slots do not fit `status`: the table was then reset between the two requests."""
    key_bytes = len(status.layout.key({}, ()))
    entries = parts[0].entries.dtype
    slots = entries["slots"].shape[0] if "slots" in entries.names else status.counter_buffer_size
    if (entries["key"].itemsize, slots) != (key_bytes, status.counter_buffer_size):
        raise WrongAnswer("the table was reset while its statistics were read", where=name)
    interval_ms = status.query_interval_ms / status.counter_buffer_size
    return Statistics(status.layout, status.ratio, interval_ms, parts)
