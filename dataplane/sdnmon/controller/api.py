"""The REST interface to the application SdnMon."""

# Without `from __future__ import annotations`: FastAPI reads the annotations of nested functions.

import threading
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import msgspec
import numpy as np
from fastapi import Body, FastAPI, Path, Query, Request
from fastapi.responses import JSONResponse, StreamingResponse

from sfcperf.dataplane.sdnmon.controller import models
from sfcperf.dataplane.sdnmon.controller.app import SdnMon
from sfcperf.dataplane.sdnmon.controller.errors import (
    AgentRefusal,
    CallError,
    LimitExceeded,
    NoAgent,
    NoAnswer,
    NoSuchSwitch,
    Reason,
    SwitchLeft,
)
from sfcperf.dataplane.sdnmon.controller.flows import fields_of
from sfcperf.dataplane.sdnmon.controller.messages import mode_on, reset_table
from sfcperf.dataplane.sdnmon.controller.statistics import Statistics
from sfcperf.dataplane.sdnmon.controller.volumes import Estimate, total_of_all_flows
from sfcperf.errors import InputError
from sfcperf.rest.answers import OF_ALL, OF_BODIES, refusals
from sfcperf.rest.errors import refusal
from sfcperf.rest.interface import interface

MOST_BODY_BYTES = 1 << 23
STATISTICS_AT_ONCE = 4
"""How many answers with statistics are sent at a time. Each has a whole table in memory."""
_LINES_AT_ONCE = 1000
"""Lines of a piece."""
_CONFIDENCE = 0.95
_DESCRIPTION = """\
Controls switches that an agent of SDN-Mon stands before. Switches are named by their datapath ID,
16 hexadecimal digits. An answer says what the agent did; it is waited for at most 5 s."""

_Id = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]
_CALL = refusals(
    {
        404: "No such switch is connected",
        409: "Monitoring is off, or on already; or no agent is there",
        502: "The agent failed, or answered something else",
        503: "The switch left, or the controller does too much",
        504: "No answer in time",
    }
)
_CHANGE = {**_CALL, **refusals(OF_BODIES)}


def application(mon: SdnMon, token: str) -> FastAPI:
    """Return the REST interface as a FastAPI application. `token`: what each request must carry
    (RFC 6750)."""
    app = interface(
        "SDN-Mon controller",
        _DESCRIPTION,
        refusals(OF_ALL),
        token=token,
        most_body_bytes=MOST_BODY_BYTES,
    )
    _add_errors(app)
    _add_switches(app, mon)
    _add_monitoring(app, mon)
    _add_settings(app, mon)
    _add_entries(app, mon)
    _add_statistics(app, mon)
    return app


def description() -> dict[str, Any]:
    """Return the OpenAPI description of the interface."""
    nobody: Any = None  # the description calls no switch
    return application(nobody, "").openapi()


# --- switches ---


def _add_switches(app: FastAPI, mon: SdnMon) -> None:
    """Add the routes that say what there is: switches, their status, notifications."""

    @app.get("/switches", tags=["switches"], operation_id="list_switches")
    def list_switches() -> dict[str, models.SwitchAnswer]:
        """Those that are connected, by datapath ID."""
        return {switch.name: _switch(switch) for switch in mon.switches.values()}

    @app.get(
        "/switches/{switch}/status",
        tags=["switches"],
        operation_id="get_status",
        responses=_CALL,
        response_model_exclude_none=True,
    )
    def get_status(switch: _Id) -> models.StatusAnswer:
        """Settings, and what became of packets."""
        status = mon.requestStatus(_number(switch))
        if status is None:
            return models.StatusAnswer(on=False)
        values = {name: getattr(status, name) for name in status.__dataclass_fields__}
        return models.StatusAnswer(on=True, fields=fields_of(values.pop("layout")), **values)

    @app.get("/notifications", tags=["switches"], operation_id="list_notifications")
    def list_notifications(
        which: Annotated[models.NotificationsQuery, Query()],
    ) -> list[models.NotificationAnswer]:
        """Overflow notifications with numbers greater than `after`; the last 1,000 are kept."""
        return [
            models.NotificationAnswer(
                number=each.number, switch=f"{each.switch_id:016x}", **asdict(each.overflow)
            )
            for each in mon.notifications.after(which.after)
        ]


def _switch(switch: Any) -> models.SwitchAnswer:
    """Describe a connected switch."""
    found = switch.features
    features = found and models.FeaturesAnswer(
        most_slots=found.most_slots, most_entries=found.most_entries, fields=list(found.fields)
    )
    return models.SwitchAnswer(
        address=switch.address,
        openflow=switch.openflow,
        features=features,
        problem=None if switch.problem is None else switch.problem.message,
    )


def _number(switch: str) -> int:
    """Return the datapath ID that 16 hexadecimal digits say."""
    return int(switch, 16)


# --- changes ---


def _add_monitoring(app: FastAPI, mon: SdnMon) -> None:
    """Add the routes that begin and end monitoring, and reset the table."""
    tags: list[Any] = ["monitoring"]
    place = "/switches/{switch}/monitoring"

    @app.put(place, tags=tags, operation_id="set_on", responses=_CHANGE, status_code=204)
    def set_on(switch: _Id, settings: Annotated[models.SettingsBody, Body()]) -> None:
        """Begin to monitor (setMonitoringModeOn); 409 if monitoring is on."""
        mon.call(mode_on(settings.settings()), _number(switch))

    @app.delete(place, tags=tags, operation_id="set_off", responses=_CALL, status_code=204)
    def set_off(switch: _Id) -> None:
        """End, and remove everything (setMonitoringModeOff)."""
        mon.setMonitoringModeOff(_number(switch))

    @app.put(
        "/switches/{switch}/table",
        tags=tags,
        operation_id="reset_table",
        responses=_CHANGE,
        status_code=204,
    )
    def reset(switch: _Id, settings: Annotated[models.SettingsBody, Body()]) -> None:
        """An empty table with other settings (resetMonitoringTable); 409 if monitoring is off."""
        mon.call(reset_table(settings.settings()), _number(switch))


def _add_settings(app: FastAPI, mon: SdnMon) -> None:
    """Add the routes that change one setting of a table."""
    shared: dict[str, Any] = {"tags": ["monitoring"], "responses": _CHANGE, "status_code": 204}
    place = "/switches/{switch}"

    @app.put(f"{place}/sampling-ratio", operation_id="set_ratio", **shared)
    def set_ratio(switch: _Id, body: Annotated[models.RatioBody, Body()]) -> None:
        """setSamplingRatio."""
        mon.setSamplingRatio(body.ratio, _number(switch))

    @app.put(f"{place}/query-time-interval", operation_id="set_interval", **shared)
    def set_interval(switch: _Id, body: Annotated[models.IntervalBody, Body()]) -> None:
        """setQueryTimeInterval."""
        mon.setQueryTimeInterval(body.query_interval_ms, _number(switch))

    @app.put(f"{place}/overflow-notification-threshold", operation_id="set_threshold", **shared)
    def set_threshold(switch: _Id, body: Annotated[models.ThresholdBody, Body()]) -> None:
        """setOverflowNotificationThreshold."""
        mon.setOverflowNotificationThreshold(body.threshold, _number(switch))

    @app.put(f"{place}/limit", operation_id="set_limit", **shared)
    def set_limit(switch: _Id, body: Annotated[models.LimitBody, Body()]) -> None:
        """Entries, at most."""
        mon.setLimit(body.limit, _number(switch))


def _add_entries(app: FastAPI, mon: SdnMon) -> None:
    """Add the routes that add and remove entries."""
    shared: dict[str, Any] = {"tags": ["entries"]}
    place = "/switches/{switch}/entries"

    @app.post(f"{place}/add", operation_id="add_entries", responses=_CHANGE, **shared)
    def add(switch: _Id, body: Annotated[models.FlowsBody, Body()]) -> models.ChangedAnswer:
        """Monitor flows, whatever sampling says (addMonitoringEntry)."""
        changed = mon.addMonitoringEntry(body.flows, _number(switch))
        return models.ChangedAnswer(**asdict(changed))

    @app.post(f"{place}/remove", operation_id="remove_entries", responses=_CHANGE, **shared)
    def remove(switch: _Id, body: Annotated[models.FlowsBody, Body()]) -> models.ChangedAnswer:
        """Monitor flows no longer (removeMonitoringEntry)."""
        changed = mon.removeMonitoringEntry(body.flows, _number(switch))
        return models.ChangedAnswer(**asdict(changed))

    @app.post(f"{place}/prune", operation_id="prune", responses=_CALL, **shared)
    def prune(switch: _Id) -> models.PrunedAnswer:
        """Remove entries that are sampled no longer."""
        return models.PrunedAnswer(removed=mon.prune(_number(switch)))


# --- statistics ---


def _add_statistics(app: FastAPI, mon: SdnMon) -> None:
    """Add the routes that read all entries. `room` limits how many answers are sent at a time."""
    room = threading.BoundedSemaphore(STATISTICS_AT_ONCE)
    shared: dict[str, Any] = {"tags": ["entries"]}
    lines = {"description": "JSON Lines: what there is, then a line for each entry"}
    streamed: dict[int | str, dict[str, Any]] = {
        200: {**lines, "content": {"application/jsonl": {"schema": {"type": "string"}}}}
    }

    def read(switch: str, buffers: bool) -> Statistics:
        """Read the statistics of a switch, and take a place in `room`, which the caller gives back.
        Raises LimitExceeded if there is none, and CallError."""
        if not room.acquire(blocking=False):
            raise LimitExceeded(
                f"{STATISTICS_AT_ONCE} answers with statistics are being sent", where=switch
            )
        try:
            return mon.requestStatistics(_number(switch), buffers=buffers)
        except BaseException:
            room.release()
            raise

    @app.get(
        "/switches/{switch}/statistics",
        operation_id="get_statistics",
        responses={**_CALL, **streamed},
        response_class=StreamingResponse,
        **shared,
    )
    def get_statistics(
        switch: _Id, how: Annotated[models.StatisticsQuery, Query()]
    ) -> StreamingResponse:
        """All entries. The first line has their number, the last epoch and the length of a slot;
        the following ones a flow, its counts, and with `buffers` its intervals: epoch, packets and
        bytes, the latest first, without those that have no packets."""
        return _Streamed(read(switch, how.buffers), room)

    @app.get("/switches/{switch}/volume", operation_id="get_volume", responses=_CALL, **shared)
    def get_volume(switch: _Id) -> models.VolumeAnswer:
        """What all flows sent since the table was made, estimated from those that are sampled. It
        needs one ratio since then, and a table that was never full."""
        statistics = read(switch, buffers=False)
        try:
            return _volume(statistics)
        finally:
            room.release()


class _Streamed(StreamingResponse):
    """An answer with statistics as JSON Lines. When it has ended, however it ends, it gives its
    place in `room` to others."""

    def __init__(self, statistics: Statistics, room: threading.BoundedSemaphore) -> None:
        super().__init__(json_lines(statistics), media_type="application/jsonl")
        self._room = room

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the answer (ASGI calls this)."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._room.release()


def json_lines(statistics: Statistics) -> Iterator[bytes]:
    """Write statistics as JSON Lines, in pieces of some lines each, so that a large table is not
    in memory twice."""
    head = {
        "entries": len(statistics),
        "epoch": statistics.epoch,
        "interval_ms": statistics.interval_ms,
        "ratio": statistics.ratio,
        "fields": fields_of(statistics.layout),
    }
    lines = [msgspec.json.encode(head)]
    for entry in statistics.flows():
        lines.append(msgspec.json.encode(entry))
        if len(lines) >= _LINES_AT_ONCE:
            yield b"\n".join(lines) + b"\n"
            lines.clear()
    if lines:
        yield b"\n".join(lines) + b"\n"


def _volume(statistics: Statistics) -> models.VolumeAnswer:
    """Estimate what all flows sent. Flows that were added are known exactly and not estimated.
    Raises AgentRefusal with the ratio 0."""
    added = statistics.added
    if not statistics.ratio:
        raise AgentRefusal(Reason.BAD_VALUE, "the sampling ratio is 0: no flow is sampled")

    def estimate(x: Any) -> models.EstimateAnswer:
        """Estimate a total from what each entry has."""
        found: Estimate = total_of_all_flows(x[~added], statistics.ratio, x[added], _CONFIDENCE)
        values = asdict(found)
        values.pop("confidence")
        return models.EstimateAnswer(**values)

    return models.VolumeAnswer(
        ratio=statistics.ratio,
        sampled_flows=int(np.count_nonzero(~added)),
        added_flows=int(np.count_nonzero(added)),
        confidence=_CONFIDENCE,
        packets=estimate(statistics.packets),
        bytes=estimate(statistics.bytes),
        flows=estimate(np.ones(len(statistics))),
    )


# --- errors ---

# What an error is answered; 502 for all others.
_STATUS: dict[object, int] = {
    NoSuchSwitch: 404,
    NoAgent: 409,
    SwitchLeft: 503,
    LimitExceeded: 503,
    NoAnswer: 504,
    Reason.OFF: 409,
    Reason.ON: 409,
    Reason.BAD_VALUE: 409,
    Reason.BUSY: 503,
}


def _add_errors(app: FastAPI) -> None:
    """Let errors be answered by HTTP: a wrong value by 422, others as `_STATUS` says."""

    @app.exception_handler(InputError)
    async def wrong(_: Request, error: InputError) -> JSONResponse:
        return refusal(422, str(error))

    @app.exception_handler(CallError)
    async def failed(_: Request, error: CallError) -> JSONResponse:
        kind = error.reason if isinstance(error, AgentRefusal) else type(error)
        return refusal(_STATUS.get(kind, 502), str(error))
