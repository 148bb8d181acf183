"""nginx as the far end of httperf and ab, and what these two probes share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from sfcperf.active.base import ProbeResult, samples
from sfcperf.active.losses import EndpointLosses
from sfcperf.active.server import ServerProbe, saturation_doubts, start_server
from sfcperf.active.tool_run import ToolOutput, run_tool
from sfcperf.errors import MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import integer, number
from sfcperf.results.values import Loss

OBJECT_URI = "/object"
USUAL_PORT = 8080
NGINX = ("nginx", "nginx", "-v")
"""Entry of nginx in `Probe.needs`."""
_SHORTEST_S = 0.1
"""Shortest test that is believed. The tools print its duration in steps of 1 ms, so the duration of
a shorter test is known to 1 % at best."""
_STEP_S = 0.001
"""Step of the durations that the tools print. A duration that is printed as 0 counts as one
step."""
_MAKE_TIMEOUT_S = 30.0

PARAMETERS: Final[Mapping[str, Any]] = {
    "object_bytes": integer(
        "Size of the object that is fetched, bytes.", (1, 100_000_000), default=1024
    ),
    "max_duration_s": number(
        "A test that takes longer than this, seconds, is stopped and fails.",
        (1, 86_400),
        default=120,
    ),
}
"""Schemas of the parameters that every WebProbe has."""

# Every path is relative to the prefix. The root is the default one, `html`: if `root` were set to a
# folder in the prefix, nginx would look for variables in its path. nginx runs as one process
# without a master: it keeps the rights of who started it, so it can read the object, and when it is
# killed no worker is left behind. It looks up a user all the same: `root`, because the user that it
# was built for does not exist in every small VM.
_CONFIGURATION = """\
daemon off;
master_process off;
user root root;
pid nginx.pid;
error_log stderr error;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    default_type application/octet-stream;
    sendfile on;
    tcp_nodelay on;
    keepalive_timeout 3600s;
    keepalive_requests 1000000000;
    client_body_temp_path temp;
    proxy_temp_path temp;
    fastcgi_temp_path temp;
    uwsgi_temp_path temp;
    scgi_temp_path temp;
    server {{
{listen}
        location = {uri} {{ }}
    }}
}}
"""


@dataclass(frozen=True)
class Load:
    """The result of one test, by the tool's own report."""

    duration_s: float
    """Length of the test, seconds, in steps of 1 ms."""
    values: Mapping[str, float | None]
    """Metric -> its number; None where the test gave none."""
    doubts: Sequence[str]
    """Why the numbers should not be believed, by what the tool itself says."""
    notes: Mapping[str, Any]
    """Further facts for the record of the trial."""
    loss: Loss
    """Requests without the right reply."""


class WebProbe(ServerProbe):
    """HTTP requests from a tool on the client to an nginx that the probe starts on the server. The
    derived class starts nginx by `serve` in its `prepare`, and runs the tool by `run` in its
    `load`, which `measure` calls."""

    protocols = frozenset({"tcp"})
    usual_port = USUAL_PORT
    longer_test: ClassVar[str]
    """Advice to users whose test was too short, as a clause."""

    @abstractmethod
    def load(self, deployment: Deployment, raw_dir: Path) -> Load:
        """Run the tool against nginx, and return what it measured. Raises MeasurementError when
        there was not one good reply."""

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Run the test (`load`), and read the CPU time of nginx and the losses of the endpoints
        before and after it. The trial is untrusted for what the tool says, and if nginx was
        saturated, the test was too short, or the client's interface dropped packets."""
        server = deployment.server.host
        cpu_s, losses = self.server_cpu_s(server, "nginx"), EndpointLosses.read(deployment)
        output = self.load(deployment, raw_dir)
        cpu_s = self.server_cpu_s(server, "nginx") - cpu_s
        losses = EndpointLosses.read(deployment).since(losses)
        # CPU time is divided by the tool's own duration: starting a tool on another machine takes a
        # while, in which nginx is idle.
        cpu_ratio = cpu_s / max(output.duration_s, _STEP_S)
        doubts = [*output.doubts, *server_doubts(output.duration_s, cpu_ratio, self.longer_test)]
        notes = {
            **output.notes,
            "port": self._port,
            "duration_s": output.duration_s,
            "server_cpu_ratio": round(cpu_ratio, 3),
            "sender_interface_drops": losses.tx_drops,
        }
        return ProbeResult(
            samples(self.reported, output.values),
            (*doubts, *losses.of_interface(deployment.client)),
            notes,
            loss=output.loss,
        )

    def serve(self, deployment: Deployment, raw_dir: Path, ports: Sequence[int]) -> None:
        """Start nginx, which serves an object of `object_bytes` zeros at OBJECT_URI, on these ports
        of the server's address alone. `cleanup` stops it.

        Returns when nginx listens; raises MeasurementError when it does not. The folder of nginx is
        in the host's workdir and is removed with it. A copy of its configuration stays in raw_dir.
        """
        host, address = deployment.server.host, deployment.server.address
        prefix = host.workdir / f"nginx-{ports[0]}"
        configuration = raw_dir / "nginx.conf"
        listen = "\n".join(f"        listen {address}:{port} backlog=4096;" for port in ports)
        configuration.write_text(_CONFIGURATION.format(listen=listen, uri=OBJECT_URI))
        host.put(configuration, prefix / "nginx.conf")
        # `truncate` makes a sparse file: however large the object is, it is created at once.
        path = prefix / "html" / OBJECT_URI.removeprefix("/")
        size = str(self.parameters["object_bytes"])
        host.run(["mkdir", "-p", str(path.parent)], timeout_s=_MAKE_TIMEOUT_S)
        host.run(["truncate", "-s", size, str(path)], timeout_s=_MAKE_TIMEOUT_S)
        self._server = start_server(
            host,
            # -e: nginx opens the log that it was built with before it reads its configuration.
            ["nginx", "-e", "stderr", "-p", str(prefix), "-c", "nginx.conf"],
            port=ports[0],
            more_ports=ports[1:],
            stdout=raw_dir / "nginx.txt",
            stderr=raw_dir / "nginx.stderr.txt",
        )

    def run_on_client(
        self,
        deployment: Deployment,
        raw_dir: Path,
        name: str,
        argv: Sequence[str],
        *,
        meter_cpu: bool = False,
    ) -> ToolOutput:
        """Run the tool on the client; its outputs go to files named after `name`. With `meter_cpu`,
        the result has the tool's `cpu_ratio`. Raises MeasurementError when the tool fails, or is
        stopped because it takes longer than the parameter `max_duration_s`."""
        output = run_tool(
            deployment.client.host,
            argv,
            timeout_s=self.parameters["max_duration_s"],
            stdout=raw_dir / f"{name}.txt",
            stderr=raw_dir / f"{name}.stderr.txt",
            meter_cpu=meter_cpu,
        )
        if output.returncode != 0:
            raise MeasurementError(f"{argv[0]} failed: {output.complaint()}")
        return output


def server_doubts(duration_s: float, cpu_ratio: float, longer_test: str) -> list[str]:
    """Say why a test should not be believed: nginx was saturated, or the test was too short.
    `cpu_ratio` is the share of one CPU that nginx used, and `longer_test` the advice for a test
    that was too short."""
    doubts = saturation_doubts("server", "nginx", cpu_ratio)
    if duration_s < _SHORTEST_S:
        doubts.append(f"the test took {duration_s:g} s, too short to be timed: {longer_test}")
    return doubts
