"""A controller that answers questions on its standard input, to measure statistics queries.

    python -m sfcperf.dataplane.sdnmon.controller.questions

One JSON object a line, `{"do": NAME, ...}`; one line with the answer, `{"error": TEXT}` if there is
none. `listen` opens a port for a switch; `begin` waits for it and begins to monitor; `add` adds
entries; `query` reads all, and says how long it took until packets, bytes and keys were there as
arrays.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from sfcperf import retry
from sfcperf.dataplane.listening import internet_socket, name_of
from sfcperf.dataplane.sdnmon.controller import messages
from sfcperf.dataplane.sdnmon.controller.app import SdnMon
from sfcperf.dataplane.sdnmon.controller.flows import key_of, layout_of
from sfcperf.dataplane.sdnmon.controller.messages import FlowChanges
from sfcperf.dataplane.sdnmon.controller.osken import run_beside
from sfcperf.dataplane.sdnmon.fields import Layout
from sfcperf.errors import MeasurementError, SfcperfError
from sfcperf.watched import Watch

FIELDS = "ipv4_src,ipv4_dst,ip_proto,tp_src,tp_dst"
"""Match fields of section 4.1 of the paper."""
FIRST_PORT, PORTS = 1024, 65536 - 1024
SWITCH_COMES_S = 30.0
ADD_TIMEOUT_S = 30.0
QUERY_TIMEOUT_S = 30.0
_UDP = 17
_SLOTS, _QUERY_INTERVAL_MS = 5, 10_000
"""S_b and ΔT_q of section 4.1."""


def udp_keys(layout: Layout, source: str, destination: str, port: int, count: int) -> list[bytes]:
    """Return the keys of `count` UDP flows. Source ports go from 1024 on; after the last one they
    start again with the next destination port, of which `port` is the first."""
    first = f"ipv4_src={source},ipv4_dst={destination},ip_proto={_UDP},tp_src=0,tp_dst=0"
    key = np.frombuffer(key_of(layout, first), np.uint8)
    keys = np.tile(key, (count, 1))
    numbers = np.arange(count)
    for name, values in (
        ("tp_src", FIRST_PORT + numbers % PORTS),
        ("tp_dst", port + numbers // PORTS),
    ):
        at = _offset(layout, name)
        keys[:, at : at + 2] = values.astype(">u2").view(np.uint8).reshape(-1, 2)
    size = key.size
    whole = keys.tobytes()
    return [whole[at : at + size] for at in range(0, len(whole), size)]


def _offset(layout: Layout, name: str) -> int:
    """Return the offset of a field in a key. Raises ValueError."""
    at = 0
    for field in layout.fields:
        if field.name == name:
            return at
        at += field.bytes
    raise ValueError(name)


class SwitchController:
    """Controls one switch, the first that connects, and answers questions about it."""

    def __init__(self) -> None:
        """Take connections of switches at any free port of this machine."""
        self._socket = internet_socket("127.0.0.1:0", "--listen")
        self._watch = Watch(self._give_up)
        self._mon: SdnMon = run_beside(self._socket, (), self._watch)
        self._switch = 0

    def _give_up(self) -> None:
        """End the process: os-ken has ended."""
        print(self._watch.problem, file=sys.stderr, flush=True)
        os._exit(1)

    def listen(self) -> Mapping[str, Any]:
        """Return where the switch's agent is to connect."""
        return {"address": name_of(self._socket)}

    def begin(self, ratio: float, capacity: int) -> Mapping[str, Any]:
        """Wait for a switch, and start to monitor it. Returns its ID. Raises MeasurementError."""
        if not retry.until(
            lambda: bool(self._mon.switches), timeout_s=SWITCH_COMES_S, period_s=0.02
        ):
            raise MeasurementError(f"no switch connected within {SWITCH_COMES_S:g} s")
        self._switch = next(iter(self._mon.switches))
        self._mon.setMonitoringModeOn(
            FIELDS, _SLOTS, _QUERY_INTERVAL_MS, self._switch, ratio=ratio, capacity=capacity
        )  # fmt: skip
        return {"switch": f"{self._switch:016x}"}

    def add(self, source: str, destination: str, port: int, count: int) -> Mapping[str, Any]:
        """Monitor the flows whose keys `udp_keys` makes. Returns how many were added."""
        keys = udp_keys(layout_of(FIELDS), source, destination, port, count)
        done = 0
        for request in messages.add_entries(keys):
            answer = self._mon.sendToSwitch(request, self._switch).result(ADD_TIMEOUT_S)
            assert isinstance(answer, FlowChanges)
            done += answer.done
        return {"added": done}

    def query(self, buffers: bool) -> Mapping[str, Any]:
        """Read all entries once. Returns the time in ms, the number of entries, and the sum of
        their packets."""
        began = time.perf_counter()
        found = self._mon.requestStatistics(
            self._switch, buffers=buffers, timeout_s=QUERY_TIMEOUT_S
        )
        keys, packets, octets = found.keys, found.packets, found.bytes
        elapsed_ms = (time.perf_counter() - began) * 1e3
        assert len(keys) == len(packets) == len(octets)
        return {"ms": elapsed_ms, "entries": len(packets), "packets": int(packets.sum())}

    def answer(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a question by the method that `do` names, with the other members as arguments. An
        error is an answer, too."""
        known: dict[str, Callable[..., Mapping[str, Any]]] = {
            "listen": self.listen, "begin": self.begin, "add": self.add, "query": self.query,
        }  # fmt: skip
        arguments = dict(question)
        try:
            return known[arguments.pop("do")](**arguments)
        except SfcperfError as error:
            return {"error": error.message}
        except TimeoutError:
            return {"error": f"no answer of the switch within {ADD_TIMEOUT_S:g} s"}


def _lines() -> Iterator[str]:
    """Yield the answers to the questions on the standard input."""
    questions = SwitchController()
    for line in sys.stdin:
        yield json.dumps(questions.answer(json.loads(line)))


def main() -> None:
    """Answer questions until the standard input ends."""
    for line in _lines():
        print(line, flush=True)


if __name__ == "__main__":
    main()
