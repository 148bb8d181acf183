"""A VNF whose packets the kernel forwards, with a daemon beside that counts some: tcpdump."""

import re
import signal

from sfcperf import retry
from sfcperf.environment.tools import tool
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.plugins import object_schema, port
from sfcperf.vnfs.kernel_forwarding import KernelForwarding, KernelFunction


class RunningWatch(KernelForwarding):
    daemon = None

    def set_up(self):
        self.log = self._attachment.outputs / f"{self._attachment.name}.log"
        argv = ["tcpdump", "-n", "--immediate-mode", "-w", "/dev/null", "-i", self._interfaces[0]]
        argv += ["udp", "dst", "port", str(self._knobs["port"])]
        self.daemon = self._host.spawn(argv, stdout=self.log, stderr=self.log)
        if not self.daemon.becomes(lambda: "listening" in self.said(), timeout_s=10, period_s=0.01):
            raise DeploymentError(f"{self._attachment.name}: no start of tcpdump: {self.said()}")

    def said(self):
        return self.log.read_text()

    def counters(self):
        def printed():
            return re.search(r"(\d+) packets? captured", self.said()[before:])

        before = len(self.said())
        self.daemon.send_signal(signal.SIGUSR1)  # it prints "4 packets captured, 4 packets ..."
        if not retry.until(printed, timeout_s=5, period_s=0.01):
            raise MeasurementError("tcpdump does not print what it counted")
        return {**super().counters(), "seen": int(printed()[1])}

    def problem(self):
        return super().problem() if self.daemon.poll() is None else f"no tcpdump: {self.said()}"

    def pids(self):
        return (self.daemon.pid,)

    def take_away(self):
        if self.daemon is not None:
            self.daemon.stop()


class Watch(KernelFunction):
    """Forwards, and counts the UDP datagrams to a port (`seen`)."""

    name, title, running = "watch", "Kernel forwarding, watched by tcpdump", RunningWatch
    parameters = object_schema({"port": port("UDP port to watch.", default=53)})

    @classmethod
    def own_requirements(cls, knobs):
        return [tool("tcpdump", "tcpdump")]
