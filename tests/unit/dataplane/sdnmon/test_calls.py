"""Answers of switches: what they may take of the controller's memory."""

from __future__ import annotations

import pytest
from support.sdnmon import wire

from sfcperf.dataplane.sdnmon.controller import calls, messages
from sfcperf.dataplane.sdnmon.controller.calls import PendingCalls
from sfcperf.dataplane.sdnmon.controller.errors import LimitExceeded
from sfcperf.dataplane.sdnmon.controller.statistics import read_part

ENTRY: wire.Entry = (bytes(4), 0, 1, 60, [(1, 60)] * 64)


@pytest.mark.parametrize("entries", [0, 60])
def test_a_reply_without_an_end_does_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch, entries: int
):
    monkeypatch.setattr(calls, "MOST_REPLY_BYTES", 1 << 20)
    made = PendingCalls("switch", lambda *_: True)
    call = made.begin(messages.statistics_request())
    message = wire.statistics([ENTRY] * entries, 4, 64, 9, more=True)
    taken = 0
    while not call.answer.done():
        made.answered(call.xid, read_part(message))
        taken += len(message)
        assert taken <= 2 << 20
    with pytest.raises(LimitExceeded):
        call.answer.result()


def test_a_full_table_with_the_default_buffers_is_not_too_large():
    entry_bytes = 84 + 20 + 5 * 16
    assert messages.MOST_ENTRIES * entry_bytes < calls.MOST_REPLY_BYTES
