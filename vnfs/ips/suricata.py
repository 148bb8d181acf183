"""Suricata as inline inspector: packets come to it by NFQUEUE."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host, Process
from sfcperf.vnfs.base import Attachment
from sfcperf.vnfs.ips import configuration, rules

COMMAND = "suricata"
CONFIG = "/etc/suricata/suricata.yaml"
START_TIMEOUT_S = 120.0
"""Large rule sets take a while."""
STOP_TIMEOUT_S = 10.0
COMMAND_TIMEOUT_S = 30.0
QUEUES = "/proc/net/netfilter/nfnetlink_queue"
"""It has a line for each queue to which a process listens."""
_POLL_S = 0.05
_starts = itertools.count()
"""Numbers for names of files: each start has files of its own."""


class Suricata:
    """A Suricata process on a host. `start` makes it, and `stop` ends it."""

    def __init__(self, name: str, host: Host, process: Process, log: Path) -> None:
        self._name = name
        self._host = host
        self._process = process
        self._log = log

    @classmethod
    def start(
        cls, host: Host, attachment: Attachment, config: str, patterns: Sequence[str]
    ) -> Suricata:
        """Start Suricata with its configuration `config`, a path on the host or, if the host lacks
        it, on this machine, and with rules that drop packets with these patterns. Return when it
        takes packets. Raises DeploymentError, MeasurementError."""
        name = attachment.name
        folder = host.workdir / f"{name}-suricata-{next(_starts)}"
        host.run(["mkdir", "-p", str(folder)], timeout_s=COMMAND_TIMEOUT_S)
        argv = [COMMAND, *configuration.options(host, config, folder, rules.suricata(patterns))]
        argv += ["-q", str(rules.QUEUE)]
        argv += ["--runmode", "workers", "-l", str(folder), "--pidfile", str(folder / "pid")]
        argv += ["--set", "unix-command.enabled=no"]
        log = attachment.outputs / f"{folder.name}.log"
        running = cls(name, host, host.spawn(argv, stdout=log, stderr=log), log)
        try:
            running._wait_ready()
        except BaseException:
            running.stop()
            raise
        return running

    def _wait_ready(self) -> None:
        """Return when Suricata listens to its queue. Raises DeploymentError when it never will."""

        def listens() -> bool:
            try:
                return self.queue() is not None
            except MeasurementError:
                # The kernel has the file as soon as its module is loaded, by Suricata's request.
                return False

        if not self._process.becomes(listens, timeout_s=START_TIMEOUT_S, period_s=_POLL_S):
            lines = self._log.read_text(errors="replace").strip().splitlines() or ["nothing"]
            raise DeploymentError(
                f"{self._name}: Suricata takes no packets; it said: {lines[-1]}",
                where=self._host.name,
            )

    @property
    def pid(self) -> int:
        """Id of the process on its host."""
        return self._process.pid

    def queue(self) -> tuple[int, int] | None:
        """Return the number of packets that were put into the queue, modulo 2^32 as the kernel
        counts them, and of those that were dropped because Suricata was too slow; None: nobody
        listens. Raises MeasurementError."""
        for line in self._host.read_text(QUEUES).splitlines():
            # Fields: queue, port id, waiting, copy mode, copy range, dropped in the kernel, dropped
            # on the way to the process, last packet's id, which counts packets.
            fields = [int(word) for word in line.split()]
            if fields[0] == rules.QUEUE:
                return fields[7], fields[5] + fields[6]
        return None

    def problem(self) -> str | None:
        """Return None while Suricata runs and listens to its queue, else what is wrong."""
        status = self._process.poll()
        if status is not None:
            return f"Suricata has ended with status {status}"
        try:
            return None if self.queue() else "Suricata does not listen to its queue"
        except MeasurementError as error:
            return error.message

    def stop(self) -> None:
        """End Suricata by SIGTERM, with time to finish its logs."""
        self._process.stop(STOP_TIMEOUT_S)
