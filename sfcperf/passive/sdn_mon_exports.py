"""Runs what SDN-Mon is compared with: sFlow or IPFIX of a switch, and a collector that counts what
they export."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfcperf.errors import CannotBeMeasured, MeasurementError
from sfcperf.hosts.process import inside
from sfcperf.management.deployment import Switch
from sfcperf.watched import Watch

KINDS = ("sflow", "ipfix")
_MOST_BYTES = 65_535
_POLL_S = 0.1
_RECEIVE_BUFFER_BYTES = 1 << 23
_SO_RCVBUFFORCE = 33
"""Option of Linux (socket(7)) by which root may exceed net.core.rmem_max."""
_SAMPLES_AT = 24
"""Offset of the number of samples in a datagram of sFlow version 5 whose agent has an IPv4
address."""
_SEQUENCE_AT = 8
"""Offset of the sequence number in an IPFIX message. It is the number of data records that were
sent before the message (RFC 7011, section 3.1)."""
_COMMAND_S = 5


class ExportingSwitch:
    """A switch that exports by sFlow or IPFIX, and a collector that counts the exports on a thread
    of its own, in the switch's network namespace."""

    def __init__(self, switch: Switch, kind: str, ratio: float) -> None:
        """Start the collector and the export. `kind` is one of KINDS, `ratio` the share of the
        packets that is sampled. Raises CannotBeMeasured for a switch that cannot export."""
        if switch.exporter is None:
            raise CannotBeMeasured(f"this switch has no {kind}", hint="Open vSwitch has it")
        namespace: Any = getattr(switch.host, "namespace", None)
        # The export goes to the collector by the loopback interface of the namespace.
        switch.host.run(["ip", "link", "set", "lo", "up"], timeout_s=_COMMAND_S)
        with inside(namespace if namespace is None else Path(namespace)):
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER_BYTES)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(_POLL_S)
        self._exporter = switch.exporter
        self._kind = kind
        self._ended = threading.Event()
        self._stopped = False
        self._watch = Watch(self._ended.set)
        self.counts = {"export_datagrams": 0, "export_bytes": 0, "export_records": 0}
        """Counts of the datagrams, their bytes, and the samples or flow records in them. Records of
        IPFIX are told from sequence numbers: those in the last message are missing, and those in
        lost datagrams are included."""
        self.cpu_s = 0.0
        """CPU time of the collector, after `stop`."""
        port = self._socket.getsockname()[1]
        try:
            self._exporter.begin(kind, f"127.0.0.1:{port}", max(1, round(1 / ratio)))
        except BaseException:
            self._socket.close()
            raise
        self._thread = self._watch.thread(f"the collector of {kind}", self._collect)

    def stop(self) -> None:
        """End the export and the collector. A second call does nothing. Raises MeasurementError
        when the collector's thread had ended too early, since counts are missing then."""
        if self._stopped:
            return
        self._stopped = True
        self._watch.over()  # from now on, the thread may end
        try:
            self._exporter.end()
        finally:
            self._ended.set()
            self._thread.join()
            self._socket.close()
        if self._watch.problem is not None:
            raise MeasurementError(str(self._watch.problem))

    def _collect(self) -> None:
        """Count datagrams until `stop`; the work of the collector's thread."""
        while not self._ended.is_set():
            with suppress(TimeoutError):
                self._count(self._socket.recv(_MOST_BYTES))
        self.cpu_s = time.thread_time()

    def _count(self, datagram: bytes) -> None:
        """Count a datagram, and the samples (sFlow) or the flow records (IPFIX) that it tells."""
        self.counts["export_datagrams"] += 1
        self.counts["export_bytes"] += len(datagram)
        if self._kind == "sflow":
            samples = int.from_bytes(datagram[_SAMPLES_AT : _SAMPLES_AT + 4], "big")
            self.counts["export_records"] += samples
        else:
            # The number of all records before this message.
            before = int.from_bytes(datagram[_SEQUENCE_AT : _SEQUENCE_AT + 4], "big")
            self.counts["export_records"] = max(before, self.counts["export_records"])
