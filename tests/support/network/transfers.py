"""Transfers of iperf3 through a chain."""

from __future__ import annotations

import json
from pathlib import Path

from sfcperf.active.server import start_server
from sfcperf.management.deployment import Deployment


def transfer(
    deployment: Deployment,
    *options: str,
    asked: int = 5201,
    served: int = 5201,
    folder: Path | None = None,
) -> dict[str, float]:
    """What the server of a small one received (`end.sum_received`); the port that the client asks
    for may be another than the one where the server listens. `folder`: where what the server
    prints is kept on this machine; None: in that of its host, which is on this machine."""
    log = (folder or deployment.server.host.workdir) / "iperf3-server.txt"
    argv = ["iperf3", "-s", "-1", "--bind", deployment.server.address, "-p", str(served)]
    server = start_server(deployment.server.host, argv, port=served, stdout=log, stderr=log)
    argv = ["iperf3", "-c", deployment.server.address, "-p", str(asked), "--json", *options]
    answer = json.loads(deployment.client.host.run(argv, timeout_s=20).stdout)
    server.stop()
    received: dict[str, float] = answer["end"]["sum_received"]
    return received
