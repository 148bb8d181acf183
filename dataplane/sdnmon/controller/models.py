"""What the REST interface takes and answers."""

# Without `from __future__ import annotations`: FastAPI reads the annotations.

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from sfcperf.dataplane.sdnmon.controller import messages
from sfcperf.dataplane.sdnmon.controller.flows import layout_of
from sfcperf.dataplane.sdnmon.controller.messages import (
    LEAST_INTERVAL_MS,
    MOST_ENTRIES,
    MOST_INTERVAL_MS,
    MOST_SECRET,
    MOST_SLOTS,
)
from sfcperf.dataplane.sdnmon.fields import NAMES
from sfcperf.errors import InputError
from sfcperf.rest.answers import Answer
from sfcperf.rest.numbers import FromText

FLOWS_AT_ONCE = 10_000
_MOST_TEXT = 2047

Ratio = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
Interval = Annotated[int, Field(strict=True, ge=LEAST_INTERVAL_MS, le=MOST_INTERVAL_MS)]
_Entries = Annotated[int, Field(strict=True, ge=0, le=MOST_ENTRIES)]
_SomeEntries = Annotated[int, Field(strict=True, ge=1, le=MOST_ENTRIES)]
_Text = Annotated[str, Field(min_length=1, max_length=_MOST_TEXT)]
_Name = Literal[NAMES]  # type: ignore[valid-type]  # a tuple of names
_Number = Annotated[int, Field(strict=True, ge=0, le=(1 << 64) - 1)]
_FieldsByName = Annotated[dict[_Name, _Text | _Number | None], Field(min_length=1)]
_FlowByName = Annotated[dict[_Name, _Text | _Number], Field(min_length=1)]
_Flow = _Text | _FlowByName


class _Body(Answer):
    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")


class SettingsBody(_Body):
    """Of a monitoring table."""

    fields: _Text | _FieldsByName
    """Monitoring match fields: `ipv4_src/24,tp_dst`, or an object of masks; null: all bits."""
    counter_buffer_size: Annotated[int, Field(strict=True, ge=1, le=MOST_SLOTS)] = 5
    """S_b: slots of an entry's counter buffers."""
    query_interval_ms: Interval = 10_000
    """ΔT_q: time that the counter buffers cover, at least 10 ms for each slot."""
    mode: Literal["hash", "bloom"] = "hash"
    """Of sampling."""
    ratio: Ratio = 1.0
    """Share of the flows that are monitored."""
    secret: Annotated[int, Field(strict=True, ge=0, le=MOST_SECRET)] | None = None
    """Of the hash: switches with the same one sample the same flows. null: random, or that of the
    table before."""
    capacity: _SomeEntries = 131_072
    """Entries for which memory is taken."""
    limit: _Entries = 0
    """Entries, at most. 0: the capacity."""
    threshold: _Entries = 0
    """A notification comes when there are more entries. 0: never."""

    @model_validator(mode="after")
    def _is_right(self) -> "SettingsBody":
        self.settings()
        return self

    def settings(self) -> messages.Settings:
        """As messages have them. Raises ValueError."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        try:
            return messages.Settings(layout_of(values.pop("fields")), **values)
        except InputError as error:
            raise ValueError(str(error)) from error


class RatioBody(_Body):
    """Sampling ratio."""

    ratio: Ratio
    """Share of the flows that are monitored."""


class IntervalBody(_Body):
    """Query time interval."""

    query_interval_ms: Interval
    """ΔT_q: time that the counter buffers cover."""


class ThresholdBody(_Body):
    """Of overflow notifications."""

    threshold: _Entries
    """A notification comes when there are more entries. 0: never."""


class LimitBody(_Body):
    """Number of entries in the monitoring table."""

    limit: _SomeEntries
    """Entries, at most; no more than the capacity."""


class FlowsBody(_Body):
    """Flows, by the fields of the table that they have."""

    flows: Annotated[list[_Flow], Field(min_length=1, max_length=FLOWS_AT_ONCE)]
    """Each as `ipv4_src=10.0.0.1,tp_dst=53`, or as an object."""


class NotificationsQuery(_Body):
    """Notifications."""

    after: Annotated[int, Field(ge=0, le=(1 << 53) - 1), FromText] = 0
    """`number` of the last one that is known."""


class StatisticsQuery(_Body):
    """Statistics."""

    buffers: bool = True
    """With counter buffers."""


class FeaturesAnswer(Answer):
    """What the agent of a switch can do."""

    most_slots: int
    most_entries: int
    fields: list[str]
    """Match fields that it knows."""


class SwitchAnswer(Answer):
    """A connected switch."""

    address: str
    openflow: int
    """Version, as on the wire: 4 is 1.3."""
    features: FeaturesAnswer | None = None
    """Absent: the switch has no agent, or it has not answered yet."""
    problem: str | None = None
    """Why there are no features."""


class StatusAnswer(Answer):
    """Of a switch."""

    on: bool
    """All that follows is absent if monitoring is off."""
    fields: dict[str, str | int] | None = None
    """Match fields in the order of a key, with their masks."""
    mode: str | None = None
    counter_buffer_size: int | None = None
    query_interval_ms: int | None = None
    ratio: float | None = None
    epoch: int | None = None
    """Of now."""
    capacity: int | None = None
    limit: int | None = None
    threshold: int | None = None
    entries: int | None = None
    notifications: int | None = None
    """Sent since monitoring began."""
    totals: dict[str, int] | None = None
    """What became of packets."""
    ports: dict[str, int] | None = None
    """Monitored interface -> its number in the system."""


class ChangedAnswer(Answer):
    """What became of flows."""

    done: int
    unchanged: int
    """Were there already, or were not there."""
    no_room: int


class PrunedAnswer(Answer):
    """What was removed."""

    removed: int


class NotificationAnswer(Answer):
    """One overflow notification."""

    number: int
    """From 1 since the controller was started."""
    switch: str
    time_ns: int
    """Since 1970 (UTC), by the clock of the switch."""
    entries: int
    threshold: int


class EstimateAnswer(Answer):
    """A total over all flows, of which some are sampled."""

    value: float
    low: float
    high: float
    effective_flows: float
    """Below some 30, the interval has the total less often than it says."""


class VolumeAnswer(Answer):
    """What all flows sent, estimated from those that are sampled."""

    ratio: float
    sampled_flows: int
    added_flows: int
    """Counted, whatever sampling says."""
    confidence: float
    packets: EstimateAnswer
    bytes: EstimateAnswer
    flows: EstimateAnswer
